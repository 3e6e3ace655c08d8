import { equalBytes, fromHex, startsWithBytes } from '../../bytes/index.js';
import { placeOf, type StampedColumn } from '../../ddl/index.js';
import { ConflictError, RowanError } from '../../errors.js';
import { runJob } from '../../job/runner.js';
import { toolJobName } from '../../job/table-pass.js';
import type { JobDefinition, JobOutcome, JobPhase, JobRunOptions, SplitContext } from '../../job/types.js';
import { OwnCells } from '../../schema/own-cells.js';
import type { EntitySchema } from '../../schema/types.js';
import {
  type Cell,
  CheckAndMutate,
  Delete,
  type Engine,
  Get,
  type Result,
  type RowMutation,
  RowMutations,
  type RowRead,
  Scan,
  type StepTable,
  type Table,
  type TableChange,
} from '../../table/index.js';
import type { RowMigrator } from '../feature.js';
import { EntityMoves, EntityUpgrades } from './entity-moves.js';
import { cannotMigrate, moveOf, upgradeChecked, upgradeOf } from './migrate-row.js';
import { countTransfer, hasOldCells, moveMutations, readMoved } from './table-moves.js';

// — A migration job: it changes rows, checks every row again, and counts the rows that are `left`.

/** Runs a migration, or resumes its unfinished run. If rows are left after a resumed run, runs it once more. */
export async function runUntilNoneLeft(
  engine: Engine,
  definition: JobDefinition,
  run: JobRunOptions,
): Promise<{ readonly outcome: JobOutcome; readonly left: number }> {
  let outcome = await runTogether(engine, definition, { restart: 'done', ...run });
  // A resumed run does not see rows that were written behind it meanwhile.
  if (leftOf(outcome) > 0) outcome = await runTogether(engine, definition, { ...run, restart: true });
  return { outcome, left: leftOf(outcome) };
}

/** Joins the run of another program if one restarts the job at the same time. */
async function runTogether(
  engine: Engine,
  definition: JobDefinition,
  run: JobRunOptions,
): Promise<JobOutcome> {
  for (let options = run; ; options = { ...run, restart: false }) {
    try {
      return await runJob(engine, definition, options);
    } catch (error) {
      if (!(error instanceof RowanError && error.details['restarted'] === true)) throw error;
    }
  }
}

function leftOf({ counters }: JobOutcome): number {
  return counters['left'] ?? 0;
}

/** A change of all rows of an entity that have something, while the application keeps writing. */
interface Sweep<Found> {
  /** The name of the job, without the entity. */
  readonly job: string;
  /** Further parts of the job's name. */
  readonly about?: readonly string[];
  readonly signature: string;
  readonly scan: () => Scan;
  /** The rows to change, as the scan gives them. */
  readonly find: (rows: readonly Result[]) => readonly Found[];
  /** @returns how many were changed. */
  readonly change: (found: readonly Found[]) => Promise<number>;
  /** The counter of changes. */
  readonly counter: string;
  /** The error's message where `left` rows are found again. */
  readonly again: (left: number) => string;
}

/**
 * Changes what is found in the rows, then looks at every row again. Counters: the sweep's, and `left`, rows that still have something.
 * Resumes an unfinished run.
 * @throws ConflictError when rows are left: a program still writes them so.
 */
async function sweepRows<Found>(
  engine: Engine,
  schema: EntitySchema,
  { job, about = [], signature, scan, find, change, counter, again }: Sweep<Found>,
  run: JobRunOptions,
): Promise<JobOutcome> {
  const { name } = schema.table.descriptor;
  const phase = (
    work: (found: readonly Found[], context: SplitContext) => void | Promise<void>,
  ): JobPhase => ({
    table: name,
    ranges: [],
    scan,
    open: (context) => ({ rows: (rows) => work(find(rows), context) }),
  });
  const changing = phase(async (found, context) => {
    if (found.length > 0) context.count(counter, await change(found));
  });
  const looking = phase((found, context) => context.count('left', found.length));
  const definition = {
    name: toolJobName(job, name, schema.name, ...about),
    signature,
    isDeclared: true,
    phases: [changing, looking],
  };
  const { outcome, left } = await runUntilNoneLeft(engine, definition, run);
  if (left === 0) return outcome;
  throw new ConflictError(again(left), { details: { entity: schema.name, table: name, left } });
}

// — Moves the values of an entity's columns from their former places, while the application keeps writing.

/** Attempts to read and change a row that others write at the same time. */
const ATTEMPTS = 16;

/**
 * Writes every old cell, each version, to its column with its own timestamp, deletes it at the former place, and
 * checks again. Counters: `moved` rows, and `left`, rows that still have old cells. Resumes an unfinished run.
 * @throws ConflictError when rows are left: a program still writes to the former place.
 */
export async function moveColumns(
  engine: Engine,
  schema: EntitySchema,
  run: JobRunOptions = {},
): Promise<JobOutcome> {
  const table = engine.table(schema.table.descriptor.name);
  const entity = new EntityMoves(schema);
  // Without atomic steps a counter stays at its former place, as zero.
  const zeros = 'atomic' in table;
  const places = entity.moves.flatMap(({ column, origins }) =>
    [column, ...origins].map(({ family, qualifier, codec }) => [
      family,
      Buffer.from(qualifier).toString('hex'),
      codec.name,
    ]),
  );
  const sweep: Sweep<Result> = {
    job: 'move-columns',
    signature: JSON.stringify(places),
    scan: () => readMoved(new Scan().setCacheBlocks(false), [entity]),
    find: (rows) => rows.filter((row) => entity.matches(row.row) && hasOldCells(entity, row, zeros)),
    change: moverOf(table, entity),
    counter: 'moved',
    again: (left) =>
      `${left} rows of ${schema.name} have values at a former place again: somebody writes them there. End the programs with ` +
      'the old declarations, then move again.',
  };
  return sweepRows(engine, schema, sweep, run);
}

/** Moves old cells of rows. @returns how many rows had any. */
type Mover = (rows: readonly Result[]) => Promise<number>;

/** The mover for rows read by {@link readMoved}. */
function moverOf(table: Table, entity: EntityMoves): Mover {
  return 'atomic' in table
    ? (rows) =>
        changeInStep(table as StepTable, rows, ({ row }, read) => moveOf(entity, row, read, table.name))
    : moveChecked(table, entity);
}

/** Changes rows, read and written in one step. @returns how many had a change. */
async function changeInStep<R>(
  table: StepTable,
  rows: readonly R[],
  changeOf: (row: R, read: RowRead) => TableChange | undefined,
): Promise<number> {
  const outcomes = await table.commit((read) =>
    rows.flatMap((row) => {
      const change = changeOf(row, read);
      return change === undefined ? [] : [[change]];
    }),
  );
  for (const outcome of outcomes) if (!outcome.ok) throw outcome.error;
  return outcomes.length;
}

/** Moves each row on condition that its first old cell is unchanged. Counters need no condition. */
function moveChecked(table: Table, entity: EntityMoves): Mover {
  const one = async (found: Result): Promise<number> => {
    const transfer = countTransfer(entity, found);
    if (transfer !== undefined) await table.increment(transfer);
    let row = found;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const mutations = moveMutations(entity, row);
      if (mutations.length === 0) return transfer === undefined ? 0 : 1;
      const { family, qualifier } = (mutations.at(-1) as Delete).cells[0]!;
      const action: RowMutation | RowMutations = new RowMutations(row.row).add(...mutations);
      const old = row.getValue(family, qualifier)!;
      const check = CheckAndMutate.ifEquals(family, qualifier, old, action);
      if ((await table.checkAndMutate(check)).success) return 1;
      row = await table.get(readMoved(new Get(found.row), [entity]));
    }
    // A writer that is this busy moves the row with each write.
    return 0;
  };
  return async (rows) => (await Promise.all(rows.map(one))).reduce((sum, moved) => sum + moved, 0);
}

// — Rewrites rows of older versions as the present version, while the application keeps writing.

/**
 * Upgrades every row of an older version, at the timestamps of its cells, then checks every marker again. Counters:
 * `upgraded` rows, and `left`, rows still of an older version. Resumes an unfinished run.
 * @throws ConflictError when rows are left: a program still writes an older version; RowanError `ERR_CODEC` on a row
 * that cannot be upgraded.
 */
export async function upgradeRows(
  engine: Engine,
  schema: EntitySchema,
  run: JobRunOptions = {},
): Promise<JobOutcome> {
  const upgrades = new EntityUpgrades(schema);
  const upgrade = upgraderOf(engine.table(schema.table.descriptor.name), upgrades);
  const sweep: Sweep<Result> = {
    job: 'upgrade-rows',
    signature: JSON.stringify([schema.version, schema.upgrades.map(({ from, sets }) => [from, sets])]),
    scan: () => upgrades.readStored(new Scan().setCacheBlocks(false)),
    find: (rows) => rows.filter((row) => upgrades.matches(row.row) && upgrades.isOld(row)),
    change: (rows) => upgrade(rows.map(({ row }) => row)),
    counter: 'upgraded',
    again: (left) =>
      `${left} rows of ${schema.name} are of an older version again: somebody writes them so. End the programs with the old ` +
      'declarations, then upgrade again.',
  };
  return sweepRows(engine, schema, sweep, run);
}

/** Upgrades rows. @returns how many were of an older version. */
type Upgrader = (rows: readonly Uint8Array[]) => Promise<number>;

function upgraderOf(table: Table, upgrades: EntityUpgrades): Upgrader {
  return 'atomic' in table
    ? (rows) =>
        changeInStep(table as StepTable, rows, (row, read) => upgradeOf(upgrades, row, read, table.name))
    : upgradeEach(table, upgrades);
}

function upgradeEach(table: Table, upgrades: EntityUpgrades): Upgrader {
  return async (rows) => {
    const done = await Promise.all(rows.map((row) => upgradeChecked(table, upgrades, row)));
    return done.filter((upgraded) => upgraded).length;
  };
}

/**
 * Migrates the rows of an entity before cells are loaded that bypass the moves of their table: those of bulk-loaded
 * files. Undefined when none of its columns has moved and none of its rows can be of an older version.
 * @throws UnsupportedError when columns move and rows have a TTL.
 */
export function columnMigratorOf(engine: Engine, schema: EntitySchema): RowMigrator | undefined {
  const table = engine.table(schema.table.descriptor.name);
  if (schema.upgrades.length > 0) {
    const upgrade = upgraderOf(table, new EntityUpgrades(schema));
    return async (rows) => void (await upgrade(rows));
  }
  if (schema.columns.every(({ was }) => was.length === 0)) return undefined;
  const entity = new EntityMoves(schema);
  if (entity.ends) throw cannotMigrate(table.name);
  const move = moverOf(table, entity);
  return async (rows) => {
    const found = await table.getAll(rows.map((row) => readMoved(new Get(row), [entity])));
    await move(found.filter(({ isEmpty }) => !isEmpty));
  };
}

// — Removes the cells of a column that is no longer declared, while the application keeps writing others.

/**
 * Deletes all versions of the column's cells in each row of the entity; of a Map, those of all entries. Then checks
 * every row again. Counters: `dropped` rows, and `left`, rows that still have the column. Resumes an unfinished run.
 * @throws ConflictError when rows are left: a program still writes the column.
 */
export async function dropColumn(
  engine: Engine,
  schema: EntitySchema,
  column: StampedColumn,
  run: JobRunOptions = {},
): Promise<JobOutcome> {
  const { family, kind } = column;
  const qualifier = fromHex(column.qualifier);
  const isMap = kind === 'columns';
  const own = new OwnCells(schema);
  const isDropped = (cell: Cell): boolean =>
    (isMap ? startsWithBytes(cell.qualifier, qualifier) : equalBytes(cell.qualifier, qualifier)) &&
    !own.has(cell.family, cell.qualifier);
  const place = placeOf(column);
  const sweep: Sweep<Delete> = {
    job: 'drop-column',
    about: [place],
    signature: JSON.stringify([kind, place]),
    scan: () => {
      const all = new Scan().setCacheBlocks(false);
      return isMap ? all.addFamily(family) : all.addColumn(family, qualifier);
    },
    find: (rows) =>
      rows
        .filter(({ row }) => schema.key.matches(row))
        .map(({ row, cells }) => deleteOfColumns(row, cells.filter(isDropped)))
        .filter(({ cells }) => cells.length > 0),
    change: (deletes) => deleteAll(engine, schema, deletes),
    counter: 'dropped',
    again: (left) =>
      `${left} rows of ${schema.name} have values of ${column.property ?? place} again, which it does not declare any more: somebody writes ` +
      'them. End the programs that declare it still, then apply again.',
  };
  return sweepRows(engine, schema, sweep, run);
}

async function deleteAll(engine: Engine, schema: EntitySchema, deletes: readonly Delete[]): Promise<number> {
  const outcomes = await engine.table(schema.table.descriptor.name).batch(deletes);
  for (const outcome of outcomes) if (!outcome.ok) throw outcome.error;
  return deletes.length;
}

/** Deletes each column up to the timestamp of its newest cell. */
function deleteOfColumns(row: Uint8Array, cells: readonly Cell[]): Delete {
  const del = new Delete(row);
  for (const { family, qualifier, timestamp } of cells) del.addColumns(family, qualifier, timestamp);
  return del;
}

/**
 * Deletes every row of a retired entity, while the application keeps writing other entities of the table; then checks
 * every row again. Counters: `removed` rows, and `left`, rows that still exist. Resumes an unfinished run.
 * @throws ConflictError when rows are left: a program still writes them.
 */
export async function removeRows(
  engine: Engine,
  schema: EntitySchema,
  run: JobRunOptions = {},
): Promise<JobOutcome> {
  const sweep: Sweep<Result> = {
    job: 'retire',
    signature: schema.key.signature,
    scan: () => new Scan().setCacheBlocks(false),
    find: (rows) => rows.filter(({ row }) => schema.key.matches(row)),
    change: (rows) => deleteAll(engine, schema, rows.map(deleteOf)),
    counter: 'removed',
    again: (left) =>
      `${left} rows of ${schema.name}, which is retired, are there again: somebody writes them. End the programs that declare it ` +
      'still, then apply again.',
  };
  return sweepRows(engine, schema, sweep, run);
}

/** Deletes the row up to the timestamp of its newest cell. */
function deleteOf({ row, cells }: Result): Delete {
  return new Delete(
    row,
    cells.reduce((newest, { timestamp }) => Math.max(newest, timestamp), 0),
  );
}
