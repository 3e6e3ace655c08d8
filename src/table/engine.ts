import type { Admin } from './admin.js';
import type { WriteObserver } from './observer.js';
import type { Table } from './table.js';
import type { TableTransaction, TransactionOptions } from './transaction.js';

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
  /** `Consistency` `TIMELINE`. */
  readonly timelineReads: boolean;
}

/** An embedded store or an HBase cluster. */
export interface Engine {
  /** "embedded" or "hbase". */
  readonly name: string;
  readonly capabilities: Capabilities;
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
  close(): Promise<void>;
}
