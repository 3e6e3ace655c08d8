import { copyOf } from '../../../job/row-cells.js';
import type { JobOutcome, JobRunOptions, SplitContext } from '../../../job/types.js';
import type { EntitySchema } from '../../../schema/types.js';
import {
  type AtomicStep,
  Delete,
  type Engine,
  LATEST_TIMESTAMP,
  Put,
  Result,
  Scan,
  type TableChange,
} from '../../../table/index.js';
import { FENCE_FAMILY } from '../../../table/write-fence.js';
import {
  everyCell,
  inShortSteps,
  nothing,
  PassWork,
  pass,
  type RekeyTarget,
  runPasses,
  type StepTable,
  tableOf,
} from './passes.js';
import { copyRows } from './row-copies.js';
import type { RowEffects } from './row-mapping.js';

/**
 * Copies cells between layouts on engines whose atomic step is one row. A pass copies the cells, deletes included, of
 * a span of time. Later writes are copied by the next pass, until the old table refuses writes.
 */

/** Options of a copying pass. */
export interface CopyOptions {
  /** Whether these cells of a row have all been copied already. */
  readonly isCopied?: (row: Result) => boolean;
  /** Called after each batch with the rows that were copied and those that were skipped. */
  readonly whenCopied?: (copied: readonly Result[], left: readonly Result[]) => void | Promise<void>;
}

/**
 * Copies every cell of the old layout with a timestamp from `since` on. Resumes an unfinished pass of the same name.
 * Counter: `copied`.
 */
export async function copyCells(
  target: RekeyTarget,
  name: string,
  since: number,
  run: JobRunOptions = {},
  { isCopied = () => false, whenCopied }: CopyOptions = {},
): Promise<JobOutcome> {
  const { from, to } = target;
  const traced = await tracedFamilies(target);
  const scan = (): Scan => {
    const all = everyCell();
    for (const family of traced) all.addFamily(family);
    return since > 0 ? all.setTimeRange(since, LATEST_TIMESTAMP) : all;
  };
  const copying = pass(from, scan, (context) => ({
    async rows(rows) {
      const left: Result[] = [];
      const copied: Result[] = [];
      for (const row of rows)
        if (target.mirror.forth.matches(row.row)) (isCopied(row) ? left : copied).push(row);
      await writeCopies(target, copied, context.signal);
      await whenCopied?.(copied, left);
      context.count('copied', copied.length);
    },
  }));
  const signature = `${from.key.signature} > ${to.key.signature} ${since}`;
  return runPasses(target, name, signature, [copying], run);
}

/** The families by which scans find changed rows. Empty: all of them, as a scan finds them without being told. */
async function tracedFamilies({ engine, from }: RekeyTarget): Promise<readonly string[]> {
  if (engine.capabilities.deleteMarkers) return [];
  const { families } = await engine.admin.getDescriptor(from.table.descriptor.name);
  return families.map(({ name }) => name).filter((name) => name !== FENCE_FAMILY);
}

/** The rows of the old layout, deletes included, under keys of the new one. */
export async function writeCopies(
  target: RekeyTarget,
  rows: readonly Result[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const { engine, to, mirror } = target;
  const { forth, own } = mirror;
  if (!engine.capabilities.deleteMarkers) {
    await copyRows(
      target,
      rows.map(({ row }) => row),
      signal,
    );
    return;
  }
  const into = engine.table(to.table.descriptor.name);
  const puts: Put[] = [];
  const others: Exclude<TableChange['change'], Put>[] = [];
  for (const { row, cells } of rows) {
    if (cells.length === 0) continue;
    const there = forth.rowOf(row, nothing)!;
    const change = copyOf(there, forth.cellsOf(row, there, cells));
    if (change === undefined) continue;
    own.add(change);
    if (change instanceof Put) puts.push(change);
    else others.push(change);
  }
  if (puts.length > 0) await into.putAll(puts);
  if (others.length > 0) for (const outcome of await into.batch(others)) if (!outcome.ok) throw outcome.error;
  const stored = rows.filter(({ cells }) => cells.length > 0);
  const copies = stored.map(({ row }) => forth.rowOf(row, nothing)!);
  for (const follower of mirror.followersOf(to)) await follower.settle(copies, signal);
}

/** Every cell of one row, deletes and traces of them included. Empty when none is left. */
export async function rawRow(target: RekeyTarget, row: Uint8Array): Promise<Result> {
  const table = target.engine.table(target.from.table.descriptor.name);
  const scan = everyCell().withStartRow(row).withStopRow(row, true);
  for (const family of await tracedFamilies(target)) scan.addFamily(family);
  const scanner = table.scan(scan);
  try {
    return (await scanner.next()) ?? new Result(row, []);
  } finally {
    await scanner.close();
  }
}

/** Operations on all rows of a layout. */

/** Removes every row of a layout with its index entries and from its summaries, without mirroring that. */
export function removeLayout(
  target: RekeyTarget,
  schema: EntitySchema,
  run: JobRunOptions = {},
): Promise<JobOutcome> {
  const removing = pass(
    schema,
    () => new Scan().setCacheBlocks(false),
    (context) => new RemoveWork(target, schema, context),
  );
  return runPasses(target, `remove-${schema.name}`, schema.key.signature, [removing], inShortSteps(run));
}

class RemoveWork extends PassWork {
  private readonly table: StepTable;
  private readonly effects: RowEffects | undefined;

  constructor(
    private readonly target: RekeyTarget,
    private readonly schema: EntitySchema,
    private readonly context: SplitContext,
  ) {
    super();
    this.table = tableOf(target, schema);
    this.effects = target.mirror.effectsOf(schema);
  }

  protected async batch(rows: readonly Result[]): Promise<void> {
    const own = rows.filter(({ row }) => this.schema.key.matches(row));
    await this.table.atomic((step) =>
      this.target.mirror.quietly(() => {
        for (const { row } of own) this.remove(row, step);
      }),
    );
    this.context.count('removed', own.length);
  }

  /** Without waiting: the checkpoint follows it in the WAL, and is durable later. */
  private remove(row: Uint8Array, step: AtomicStep): void {
    const { effects, table } = this;
    const before = effects?.imageOf(row, step.read);
    const change = new Delete(row).setDurability('ASYNC_WAL');
    step.apply({ table: table.name, change, unrecorded: true });
    if (before === undefined) return;
    for (const change of effects!.removed(row, before, 'ASYNC_WAL', step.read)) step.apply(change);
  }
}

/** Whether a layout has rows. */
export async function rowsOf(engine: Engine, schema: EntitySchema): Promise<'rows' | 'deletes' | 'nothing'> {
  const table = engine.table(schema.table.descriptor.name);
  const holds = async (scan: Scan): Promise<boolean> => {
    for await (const { row } of table.scan(scan)) if (schema.key.matches(row)) return true;
    return false;
  };
  if (await holds(new Scan().setCacheBlocks(false))) return 'rows';
  return (await holds(everyCell())) ? 'deletes' : 'nothing';
}

/** Removes the deletes of a layout without rows: they would hide copies with earlier timestamps. */
export async function dropDeletes(engine: Engine, schema: EntitySchema): Promise<void> {
  const { name } = schema.table.descriptor;
  if ((await rowsOf(engine, schema)) === 'nothing') return;
  await engine.admin.flush(name);
  await engine.admin.majorCompact(name);
}
