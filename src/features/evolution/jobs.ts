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
  Scan,
  type SyncTable,
  type Table,
} from '../../table/index.js';
import { EntityMoves, EntityUpgrades } from './entity-moves.js';
import { moveOf, unsettled, upgradeChecked, upgradeOf } from './migrate-row.js';
import { countTransfer, hasOldCells, moveMutations, readMoved } from './table-moves.js';

/** The job of a migration: it changes rows, looks again, and counts those that are `left`. */

/** Runs it, or goes on with its unfinished run; anew when rows are left then. */
export async function runUntilNoneLeft(
  engine: Engine,
  definition: JobDefinition,
  run: JobRunOptions,
): Promise<{ readonly outcome: JobOutcome; readonly left: number }> {
  let outcome = await runTogether(engine, definition, { restart: 'done', ...run });
  // An unfinished run that is gone on with does not see what was written behind it meanwhile.
  if (leftOf(outcome) > 0) outcome = await runTogether(engine, definition, { ...run, restart: true });
  return { outcome, left: leftOf(outcome) };
}

/** Another program may begin the job anew at any time: this one takes part in that run then. */
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

/** Moves the values of an entity's columns from where they stood before, while the application goes on writing. */

/** Times that a row is read and tried again when others write it. */
const ATTEMPTS = 16;

/**
 * Puts every old cell, each version, to its column at its own time, and deletes it where it stood; then looks again.
 * Counters: `moved` rows, and `left`, rows that have old cells nevertheless. An unfinished run is gone on with.
 * @throws ConflictError when rows are left: somebody writes them to the former place still.
 */
export async function moveColumns(
  engine: Engine,
  schema: EntitySchema,
  run: JobRunOptions = {},
): Promise<JobOutcome> {
  const { name } = schema.table.descriptor;
  const table = engine.table(name);
  const entity = new EntityMoves(schema);
  const move = moverOf(table, entity);
  // Without steps a counter stays where it stood, as zero.
  const zeros = 'atomic' in table;
  const phase = (
    work: (rows: readonly Result[], context: SplitContext) => void | Promise<void>,
  ): JobPhase => ({
    table: name,
    ranges: [],
    scan: () => readMoved(new Scan().setCacheBlocks(false), [entity]),
    open: (context) => ({
      rows: (rows) =>
        work(
          rows.filter((row) => entity.matches(row.row) && hasOldCells(entity, row, zeros)),
          context,
        ),
    }),
  });
  const moving = phase(async (rows, context) => {
    if (rows.length > 0) context.count('moved', await move(rows));
  });
  const looking = phase((rows, context) => context.count('left', rows.length));
  const places = entity.moves.flatMap(({ column, origins }) =>
    [column, ...origins].map(({ family, qualifier, codec }) => [
      family,
      Buffer.from(qualifier).toString('hex'),
      codec.name,
    ]),
  );
  const definition = {
    name: toolJobName('move-columns', name, schema.name),
    signature: JSON.stringify(places),
    phases: [moving, looking],
  };
  const { outcome, left } = await runUntilNoneLeft(engine, definition, run);
  if (left > 0) {
    throw new ConflictError(
      `${left} rows of ${schema.name} have values at a former place again: somebody writes them there. End the programs with ` +
        'the old declarations, then move again.',
      { details: { entity: schema.name, table: name, left } },
    );
  }
  return outcome;
}

type StepTable = SyncTable & Required<Pick<SyncTable, 'commit'>>;
/** Answers how many of the rows had old cells. */
type Mover = (rows: readonly Result[]) => Promise<number>;

/** What moves rows that were read by {@link readMoved}. */
export function moverOf(table: Table, entity: EntityMoves): Mover {
  return 'atomic' in table ? moveInStep(table as StepTable, entity) : moveChecked(table, entity);
}

/** What is read and what is written are one step. */
function moveInStep(table: StepTable, entity: EntityMoves): Mover {
  return async (rows) => {
    const outcomes = await table.commit((read) =>
      rows.flatMap(({ row }) => {
        const change = moveOf(entity, row, read, table.name);
        return change === undefined ? [] : [[change]];
      }),
    );
    for (const outcome of outcomes) if (!outcome.ok) throw outcome.error;
    return outcomes.length;
  };
}

/** Each row under a check that the first of its old cells is still what was read; counters without one. */
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
    // Who writes it so often moves it with each write.
    return 0;
  };
  return async (rows) => (await Promise.all(rows.map(one))).reduce((sum, moved) => sum + moved, 0);
}

/** Writes the rows of an entity as its present version, while the application goes on writing. */

type Work = (rows: readonly Result[], context: SplitContext) => void | Promise<void>;

/**
 * Upgrades every row of an older version, at the times of its cells; then looks at every marker again. Counters: `upgraded`
 * rows, and `left`, rows of an older version nevertheless. An unfinished run is gone on with.
 * @throws ConflictError when rows are left: somebody writes them as an older version still; RowanError `ERR_CODEC` on a row
 * that cannot be upgraded.
 */
export async function upgradeRows(
  engine: Engine,
  schema: EntitySchema,
  run: JobRunOptions = {},
): Promise<JobOutcome> {
  const { name } = schema.table.descriptor;
  const table = engine.table(name);
  const upgrades = new EntityUpgrades(schema);
  const upgrade = upgraderOf(table, upgrades);
  const phase = (work: Work): JobPhase => ({
    table: name,
    ranges: [],
    scan: () => upgrades.readStored(new Scan().setCacheBlocks(false)),
    open: (context) => ({
      rows: (rows) =>
        work(
          rows.filter((row) => upgrades.matches(row.row) && upgrades.isOld(row)),
          context,
        ),
    }),
  });
  const upgrading = phase(async (rows, context) => {
    if (rows.length > 0) context.count('upgraded', await upgrade(rows.map(({ row }) => row)));
  });
  const looking = phase((rows, context) => context.count('left', rows.length));
  const definition = {
    name: toolJobName('upgrade-rows', name, schema.name),
    signature: JSON.stringify([schema.version, schema.upgrades.map(({ from, sets }) => [from, sets])]),
    phases: [upgrading, looking],
  };
  const { outcome, left } = await runUntilNoneLeft(engine, definition, run);
  if (left > 0) {
    throw new ConflictError(
      `${left} rows of ${schema.name} are of an older version again: somebody writes them so. End the programs with the old ` +
        'declarations, then upgrade again.',
      { details: { entity: schema.name, table: name, left } },
    );
  }
  return outcome;
}
/** Answers how many of the rows were of an older version. */
type Upgrader = (rows: readonly Uint8Array[]) => Promise<number>;

export function upgraderOf(table: Table, upgrades: EntityUpgrades): Upgrader {
  return 'atomic' in table ? upgradeInStep(table as StepTable, upgrades) : upgradeEach(table, upgrades);
}

/** What is read and what is written are one step. */
function upgradeInStep(table: StepTable, upgrades: EntityUpgrades): Upgrader {
  return async (rows) => {
    const outcomes = await table.commit((read) =>
      rows.flatMap((row) => {
        const change = upgradeOf(upgrades, row, read, table.name);
        return change === undefined ? [] : [[change]];
      }),
    );
    for (const outcome of outcomes) if (!outcome.ok) throw outcome.error;
    return outcomes.length;
  };
}

function upgradeEach(table: Table, upgrades: EntityUpgrades): Upgrader {
  return async (rows) => {
    const done = await Promise.all(rows.map((row) => upgradeChecked(table, upgrades, row)));
    return done.filter((upgraded) => upgraded).length;
  };
}

/** Rows as they are declared before cells come into them that no move of their table sees: those of files. */

/** Upgrades rows, or moves their columns, where they are of before. */
export type ColumnMigrator = (rows: readonly Uint8Array[]) => Promise<void>;

/**
 * Undefined when no column of the entity has moved and none of its rows can be of an older version.
 * @throws UnsupportedError when columns of it move and its rows end.
 */
export function columnMigratorOf(engine: Engine, schema: EntitySchema): ColumnMigrator | undefined {
  const table = engine.table(schema.table.descriptor.name);
  if (schema.upgrades.length > 0) {
    const upgrade = upgraderOf(table, new EntityUpgrades(schema));
    return async (rows) => void (await upgrade(rows));
  }
  if (schema.columns.every(({ was }) => was.length === 0)) return undefined;
  const entity = new EntityMoves(schema);
  if (entity.ends) throw unsettled(table.name);
  const move = moverOf(table, entity);
  return async (rows) => {
    const found = await table.getAll(rows.map((row) => readMoved(new Get(row), [entity])));
    await move(found.filter(({ isEmpty }) => !isEmpty));
  };
}

/** Removes what stands in a column that an entity does not declare any more, while the application goes on with the others. */

/**
 * Deletes the column's cells, every version, of each row of the entity; of a Map those of all its entries. Then looks at every row
 * again. Counters: `dropped` rows, and `left`, rows that have it nevertheless. An unfinished run is gone on with.
 * @throws ConflictError when rows are left: somebody writes the column still.
 */
export async function dropColumn(
  engine: Engine,
  schema: EntitySchema,
  column: StampedColumn,
  run: JobRunOptions = {},
): Promise<JobOutcome> {
  const { name } = schema.table.descriptor;
  const table = engine.table(name);
  const { family, kind } = column;
  const qualifier = fromHex(column.qualifier);
  const isMap = kind === 'columns';
  const own = new OwnCells(schema);
  const isDropped = (cell: Cell): boolean =>
    (isMap ? startsWithBytes(cell.qualifier, qualifier) : equalBytes(cell.qualifier, qualifier)) &&
    !own.has(cell.family, cell.qualifier);
  const scan = (): Scan => {
    const all = new Scan().setCacheBlocks(false);
    return isMap ? all.addFamily(family) : all.addColumn(family, qualifier);
  };
  const phase = (
    work: (deletes: readonly Delete[], context: SplitContext) => void | Promise<void>,
  ): JobPhase => ({
    table: name,
    ranges: [],
    scan,
    open: (context) => ({
      rows: (rows) =>
        work(
          rows
            .filter(({ row }) => schema.key.matches(row))
            .map(({ row, cells }) => deleteOfColumns(row, cells.filter(isDropped)))
            .filter(({ cells }) => cells.length > 0),
          context,
        ),
    }),
  });
  const dropping = phase(async (deletes, context) => {
    const outcomes = await table.batch(deletes);
    for (const outcome of outcomes) if (!outcome.ok) throw outcome.error;
    context.count('dropped', deletes.length);
  });
  const looking = phase((deletes, context) => context.count('left', deletes.length));
  const place = placeOf(column);
  const definition = {
    name: toolJobName('drop-column', name, schema.name, place),
    signature: JSON.stringify([kind, place]),
    phases: [dropping, looking],
  };
  const { outcome, left } = await runUntilNoneLeft(engine, definition, run);
  if (left > 0) {
    throw new ConflictError(
      `${left} rows of ${schema.name} have values of ${column.property ?? place} again, which it does not declare any more: somebody writes ` +
        'them. End the programs that declare it still, then apply again.',
      { details: { entity: schema.name, table: name, left } },
    );
  }
  return outcome;
}

/** Each column up to its newest cell, of whatever time that is. */
function deleteOfColumns(row: Uint8Array, cells: readonly Cell[]): Delete {
  const del = new Delete(row);
  for (const { family, qualifier, timestamp } of cells) del.addColumns(family, qualifier, timestamp);
  return del;
}

/** Removes the rows of an entity that is used no more, while the application goes on with others of the table. */

/**
 * Removes every row of the entity, all of its cells; then looks at every row again. Counters: `removed` rows, and `left`, rows that are
 * there nevertheless. An unfinished run is gone on with.
 * @throws ConflictError when rows are left: somebody writes them still.
 */
export async function removeRows(
  engine: Engine,
  schema: EntitySchema,
  run: JobRunOptions = {},
): Promise<JobOutcome> {
  const { name } = schema.table.descriptor;
  const table = engine.table(name);
  const phase = (
    work: (own: readonly Result[], context: SplitContext) => void | Promise<void>,
  ): JobPhase => ({
    table: name,
    ranges: [],
    scan: () => new Scan().setCacheBlocks(false),
    open: (context) => ({
      rows: (rows) =>
        work(
          rows.filter(({ row }) => schema.key.matches(row)),
          context,
        ),
    }),
  });
  const removing = phase(async (own, context) => {
    const outcomes = await table.batch(own.map(deleteOf));
    for (const outcome of outcomes) if (!outcome.ok) throw outcome.error;
    context.count('removed', own.length);
  });
  const looking = phase((own, context) => context.count('left', own.length));
  const definition = {
    name: toolJobName('retire', name, schema.name),
    signature: schema.key.signature,
    phases: [removing, looking],
  };
  const { outcome, left } = await runUntilNoneLeft(engine, definition, run);
  if (left > 0) {
    throw new ConflictError(
      `${left} rows of ${schema.name}, which is retired, are there again: somebody writes them. End the programs that declare it ` +
        'still, then apply again.',
      { details: { entity: schema.name, table: name, left } },
    );
  }
  return outcome;
}

/** Up to its newest cell, of whatever time that is. */
function deleteOf({ row, cells }: Result): Delete {
  return new Delete(
    row,
    cells.reduce((newest, { timestamp }) => Math.max(newest, timestamp), 0),
  );
}
