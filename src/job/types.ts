/** The public types of jobs. */

import type { JsonValue } from '../codec/index.js';
import type { DerivedPuts, PackedDerivedPuts, RawRow, Result, Scan, Table } from '../table/index.js';

/** Rows [start, stop) of a table; an empty bound is open. */
export interface RowRange {
  readonly start: Uint8Array;
  readonly stop: Uint8Array;
}

/** Named counters, of a split or of a job. */
export type Counters = Readonly<Record<string, number>>;

/** The progress of a job. */
export interface JobProgress {
  readonly job: string;
  /** 0 is the pass over the source, 1 the reduce. */
  readonly phase: number;
  readonly phases: number;
  readonly splits: number;
  readonly splitsDone: number;
  /** Rows processed in this phase by all workers, as far as this one knows. */
  readonly rows: number;
  readonly bytes: number;
  /** Rows per second of this process, over the last seconds. */
  readonly rowsPerSecond: number;
  /** Progress of this phase, 0..1, by position in the key space; exact only if rows are spread evenly over the keys. */
  readonly fraction: number;
  /** Estimated milliseconds to the end of this phase; undefined while there is no estimate. */
  readonly remainingMs: number | undefined;
  readonly counters: Counters;
}

export interface JobRunOptions {
  /** How many splits this process works on at a time. Default 4. */
  readonly parallel?: number;
  /**
   * The threads that read for the work of this process. Default 1: the calling one, as always on HBase and Bigtable, and for work that
   * needs more than the newest version of each column.
   */
  readonly threads?: number;
  /** The largest number of rows in a batch. Default 1,000. */
  readonly batchRows?: number;
  /** The approximate largest size of a batch in bytes. Default 4 MiB. */
  readonly batchBytes?: number;
  /** A split is checkpointed at least every so many rows. Default 20,000. */
  readonly checkpointRows?: number;
  /** A split is checkpointed at least every so many milliseconds. Default 2,000. */
  readonly checkpointMs?: number;
  /** Milliseconds without a heartbeat after which the owner of a split counts as dead. Default 30,000. */
  readonly leaseMs?: number;
  /** Rate limit of this process, in rows per second. Default: none. */
  readonly rowsPerSecond?: number;
  /** Rate limit of this process, in bytes of cells per second. Default: none. */
  readonly bytesPerSecond?: number;
  /** A region larger than this, in bytes, is divided into several splits. Default 256 MiB. */
  readonly splitBytes?: number;
  /** Processes first the splits whose number modulo `count` is `index`, then others without an owner. */
  readonly shard?: { readonly index: number; readonly count: number };
  /**
   * Whether to discard earlier progress under this name; `'done'`: only if that run was complete. Default false: an
   * unfinished job is resumed, and a finished one is not repeated.
   */
  readonly restart?: boolean | 'done';
  readonly signal?: AbortSignal;
  /** Called at most four times per second, and at the end. */
  readonly onProgress?: (progress: JobProgress) => void;
}

/** The result of a job. */
export interface JobOutcome {
  readonly job: string;
  readonly rows: number;
  readonly bytes: number;
  readonly splits: number;
  readonly counters: Counters;
  /** Whether part of the work had been done before this call. */
  readonly resumed: boolean;
}

/** The context passed to the code of a split. */
export interface SplitContext {
  readonly job: string;
  readonly phase: number;
  readonly split: number;
  readonly range: RowRange;
  /** How often the job was started from the beginning, from 0. */
  readonly run: number;
  /** The number of this attempt at the split, from 1. */
  readonly attempt: number;
  /** The result of `commit` at the last checkpoint; undefined before the first. */
  readonly resumed: JsonValue | undefined;
  readonly signal: AbortSignal;
  /** The data that each split of an earlier phase stored with its last checkpoint, by split number. */
  workOf(phase: number): Promise<ReadonlyMap<number, JsonValue>>;
  /** Adds to a counter of the job. Additions count once the next checkpoint is reached. */
  count(name: string, by?: number): void;
}

/** The work on one split. Its methods are called one at a time. */
export interface SplitWork {
  /** Processes rows. It must be idempotent: rows after the last commit may be processed again. */
  rows(rows: readonly Result[]): void | Promise<void>;
  /** The same for raw rows; used instead if the table can reuse one row. */
  readonly raw?: RawRowWork | undefined;
  /** The same for puts that threads make of rows; used instead if threads read. */
  readonly derived?: DerivedPutsWork | undefined;
  /** The last row up to which all work is done, asked after `commit`. If omitted: the last row passed in. */
  doneUpTo?(): Uint8Array | undefined;
  /** Makes the work so far durable. Its result is stored with the checkpoint. */
  commit?(): JsonValue | undefined | Promise<JsonValue | undefined>;
  /** Called after the last row, before the last commit. */
  finish?(): void | Promise<void>;
  /** Called at the end of the attempt, whether it succeeded or failed. */
  close?(): void | Promise<void>;
}

/** Work on raw rows, which are valid only until the next row is read. */
export interface RawRowWork {
  /** Processes a row. The row is reused once this returns, or its promise resolves. */
  row(row: RawRow): void | Promise<void>;
  /** Called after the last row of each batch. */
  flush(): void | Promise<void>;
}

/** Work on puts that threads make of rows. */
export interface DerivedPutsWork {
  readonly puts: Omit<DerivedPuts, 'maxRows'>;
  /** Processes the puts of some rows. */
  take(packet: PackedDerivedPuts): void | Promise<void>;
}

/** Anything a pass can read: a table, or files that present themselves as one. */
export type JobReadable = Pick<Table, 'name' | 'scan'>;

/** How many source rows and bytes a row represents. */
export interface RowWeight {
  readonly rows: number;
  readonly bytes: number;
}

/** One pass over ranges of a table. */
export interface JobPhase {
  /**
   * The source of rows: a table of the engine by name, or by run number if each run has its own table; or any object
   * that returns rows in order, whose `ranges` are the splits.
   */
  readonly table: string | ((run: number) => string) | JobReadable;
  /** The reader of the rows, if not the table itself. The splits remain those of the table. */
  readonly reader?: JobReadable;
  /** The number of rows and bytes that a combined row represents; default: one row and its own bytes. */
  readonly weigh?: (row: Result) => RowWeight;
  /** The ranges to read. Empty: the whole table. */
  readonly ranges: readonly RowRange[];
  /** Whether each range is exactly one split, whatever its regions. */
  readonly oneSplitEach?: boolean;
  /** Creates the scan. Start, stop and caching are set by the runner. */
  scan(): Scan;
  /** Called before the splits of the phase are planned. Several workers may call it at the same time. */
  prepare?(run: number): Promise<void>;
  open(context: SplitContext): SplitWork | Promise<SplitWork>;
}

/** The complete definition of a job. */
export interface JobDefinition {
  readonly name: string;
  /** Identifies the work: an unfinished job is resumed only if its signature is the same. */
  readonly signature: string;
  readonly phases: readonly JobPhase[];
  /** Whether the work writes nothing to tables, and may be done anew. Who may not write to `rowan_jobs` then runs it without a record of its progress. */
  readonly readsOnly?: boolean;
  /** Whether each run begins anew, and several at once do no harm. Who may not write to `rowan_jobs` then runs it without a record, too. */
  readonly isRepeatable?: boolean;
  /**
   * Whether an unfinished run of other work under this name is discarded, unless `restart` is false: the work follows from declarations,
   * which have changed since, and does no harm if it is done again.
   */
  readonly isDeclared?: boolean;
  /** Called after the last phase; `workOf` as in {@link SplitContext}. Several workers may call it at the same time. */
  finish?(run: number, workOf: SplitContext['workOf']): Promise<void>;
}
