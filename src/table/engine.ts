import type { Admin } from './admin.js';
import type { Cell } from './checks.js';
import type { Compression } from './descriptor.js';
import type { Commits, WriteObserver } from './observer.js';
import type { Table, TableTransaction, TransactionOptions } from './table.js';

/** What an engine supports beyond {@link Table}. Using a capability that it lacks throws `ERR_UNSUPPORTED`. */
export interface Capabilities {
  /** `batch(…, { atomic: true })` over several rows. */
  readonly atomicBatch: boolean;
  /** Tables are {@link import('./table.js').SyncTable}s. */
  readonly sync: boolean;
  /** A scan sees the table as it was when the scan began. */
  readonly snapshotScans: boolean;
  /** Copies of the store that open as a store can be made while writes continue. */
  readonly checkpoint: boolean;
  /** `Consistency` `TIMELINE`; an engine with one copy of the data returns the newest. */
  readonly timelineReads: boolean;
  /** `Mutation.setTtl`: times to live of single cells. */
  readonly cellTtl: boolean;
  /**
   * Deletes write delete markers: they hide later writes with older timestamps, and raw scans and KEEP_DELETED_CELLS show what they
   * hide. Without the capability a delete removes cells, and an older put that comes after it is visible.
   */
  readonly deleteMarkers: boolean;
  /** Every write is refused with `ERR_READONLY`, and the engine never writes by itself. Default false. */
  readonly readOnly?: boolean;
}

/** Cells one by one, or in lists, which are cheaper. */
export type CellStream = Iterable<Cell> | AsyncIterable<Cell | readonly Cell[]>;

/** The cells of an item of a stream. */
export function listOf(item: Cell | readonly Cell[]): readonly Cell[] {
  return Array.isArray(item) ? (item as readonly Cell[]) : [item as Cell];
}

/** The compressions of HFiles that are written here. */
export type BulkCompression = Extract<Compression, 'NONE' | 'GZ' | 'SNAPPY' | 'LZ4' | 'ZSTD'>;

/** Options of a bulk load. */
export interface BulkLoadOptions {
  /**
   * HBase only, required: a folder in which this process writes files that the region servers can open and move. The embedded engine
   * writes files in its own folder.
   */
  readonly folder?: string;
  /** That folder as region servers name it (`hdfs://namenode/load`). Default: `file://` and the folder's path. */
  readonly uri?: string;
  /** Compression of HFiles. Default `NONE`. */
  readonly compression?: BulkCompression;
  /** HBase only: nothing more is loaded after it is aborted. */
  readonly signal?: AbortSignal;
}

/** The result of a bulk load. */
export interface BulkLoadResult {
  readonly cells: number;
  readonly files: number;
  readonly bytes: number;
}

/** An embedded store, an HBase cluster, or an instance of Bigtable. */
export interface Engine {
  /** "embedded", "hbase" or "bigtable". */
  readonly name: string;
  /** Distinguishes engines of the same name: the folder of an embedded store, the id of a cluster. */
  readonly place?: string;
  readonly capabilities: Capabilities;
  /** The greatest accepted size of a cell in bytes, row, qualifier and value together; undefined when unknown. */
  readonly maxCellSize?: number;
  readonly admin: Admin;
  /** A handle to a table; does not check that the table exists. */
  table(name: string): Table;
  /** The time, ms, that a write without a timestamp gets now, as far as it is known. On the embedded engine no later write gets an earlier one. */
  now(): number;
  /**
   * Has no later write get an earlier time than this one (ms): for rows that another engine wrote by a clock that was ahead. Missing where
   * servers have the clock.
   */
  advanceClock?(time: number): void;
  /**
   * Calls an observer for every write of the table through this engine, of entities or below them. Returns a function that removes
   * the observer. Observers are not stored with the table: add them after each opening.
   * @throws InvalidArgumentError when the observer has neither `before` nor `after`.
   */
  observe(table: string, observer: WriteObserver): () => void;
  /** The engine's commits, in order; undefined where writes of several rows are not one commit. */
  readonly commits?: Commits;
  /**
   * Runs a transaction over the engine's tables. Its reads see one moment and its own writes; its writes take effect as one step, or not
   * at all; transactions are serializable. It is run again when other writes have changed what it read. Undefined for engines
   * without transactions.
   * @throws what `run` throws; SerializationError when every attempt had a conflict; RowanError `ERR_TIMEOUT` (default 60 s for the
   * whole call), `ERR_ABORTED`, `ERR_TOO_LARGE`.
   */
  transaction?<T>(
    run: (transaction: TableTransaction) => Promise<T>,
    options?: TransactionOptions,
  ): Promise<T>;
  /**
   * Loads sorted cells (by row, family, qualifier, newest timestamp first) as files, past log and memory. They win over earlier writes of
   * the same cells and lose to later ones. On the embedded engine all become visible at one moment, or none; on HBase those of a
   * region at one moment, region after region. Observers are not called, and nothing derived from rows (indexes, copies) is
   * updated.
   * @throws InvalidArgumentError when the cells are out of order, RowanError `ERR_TABLE_NOT_FOUND`, `ERR_NO_SUCH_FAMILY`: then nothing
   * is loaded; on HBase also the servers' errors, after `details.loaded` files were loaded.
   */
  bulkLoad?(table: string, cells: CellStream, options?: BulkLoadOptions): Promise<BulkLoadResult>;
  /** Whether the log of writes is archived: then a restore lacks what is written without the log. */
  readonly archivesLog?: boolean;
  /**
   * Of an engine that may stop to take writes while it still answers reads.
   * @throws RowanError `ERR_READONLY` when it takes no writes, `ERR_CLOSED` when it was closed.
   */
  checkWritable?(): void;
  /**
   * Of an engine without delete markers whose tables can have a write fence: milliseconds until programs with the same options
   * write through a new one. Undefined for other engines.
   */
  readonly fenceDelay?: number;
  close(): Promise<void>;
}
