import type { WireError } from '../../errors.js';
import type { FamilyDescriptor } from '../../table/index.js';
import type { WrittenFile } from '../file/file-meta.js';
import type { SharedMemstore } from '../memstore/memstore-cursor.js';

/** The work that is done away from readers and writers: writing a memstore to a file, and merging files into one. */

interface JobBase {
  /** Where the new file is written; it must not exist. */
  readonly path: string;
  readonly fileNo: number;
  readonly family: FamilyDescriptor;
  /** The time by which cells have expired or not. */
  readonly now: number;
  /** Cells above it are kept whatever hides them (R60). */
  readonly smallestReadPoint: number;
}

export interface FlushJob extends JobBase {
  readonly kind: 'flush';
  readonly memstore: SharedMemstore;
}

/** A file to be merged. */
export interface JobInput {
  readonly path: string;
  readonly fileNo: number;
  /** Takes the place of the cells' own, for bulk-loaded files. */
  readonly seq: number | undefined;
}

export interface CompactionJob extends JobBase {
  readonly kind: 'compaction';
  /** Oldest first. */
  readonly inputs: readonly JobInput[];
  /** Every file of the store is merged, so delete markers may go (`isAllFiles` in HBase). */
  readonly allFiles: boolean;
  /** Rows outside are left out: they are another region's since a split. */
  readonly startKey: Uint8Array;
  readonly endKey: Uint8Array;
  readonly timeToPurgeDeletes: number;
}

export type Job = FlushJob | CompactionJob;

export interface JobResult {
  /** Undefined when no cell was left to write; what is there of the file is nothing then. */
  readonly written: WrittenFile | undefined;
}

/** Runs jobs, here or in a thread of its own. */
export interface JobExecutor {
  /** @throws RowanError when the job failed; what it wrote is closed, and left for the caller to remove. */
  run(job: Job): Promise<JobResult>;
  /** Lets jobs that run come to their end, and takes no more. */
  close(): Promise<void>;
}

/** Messages between the store and its workers. */

/** A message to a worker. */
export interface WorkerRequest {
  readonly id: number;
  readonly job: Job;
}

/** A worker's answer. Its first says that it is ready to work. */
export type WorkerReply =
  | { readonly ready: true }
  | { readonly id: number; readonly result: JobResult }
  | { readonly id: number; readonly error: WireError };
