/** What the passes of a change of keys share. */

import { OverlappedWork } from '../../../job/entity-rows.js';
import { runJob } from '../../../job/runner.js';
import { toolJobName } from '../../../job/table-pass.js';
import type { JobOutcome, JobPhase, JobRunOptions, SplitContext, SplitWork } from '../../../job/types.js';
import type { EntitySchema } from '../../../schema/types.js';
import { type Engine, filters, Scan, type SyncTable } from '../../../table/index.js';
import type { Mirror } from './mirror.js';
import type { ValueOf } from './row-mapping.js';

/** A table of an engine where several rows are written in one step. */
export type StepTable = SyncTable & Required<Pick<SyncTable, 'atomic'>>;

/** What the passes are about. */
export interface RekeyTarget {
  readonly engine: Engine;
  readonly from: EntitySchema;
  readonly to: EntitySchema;
  readonly mirror: Mirror;
  /** Counts the times it was begun. */
  readonly run: number;
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
 * Steps are short, and there is one at a time: whoever reads or writes meanwhile waits for the one that is under way, of which
 * a write in the log has several to wait for.
 */
export function inShortSteps(run: JobRunOptions): JobRunOptions {
  return { batchRows: 25, batchBytes: 128 << 10, parallel: 1, ...run };
}

/** Runs one or several passes as a job. One that was begun and not ended is gone on with. */
export function runPasses(
  { engine, from, to, run }: RekeyTarget,
  what: string,
  signature: string,
  phases: readonly JobPhase[],
  options: JobRunOptions,
): Promise<JobOutcome> {
  const name = toolJobName(`rekey-${what}`, from.name, to.name, String(run));
  return runJob(engine, { name, signature, phases }, options);
}

/**
 * A step is over when the writes before it are on the disk: with so many on their way the next ones need not wait for that. With
 * 128 of them no more rows are copied beside synced writes, whose 99th percentile is then longer by two thirds.
 */
const STEPS_AT_ONCE = 16;

/** What a pass does with the rows of a split, a batch in a step of the table. */
export abstract class PassWork extends OverlappedWork {
  constructor() {
    super(STEPS_AT_ONCE);
  }
}

/** The rows, of which nothing but the keys is read. */
export const rowsAlone = (): Scan =>
  new Scan().setCacheBlocks(false).setFilter(filters.all(filters.firstKeyOnly(), filters.keyOnly()));

/** Every cell of a row as it is stored, deletes and what they hide among them. */
export const everyCell = (): Scan => new Scan().setRaw(true).readAllVersions().setCacheBlocks(false);

/** Of rows whose keys say all. */
export const nothing: ValueOf = () => undefined;
