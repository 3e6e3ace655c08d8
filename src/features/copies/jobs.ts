import { type RemoteRows, runEntityRows } from '../../job/entity-rows.js';
import type { JobRunOptions } from '../../job/types.js';
import type { StepDriver } from '../../repository/index.js';
import type { EntitySchema } from '../../schema/types.js';
import type { AtomicStep, Engine } from '../../table/index.js';
import type { CopyPlan } from './plan.js';

/** The entity whose copies are checked. */
export interface CopyTarget {
  readonly engine: Engine;
  readonly schema: EntitySchema;
  readonly plans: readonly CopyPlan[];
  /** The driver that corrects rows in a step. Undefined where the engine has no steps. */
  readonly driver?: StepDriver;
  readonly remote?: RemoteRows;
}

/** The result of a check or repair. A row counts once for each declaration of copies. */
export interface CopyReport {
  /** Rows that were read. */
  readonly rows: number;
  /** Copies equal to their sources. */
  readonly valid: number;
  /** Copies that differ from their sources. */
  readonly stale: number;
  /** Rows without copies whose sources have values. */
  readonly missing: number;
  /** Copies without a source. */
  readonly extra: number;
  /** Copies that were corrected. */
  readonly repaired: number;
}

/**
 * Jobs that compare the copies of every row with their sources, and correct them, while the application keeps
 * writing.
 */
export async function checkCopies(
  { engine, schema, plans, driver, remote }: CopyTarget,
  repair: boolean,
  run?: JobRunOptions,
): Promise<CopyReport> {
  const counters = await runEntityRows(
    {
      engine,
      schema,
      name: repair ? 'copies-repair' : 'copies-check',
      signature: plans.map(({ name, columns }) => `${name}: ${columns.map((c) => c.property)}`).join('; '),
      repairs: repair,
      ...(remote && { remote }),
      work: (row, step, count) => {
        for (const plan of plans) {
          if (plan.hasEnded(row)) continue;
          const { fault, change } = plan.repair(row, step);
          count(fault ?? 'valid');
          if (fault !== undefined && repair && driver !== undefined)
            count('repaired', driver.applyChanges([change], step as AtomicStep));
        }
      },
    },
    run,
  );
  const count = (what: keyof CopyReport): number => counters[what] ?? 0;
  return {
    rows: count('rows'),
    valid: count('valid'),
    stale: count('stale'),
    missing: count('missing'),
    extra: count('extra'),
    repaired: count('repaired'),
  };
}
