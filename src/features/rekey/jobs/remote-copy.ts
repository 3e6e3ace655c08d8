import { copyOf } from '../../../job/row-cells.js';
import type { JobOutcome, JobRunOptions, SplitContext } from '../../../job/types.js';
import type { EntitySchema } from '../../../schema/types.js';
import {
  type AtomicStep,
  Delete,
  type Engine,
  Get,
  LATEST_TIMESTAMP,
  Put,
  Result,
  Scan,
  type TableChange,
} from '../../../table/index.js';
import { areSame, everyVersion, type RowDifferences } from './compare.js';
import {
  everyCell,
  inShortSteps,
  nothing,
  PassWork,
  pass,
  type RekeyTarget,
  rowsAlone,
  runPasses,
  type StepTable,
  tableOf,
} from './passes.js';
import { type RowEntries, RowMapping } from './row-mapping.js';

/**
 * Copies cells from one layout to another on an engine whose one step is a row. What a pass copies are the cells, deletes among
 * them, of a span of time: those that were written meanwhile are for the next one, until the old table takes no writes.
 */

/** Copies every cell of the old layout with a time from `since` on. An unfinished pass of the same name is gone on with. Counter: `copied`. */
export function copyCells(
  target: RekeyTarget,
  name: string,
  since: number,
  run: JobRunOptions = {},
): Promise<JobOutcome> {
  const { from, to } = target;
  const scan = (): Scan => (since > 0 ? everyCell().setTimeRange(since, LATEST_TIMESTAMP) : everyCell());
  const copying = pass(from, scan, (context) => ({
    async rows(rows) {
      const own = rows.filter(({ row }) => target.mirror.forth.matches(row));
      await writeCopies(target, own);
      context.count('copied', own.length);
    },
  }));
  const signature = `${from.key.signature} > ${to.key.signature} ${since}`;
  return runPasses(target, name, signature, [copying], run);
}

/** Rows of the old layout as they stand, deletes among their cells, under the new one. */
export async function writeCopies(
  { engine, to, mirror: { forth, own } }: RekeyTarget,
  rows: readonly Result[],
): Promise<void> {
  const into = engine.table(to.table.descriptor.name);
  const puts: Put[] = [];
  const others: Exclude<TableChange['change'], Put>[] = [];
  for (const { row, cells } of rows) {
    const there = forth.rowOf(row, nothing)!;
    const change = copyOf(there, forth.cellsOf(row, there, cells));
    if (change === undefined) continue;
    own.add(change);
    if (change instanceof Put) puts.push(change);
    else others.push(change);
  }
  if (puts.length > 0) await into.putAll(puts);
  if (others.length === 0) return;
  for (const outcome of await into.batch(others)) if (!outcome.ok) throw outcome.error;
}

/** Every cell of one row, deletes among them; empty when none is left. */
export async function rawRow(target: RekeyTarget, row: Uint8Array): Promise<Result> {
  const table = target.engine.table(target.from.table.descriptor.name);
  const scanner = table.scan(everyCell().withStartRow(row).withStopRow(row, true));
  try {
    return (await scanner.next()) ?? Result.EMPTY;
  } finally {
    await scanner.close();
  }
}

/**
 * Holds the rows of both layouts against each other on an engine whose one step is a row, while nobody writes the old table. What
 * differs is copied once more, since a cell with a time of its own may stand behind the span that the last pass copied.
 */

/** Counts what still differs when it was copied once more. */
export async function compareFrozen(target: RekeyTarget, run: JobRunOptions = {}): Promise<RowDifferences> {
  const { engine, from, to, mirror } = target;
  const { forth } = mirror;
  const back = new RowMapping(to, from);
  const [olds, news] = [from, to].map(({ table }) => engine.table(table.descriptor.name));
  const there = (row: Uint8Array): Uint8Array => forth.rowOf(row, nothing)!;

  /** Of these rows those whose like is missing, or has other cells. */
  const wrong = async (rows: readonly Result[]): Promise<[Result, 'missing' | 'different'][]> => {
    const found = await news!.getAll(rows.map(({ row }) => new Get(there(row)).readAllVersions()));
    return rows.flatMap((row, i): [Result, 'missing' | 'different'][] => {
      const { cells, isEmpty } = found[i]!;
      if (isEmpty) return [[row, 'missing']];
      return areSame(forth.cellsOf(row.row, there(row.row), row.cells), cells) ? [] : [[row, 'different']];
    });
  };
  /** Of these rows of the new layout those that the old one does not have. */
  const stray = async (rows: readonly Result[]): Promise<Result[]> => {
    const gets = rows.map(({ row }) => new Get(back.rowOf(row, nothing)!).setCheckExistenceOnly(true));
    const found = await olds!.getAll(gets);
    return rows.filter((_, i) => found[i]!.row.length === 0);
  };
  const copyAgain = async (rows: readonly Uint8Array[]): Promise<void> => {
    for (const row of rows) await writeCopies(target, [await rawRow(target, row)]);
  };

  const phases = [
    pass(from, everyVersion, (context) => ({
      async rows(rows) {
        const own = rows.filter(({ row }) => forth.matches(row));
        context.count('rows', own.length);
        const suspects = (await wrong(own)).map(([row]) => row);
        if (suspects.length === 0) return;
        await copyAgain(suspects.map(({ row }) => row));
        for (const [, what] of await wrong(suspects)) context.count(what);
      },
    })),
    pass(to, rowsAlone, (context) => ({
      async rows(rows) {
        const suspects = await stray(rows.filter(({ row }) => back.matches(row)));
        if (suspects.length === 0) return;
        await copyAgain(suspects.map(({ row }) => back.rowOf(row, nothing)!));
        const gets = suspects.map(({ row }) => new Get(row).setCheckExistenceOnly(true));
        const left = (await news!.getAll(gets)).filter(({ row }) => row.length > 0);
        if (left.length > 0) context.count('extra', left.length);
      },
    })),
  ];
  const { counters } = await runPasses(target, 'verify', 'verify', phases, { ...run, restart: true });
  const count = (what: string): number => counters[what] ?? 0;
  return {
    rows: count('rows'),
    missing: count('missing'),
    extra: count('extra'),
    different: count('different'),
    unkeyed: 0,
  };
}

/** Rows of one of the layouts as a whole: whether there are any, and their end. */

/** Removes every row of one of the layouts, with its entries in indexes; the other layout does not follow that. */
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
  private readonly entries: RowEntries | undefined;

  constructor(
    private readonly target: RekeyTarget,
    private readonly schema: EntitySchema,
    private readonly context: SplitContext,
  ) {
    super();
    this.table = tableOf(target, schema);
    this.entries = target.mirror.entriesOf(schema);
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

  /** The checkpoint that notes it is durable, and the log has it behind this. */
  private remove(row: Uint8Array, step: AtomicStep): void {
    const { entries, table } = this;
    const before = entries?.imageOf(row, step.read);
    step.apply({ table: table.name, change: new Delete(row).setDurability('ASYNC_WAL') });
    if (before === undefined) return;
    for (const change of entries!.removed(row, before, 'ASYNC_WAL', step.read)) step.apply(change);
  }
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
