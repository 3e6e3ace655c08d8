/** Events that a store hands to its `onEvent` listener. */

import type { RowanError } from '../errors.js';

/** Whose files an event is about. */
export interface StoreLocation {
  readonly table: string;
  /** The number of the region. */
  readonly region: number;
  readonly family: string;
}

export type StoreEvent =
  | ({ readonly kind: 'flushBegin'; readonly bytes: number } & StoreLocation)
  /** `file` is undefined when nothing was left to write. */
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
  /** Files whose every cell had expired were dropped without reading them. */
  | ({ readonly kind: 'filesExpired'; readonly files: readonly number[] } & StoreLocation)
  | {
      readonly kind: 'split';
      readonly table: string;
      readonly region: number;
      readonly daughters: readonly [number, number];
    }
  /** Neighboring regions were made one. */
  | {
      readonly kind: 'regionsMerged';
      readonly table: string;
      readonly regions: readonly number[];
      readonly region: number;
    }
  /** A table that asks for several copies of its regions was made, or came to ask for them: the store keeps one. */
  | { readonly kind: 'singleCopy'; readonly table: string; readonly regionReplication: number }
  /**
   * The store was opened, and has given times further ahead of its clock than `maxClockSkew` allows: writes without a timestamp
   * of their own get `clock`, and nothing ends by its time to live as it should, until the clock has caught up or
   * `rowan store repair --clock` has mended the store.
   */
  | { readonly kind: 'clockAhead'; readonly clock: number; readonly milliseconds: number }
  /** Writers waited for memory. */
  | { readonly kind: 'stall'; readonly milliseconds: number; readonly memstoreBytes: number }
  /** No thread for flushes and compactions could be had: they run in the calling one, in small steps. */
  | { readonly kind: 'inlineWork'; readonly error: RowanError }
  | { readonly kind: 'corruption'; readonly error: RowanError }
  /** A flush, compaction or split failed, or a look of a read-only store at what is new; it is tried again at the next occasion. */
  | {
      readonly kind: 'backgroundError';
      readonly work: 'flush' | 'compaction' | 'split' | 'refresh';
      readonly error: RowanError;
    };
