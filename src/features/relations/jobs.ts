import { type RemoteRows, runEntityRows } from '../../job/entity-rows.js';
import type { JobRunOptions } from '../../job/types.js';
import type { StepDriver } from '../../repository/index.js';
import type { EntitySchema } from '../../schema/types.js';
import type { AtomicStep, Engine } from '../../table/index.js';
import type { ReferencePlan } from './maintain.js';

/** The result of a check. A row counts once for each relation with rules. */
export interface ReferenceReport {
  /** Rows that were read. */
  readonly rows: number;
  /** References to existing rows, and rows without a reference: a soft-deleted row (`@DeletedAt`) has none. */
  readonly valid: number;
  /** References to rows that do not exist. */
  readonly dangling: number;
}

/** The result of a repair. */
export interface ReferenceRepairReport extends ReferenceReport {
  /** References that were corrected by their rules: rows deleted (`cascade`) and properties cleared (`setNull`). */
  readonly repaired: number;
  /**
   * Dangling references that no rule corrects yet, because cells have a timestamp in the future, which a delete does not
   * reach: repair again when that time has come.
   */
  readonly ahead: number;
}

/** The entity whose references are checked. */
export interface ReferenceTargetRows {
  readonly engine: Engine;
  readonly schema: EntitySchema;
  readonly plans: readonly ReferencePlan[];
  /** The driver that corrects rows in a step. Undefined where the engine has no steps. */
  readonly driver?: StepDriver;
  readonly remote?: RemoteRows;
}

/** Jobs that count dangling references, and apply the rules to them. */
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
      repairs: repair,
      ...(remote && { remote }),
      work: (row, step, count) => {
        for (const plan of plans) {
          const isMissing = plan.missing(row, schema, step) !== undefined;
          count(isMissing && plan.link.own.isIn(row, 'live') ? 'dangling' : 'valid');
          if (!isMissing || !repair) continue;
          if (plan.isAhead(row, engine.now())) count('ahead');
          if (driver === undefined) continue;
          const change = plan.orphaned(row, schema, step, () => engine.now());
          if (change !== undefined) count('repaired', driver.applyChanges([change], step as AtomicStep));
        }
      },
    },
    run,
  );
  const { rows = 0, valid = 0, dangling = 0, repaired = 0, ahead = 0 } = counters;
  return { rows, valid, dangling, repaired, ahead };
}
