import type { WireError } from '../../errors.js';
import type { FamilyDescriptor } from '../../table/index.js';
import type { SharedKeys } from '../encryption/keys.js';
import type { WrittenFile } from '../file/footer.js';
import type { HeldFolder } from '../fs/node-fs.js';
import type { SharedMemstore } from '../memstore/memstore-cursor.js';
import type { Drops } from './drop-watch.js';

// — The work that runs beside reads and writes: writing a memstore to a file, and merging files into one.

interface JobBase {
  /** The path of the new file, which must not exist. */
  readonly path: string;
  readonly fileNo: number;
  readonly family: FamilyDescriptor;
  /** The time that decides which cells have expired. */
  readonly now: number;
  /** Cells with a higher sequence number are kept even if they are hidden (R60). */
  readonly smallestReadPoint: number;
}

interface FlushJob extends JobBase {
  readonly kind: 'flush';
  readonly memstore: SharedMemstore;
}

/** A file to be merged. */
export interface JobInput {
  readonly path: string;
  readonly fileNo: number;
  /** Replaces the sequence numbers of the cells of bulk-loaded files. */
  readonly seq: number | undefined;
}

export interface CompactionJob extends JobBase {
  readonly kind: 'compaction';
  /** Oldest first. */
  readonly inputs: readonly JobInput[];
  /** The sizes of the inputs together. */
  readonly inputBytes: number;
  /** No other file of the family and no older write is left, so delete markers may be dropped (`isAllFiles` in HBase). */
  readonly major: boolean;
  /** Rows outside of the range are skipped: they belong to another region since a split. */
  readonly startKey: Uint8Array;
  readonly endKey: Uint8Array;
  readonly timeToPurgeDeletes: number;
}

export type Job = FlushJob | CompactionJob;

export interface JobResult {
  /** Undefined when no cell was left to write; then the output file is worthless. */
  readonly written: WrittenFile | undefined;
  readonly drops: Drops;
}

/** Runs jobs, in the calling thread or in a worker. */
export interface JobExecutor {
  /** @throws RowanError when the job failed; its output file is closed, and the caller removes it. */
  run(job: Job): Promise<JobResult>;
  /** Waits for running jobs, and accepts no more. */
  close(): Promise<void>;
}

// — Messages between the store and its workers.

/** The data with which a worker is started. */
export interface WorkerSetup {
  /** The store's pinned folder, so that the worker finds it even after it is renamed. */
  readonly folder: HeldFolder | undefined;
  /** Of an encrypted store. */
  readonly keys: SharedKeys | undefined;
}

/** A message to a worker. */
export interface WorkerRequest {
  readonly id: number;
  readonly job: Job;
}

/** A message from a worker. The first says that it is ready. */
export type WorkerReply =
  | { readonly ready: true }
  | { readonly id: number; readonly result: JobResult }
  | { readonly id: number; readonly error: WireError };
