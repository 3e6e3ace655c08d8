/** Messages between a scan by several threads, or a verification, and its threads. */

import type { WireError } from '../../errors.js';
import type {
  DerivedPuts,
  FamilyDescriptor,
  GroupedColumns,
  PackedDerivedPuts,
  PackedGroups,
  Scan,
} from '../../table/index.js';
import type { JobInput } from '../background/job.js';
import type { SharedBlock } from '../encoding/index.js';
import type { FileMeta } from '../file/footer.js';
import type { BlockRange } from '../file/verify-file.js';
import type { SharedMemstore } from '../memstore/memstore-cursor.js';
import type { PackedRows } from './packed-rows.js';

/** A file of a family. */
export interface SharedFile extends JobInput {
  /** Bytes on the disk. */
  readonly size: number;
}

/** The memstores and files of a family of one region, in the order of `StoreVersion.openCursors`. */
export interface SharedFamily {
  readonly descriptor: FamilyDescriptor;
  /** Oldest first. */
  readonly files: readonly SharedFile[];
  /** Oldest first. */
  readonly memstores: readonly SharedMemstore[];
}

/** A table as of one moment, with what a scan reads of it. The sender retains memory and files. */
export interface SharedView {
  /** The families that the scan reads of each region, in byte order. */
  readonly regions: readonly (readonly SharedFamily[])[];
  readonly readPoint: number;
  /** The time that decides which cells have expired. */
  readonly now: number;
  /** The columns, versions, times and the filter; without bounds. `Scan` loses its methods on the way. */
  readonly scan: Scan;
}

/** A block of the view that the sender has in its cache and holds until the part is read. */
export interface HeldBlock extends SharedBlock {
  /** The indexes of its family and file in the view. */
  readonly family: number;
  readonly file: number;
  /** The number of the block in the file. */
  readonly number: number;
}

/** Some rows of one region. */
export interface ScanPart {
  /** The index of the region in the view. */
  readonly region: number;
  readonly start: Uint8Array;
  /** Exclusive; empty: to the end of the region. */
  readonly stop: Uint8Array;
}

/** What packets have instead of rows. */
export type Asked = GroupedColumns | DerivedPuts;

export type Packet = PackedRows | PackedGroups | PackedDerivedPuts;

/** A message to a thread; `scan` is the number of the scan or verification. Parts are read at once, each until its packets are used up. */
export type ScanRequest = { readonly scan: number } & (
  | { readonly open: SharedView }
  /** Reads a part, and sends up to `packets` packets of rows; with 0 it only counts. */
  | {
      readonly part: number;
      readonly of: ScanPart;
      readonly packets: number;
      /** Packets have values of columns, or puts that are made of the rows. */
      readonly asked: Asked | undefined;
      readonly blocks: readonly HeldBlock[];
    }
  /** Verifies some blocks of a file; each step is one packet. */
  | { readonly verify: SharedFile; readonly blocks: BlockRange }
  /** Allows one packet more. */
  | { readonly more: number }
  | { readonly close: true }
);

/** What a part has. */
export interface Counted {
  readonly rows: number;
  /** Bytes of values. */
  readonly bytes: number;
}

/** A message from a thread. The last of a part has `counted` or `error`, the last of a scan or verification has `closed`. */
export type ScanReply = { readonly scan: number } & (
  | { readonly part: number; readonly packed: Packet }
  | { readonly part: number; readonly counted: Counted }
  | { readonly part: number; readonly error: WireError }
  /** A step of a verification has read so many bytes. */
  | { readonly stepped: number }
  /** The blocks are as they were written; the metadata by their cells. */
  | { readonly found: FileMeta }
  | { readonly failed: WireError }
  | { readonly closed: true }
);
