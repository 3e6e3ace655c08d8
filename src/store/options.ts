/** What an embedded store can be told when it is opened. */

import type { Durability } from '../table/index.js';
import { type CompactionSettings, DEFAULT_COMPACTION } from './compact/policy.js';
import type { StoreEvent } from './events.js';
import type { FileSystem } from './fs/file-system.js';

export interface EmbeddedOptions {
  /** Default: the real disk. Others work only with `background: 'inline'`. */
  readonly fileSystem?: FileSystem;
  /** Milliseconds since 1970; default `Date.now`. Timestamps, TTL and statistics use nothing else. */
  readonly clock?: () => number;
  /** 0 <= random() < 1; default `Math.random`. Only the random filter uses it. */
  readonly random?: () => number;
  /** What `USE_DEFAULT` means for tables that say `USE_DEFAULT` themselves; default `FSYNC_WAL`. */
  readonly durability?: Exclude<Durability, 'USE_DEFAULT'>;
  /** `worker`: flushes and compactions run in threads of their own (default); `inline`: in this one, in small steps. */
  readonly background?: 'worker' | 'inline';
  /** Bytes at which a family's memstore is written to a file; default 64 MiB. A table's `memstoreFlushSize` goes before. */
  readonly memstoreFlushSize?: number;
  /** Bytes of all memstores, those being written included, above which writers wait; default 256 MiB. */
  readonly memstoreLimit?: number;
  /** Bytes of decoded blocks kept in memory; default 128 MiB. */
  readonly blockCacheSize?: number;
  /** Files held open at once; default 512. */
  readonly maxOpenFiles?: number;
  /** Bytes of a family in one region above which the region is split; default 10 GiB. A table's `maxFileSize` goes before. */
  readonly maxFileSize?: number;
  /** Bytes after which the write-ahead log goes on in a new segment; default 64 MiB. */
  readonly walSegmentSize?: number;
  /** Segments of the log above which the families that hold the oldest are flushed; default 8. */
  readonly maxWalSegments?: number;
  readonly compaction?: Partial<CompactionSettings>;
  /** Milliseconds that major compactions keep delete markers after their timestamp; default 0 (R61). */
  readonly timeToPurgeDeletes?: number;
  /** False: flushes and compactions happen only when asked for; default true. */
  readonly automatic?: boolean;
  /** Told of flushes, compactions, splits, stalls and corruption. What it throws is dropped. */
  readonly onEvent?: (event: StoreEvent) => void;
}

/** The options with every default filled in, all but the file system. */
export interface StoreSettings extends Required<Omit<EmbeddedOptions, 'fileSystem' | 'compaction'>> {
  readonly compaction: CompactionSettings;
}

const MiB = 1024 * 1024;

export function storeSettings(options: EmbeddedOptions): StoreSettings {
  const memstoreFlushSize = options.memstoreFlushSize ?? 64 * MiB;
  return {
    clock: options.clock ?? Date.now,
    random: options.random ?? Math.random,
    durability: options.durability ?? 'FSYNC_WAL',
    background: options.background ?? (options.fileSystem ? 'inline' : 'worker'),
    memstoreFlushSize,
    memstoreLimit: options.memstoreLimit ?? Math.max(256 * MiB, memstoreFlushSize * 2),
    blockCacheSize: options.blockCacheSize ?? 128 * MiB,
    maxOpenFiles: options.maxOpenFiles ?? 512,
    maxFileSize: options.maxFileSize ?? 10 * 1024 * MiB,
    walSegmentSize: options.walSegmentSize ?? 64 * MiB,
    maxWalSegments: options.maxWalSegments ?? 8,
    compaction: { ...DEFAULT_COMPACTION, minSize: memstoreFlushSize, ...options.compaction },
    timeToPurgeDeletes: options.timeToPurgeDeletes ?? 0,
    automatic: options.automatic ?? true,
    onEvent: options.onEvent ?? (() => {}),
  };
}
