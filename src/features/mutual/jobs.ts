import { type RemoteRows, runEntityRows } from '../../job/entity-rows.js';
import type { JobRunOptions } from '../../job/types.js';
import type { EntityChange, StepDriver } from '../../repository/index.js';
import type { RowImage } from '../../repository/row-image.js';
import type { AtomicStep, Engine } from '../../table/index.js';
import type { MirrorPlan } from './mirror.js';

/** Jobs that compare both rows of each mutual link, and make them equal. */

/** The result of a check or repair. Each row of a link counts. */
export interface MutualReport {
  /** Rows that were read. */
  readonly rows: number;
  /** Rows whose mirror is equal. */
  readonly valid: number;
  /** Links whose rows differ. */
  readonly stale: number;
  /** Rows without a mirror. */
  readonly missing: number;
  /** Rows that were written. */
  readonly repaired: number;
}

/** The entity whose links are checked. */
export interface MutualRows {
  readonly engine: Engine;
  readonly plan: MirrorPlan;
  /** The driver that corrects rows in a step. Undefined where the engine has no steps. */
  readonly driver?: StepDriver;
  readonly remote?: RemoteRows;
}

/** The fault of a row, and the change that corrects it. A link whose rows differ is reported at its first row. */
export function compareMirror(
  plan: MirrorPlan,
  row: RowImage,
  read: (row: Uint8Array) => RowImage,
): { readonly fault: 'stale' | 'missing'; readonly change: EntityChange } | undefined {
  const at = plan.mirrorOf(row.row);
  const mirror = read(at);
  const isMissing = !plan.has(mirror);
  if (!isMissing && (plan.firstOf(row.row) !== row.row || plan.difference(mirror, row).length === 0))
    return undefined;
  const resolve: EntityChange['resolve'] = (before) =>
    isMissing && plan.has(before) ? [] : plan.difference(before, row);
  return {
    fault: isMissing ? 'missing' : 'stale',
    change: { entity: plan.schema, operation: 'put', row: at, resolve },
  };
}

export async function checkMirrors(
  { engine, plan, driver, remote }: MutualRows,
  repair: boolean,
  run?: JobRunOptions,
): Promise<MutualReport> {
  const counters = await runEntityRows(
    {
      engine,
      schema: plan.schema,
      name: repair ? 'mutual-repair' : 'mutual-check',
      signature: plan.schema.mutual!.join(' '),
      repairs: repair,
      ...(remote && { remote }),
      work: (row, step, count) => {
        if (!plan.has(row)) return;
        const found = compareMirror(plan, row, (at) => plan.read(step, at));
        count(found?.fault ?? 'valid');
        if (found !== undefined && repair && driver !== undefined)
          count('repaired', driver.applyChanges([found.change], step as AtomicStep));
      },
    },
    run,
  );
  const { rows = 0, valid = 0, stale = 0, missing = 0, repaired = 0 } = counters;
  return { rows, valid, stale, missing, repaired };
}
