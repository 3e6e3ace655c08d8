import { type RemoteRows, runEntityRows } from '../../job/entity-rows.js';
import type { JobRunOptions } from '../../job/types.js';
import type { StepDriver } from '../../repository/index.js';
import type { EntitySchema } from '../../schema/types.js';
import type { AtomicStep, Engine } from '../../table/index.js';
import type { ReferencePlan } from './maintain.js';

/** Counts the rows that name what is not there, and does with them what their rules say. */

/** What a check of references found. Each row counts once for each relation that has rules. */
export interface ReferenceReport {
  /** Rows that were looked at. */
  readonly rows: number;
  /** References to what is there, and rows that name nothing. */
  readonly valid: number;
  /** References to what is not there. */
  readonly dangling: number;
}

/** What a repair of references found and did. */
export interface ReferenceRepairReport extends ReferenceReport {
  /** References that were put right, as their rules say: rows deleted (`cascade`) and properties taken away (`setNull`). */
  readonly repaired: number;
}

/** The rules of the relations of an entity. */
export interface ReferenceTargetRows {
  readonly engine: Engine;
  readonly schema: EntitySchema;
  readonly plans: readonly ReferencePlan[];
  /** What mends rows in a step; undefined where there is none. */
  readonly driver?: StepDriver;
  readonly remote?: RemoteRows;
}

export async function checkReferences(
  { engine, schema, plans, driver, remote }: ReferenceTargetRows,
  repair: boolean,
  run?: JobRunOptions,
): Promise<ReferenceRepairReport> {
  const counters = await runEntityRows(
    {
      engine,
      schema,
      name: repair ? 'references-repair' : 'references-check',
      signature: plans.map(({ name }) => name).join('; '),
      mends: repair,
      ...(remote && { remote }),
      work: (row, step, count) => {
        for (const plan of plans) {
          const isDangling = plan.missing(row, schema, step) !== undefined;
          count(isDangling ? 'dangling' : 'valid');
          if (!isDangling || !repair || driver === undefined) continue;
          const change = plan.orphaned(row, schema, step, () => engine.now());
          if (change !== undefined) count('repaired', driver.applyChanges([change], step as AtomicStep));
        }
      },
    },
    run,
  );
  const { rows = 0, valid = 0, dangling = 0, repaired = 0 } = counters;
  return { rows, valid, dangling, repaired };
}
