/** What callers give to jobs and get from them. */

import type { JsonValue } from '../codec/index.js';
import type { RawRow, Result, Scan, Table } from '../table/index.js';

/** Rows [start, stop) of a table; an empty bound is open. */
export interface RowRange {
  readonly start: Uint8Array;
  readonly stop: Uint8Array;
}

/** Named sums: of a split, of a job. */
export type Counters = Readonly<Record<string, number>>;

/** Where a job stands. */
export interface JobProgress {
  readonly job: string;
  /** 0 is the pass over the source, 1 the reduce. */
  readonly phase: number;
  readonly phases: number;
  readonly splits: number;
  readonly splitsDone: number;
  /** Rows worked in this phase, by all workers as far as this one has seen. */
  readonly rows: number;
  readonly bytes: number;
  /** Rows a second of this process, over the last seconds. */
  readonly rowsPerSecond: number;
  /** 0..1 of this phase, by keys; exact only where rows are spread evenly over the keys. */
  readonly fraction: number;
  /** Milliseconds to the end of this phase at the rate so far; undefined while that cannot be told. */
  readonly remainingMs: number | undefined;
  readonly counters: Counters;
}

export interface JobRunOptions {
  /** Splits worked at the same time by this process. Default 4. */
  readonly parallel?: number;
  /** Most rows of a batch. Default 1,000. */
  readonly batchRows?: number;
  /** Bytes that a batch should not exceed by much. Default 4 MiB. */
  readonly batchBytes?: number;
  /** Rows after which a split is checkpointed at the latest. Default 20,000. */
  readonly checkpointRows?: number;
  /** Milliseconds after which a split is checkpointed at the latest. Default 2,000. */
  readonly checkpointMs?: number;
  /** Milliseconds without a sign of life after which a split's owner counts as dead. Default 30,000. */
  readonly leaseMs?: number;
  /** Throttle of this process, in rows a second. Default: none. */
  readonly rowsPerSecond?: number;
  /** Throttle of this process, in bytes of cells a second. Default: none. */
  readonly bytesPerSecond?: number;
  /** A region larger than this is cut into several splits, in bytes. Default 256 MiB. */
  readonly splitBytes?: number;
  /** Work the splits whose number leaves `index` when divided by `count`, then those that nobody works. */
  readonly shard?: { readonly index: number; readonly count: number };
  /**
   * Forgets what was done under this name before; `'done'`: only if all of it was done. Default false: an unfinished job is
   * resumed, and one that is done stays so.
   */
  readonly restart?: boolean | 'done';
  readonly signal?: AbortSignal;
  /** Called at most four times a second, and at the end. */
  readonly onProgress?: (progress: JobProgress) => void;
}

/** How a job ended. */
export interface JobOutcome {
  readonly job: string;
  readonly rows: number;
  readonly bytes: number;
  readonly splits: number;
  readonly counters: Counters;
  /** Whether part of it had been done before this call. */
  readonly resumed: boolean;
}

/** What the code of a split is given. */
export interface SplitContext {
  readonly job: string;
  readonly phase: number;
  readonly split: number;
  readonly range: RowRange;
  /** Counts the times that the job was begun from its beginning, from 0. */
  readonly run: number;
  /** Counts the times that this split was begun, from 1. */
  readonly attempt: number;
  /** What `commit` answered at the last checkpoint; undefined at the beginning. */
  readonly resumed: JsonValue | undefined;
  readonly signal: AbortSignal;
  /** What each split of an earlier phase kept with its last checkpoint, by its number. */
  workOf(phase: number): Promise<ReadonlyMap<number, JsonValue>>;
  /** Adds to a counter of the job; what is added between two checkpoints counts if the second is reached. */
  count(name: string, by?: number): void;
}

/** The work on one split. Calls come one after another, never two at once. */
export interface SplitWork {
  /** Works rows. Effects have to be such that working the rows behind the last commit again changes nothing. */
  rows(rows: readonly Result[]): void | Promise<void>;
  /** The same, called in its place where the table can fill one row again and again. */
  readonly raw?: RawRowWork | undefined;
  /** The last row up to which everything is done; left out: the last that was given. Asked after `commit`. */
  settled?(): Uint8Array | undefined;
  /** Makes what was done so far last; what it answers is kept with the checkpoint. */
  commit?(): JsonValue | undefined | Promise<JsonValue | undefined>;
  /** After the last row, before the last commit. */
  finish?(): void | Promise<void>;
  /** At the end of the attempt, whatever it was. */
  close?(): void | Promise<void>;
}

/** The work on rows that are gone when the next is read. */
export interface RawRowWork {
  /** Works a row, which is filled again when this has returned, or what it answers is settled. */
  row(row: RawRow): void | Promise<void>;
  /** After the last row of each batch. */
  flush(): void | Promise<void>;
}

/** What a pass can read: a table, or a file that looks like one. */
export type JobReadable = Pick<Table, 'name' | 'scan'>;

/** How much of the source a row is. */
export interface RowWeight {
  readonly rows: number;
  readonly bytes: number;
}

/** One pass over ranges of a table. */
export interface JobPhase {
  /**
   * What is read: a table of the engine, or of the number of the run where each run has one of its own; or anything else
   * that gives rows in order, whose `ranges` are the splits.
   */
  readonly table: string | ((run: number) => string) | JobReadable;
  /** What is read in its place, if not the table itself: the splits are those of the table all the same. */
  readonly reader?: JobReadable;
  /** What a row stands for that is made of several; default: one row and its own bytes. */
  readonly weigh?: (row: Result) => RowWeight;
  /** Empty: the whole table. */
  readonly ranges: readonly RowRange[];
  /** Each range is one split, whatever its regions. */
  readonly oneSplitEach?: boolean;
  /** A scan of what is read; start, stop and caching are set by the runner. */
  scan(): Scan;
  /** Before the splits of the phase are planned. Several workers may do it at the same time. */
  prepare?(run: number): Promise<void>;
  open(context: SplitContext): SplitWork | Promise<SplitWork>;
}

/** All that a job does. */
export interface JobDefinition {
  readonly name: string;
  /** Says what is done: an unfinished job is resumed only if it is the same. */
  readonly signature: string;
  readonly phases: readonly JobPhase[];
  /**
   * After the last phase; `workOf` as in {@link SplitContext}. Several workers may do it at the same time.
   */
  finish?(run: number, workOf: SplitContext['workOf']): Promise<void>;
}
