/** The passes of a change of keys: what was written before is copied, both layouts are held against each other, one is removed. */

import { compareBytes, equalBytes, toLatin1 } from '../../bytes/index.js';
import type { EntitySchema } from '../../schema/types.js';
import {
  type Cell,
  CellType,
  Delete,
  type Engine,
  filters,
  Get,
  type Result,
  type RowRead,
  Scan,
  type SyncTable,
  type TableChange,
} from '../../table/index.js';
import { runJob } from '../runner.js';
import { toolJobName } from '../tools/selection.js';
import type { JobOutcome, JobPhase, JobRunOptions, SplitContext, SplitWork } from '../types.js';
import { copyOf } from './copy-cells.js';
import type { Mirror } from './mirror.js';
import { RowMapping } from './row-mapping.js';

type StepTable = SyncTable & Required<Pick<SyncTable, 'commit'>>;

/** What the passes are about. */
export interface RekeyTarget {
  readonly engine: Engine;
  readonly from: EntitySchema;
  readonly to: EntitySchema;
  readonly mirror: Mirror;
  /** Counts the times it was begun. */
  readonly run: number;
}

/** What holding the layouts against each other found, in rows. */
export interface RekeyDifferences {
  readonly rows: number;
  /** Rows without one under the other layout. */
  readonly missing: number;
  /** Rows under the new layout that the old one has not. */
  readonly extra: number;
  /** Rows with other cells, times included. */
  readonly different: number;
  /** Rows that lack a column which the new key is made of. */
  readonly unkeyed: number;
}

function tableOf({ engine }: RekeyTarget, schema: EntitySchema): StepTable {
  return engine.table(schema.table.descriptor.name) as StepTable;
}

function jobName({ from, to, run }: RekeyTarget, pass: string): string {
  return toolJobName(`rekey-${pass}`, from.name, to.name, String(run));
}

function pass(schema: EntitySchema, scan: () => Scan, open: (context: SplitContext) => SplitWork): JobPhase {
  return { table: schema.table.descriptor.name, ranges: [], scan, open };
}

/** Rows that are copied in one record of the log. */
const BATCH_ROWS = 2000;

/** Rows counted between turns of the event loop. */
const COUNTED_AT_ONCE = 4096;

/** Every row of the table that is of the layout, of which nothing but the keys is read. */
async function countRows(engine: Engine, schema: EntitySchema): Promise<number> {
  const scan = new Scan()
    .setCacheBlocks(false)
    .setFilter(filters.all(filters.firstKeyOnly(), filters.keyOnly()));
  const scanner = engine.table(schema.table.descriptor.name).scan(scan);
  let count = 0;
  try {
    for (;;) {
      const rows = await scanner.nextBatch(COUNTED_AT_ONCE);
      for (const { row } of rows) if (schema.key.matches(row)) count++;
      if (rows.length < COUNTED_AT_ONCE) return count;
      await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    await scanner.close();
  }
}

/** Keys are seldom spread evenly over all that there could be: how far the copying is is told by the rows there were. */
function byRows(run: JobRunOptions, total: number): JobRunOptions {
  const { onProgress } = run;
  if (onProgress === undefined) return run;
  const began = performance.now();
  let first: number | undefined;
  return {
    ...run,
    onProgress: (progress) => {
      const { rows } = progress;
      first ??= rows;
      const rate = (rows - first) / (performance.now() - began);
      onProgress({
        ...progress,
        fraction: total === 0 ? 1 : Math.min(rows / total, 1),
        remainingMs: rate > 0 ? Math.max(total - rows, 0) / rate : undefined,
      });
    },
  };
}

/** Every cell of a row as it is stored, deletes and what they hide among them. */
const everyCell = (): Scan => new Scan().setRaw(true).readAllVersions().setCacheBlocks(false);
const everyVersion = (): Scan => new Scan().readAllVersions().setCacheBlocks(false);

/** Copies every row of the old layout. An unfinished run is gone on with. Counters: `copied`, `unkeyed`. */
export async function backfill(target: RekeyTarget, run: JobRunOptions = {}): Promise<JobOutcome> {
  const { engine, from, to, mirror } = target;
  const watched = mirror.watch();
  const table = tableOf(target, from);
  try {
    // What was ordered before the watch began is visible to the scans when this is done.
    await table.commit(() => []);
    const copying = pass(from, everyCell, (context) => new CopyWork(target, table, watched.touched, context));
    return await runJob(
      engine,
      {
        name: jobName(target, 'copy'),
        signature: `${from.key.signature} > ${to.key.signature}`,
        phases: [copying],
      },
      { batchRows: BATCH_ROWS, ...byRows(run, await countRows(engine, from)) },
    );
  } finally {
    watched.end();
  }
}

class CopyWork implements SplitWork {
  private underWay: Promise<void> = Promise.resolve();
  private readonly into: string;
  /** Families that show what was deleted to those who ask for times past. */
  private readonly keeping: ReadonlySet<string>;

  constructor(
    private readonly target: RekeyTarget,
    private readonly table: StepTable,
    private readonly touched: ReadonlySet<string>,
    private readonly context: SplitContext,
  ) {
    const { families } = target.from.table.descriptor;
    this.into = target.to.table.descriptor.name;
    this.keeping = new Set(
      families.filter(({ keepDeletedCells }) => keepDeletedCells !== 'FALSE').map(({ name }) => name),
    );
  }

  /** Resolves when the rows before are done: while the disk takes them, these are read. */
  async rows(rows: readonly Result[]): Promise<void> {
    const before = this.underWay;
    this.underWay = this.copy(rows);
    this.underWay.catch(() => undefined);
    await before;
  }

  async commit(): Promise<undefined> {
    await this.underWay;
  }

  async close(): Promise<void> {
    await this.underWay.catch(() => undefined);
  }

  private async copy(rows: readonly Result[]): Promise<void> {
    let copied = 0;
    let unkeyed = 0;
    const { mirror } = this.target;
    const outcomes = await this.table.commit((read) => {
      const groups: TableChange[][] = [];
      copied = 0;
      unkeyed = 0;
      for (const row of rows) {
        if (!mirror.forth.matches(row.row)) continue;
        const change = this.changeOf(row, read);
        if (change === undefined) unkeyed++;
        else if (change !== null) groups.push([mirror.mark(change)]);
        copied++;
      }
      return groups;
    });
    for (const outcome of outcomes) if (!outcome.ok) throw outcome.error;
    this.context.count('copied', copied);
    if (unkeyed > 0) this.context.count('unkeyed', unkeyed);
  }

  /** Undefined: the row has no key yet; null: there is nothing to write. */
  private changeOf(stored: Result, read: RowRead): TableChange | null | undefined {
    const { forth } = this.target.mirror;
    const { row, cells } = stored;
    const plain =
      forth.needed.length === 0 &&
      (this.touched.size === 0 || !this.touched.has(toLatin1(row))) &&
      cells.every(({ type }) => type === CellType.Put);
    const now = plain ? undefined : read(new Get(row).readAllVersions());
    const to = forth.rowOf(row, ({ family, qualifier }) => now?.getValue(family, qualifier));
    if (to === undefined) return now!.isEmpty ? null : undefined;
    const lasting = plain ? cells : this.lastingCells(cells, now!, to, read);
    // The checkpoint that notes it is durable, and the log has it behind this.
    const change = copyOf(to, forth.cellsOf(row, to, lasting), 'ASYNC_WAL');
    return change === undefined ? null : { table: this.into, change, settled: true };
  }

  /**
   * The markers, and of the puts those that count now: others may have been written, or removed for good, since the row was
   * scanned. What is there already was written by those who write to both.
   */
  private lastingCells(cells: readonly Cell[], now: Result, to: Uint8Array, read: RowRead): Cell[] {
    const there = read(new Get(to).readAllVersions(), this.into);
    const counts = new Set(now.cells.map(placeOf));
    const known = new Set(there.cells.map(placeOf));
    return cells.filter((cell) => {
      if (cell.type !== CellType.Put) return true;
      const place = placeOf(cell);
      return (counts.has(place) || this.keeping.has(cell.family)) && !known.has(place);
    });
  }
}

function placeOf({ family, qualifier, timestamp }: Cell): string {
  return `${family}:${toLatin1(qualifier)}@${timestamp}`;
}

/** Holds every row of both layouts against the other, as they are in one step. */
export async function compareLayouts(
  target: RekeyTarget,
  run: JobRunOptions = {},
): Promise<RekeyDifferences> {
  const { engine, from, to } = target;
  const { forth } = target.mirror;
  const back = new RowMapping(to, from);
  const definition = {
    name: jobName(target, 'verify'),
    signature: 'verify',
    phases: [
      pass(from, everyVersion, (context) => new CompareWork(tableOf(target, from), forth, context, true)),
      pass(to, everyVersion, (context) => new CompareWork(tableOf(target, to), back, context, false)),
    ],
  };
  const { counters } = await runJob(engine, definition, { ...run, restart: true });
  const count = (what: string): number => counters[what] ?? 0;
  return {
    rows: count('rows'),
    missing: count('missing'),
    extra: count('extra'),
    different: count('different'),
    unkeyed: count('unkeyed'),
  };
}

class CompareWork implements SplitWork {
  constructor(
    private readonly table: StepTable,
    private readonly mapping: RowMapping,
    private readonly context: SplitContext,
    private readonly forth: boolean,
  ) {}

  async rows(rows: readonly Result[]): Promise<void> {
    const found: string[] = [];
    await this.table.commit((read) => {
      for (const { row } of rows) if (this.mapping.matches(row)) found.push(this.compare(row, read));
      return [];
    });
    for (const what of found) if (what !== '') this.context.count(what);
  }

  private compare(row: Uint8Array, read: RowRead): string {
    const { mapping, forth } = this;
    if (forth) this.context.count('rows');
    const now = read(new Get(row).readAllVersions());
    if (now.isEmpty) return '';
    const other = mapping.rowOf(row, ({ family, qualifier }) => now.getValue(family, qualifier));
    if (other === undefined) return forth ? 'unkeyed' : 'extra';
    const there = read(new Get(other).readAllVersions(), mapping.target.table.descriptor.name);
    if (there.isEmpty) return forth ? 'missing' : 'extra';
    return !forth || areSame(mapping.cellsOf(row, other, now.cells), there.cells) ? '' : 'different';
  }
}

function areSame(a: readonly Cell[], b: readonly Cell[]): boolean {
  if (a.length !== b.length) return false;
  const inOrder = [...a].sort(compareCells);
  return inOrder.every((cell, i) => compareCells(cell, b[i]!) === 0 && equalBytes(cell.value, b[i]!.value));
}

function compareCells(a: Cell, b: Cell): number {
  if (a.family !== b.family) return Buffer.compare(Buffer.from(a.family), Buffer.from(b.family));
  return compareBytes(a.qualifier, b.qualifier) || b.timestamp - a.timestamp;
}

/** Removes every row of one of the layouts; nothing follows that. */
export function removeLayout(
  target: RekeyTarget,
  schema: EntitySchema,
  run: JobRunOptions = {},
): Promise<JobOutcome> {
  const { engine, mirror } = target;
  const table = tableOf(target, schema);
  const removing = pass(
    schema,
    () => new Scan().setCacheBlocks(false),
    (context) => ({
      async rows(rows) {
        const own = rows.filter(({ row }) => schema.key.matches(row));
        const outcomes = await table.commit(() =>
          own.map(({ row }) => [mirror.mark({ table: table.name, change: new Delete(row) })]),
        );
        for (const outcome of outcomes) if (!outcome.ok) throw outcome.error;
        context.count('removed', own.length);
      },
    }),
  );
  const name = jobName(target, `remove-${schema.name}`);
  return runJob(engine, { name, signature: schema.key.signature, phases: [removing] }, run);
}

/** What stands in rows of a layout. */
export async function rowsOf(engine: Engine, schema: EntitySchema): Promise<'rows' | 'deletes' | 'nothing'> {
  const table = engine.table(schema.table.descriptor.name);
  const holds = async (scan: Scan): Promise<boolean> => {
    for await (const { row } of table.scan(scan)) if (schema.key.matches(row)) return true;
    return false;
  };
  if (await holds(new Scan().setCacheBlocks(false))) return 'rows';
  return (await holds(everyCell())) ? 'deletes' : 'nothing';
}

/** Removes the deletes of a layout without rows: they would hide what is copied with its times. */
export async function dropDeletes(engine: Engine, schema: EntitySchema): Promise<void> {
  const { name } = schema.table.descriptor;
  if ((await rowsOf(engine, schema)) === 'nothing') return;
  await engine.admin.flush(name);
  await engine.admin.majorCompact(name);
}
