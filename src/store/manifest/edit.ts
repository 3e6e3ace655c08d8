/** What changes in the set of tables, regions and files of a store. Several edits logged together happen together. */

import type { TableDescriptor } from '../../table/index.js';

/** A sorted file of one store. After a split two stores may have the same file. */
export interface FileEntry {
  readonly number: number;
  /** Bytes on the disk. */
  readonly size: number;
  /** The crc of its footer, where it is known. */
  readonly footerCrc?: number | undefined;
  /** The sequence number that all cells of a bulk-loaded file have; of other files undefined. */
  readonly bulkSeq?: number | undefined;
  readonly cells: number;
  readonly deletes: number;
  /** The first and the last row. */
  readonly firstKey: Uint8Array;
  readonly lastKey: Uint8Array;
  readonly minTimestamp: number;
  readonly maxTimestamp: number;
  readonly minSeq: number;
  readonly maxSeq: number;
}

export type Edit =
  | { readonly type: 'namespaceAdd'; readonly name: string }
  | { readonly type: 'namespaceRemove'; readonly name: string }
  | {
      readonly type: 'tableAdd';
      readonly id: number;
      readonly descriptor: TableDescriptor;
      /** Each family's number; a family made anew has another. */
      readonly familyNumbers: ReadonlyMap<string, number>;
      readonly enabled: boolean;
    }
  /** What is left out stays as it is. The stores of families that are no longer numbered go, with their files. */
  | {
      readonly type: 'tableAlter';
      readonly id: number;
      readonly descriptor?: TableDescriptor | undefined;
      readonly familyNumbers?: ReadonlyMap<string, number> | undefined;
      readonly enabled?: boolean | undefined;
    }
  /** With its regions and their files. */
  | { readonly type: 'tableDrop'; readonly id: number }
  | {
      readonly type: 'regionAdd';
      readonly id: number;
      readonly table: number;
      /** Inclusive; empty: from the beginning. */
      readonly startKey: Uint8Array;
      /** Exclusive; empty: to the end. */
      readonly endKey: Uint8Array;
    }
  /** With its files, as far as no other region has them. */
  | { readonly type: 'regionRemove'; readonly id: number }
  | { readonly type: 'fileAdd'; readonly region: number; readonly family: number; readonly file: FileEntry }
  | { readonly type: 'fileRemove'; readonly region: number; readonly family: number; readonly number: number }
  /** Every write numbered up to `seq` of this store is in its files: recovery leaves it out. */
  | { readonly type: 'flushed'; readonly region: number; readonly family: number; readonly seq: number }
  /** A new WAL segment, the one that is written to. */
  | { readonly type: 'walAdd'; readonly number: number }
  | {
      readonly type: 'walClosed';
      readonly number: number;
      readonly length: number;
      readonly crc: number;
      readonly firstSeq: number;
      readonly lastSeq: number;
    }
  | { readonly type: 'walRemove'; readonly number: number }
  /** Counters only grow; what is left out stays as it is. */
  | {
      readonly type: 'counters';
      /** The number that the next file gets. */
      readonly nextFile?: number | undefined;
      /** The number that the next table, family or region gets. */
      readonly nextId?: number | undefined;
      /** No write in a file or segment has a greater number. */
      readonly lastSeq?: number | undefined;
      /** The greatest timestamp that the store has given to a write; the next opener gives no lower one. */
      readonly clock?: number | undefined;
    };
