/** The events that a store passes to its `onEvent` listener. */

import type { RowanError } from '../errors.js';

/** The files that an event concerns. */
export interface StoreLocation {
  readonly table: string;
  /** The number of the region. */
  readonly region: number;
  readonly family: string;
}

export type StoreEvent =
  | ({ readonly kind: 'flushBegin'; readonly bytes: number } & StoreLocation)
  /** `file` is undefined when there was nothing to write. */
  | ({
      readonly kind: 'flushEnd';
      readonly file: number | undefined;
      readonly cells: number;
      readonly bytesWritten: number;
      readonly milliseconds: number;
    } & StoreLocation)
  | ({
      readonly kind: 'compactionBegin';
      readonly files: readonly number[];
      readonly major: boolean;
    } & StoreLocation)
  | ({
      readonly kind: 'compactionEnd';
      readonly files: readonly number[];
      readonly file: number | undefined;
      readonly major: boolean;
      readonly bytesRead: number;
      readonly bytesWritten: number;
      readonly milliseconds: number;
    } & StoreLocation)
  /** Files in which every cell had expired were dropped without being read. */
  | ({ readonly kind: 'filesExpired'; readonly files: readonly number[] } & StoreLocation)
  | {
      readonly kind: 'split';
      readonly table: string;
      readonly region: number;
      readonly daughters: readonly [number, number];
    }
  /** Adjacent regions were merged into one. */
  | {
      readonly kind: 'regionsMerged';
      readonly table: string;
      readonly regions: readonly number[];
      readonly region: number;
    }
  /** A table was created with, or changed to, a `regionReplication` above 1. The store keeps one copy of each region. */
  | { readonly kind: 'singleCopy'; readonly table: string; readonly regionReplication: number }
  /**
   * The store was opened, and has assigned timestamps further ahead of its clock than `maxClockSkew` allows. Until the clock has
   * caught up, or `rowan store repair --clock` has repaired the store, writes without a timestamp get the time `clock`, and times
   * to live do not expire as they should.
   */
  | { readonly kind: 'clockAhead'; readonly clock: number; readonly milliseconds: number }
  /** A writer waited for memory. */
  | { readonly kind: 'stall'; readonly milliseconds: number; readonly memstoreBytes: number }
  /** No worker thread could be started: flushes and compactions run in the calling thread, in small steps. */
  | { readonly kind: 'inlineWork'; readonly error: RowanError }
  | { readonly kind: 'corruption'; readonly error: RowanError }
  /** `engine.verify` or `engine.startVerify` has read every file, and found no fault. */
  | {
      readonly kind: 'verifyEnd';
      readonly files: number;
      readonly cells: number;
      readonly bytes: number;
    }
  /**
   * An automatic flush, compaction or split failed, a copy of the log to its archive, or a refresh of a read-only store. It is retried at
   * the next occasion.
   */
  | {
      readonly kind: 'backgroundError';
      readonly work: 'flush' | 'compaction' | 'split' | 'archive' | 'refresh';
      readonly error: RowanError;
    };
