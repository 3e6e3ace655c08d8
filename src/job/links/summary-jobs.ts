/** Counts the rows of a summary anew while the application writes, and holds one count against another. */

import { compareBytes, prefixEnd, toHex, toLatin1 } from '../../bytes/index.js';
import {
  amountsOf,
  type CommittingTable,
  countPrefix,
  cursorAt,
  groupOf,
  putStanding,
  RowImage,
  RowKind,
  SummaryCount,
  type SummaryPlan,
  type SummaryStanding,
  standingOf,
} from '../../repository/index.js';
import { type AtomicStep, Delete, type Engine, type Result, Scan } from '../../table/index.js';
import { runJob } from '../runner.js';
import { toolJobName } from '../tools/selection.js';
import type { JobRunOptions, SplitWork } from '../types.js';

/** A summary that is to be counted. */
export interface SummaryTarget {
  readonly engine: Engine;
  readonly plan: SummaryPlan;
}

/** What two counts of a summary differ in. */
export interface GroupsReport {
  /** Groups of either count. */
  readonly groups: number;
  readonly valid: number;
  /** Groups whose figures are others. */
  readonly stale: number;
  /** Groups that were not there. */
  readonly missing: number;
  /** Groups that have no rows. */
  readonly extra: number;
}

/** Rows, groups, or what is to be removed, of one step: writers wait for it. */
const STEP_ROWS = 512;

function tableOf({ engine, plan }: SummaryTarget): CommittingTable {
  return engine.table(plan.schema.table.descriptor.name) as CommittingTable;
}

/** Changes where a summary stands, in one step. */
export function changeStanding(
  target: SummaryTarget,
  change: (standing: SummaryStanding | undefined) => Partial<SummaryStanding>,
): Promise<SummaryStanding> {
  return tableOf(target).atomic((step) => setStanding(target, step, change));
}

function setStanding(
  { plan }: SummaryTarget,
  step: AtomicStep,
  change: (standing: SummaryStanding | undefined) => Partial<SummaryStanding>,
): SummaryStanding {
  const { schema, summary } = plan;
  const before = standingOf(step, schema, summary);
  const { name, signature, id } = summary;
  const fresh = { active: null, building: null, cursor: null, next: 1, purged: 1 };
  const standing = { entity: schema.name, summary: name, signature, ...fresh, ...before, ...change(before) };
  step.apply({ table: plan.tableName, change: putStanding(id, standing) });
  return standing;
}

/** Counts every row into the count that is being made, from where it stands; the rows that were looked at. */
export async function countRows(
  target: SummaryTarget,
  fresh: boolean,
  run: JobRunOptions = {},
): Promise<number> {
  const { plan, engine } = target;
  const { schema, summary } = plan;
  const table = schema.table.descriptor.name;
  const { counters } = await runJob(
    engine,
    {
      name: toolJobName('summary', table, schema.name, summary.name),
      signature: toHex(summary.id),
      phases: [
        {
          table,
          // One split: writers know by one row how far the count has come.
          ranges: [{ start: new Uint8Array(0), stop: new Uint8Array(0) }],
          oneSplitEach: true,
          scan: () => new Scan().setCacheBlocks(false),
          open: (context) => new CountWork(target, (rows) => context.count('rows', rows)),
        },
      ],
    },
    { batchRows: STEP_ROWS, ...run, restart: fresh || run.restart === true ? true : 'done' },
  );
  return counters['rows'] ?? 0;
}

class CountWork implements SplitWork {
  constructor(
    private readonly target: SummaryTarget,
    private readonly count: (rows: number) => void,
  ) {}

  /** What was read says how far to go; what stands there is read in the step. */
  async rows(rows: readonly Result[]): Promise<void> {
    const last = rows.at(-1)?.row;
    if (last !== undefined) await this.upTo(last);
  }

  async finish(): Promise<void> {
    await this.upTo(undefined);
  }

  /** Adds the rows behind the cursor up to this one, or all. */
  private async upTo(last: Uint8Array | undefined): Promise<void> {
    while (!(await tableOf(this.target).atomic((step) => this.step(step, last))));
  }

  private step(step: AtomicStep, last: Uint8Array | undefined): boolean {
    const { plan } = this.target;
    const { schema, summary } = plan;
    const standing = standingOf(step, schema, summary);
    const { building, cursor } = standing ?? {};
    if (building === undefined || building === null || cursor === 'end') return true;
    const from = cursor === null || cursor === undefined ? undefined : Buffer.from(cursor, 'hex');
    if (from !== undefined && last !== undefined && compareBytes(from, last) >= 0) return true;
    const scan = new Scan().setLimit(STEP_ROWS).setCacheBlocks(false);
    if (from !== undefined) scan.withStartRow(new Uint8Array(from), false);
    if (last !== undefined) scan.withStopRow(last, true);
    const found = step.scan(scan);
    const own = found.filter(({ row }) => schema.key.matches(row));
    new SummaryCount(plan, building).addRows(
      own.map((result) => RowImage.of(result.row, result)),
      step,
    );
    this.count(own.length);
    const isLast = found.length < STEP_ROWS;
    const end = isLast ? last : found.at(-1)!.row;
    setStanding(this.target, step, () => ({ cursor: end === undefined ? 'end' : cursorAt(end) }));
    return isLast;
  }
}

/** Holds the groups of two counts against each other, those of each step at one moment. */
export async function compareCounts(
  target: SummaryTarget,
  asked: number,
  made: number,
): Promise<GroupsReport> {
  const report = { groups: 0, valid: 0, stale: 0, missing: 0, extra: 0 };
  let after: Uint8Array | undefined;
  do {
    after = await tableOf(target).atomic((step) => compareSome(target, step, [asked, made], after, report));
  } while (after !== undefined);
  return report;
}

/** The last group that was held; undefined at the end. */
function compareSome(
  { plan, engine }: SummaryTarget,
  step: AtomicStep,
  counts: readonly [number, number],
  after: Uint8Array | undefined,
  report: { -readonly [Name in keyof GroupsReport]: number },
): Uint8Array | undefined {
  const pages = counts.map((generation) => {
    const count = new SummaryCount(plan, generation);
    while (count.bury(step, engine.now(), STEP_ROWS));
    const prefix = countPrefix(RowKind.group, generation, plan.summary.id);
    const scan = new Scan().setLimit(STEP_ROWS).withStopRow(prefixEnd(prefix)!);
    if (after === undefined) scan.withStartRow(prefix);
    else scan.withStartRow(Buffer.concat([prefix.subarray(0, 5), after]), false);
    return step.scan(scan, plan.tableName).map((result) => ({
      group: groupOf(result.row),
      identity: plan.identityOf(amountsOf(result)),
    }));
  });
  // Behind the last group of a full page the other may have groups that this one has too.
  const bounds = pages.filter((page) => page.length === STEP_ROWS).map((page) => page.at(-1)!.group);
  const bound = bounds.sort(compareBytes)[0];
  const within = pages.map(
    (page) =>
      new Map(
        page
          .filter(({ group }) => bound === undefined || compareBytes(group, bound) <= 0)
          .map(({ group, identity }) => [toLatin1(group), identity]),
      ),
  );
  const [asked, made] = within as [Map<string, string>, Map<string, string>];
  for (const name of new Set([...asked.keys(), ...made.keys()])) {
    const is = asked.get(name);
    const wanted = made.get(name);
    report.groups++;
    if (is === wanted) report.valid++;
    else if (is === undefined) report.missing++;
    else if (wanted === undefined) report.extra++;
    else report.stale++;
  }
  return bound;
}

/** Removes the counts that are not in use. */
export async function purgeCounts(target: SummaryTarget): Promise<void> {
  const table = tableOf(target);
  const { next, purged, active, building } = await changeStanding(target, () => ({}));
  for (let generation = purged; generation < next; generation++) {
    if (generation === active || generation === building) continue;
    for (const kind of [RowKind.group, RowKind.life, RowKind.end]) {
      const prefix = countPrefix(kind, generation, target.plan.summary.id);
      while (!(await table.atomic((step) => removeSome(target.plan.tableName, step, prefix))));
    }
  }
  const inUse = [active, building].filter((one) => one !== null);
  await changeStanding(target, () => ({ purged: Math.min(next, ...inUse) }));
}

function removeSome(table: string, step: AtomicStep, prefix: Uint8Array): boolean {
  const scan = new Scan().withStartRow(prefix).withStopRow(prefixEnd(prefix)!).setLimit(STEP_ROWS);
  const found = step.scan(scan, table);
  for (const { row } of found) step.apply({ table, change: new Delete(row) });
  return found.length < STEP_ROWS;
}
