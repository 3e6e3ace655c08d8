import { setTimeout as sleep } from 'node:timers/promises';
import { compareBytes, prefixEnd, toHex, toLatin1 } from '../../bytes/index.js';
import { runJob } from '../../job/runner.js';
import { toolJobName } from '../../job/table-pass.js';
import type { JobRunOptions, SplitContext, SplitWork } from '../../job/types.js';
import { type ChangeStep, RowImage, readingFrom, withoutMarks } from '../../repository/index.js';
import { ABANDONED_AFTER } from '../../repository/remote/row-work.js';
import {
  type AtomicStep,
  Delete,
  type Engine,
  familyNames,
  type Result,
  Scan,
  type StepTable,
} from '../../table/index.js';
import { cursorAt, SummaryCount } from './embedded.js';
import type { GroupIdentity, SummaryPlan } from './plan.js';
import type { RemoteCount } from './remote.js';
import {
  amountsOf,
  countPrefix,
  groupOf,
  putRecord,
  RowKind,
  readRecord,
  type SummaryRecord,
} from './rows.js';

// — Counts rows and compares groups on engines whose atomic step is one row.

/** Rows counted in one batch. */
const TOGETHER = 32;
/** The most attempts to compare a group that is being written, and the pause between two, ms. */
const MAX_ATTEMPTS = 40;
const PAUSE = 50;
/** Attempts in a row that must find the difference unchanged before the group counts as different. */
const UNCHANGED = 3;

/**
 * Counts rows in any order, beside writers, and repeatedly: the contribution of each row is stored beside the groups.
 */
class RemoteCountWork implements SplitWork {
  constructor(
    private readonly count: RemoteCount,
    private readonly generation: number,
    private readonly context: SplitContext,
  ) {}

  async rows(rows: readonly Result[]): Promise<void> {
    const { schema } = this.count.plan;
    const own = rows.filter(({ row }) => schema.key.matches(row));
    await schema.key.dictionaries?.loadTexts(own.map(({ row }) => row));
    for (let at = 0; at < own.length; at += TOGETHER)
      await Promise.all(own.slice(at, at + TOGETHER).map(({ row }) => this.one(row)));
    // A deleted row's contribution may still be stored.
    this.context.count('rows', own.filter((result) => !withoutMarks(schema, result).isEmpty).length);
  }

  /** A transfer of a dead writer is finished once it counts as abandoned. */
  private async one(row: Uint8Array): Promise<void> {
    while (!(await this.count.update(row, this.generation, ABANDONED_AFTER)))
      this.context.signal.throwIfAborted();
  }
}

/** The figures of a group in the count in use, and in the new one. */
type IdentityPair = readonly [GroupIdentity, GroupIdentity];

/**
 * The two cannot be read at one moment. Reads them again until they agree, or until they differ and neither changes.
 */
async function compareAgain(
  count: RemoteCount,
  generations: readonly [number, number],
  name: string,
  first: IdentityPair,
): Promise<IdentityPair> {
  let pair = first;
  let unchanged = 1;
  for (let look = 1; look < MAX_ATTEMPTS && pair[0] !== pair[1] && unchanged < UNCHANGED; look++) {
    await sleep(PAUSE);
    const [asked, made] = await count.amounts(new Uint8Array(Buffer.from(name, 'latin1')), generations);
    const now: IdentityPair = [count.plan.identityOf(asked!), count.plan.identityOf(made!)];
    unchanged = now[0] === pair[0] && now[1] === pair[1] ? unchanged + 1 : 1;
    pair = now;
  }
  return pair;
}

// — Counts the rows of a summary again while the application writes, and compares two counts.

/** The summary to be counted. */
export interface SummaryTarget {
  readonly engine: Engine;
  readonly plan: SummaryPlan;
  /** Set where the engine's atomic step is one row. */
  readonly remote?: RemoteCount;
}

/** The differences between two counts. */
export interface GroupsReport {
  /** Groups in either count. */
  readonly groups: number;
  readonly valid: number;
  /** Groups with wrong figures. */
  readonly stale: number;
  /** Groups that were missing. */
  readonly missing: number;
  /** Groups that have no rows. */
  readonly extra: number;
}

/** Rows, groups or deletes of one step: writers wait for it. */
const STEP_ROWS = 512;

function tableOf({ engine, plan }: SummaryTarget): StepTable {
  return engine.table(plan.schema.table.descriptor.name) as StepTable;
}

/** Updates the state of a summary in one step. `change` is called again if another program has updated it meanwhile. */
export function changeRecord(
  target: SummaryTarget,
  change: (state: SummaryRecord | undefined) => Partial<SummaryRecord>,
): Promise<SummaryRecord> {
  const { plan, remote } = target;
  return remote === undefined
    ? tableOf(target).atomic((step) => setRecord(target, step, change))
    : remote.changeRecord((before) => recordAfter(plan, before, change));
}

function setRecord(
  { plan }: SummaryTarget,
  step: AtomicStep,
  change: (state: SummaryRecord | undefined) => Partial<SummaryRecord>,
): SummaryRecord {
  const { schema, summary } = plan;
  const state = recordAfter(plan, readRecord(step, schema, summary), change);
  step.apply({ table: plan.tableName, change: putRecord(summary.id, state) });
  return state;
}

function recordAfter(
  { schema, summary, ends }: SummaryPlan,
  before: SummaryRecord | undefined,
  change: (state: SummaryRecord | undefined) => Partial<SummaryRecord>,
): SummaryRecord {
  const { name, signature } = summary;
  const fresh = { active: null, building: null, cursor: null, next: 1, purged: 1 };
  return { entity: schema.name, summary: name, signature, ...fresh, ...before, ends, ...change(before) };
}

/** Counts every row into the new count, from its cursor on. @returns the rows read. */
export async function countRows(
  target: SummaryTarget,
  fresh: boolean,
  run: JobRunOptions = {},
): Promise<number> {
  const { plan, engine, remote } = target;
  const { schema, summary } = plan;
  const building = remote && ((await remote.state())?.building ?? null);
  // Another program has ended it.
  if (building === null) return 0;
  const table = schema.table.descriptor.name;
  const { counters } = await runJob(
    engine,
    {
      name: toolJobName('summary', table, schema.name, summary.name),
      signature: toHex(summary.id),
      phases: [
        {
          table,
          // One split: a cursor tells writers how far the count has come. On engines without steps writers add to it
          // from its beginning.
          ...(remote === undefined ? { ranges: [WHOLE], oneSplitEach: true } : { ranges: [] }),
          scan: () => new Scan().setCacheBlocks(false).expectFamilies(familyNames(schema.table.descriptor)),
          open: (context) =>
            building !== undefined
              ? new RemoteCountWork(remote!, building, context)
              : new CountWork(target, (rows) => context.count('rows', rows)),
        },
      ],
    },
    { batchRows: STEP_ROWS, ...run, restart: fresh || run.restart === true ? true : 'done' },
  );
  if (remote !== undefined)
    await changeRecord(target, (now) => (now?.building === building ? { cursor: 'end' } : {}));
  return counters['rows'] ?? 0;
}

const WHOLE = { start: new Uint8Array(0), stop: new Uint8Array(0) };

class CountWork implements SplitWork {
  constructor(
    private readonly target: SummaryTarget,
    private readonly count: (rows: number) => void,
  ) {}

  /** The rows read give the next cursor position; their contents are read again in the step. */
  async rows(rows: readonly Result[]): Promise<void> {
    const last = rows.at(-1)?.row;
    if (last !== undefined) await this.upTo(last);
  }

  async finish(): Promise<void> {
    await this.upTo(undefined);
  }

  /** Adds the rows from the cursor up to this one, or to the end. */
  private async upTo(last: Uint8Array | undefined): Promise<void> {
    while (!(await tableOf(this.target).atomic((step) => this.step(step, last))));
  }

  private step(step: AtomicStep, last: Uint8Array | undefined): boolean {
    const { plan } = this.target;
    const { schema, summary } = plan;
    const state = readRecord(step, schema, summary);
    const { building, cursor } = state ?? {};
    if (building === undefined || building === null || cursor === 'end') return true;
    const from = cursor === null || cursor === undefined ? undefined : Buffer.from(cursor, 'hex');
    if (from !== undefined && last !== undefined && compareBytes(from, last) >= 0) return true;
    const scan = new Scan().setLimit(STEP_ROWS).setCacheBlocks(false);
    if (from !== undefined) scan.withStartRow(new Uint8Array(from), false);
    if (last !== undefined) scan.withStopRow(last, true);
    const found = step.scan(scan);
    const own = found.filter(({ row }) => schema.key.matches(row));
    new SummaryCount(plan, building, state).addRows(
      own.map((result) => RowImage.of(result.row, result)),
      step,
    );
    this.count(own.length);
    const isLast = found.length < STEP_ROWS;
    const end = isLast ? last : found.at(-1)!.row;
    setRecord(this.target, step, () => ({ cursor: end === undefined ? 'end' : cursorAt(end) }));
    return isLast;
  }
}

/** Compares the groups of two counts, each page at one moment. On engines without steps differences are read again. */
export async function compareCounts(
  target: SummaryTarget,
  asked: number,
  made: number,
): Promise<GroupsReport> {
  const report = { groups: 0, valid: 0, stale: 0, missing: 0, extra: 0 };
  const { plan, engine, remote } = target;
  let after: Uint8Array | undefined;
  do {
    const start = after;
    const pages = (step: ChangeStep): CountPages =>
      [asked, made].map((generation) => {
        const count = new SummaryCount(plan, generation);
        if (plan.ends) while (count.subtractExpired(step as AtomicStep, STEP_ROWS));
        return readPage(plan, step, generation, start);
      }) as CountPages;
    const [found, wanted] = await (remote === undefined
      ? tableOf(target).atomic(pages)
      : readingFrom((name) => engine.table(name))(pages));
    const held = holdPages(found, wanted);
    for (const [name, pair] of held.groups) {
      const [is, should] =
        remote === undefined ? pair : await compareAgain(remote, [asked, made], name, pair);
      if (is === undefined && should === undefined) continue;
      report.groups++;
      if (is === should) report.valid++;
      else if (is === undefined) report.missing++;
      else if (should === undefined) report.extra++;
      else report.stale++;
    }
    after = held.bound;
  } while (after !== undefined);
  return report;
}

type CountPages = [CountPage, CountPage];

/** A page of groups of a count, in their order. */
interface CountPage {
  readonly isFull: boolean;
  readonly groups: readonly { readonly group: Uint8Array; readonly identity: GroupIdentity }[];
}

function readPage(
  plan: SummaryPlan,
  step: ChangeStep,
  generation: number,
  after: Uint8Array | undefined,
): CountPage {
  const prefix = countPrefix(RowKind.group, generation, plan.summary.id);
  const scan = new Scan().setLimit(STEP_ROWS).withStopRow(prefixEnd(prefix)!);
  if (after === undefined) scan.withStartRow(prefix);
  else scan.withStartRow(Buffer.concat([prefix.subarray(0, 5), after]), false);
  const groups = step.scan(scan, plan.tableName).map((result) => ({
    group: groupOf(result.row),
    identity: plan.identityOf(amountsOf(result)),
  }));
  return { isFull: groups.length === STEP_ROWS, groups };
}

/** The groups that both pages have reached, and the last of them if there may be more. */
function holdPages(...pages: CountPages): {
  readonly groups: Map<string, IdentityPair>;
  readonly bound: Uint8Array | undefined;
} {
  // After the last group of a full page, the other page may have groups that the full one has not reached.
  const bounds = pages.filter(({ isFull }) => isFull).map((page) => page.groups.at(-1)!.group);
  const bound = bounds.sort(compareBytes)[0];
  const groups = new Map<string, [GroupIdentity, GroupIdentity]>();
  for (const [i, page] of pages.entries()) {
    for (const { group, identity } of page.groups) {
      if (bound !== undefined && compareBytes(group, bound) > 0) continue;
      const name = toLatin1(group);
      const pair = groups.get(name) ?? [undefined, undefined];
      pair[i] = identity;
      groups.set(name, pair);
    }
  }
  return { groups, bound };
}

/** Removes the counts that are not in use. */
export async function purgeCounts(target: SummaryTarget): Promise<void> {
  const { plan, remote } = target;
  const { next, purged, active, building } = await changeRecord(target, () => ({}));
  for (let generation = purged; generation < next; generation++) {
    if (generation === active || generation === building) continue;
    for (const kind of [RowKind.group, RowKind.contribution, RowKind.end]) {
      const prefix = countPrefix(kind, generation, plan.summary.id);
      const scan = (): Scan =>
        new Scan().withStartRow(prefix).withStopRow(prefixEnd(prefix)!).setLimit(STEP_ROWS);
      const removeSome =
        remote === undefined
          ? () => tableOf(target).atomic((step) => removeRows(plan.tableName, step, scan()))
          : () => remote.remove(scan());
      while ((await removeSome()) === STEP_ROWS);
    }
  }
  const inUse = [active, building].filter((one) => one !== null);
  const oldest = Math.min(next, ...inUse);
  // On engines without steps a writer may still add to a count that was in use when it read the state. So it is
  // removed once more the next time.
  await changeRecord(target, (now) => ({
    purged: remote === undefined ? oldest : Math.max(now!.purged, oldest - LINGERING),
  }));
}

/** Counts that are removed once more. */
const LINGERING = 2;

function removeRows(table: string, step: AtomicStep, scan: Scan): number {
  const found = step.scan(scan, table);
  for (const { row } of found) step.apply({ table, change: new Delete(row) });
  return found.length;
}
