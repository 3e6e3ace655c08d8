/** What is known of a sorted file without reading its cells. Kept in the file itself, and in the MANIFEST. */

import type { BloomFilter, Compression, DataBlockEncoding } from '../../table/index.js';

export interface FileMeta {
  /** The number under which the file was written: every checksum in it is tied to it. */
  readonly fileNo: number;
  readonly cells: number;
  readonly puts: number;
  /** Delete markers of every kind. */
  readonly deletes: number;
  /** Of these, the markers of a whole family (`DeleteFamily`, `DeleteFamilyVersion`). */
  readonly deleteFamilyCount: number;
  readonly rows: number;
  /**
   * The timestamps that the file has a bearing on (R56, HBase `TimeRangeTracker`): 0 from the first `DeleteColumn` or
   * `DeleteFamily` on, which hide everything below them.
   */
  readonly minTimestamp: number;
  readonly maxTimestamp: number;
  /** The timestamp of the oldest put; 2^53-1 when there is none (HBase `EARLIEST_PUT_TS`). */
  readonly earliestPutTimestamp: number;
  readonly minSeq: number;
  readonly maxSeq: number;
  readonly firstRow: Uint8Array;
  readonly lastRow: Uint8Array;
  /** The most cells that one column has. */
  readonly maxVersions: number;
  /** Any cell has a time to live of its own. */
  readonly hasTtl: boolean;
  /** Written by a compaction of all files of its store. */
  readonly majorCompacted: boolean;
  /** Written outside the store, and added as a whole: its cells take the seq of that moment (R83). */
  readonly bulkLoaded: boolean;
  readonly compression: Compression;
  readonly encoding: DataBlockEncoding;
  readonly bloomFilter: BloomFilter;
  /** Keys in the bloom filter. */
  readonly bloomKeys: number;
  /** Bytes at which a data block was closed, before encoding. */
  readonly blockSize: number;
  readonly dataBlocks: number;
  /** Bytes of all rows, qualifiers and values, and of a fixed header each: what the cells take unencoded. */
  readonly rawBytes: number;
  /** Bytes of the data blocks as they stand in the file. */
  readonly dataBytes: number;
}

/** A file that has been written, and how long it is. */
export interface WrittenFile {
  readonly meta: FileMeta;
  /** The length of the file in bytes. */
  readonly size: number;
  /** The checksum of its footer. */
  readonly footerCrc: number;
}
