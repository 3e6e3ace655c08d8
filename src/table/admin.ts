import { compareBytes } from '../bytes/index.js';
import { InvalidArgumentError } from '../errors.js';
import { checkPositiveInteger, describe } from './checks.js';
import type { TableDescriptor } from './descriptor.js';

/** One region of a table, with its load. */
export interface RegionInfo {
  readonly table: string;
  /** Inclusive; empty: from the first row. */
  readonly startKey: Uint8Array;
  /** Exclusive; empty: to the last row. */
  readonly endKey: Uint8Array;
  /** The engine's name for the region. */
  readonly name: string;
  /** "host:port" of the server that serves it, or "embedded". */
  readonly server: string;
  readonly readRequests: number;
  readonly writeRequests: number;
  readonly storeFiles: number;
  /** Bytes on disk. */
  readonly storeFileSize: number;
  /** Bytes in memory that no file has yet. */
  readonly memstoreSize: number;
}

/** What a copy of a table must know that is to be continued with later writes only. */
export interface TableChanges {
  /** The last commit that readers see. */
  readonly lastCommit: number;
  /**
   * Another text whenever the table has dropped what the writes since then do not tell: cells that a copy may show again, or delete
   * markers that hid in a copy what the table shows. Undefined as long as it has not.
   */
  readonly lastLoss: string | undefined;
  /** No commit after this one has written a delete marker that the table has dropped. A copy of before lacks such markers. */
  readonly lastDroppedMarker: number;
  /** The newest timestamp of the markers that the table has dropped, -1 if none: a copy may hide puts up to it that the table shows. */
  readonly droppedMarkersUntil: number;
  /** No commit after this one has deleted single versions: after such deletes a copy may show versions that the table had dropped. */
  readonly lastVersionDelete: number;
}

/** The properties of a namespace, by name. */
export type NamespaceProperties = Readonly<Record<string, string>>;

/** Administers namespaces, tables and regions (HBase `Admin`). Each call returns when its effect is visible. */
export interface Admin {
  /** `properties` are stored as they are. @throws RowanError `ERR_NAMESPACE_EXISTS`. */
  createNamespace(namespace: string, properties?: NamespaceProperties): Promise<void>;
  /** The properties of a namespace. @throws RowanError `ERR_NAMESPACE_NOT_FOUND`. */
  getNamespace(namespace: string): Promise<NamespaceProperties>;
  /** Replaces all properties of a namespace. @throws RowanError `ERR_NAMESPACE_NOT_FOUND`. */
  modifyNamespace(namespace: string, properties: NamespaceProperties): Promise<void>;
  /** @throws RowanError when it still has tables. */
  deleteNamespace(namespace: string): Promise<void>;
  listNamespaces(): Promise<string[]>;

  /** Creates a table, split at `splitKeys` (strictly increasing, none empty, R86). */
  createTable(descriptor: TableDescriptor, splitKeys?: readonly Uint8Array[]): Promise<void>;
  /** Deletes a disabled table and its data. */
  deleteTable(name: string): Promise<void>;
  /** Empties a disabled table and enables it. `preserveSplits`: keeps its regions; default false. */
  truncateTable(name: string, preserveSplits?: boolean): Promise<void>;
  /** Replaces the descriptor: families missing from it are dropped with their data. */
  modifyTable(descriptor: TableDescriptor): Promise<void>;
  enableTable(name: string): Promise<void>;
  disableTable(name: string): Promise<void>;
  isTableEnabled(name: string): Promise<boolean>;
  /** Those of these tables that exist and are disabled. One call, however many names. Missing: no table can be disabled. */
  disabledTables?(names: readonly string[]): Promise<string[]>;
  tableExists(name: string): Promise<boolean>;
  /** @throws RowanError `ERR_TABLE_NOT_FOUND`. */
  getDescriptor(name: string): Promise<TableDescriptor>;
  /** The descriptors of those tables that exist, in any order, each once. One call, however many names. */
  getDescriptors(names: readonly string[]): Promise<TableDescriptor[]>;
  /** Sorted by name. */
  listTables(): Promise<TableDescriptor[]>;
  /** The names of tables that `listTables` leaves out, because the user may not see their descriptors. Missing: there can be none. */
  hiddenTables?(): Promise<string[]>;

  /** In key order. */
  getRegions(table: string): Promise<RegionInfo[]>;
  /** Writes memstores to files. */
  flush(table: string, family?: string): Promise<void>;
  /** Of an engine whose cells know their commits: what an incremental copy must know. Flushes the table. */
  changesOf?(table: string): Promise<TableChanges>;
  /** Merges some files, if the compaction policy selects any. */
  compact(table: string, family?: string): Promise<void>;
  /** Merges all files of every store and drops what is hidden; returns when that is done. */
  majorCompact(table: string, family?: string): Promise<void>;
  /** Whether only the service decides on region boundaries once a table is created: then `split` is refused. */
  readonly splitsItself?: boolean;
  /** Splits the region that contains `splitKey` at that key, or each region at its middle. */
  split(table: string, splitKey?: Uint8Array): Promise<void>;
}

// — HBase's algorithms for pre-splitting (`util/RegionSplitter`), computed as the server computes them.

export type SplitAlgorithm = 'HexStringSplit' | 'DecimalStringSplit' | 'UniformSplit';

/** The keys that split a table into `regions` regions: one fewer, strictly increasing. */
export function splitKeys(algorithm: SplitAlgorithm, regions: number): Uint8Array[] {
  checkPositiveInteger(regions, 'The number of regions');
  if (algorithm === 'HexStringSplit') return numberSplit(16, 0xffffffffn, regions);
  if (algorithm === 'DecimalStringSplit') return numberSplit(10, 99999999n, regions);
  if (algorithm === 'UniformSplit') return uniformSplit(regions);
  throw new InvalidArgumentError(
    `Unknown split algorithm "${String(algorithm)}". Use HexStringSplit, DecimalStringSplit or UniformSplit.`,
  );
}

/** Numbers as text of eight digits: steps of floor((last + 1) / n) from 0. */
function numberSplit(radix: number, last: bigint, regions: number): Uint8Array[] {
  const step = (last + 1n) / BigInt(regions);
  if (step === 0n)
    throw new InvalidArgumentError(`${regions} regions are more than there are keys of eight digits.`);
  const keys: Uint8Array[] = [];
  for (let i = 1n; i < BigInt(regions); i++) {
    keys.push(Buffer.from((step * i).toString(radix).padStart(8, '0'), 'latin1'));
  }
  return keys;
}

/** Keys of eight bytes at equal distances from 00 x 8 to FF x 8 inclusive (`Bytes.split` with `inclusive`). */
function uniformSplit(regions: number): Uint8Array[] {
  const step = 2n ** 64n / BigInt(regions);
  const keys: Uint8Array[] = [];
  for (let i = 1n; i < BigInt(regions); i++) {
    const key = Buffer.alloc(8);
    key.writeBigUInt64BE(step * i);
    keys.push(key);
  }
  return keys;
}

/**
 * Checks split keys by HBase's rule: none empty, strictly increasing (R86).
 * @throws InvalidArgumentError naming the first key that violates it, or what is no array.
 */
export function checkSplitKeys(keys: readonly Uint8Array[]): void {
  if (!Array.isArray(keys)) {
    throw new InvalidArgumentError(`Split keys are ${describe(keys)}. Give an array of Uint8Array.`);
  }
  keys.forEach((key, index) => {
    if (!(key instanceof Uint8Array)) {
      throw new InvalidArgumentError(
        `Split key ${index} is ${describe(key)}, not bytes. Give a Uint8Array, e.g. Buffer.from(text).`,
      );
    }
    const before = keys[index - 1];
    if (key.length === 0 || (before && compareBytes(before, key) >= 0)) {
      throw new InvalidArgumentError(
        `Split key ${index} (${Buffer.from(key).toString('hex')}) is empty or not above the one before it. ` +
          'Give split keys in strictly increasing byte order.',
      );
    }
  });
}
