/** Moves the values of an entity's columns from where they stood before, while the application goes on writing. */

import { ConflictError } from '../../errors.js';
import {
  countTransfer,
  EntityMoves,
  hasOldCells,
  moveMutations,
  readMoved,
  stepMutations,
} from '../../moves/index.js';
import type { EntitySchema } from '../../schema/types.js';
import {
  CheckAndMutate,
  type Delete,
  type Engine,
  Get,
  type Result,
  type RowMutation,
  RowMutations,
  Scan,
  type SyncTable,
  type Table,
} from '../../table/index.js';
import { toolJobName } from '../tools/selection.js';
import type { JobOutcome, JobPhase, JobRunOptions, SplitContext } from '../types.js';
import { runUntilNoneLeft } from './until-none-left.js';

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
        const mutations = stepMutations(entity, read(readMoved(new Get(row), [entity])));
        const change = new RowMutations(row).add(...mutations);
        return mutations.length === 0 ? [] : [[{ table: table.name, change }]];
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
