/** Removes the rows of an entity that is used no more, while the application goes on with others of the table. */

import { ConflictError } from '../../errors.js';
import type { EntitySchema } from '../../schema/types.js';
import { Delete, type Engine, type Result, Scan } from '../../table/index.js';
import { toolJobName } from '../tools/selection.js';
import type { JobOutcome, JobPhase, JobRunOptions, SplitContext } from '../types.js';
import { runUntilNoneLeft } from './until-none-left.js';

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
