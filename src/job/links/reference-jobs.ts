/** Counts the rows that name what is not there. */

import type { ReferencePlan } from '../../repository/index.js';
import type { EntitySchema } from '../../schema/types.js';
import type { Engine } from '../../table/index.js';
import { runEntityRows } from '../entity-rows.js';
import type { JobRunOptions } from '../types.js';

/** What a check of references found. Each row counts once for each relation that has rules. */
export interface ReferenceReport {
  /** Rows that were looked at. */
  readonly rows: number;
  /** References to what is there, and rows that name nothing. */
  readonly valid: number;
  /** References to what is not there. */
  readonly dangling: number;
}

export async function checkReferences(
  engine: Engine,
  schema: EntitySchema,
  plans: readonly ReferencePlan[],
  run?: JobRunOptions,
): Promise<ReferenceReport> {
  const counters = await runEntityRows(
    {
      engine,
      schema,
      name: 'references-check',
      signature: plans.map(({ name }) => name).join('; '),
      mends: false,
      work: (row, step, count) => {
        for (const plan of plans) count(plan.missing(row, schema, step) === undefined ? 'valid' : 'dangling');
      },
    },
    run,
  );
  const { rows = 0, valid = 0, dangling = 0 } = counters;
  return { rows, valid, dangling };
}
