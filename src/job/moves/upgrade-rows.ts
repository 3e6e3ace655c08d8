/** Writes the rows of an entity as its present version, while the application goes on writing. */

import { ConflictError } from '../../errors.js';
import { EntityUpgrades, upgradeChecked, upgradeOf } from '../../moves/index.js';
import type { EntitySchema } from '../../schema/types.js';
import { type Engine, type Result, Scan, type SyncTable, type Table } from '../../table/index.js';
import { toolJobName } from '../tools/selection.js';
import type { JobOutcome, JobPhase, JobRunOptions, SplitContext } from '../types.js';
import { runUntilNoneLeft } from './until-none-left.js';

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

type StepTable = SyncTable & Required<Pick<SyncTable, 'commit'>>;
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
        return change === undefined ? [] : [[{ table: table.name, change }]];
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
