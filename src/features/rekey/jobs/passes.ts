/** The common parts of the jobs of a key change. */

import { OverlappedWork } from '../../../job/entity-rows.js';
import { JobStore, jobTableDescriptor } from '../../../job/job-store.js';
import { runJob } from '../../../job/runner.js';
import { toolJobName } from '../../../job/table-pass.js';
import type { JobOutcome, JobPhase, JobRunOptions, SplitContext, SplitWork } from '../../../job/types.js';
import type { EntitySchema } from '../../../schema/types.js';
import { type Cell, columnName, type Engine, filters, Scan, type StepTable } from '../../../table/index.js';
import type { DualWrites } from './dual-writes.js';

/** The two layouts that a job is about. */
export interface RekeyTarget {
  readonly engine: Engine;
  readonly from: EntitySchema;
  readonly to: EntitySchema;
  readonly dualWrites: DualWrites;
  /** The number of times the change was begun. */
  readonly run: number;
  /** The tables, as the record has them: undefined where an earlier release began the change. */
  readonly tables: readonly string[] | undefined;
}

export function tableOf({ engine }: RekeyTarget, schema: EntitySchema): StepTable {
  return engine.table(schema.table.descriptor.name) as StepTable;
}

export function pass(
  schema: EntitySchema,
  scan: () => Scan,
  open: (context: SplitContext) => SplitWork,
): JobPhase {
  return { table: schema.table.descriptor.name, ranges: [], scan, open };
}

/**
 * Runs a job in short steps, one at a time: other reads and writes wait for at most one of them, and a write in the
 * WAL for several.
 */
export function inShortSteps(run: JobRunOptions): JobRunOptions {
  return { batchRows: 25, batchBytes: 128 << 10, parallel: 1, ...run };
}

/** What a job of a key change does. */
export type RekeyWork = 'copy' | 'catch-up' | 'verify' | 'lost' | 'remove-old' | 'remove-new';

const WORKS: readonly RekeyWork[] = ['copy', 'catch-up', 'verify', 'lost', 'remove-old', 'remove-new'];

function jobName({ from, to, run, tables = [] }: Omit<RekeyTarget, 'dualWrites'>, work: RekeyWork): string {
  return toolJobName(`rekey-${work}`, from.name, to.name, String(run), ...tables);
}

/** Runs passes as a job. Resumes an unfinished one. */
export function runPasses(
  target: RekeyTarget,
  work: RekeyWork,
  signature: string,
  phases: readonly JobPhase[],
  options: JobRunOptions,
): Promise<JobOutcome> {
  return runJob(target.engine, { name: jobName(target, work), signature, phases }, options);
}

/** Deletes the states of an attempt's jobs, which no process may work at any more. */
export async function forgetJobs(target: Omit<RekeyTarget, 'dualWrites'>): Promise<void> {
  const { engine } = target;
  if (target.run < 1 || !(await engine.admin.tableExists(jobTableDescriptor().name))) return;
  for (const work of WORKS) await JobStore.on(engine, jobName(target, work)).delete();
}

/**
 * Steps in flight. A step ends when the writes before it are durable; with so many in flight the next ones need not
 * wait for that. With 128 no more rows are copied beside synced writes, and their 99th percentile grows by two
 * thirds.
 */
const STEPS_AT_ONCE = 16;

/** A pass over the rows of a split, one batch per step. */
export abstract class PassWork extends OverlappedWork {
  constructor() {
    super(STEPS_AT_ONCE);
  }
}

/** A scan that reads keys only. */
export const rowsAlone = (): Scan =>
  new Scan().setCacheBlocks(false).setFilter(filters.all(filters.firstKeyOnly(), filters.keyOnly()));

/** A scan of every stored cell, with deletes and the cells they hide. */
export const everyCell = (): Scan => new Scan().setRaw(true).readAllVersions().setCacheBlocks(false);

/** The cell's column and time, by which a cell of one layout finds that of the other. */
export function placeOf({ family, qualifier, timestamp }: Cell): string {
  return `${columnName(family, qualifier)}@${timestamp}`;
}
