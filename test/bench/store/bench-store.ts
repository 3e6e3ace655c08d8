/** What a store is to the bench: the same calls of each, and the same bytes given back. */

import type { Compression } from '../../../src/table/index.js';

/** One change of a batch; `value` undefined deletes the key. */
export interface Change {
  readonly key: Buffer;
  readonly value: Buffer | undefined;
}

/** Columns of a wide row. */
export const WIDE_COLUMNS = 10;

/** A method that a store has not is one that its binding has not, in that way. */
export interface BenchStore {
  readonly name: string;
  /** In one step, acknowledged as the store was opened: by the operating system or by the disk. */
  write(changes: readonly Change[]): Promise<void>;
  /** {@link WIDE_COLUMNS} values for each key. */
  writeWide(changes: readonly Change[]): Promise<void>;
  /** Ends a file, where the store lets its user say so. */
  flush(): Promise<void>;
  /** Makes one sorted run of everything. */
  compact(): Promise<void>;
  close(): Promise<void>;

  get?(key: Buffer): Uint8Array | undefined;
  getAwaited(key: Buffer): Promise<Uint8Array | undefined>;
  /** In one call. */
  many?(keys: readonly Buffer[]): Promise<(Uint8Array | undefined)[]>;
  /** Whatever the key has. */
  row?(key: Buffer): Uint8Array | undefined;
  /** How many columns a wide row has, all of them read. */
  wide?(key: Buffer): number;
  /** Reads up to `limit` rows from `start` on; how many there were. */
  range(start: Buffer, limit: number): number | Promise<number>;
  put(key: Buffer, value: Buffer): Promise<void>;
  increment?(key: Buffer): Promise<void>;
  /** Puts `value` if the key has `expected`. */
  checkAndPut?(key: Buffer, expected: Buffer, value: Buffer): Promise<boolean>;
}

/** What the bench opens its stores with. */
export interface StoreSettings {
  /** Bytes of each store's own cache of blocks. */
  readonly cacheBytes: number;
  /** Bytes after which a store that fills its memory by itself writes a file. */
  readonly memoryBytes: number;
  /** Whether a write is acknowledged only by the disk. */
  readonly sync: boolean;
  /** Rowan writes files and compacts them when it thinks fit, as the others do; else only when it is told. */
  readonly automatic: boolean;
  /** Rowan's; the others store what they are given. */
  readonly compression: Compression;
  /** Bytes of a block of Rowan's files; the others keep their own. */
  readonly blockBytes: number;
}

/** How Rowan's files are written. */
export type FileSettings = Pick<StoreSettings, 'compression' | 'blockBytes'>;
