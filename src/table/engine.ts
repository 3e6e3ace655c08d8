import type { Admin } from './admin.js';
import type { Cell } from './checks.js';
import type { Compression } from './descriptor.js';
import type { Commits, WriteObserver } from './observer.js';
import type { Table, TableTransaction, TransactionOptions } from './table.js';

/** What an engine can do beyond the {@link Table} that all give. Asking for what one lacks is an `ERR_UNSUPPORTED`. */
export interface Capabilities {
  /** `batch(…, { atomic: true })` over several rows. */
  readonly atomicBatch: boolean;
  /** Tables are {@link import('./table.js').SyncTable}s. */
  readonly sync: boolean;
  /** A scan sees the table as it was when the scan began. */
  readonly snapshotScans: boolean;
  /** An openable copy of the store while writes go on. */
  readonly checkpoint: boolean;
  /** `Consistency` `TIMELINE`, which an engine with one copy of everything answers with what is newest. */
  readonly timelineReads: boolean;
  /** `Mutation.setTtl`: a time to live of single cells. */
  readonly cellTtl: boolean;
  /**
   * Deletes leave markers: they hide what is written behind them with an older timestamp, and raw scans and KEEP_DELETED_CELLS show
   * what they hide. Without it a delete takes away what is there, and an older put behind it is seen.
   */
  readonly deleteMarkers: boolean;
  /** Every write is refused with `ERR_READONLY`, and nothing is written unasked. Default false. */
  readonly readOnly?: boolean;
}

/** Cells one by one, or in lists, which cost less. */
export type CellStream = Iterable<Cell> | AsyncIterable<Cell | readonly Cell[]>;

/** The cells of an item of a stream. */
export function listOf(item: Cell | readonly Cell[]): readonly Cell[] {
  return Array.isArray(item) ? (item as readonly Cell[]) : [item as Cell];
}

/** What HBase's files are compressed by when they are made here. */
export type BulkCompression = Extract<Compression, 'NONE' | 'GZ' | 'SNAPPY' | 'LZ4' | 'ZSTD'>;

/** How cells are loaded as files. */
export interface BulkLoadOptions {
  /**
   * Of HBase, which has to be given it: a folder to which this process writes files that the region servers can open and
   * move. The embedded engine makes files in its own folder.
   */
  readonly folder?: string;
  /** That folder as the region servers name it (`hdfs://namenode/load`). Default: `file://` and the folder's path. */
  readonly uri?: string;
  /** Of HBase's files. Default `NONE`. */
  readonly compression?: BulkCompression;
  /** On HBase nothing further is loaded once it is aborted. */
  readonly signal?: AbortSignal;
}

/** What was loaded. */
export interface BulkLoadResult {
  readonly cells: number;
  readonly files: number;
  readonly bytes: number;
}

/** An embedded store, an HBase cluster, or an instance of Bigtable. */
export interface Engine {
  /** "embedded", "hbase" or "bigtable". */
  readonly name: string;
  /** What sets it apart from others of its name: the folder of an embedded store, the id of a cluster. */
  readonly place?: string;
  readonly capabilities: Capabilities;
  /** Bytes of the largest cell that it takes, row, qualifier and value together; undefined: it does not say. */
  readonly maxCellSize?: number;
  readonly admin: Admin;
  /** A handle; it does not check that the table exists. */
  table(name: string): Table;
  /** The time by which writes are stamped and lives end, ms: the engine's own clock, or as near to it as is known here. */
  now(): number;
  /**
   * Has an observer told of every write of the table that goes through this engine, entities' writes and those below them
   * alike; the function that ends it. Observers are no part of the table: they are to be added at each opening.
   * @throws InvalidArgumentError when the observer has neither `before` nor `after`.
   */
  observe(table: string, observer: WriteObserver): () => void;
  /** Its commits, one after the other; undefined where writes of several rows are no commit. */
  readonly commits?: Commits;
  /**
   * Runs a transaction over the engine's tables: its reads see one moment and its own writes, and what it writes takes
   * effect as one step, or not at all, serializably. It is run again when others have changed what it read. Engines
   * without it have no transactions.
   * @throws what `run` throws; SerializationError when each attempt was overtaken; RowanError `ERR_TIMEOUT` (default 60 s
   * for the whole call), `ERR_ABORTED`, `ERR_TOO_LARGE`.
   */
  transaction?<T>(
    run: (transaction: TableTransaction) => Promise<T>,
    options?: TransactionOptions,
  ): Promise<T>;
  /**
   * Loads cells that come sorted (row, family, qualifier, newest timestamp first) as files, past log and memory. They win over
   * earlier writes of the same cells and lose to later ones. The embedded engine shows them at one moment, or none; HBase
   * those of a region at one moment, region after region. Observers, and what is derived from rows (indexes, copies), are not
   * told.
   * @throws InvalidArgumentError when the cells are out of order, RowanError `ERR_TABLE_NOT_FOUND`, `ERR_NO_SUCH_FAMILY`:
   * nothing is loaded then; of HBase, what its servers throw, `details.loaded` files having been loaded before.
   */
  bulkLoad?(table: string, cells: CellStream, options?: BulkLoadOptions): Promise<BulkLoadResult>;
  close(): Promise<void>;
}
