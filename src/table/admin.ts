import type { TableDescriptor } from './descriptor.js';

/** One region of a table, with its load. */
export interface RegionInfo {
  readonly table: string;
  /** Inclusive; empty: from the beginning. */
  readonly startKey: Uint8Array;
  /** Exclusive; empty: to the end. */
  readonly endKey: Uint8Array;
  /** The engine's own name of the region. */
  readonly name: string;
  /** "host:port" of the server that has it, or "embedded". */
  readonly server: string;
  readonly readRequests: number;
  readonly writeRequests: number;
  readonly storeFiles: number;
  /** Bytes on disk. */
  readonly storeFileSize: number;
  /** Bytes in memory that are not in a file yet. */
  readonly memstoreSize: number;
}

/** Namespaces, tables and regions (HBase `Admin`). Each call returns when its effect can be seen. */
export interface Admin {
  createNamespace(namespace: string): Promise<void>;
  /** @throws RowanError when it still has tables. */
  deleteNamespace(namespace: string): Promise<void>;
  listNamespaces(): Promise<string[]>;

  /** Creates a table, split at `splitKeys` (strictly increasing, none empty, R86). */
  createTable(descriptor: TableDescriptor, splitKeys?: readonly Uint8Array[]): Promise<void>;
  /** Deletes a disabled table and its data. */
  deleteTable(name: string): Promise<void>;
  /** Empties a disabled table and enables it; its splits are kept if asked for. */
  truncateTable(name: string, preserveSplits?: boolean): Promise<void>;
  /** Takes the new descriptor as a whole: families missing from it are dropped with their data. */
  modifyTable(descriptor: TableDescriptor): Promise<void>;
  enableTable(name: string): Promise<void>;
  disableTable(name: string): Promise<void>;
  isTableEnabled(name: string): Promise<boolean>;
  tableExists(name: string): Promise<boolean>;
  /** @throws RowanError `ERR_TABLE_NOT_FOUND`. */
  getDescriptor(name: string): Promise<TableDescriptor>;
  /** In the order of their names. */
  listTables(): Promise<TableDescriptor[]>;

  /** In key order. */
  getRegions(table: string): Promise<RegionInfo[]>;
  /** Writes memstores to files. */
  flush(table: string, family?: string): Promise<void>;
  /** Merges some files, if the policy finds it worth while. */
  compact(table: string, family?: string): Promise<void>;
  /** Merges all files of every store and drops what is hidden; returns when it is done. */
  majorCompact(table: string, family?: string): Promise<void>;
  /** Splits the region that holds `splitKey` there, or each region at its middle. */
  split(table: string, splitKey?: Uint8Array): Promise<void>;
}
