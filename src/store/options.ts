/** Options of an embedded store, given when it is opened. */

import { existsSync } from 'node:fs';
import { InvalidArgumentError } from '../errors.js';
import type { Durability } from '../table/index.js';
import { type CompactionSettings, DEFAULT_COMPACTION } from './background/compaction-policy.js';
import { type EncryptionOptions, isKeyId } from './encryption/keys.js';
import type { StoreEvent } from './events.js';
import type { FileSystem } from './fs/file-system.js';

/** Bytes of the largest cell that logs, files and buffers have room for. */
export const LARGEST_CELL = 256 * 1024 * 1024;

/** How much `close` flushes, so that the next opening need not replay the log. */
interface FlushOnClose {
  /** Below this many bytes in memory nothing is flushed; default 1: everything is. */
  readonly minBytes?: number;
  /** Milliseconds after which no further family is flushed; the log keeps the rest. Default 10,000. */
  readonly maxMilliseconds?: number;
}

export interface EmbeddedOptions {
  /** Default: the real disk. Any other works only with `background: 'inline'`. */
  readonly fileSystem?: FileSystem;
  /** False: a folder without a store is refused with `ERR_NOT_A_STORE`; default true: a store is created there. */
  readonly createIfMissing?: boolean;
  /** Milliseconds since 1970; default `Date.now`. Timestamps, TTL and statistics use no other clock. */
  readonly clock?: () => number;
  /**
   * Milliseconds that the timestamps assigned by this store may be ahead of its clock when it is opened; default 60,000. Beyond
   * that the clock was wrong once, or is now: `onEvent` receives `clockAhead`, and `rowan store repair --clock` repairs the store.
   */
  readonly maxClockSkew?: number;
  /** 0 <= random() < 1; default `Math.random`. Used by the random filter, and in names that must differ. */
  readonly random?: () => number;
  /** Durability of writes to tables whose own durability is `USE_DEFAULT`; default `FSYNC_WAL`. */
  readonly durability?: Exclude<Durability, 'USE_DEFAULT'>;
  /** `worker`: flushes and compactions run in worker threads (default); `inline`: in the calling thread, in small steps. */
  readonly background?: 'worker' | 'inline';
  /**
   * The worker's file, for bundled programs: a bundle of `rowan-orm/worker`. Default: the package's own, else `rowan-worker.js`,
   * `.mjs` or `.cjs` beside the running file.
   */
  readonly workerPath?: string;
  /** Bytes at which a family's memstore is flushed; default 64 MiB. A table's `memstoreFlushSize` takes precedence. */
  readonly memstoreFlushSize?: number;
  /** Bytes of all memstores, those being flushed included, above which writers wait; default 256 MiB. */
  readonly memstoreLimit?: number;
  /** Bytes of decoded blocks kept in memory; default 128 MiB. */
  readonly blockCacheSize?: number;
  /** Files kept open at once; default 512. */
  readonly maxOpenFiles?: number;
  /** Bytes of a family in one region above which the region is split; default 10 GiB. A table's `maxFileSize` takes precedence. */
  readonly maxFileSize?: number;
  /** Bytes after which the write-ahead log continues in a new segment, at most 1 GiB; default 64 MiB. */
  readonly walSegmentSize?: number;
  /** Number of log segments above which the families with writes in the oldest segment are flushed; default 8. */
  readonly maxWalSegments?: number;
  /**
   * Bytes of zeros that are preallocated in a log segment, at most a segment, while writers sync small writes one after another;
   * 0 for none; default 16 MiB.
   */
  readonly walPreparedSize?: number;
  /**
   * The greatest size of a cell in bytes, row, qualifier and value together, at most 256 MiB; default 10 MiB, as
   * `hbase.client.keyvalue.maxsize`. Larger cells that are stored already can still be read.
   */
  readonly maxCellSize?: number;
  /**
   * Bytes of files, log and memory above which puts, increments, appends and bulk loads are refused with `ERR_SPACE`; deletes and
   * compactions go on. Default: no limit. A table's configuration `rowan.maxDiskSize` limits the table.
   */
  readonly maxDiskSize?: number;
  readonly compaction?: Partial<CompactionSettings>;
  /** Milliseconds after its timestamp for which major compactions keep a delete marker; default 0 (R61). */
  readonly timeToPurgeDeletes?: number;
  /**
   * Milliseconds after which an unread scan is ended with `ERR_SCANNER_EXPIRED`, and the files and memory that it holds are
   * released; default 300,000.
   */
  readonly scannerIdleTimeout?: number;
  /** Encrypts the files of the store (docs/encryption.md). Default: they are plain. */
  readonly encryption?: EncryptionOptions;
  /**
   * A folder, best on another disk, to which the log is copied while the store is open, so that `restoreStore` can make the store of any
   * moment (docs/backup.md). The store remembers it: later openings go on without the option. `null` ends the archive.
   */
  readonly logArchive?: string | null;
  /** False: flushes and compactions run only when requested; default true. */
  readonly automatic?: boolean;
  /** Whether and how far `close` flushes memstores; default true if `automatic` is. */
  readonly flushOnClose?: boolean | FlushOnClose;
  /** Called with flushes, compactions, splits, stalls and corruption. What it throws is ignored. */
  readonly onEvent?: (event: StoreEvent) => void;
}

/** The options with all defaults applied, except the file system. */
export interface StoreSettings
  extends Required<
    Omit<
      EmbeddedOptions,
      | 'fileSystem'
      | 'compaction'
      | 'flushOnClose'
      | 'workerPath'
      | 'encryption'
      | 'logArchive'
      | 'maxDiskSize'
    >
  > {
  readonly compaction: CompactionSettings;
  /** Undefined: no limit. */
  readonly maxDiskSize: number | undefined;
  /** Undefined: `close` does not flush. */
  readonly flushOnClose: Required<FlushOnClose> | undefined;
  /** Undefined: the worker's file is searched for. */
  readonly workerPath: string | undefined;
}

const MiB = 1024 * 1024;
const GiB = 1024 * MiB;
/** Milliseconds. */
export const DEFAULT_CLOCK_SKEW = 60_000;

/** @throws InvalidArgumentError naming the option, its value and the accepted values. */
export function storeSettings(options: EmbeddedOptions): StoreSettings {
  checkOptions(options);
  const memstoreFlushSize = options.memstoreFlushSize ?? 64 * MiB;
  const automatic = options.automatic ?? true;
  return {
    createIfMissing: options.createIfMissing ?? true,
    clock: options.clock ?? Date.now,
    maxClockSkew: options.maxClockSkew ?? DEFAULT_CLOCK_SKEW,
    random: options.random ?? Math.random,
    workerPath: options.workerPath,
    durability: options.durability ?? 'FSYNC_WAL',
    background: options.background ?? (options.fileSystem ? 'inline' : 'worker'),
    memstoreFlushSize,
    memstoreLimit: options.memstoreLimit ?? Math.max(256 * MiB, memstoreFlushSize * 2),
    blockCacheSize: options.blockCacheSize ?? 128 * MiB,
    maxOpenFiles: options.maxOpenFiles ?? 512,
    maxFileSize: options.maxFileSize ?? 10 * GiB,
    walSegmentSize: options.walSegmentSize ?? 64 * MiB,
    maxWalSegments: options.maxWalSegments ?? 8,
    walPreparedSize: Math.min(options.walPreparedSize ?? 16 * MiB, options.walSegmentSize ?? 64 * MiB),
    maxCellSize: options.maxCellSize ?? 10 * MiB,
    maxDiskSize: options.maxDiskSize,
    compaction: {
      ...DEFAULT_COMPACTION,
      minSize: Math.min(DEFAULT_COMPACTION.minSize, memstoreFlushSize),
      ...options.compaction,
    },
    timeToPurgeDeletes: options.timeToPurgeDeletes ?? 0,
    scannerIdleTimeout: options.scannerIdleTimeout ?? 300_000,
    automatic,
    flushOnClose: flushOnClose(options.flushOnClose ?? automatic),
    onEvent: options.onEvent ?? (() => {}),
  };
}

function flushOnClose(given: boolean | FlushOnClose): Required<FlushOnClose> | undefined {
  if (given === false) return undefined;
  const { minBytes = 1, maxMilliseconds = 10_000 } = given === true ? {} : given;
  return { minBytes, maxMilliseconds };
}

/** Describes the accepted values; undefined when the value is accepted. */
type Check = (value: unknown) => string | undefined;

const integer =
  (min: number, max: number): Check =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max
      ? undefined
      : `an integer from ${min} to ${max}`;
const kind =
  (type: 'function' | 'boolean' | 'object'): Check =>
  (value) =>
    typeof value === type && value !== null ? undefined : `a${type === 'object' ? 'n' : ''} ${type}`;
const oneOf =
  (...allowed: readonly string[]): Check =>
  (value) =>
    allowed.includes(value as string) ? undefined : `one of ${allowed.join(', ')}`;
const MANY = Number.MAX_SAFE_INTEGER;

const CHECKS: { readonly [Option in keyof Required<EmbeddedOptions>]: Check } = {
  fileSystem: kind('object'),
  createIfMissing: kind('boolean'),
  clock: kind('function'),
  maxClockSkew: integer(0, MANY),
  random: kind('function'),
  durability: oneOf('SKIP_WAL', 'ASYNC_WAL', 'SYNC_WAL', 'FSYNC_WAL'),
  background: oneOf('worker', 'inline'),
  workerPath: (value) =>
    typeof value === 'string' && existsSync(value)
      ? undefined
      : 'the path of a file: what bundling rowan-orm/worker made (docs/bundling.md)',
  memstoreFlushSize: integer(1, 2 * GiB),
  memstoreLimit: integer(1, MANY),
  blockCacheSize: integer(0, MANY),
  maxOpenFiles: integer(1, 1_000_000),
  maxFileSize: integer(1, MANY),
  // A segment, with the record that exceeds its size, is read into one buffer.
  walSegmentSize: integer(1, GiB),
  maxWalSegments: integer(1, 1_000_000),
  walPreparedSize: integer(0, GiB),
  maxCellSize: integer(1, LARGEST_CELL),
  maxDiskSize: integer(1, MANY),
  compaction: kind('object'),
  timeToPurgeDeletes: integer(0, MANY),
  scannerIdleTimeout: integer(1, MANY),
  encryption: kind('object'),
  logArchive: (value) =>
    value === null || (typeof value === 'string' && value !== '' && !value.includes('\0'))
      ? undefined
      : 'the path of a folder, or null to end the archive',
  automatic: kind('boolean'),
  flushOnClose: (value) =>
    typeof value === 'boolean' || (typeof value === 'object' && value !== null)
      ? undefined
      : 'a boolean, or an object with minBytes and maxMilliseconds',
  onEvent: kind('function'),
};

const COMPACTION_CHECKS: { readonly [Option in keyof CompactionSettings]: Check } = {
  minFiles: integer(2, 1_000_000),
  maxFiles: integer(2, 1_000_000),
  ratio: (value) =>
    typeof value === 'number' && Number.isFinite(value) && value > 0 ? undefined : 'a number above 0',
  minSize: integer(0, MANY),
  maxSize: integer(1, MANY),
  blockingFiles: integer(2, 1_000_000),
};

const FLUSH_ON_CLOSE_CHECKS: { readonly [Option in keyof Required<FlushOnClose>]: Check } = {
  minBytes: integer(0, MANY),
  maxMilliseconds: integer(0, MANY),
};

const ENCRYPTION_CHECKS: { readonly [Option in keyof Required<EncryptionOptions>]: Check } = {
  keyId: (value) =>
    value === null || isKeyId(value)
      ? undefined
      : 'null, or the id of a key: 1 to 64 printable ASCII characters without spaces',
  key: kind('function'),
  acceptPlain: kind('boolean'),
};

function checkEncryption(encryption: EncryptionOptions): void {
  check('encryption.', encryption, ENCRYPTION_CHECKS);
  for (const name of ['keyId', 'key'] as const) {
    if (encryption[name] === undefined)
      throw new InvalidArgumentError(
        `Option "encryption" needs "${name}": the id of the key of new files, and a function that gives the key of an id.`,
      );
  }
}

function checkOptions(options: EmbeddedOptions): void {
  check('', options, CHECKS);
  if (options.encryption) checkEncryption(options.encryption);
  if (options.compaction) check('compaction.', options.compaction, COMPACTION_CHECKS);
  if (typeof options.flushOnClose === 'object')
    check('flushOnClose.', options.flushOnClose, FLUSH_ON_CLOSE_CHECKS);
  const { minFiles, maxFiles } = { ...DEFAULT_COMPACTION, ...options.compaction };
  if (minFiles > maxFiles) {
    throw new InvalidArgumentError(
      `Option "compaction.minFiles" is ${minFiles}, above "compaction.maxFiles" of ${maxFiles}: no files would ever be ` +
        'compacted. Give it a value up to compaction.maxFiles.',
    );
  }
}

function check(prefix: string, given: object, checks: Readonly<Record<string, Check>>): void {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(checks, name)) {
      throw new InvalidArgumentError(
        `There is no option "${prefix}${name}". Options: ${Object.keys(checks).join(', ')}.`,
      );
    }
    if (value === undefined) continue;
    const expected = checks[name]!(value);
    if (expected === undefined) continue;
    throw new InvalidArgumentError(
      `Option "${prefix}${name}" is ${shown(prefix + name, value)}; it takes ${expected}.`,
    );
  }
}

/** A refused value in an error. Of options of the encryption only the type, as it may be a key in the wrong place. */
function shown(option: string, value: unknown): string {
  if (option.startsWith('encryption')) {
    if (typeof value === 'string') return `a string of ${value.length} characters`;
    return value instanceof Uint8Array ? `${value.length} bytes` : `a ${typeof value}`;
  }
  return typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? typeof value);
}
