/** Options for writers and readers of sorted files. */

import type { BloomFilter, Compression, DataBlockEncoding } from '../../table/index.js';
import type { BlockCache, FileHandleCache } from '../cache.js';

/** A `FamilyDescriptor` has all required fields except the file's number. */
export interface SortedFileWriterOptions {
  /** The number of the file; it is part of every checksum. */
  readonly fileNo: number;
  /** Its codec must have been prepared (`prepareCodecs`). */
  readonly compression: Compression;
  readonly dataBlockEncoding: DataBlockEncoding;
  readonly bloomFilter: BloomFilter;
  /** Bytes of cells, before encoding, at which a block is closed. */
  readonly blockSize: number;
  /** Bytes of cells at which a part of a block ends. Default 2048. */
  readonly partBytes?: number;
  /** Default false. */
  readonly majorCompacted?: boolean;
  /** Default false. */
  readonly bulkLoaded?: boolean;
}

/** The caches that all readers of a store share. */
export interface FileContext {
  readonly files: FileHandleCache;
  readonly cache: BlockCache;
}

export interface SortedFileReaderOptions {
  /** False: data blocks are not cached (BLOCKCACHE). Index and bloom filter always are. Default true. */
  readonly cacheBlocks?: boolean;
  /** True: data blocks are evicted last (IN_MEMORY). Default false. */
  readonly inMemory?: boolean;
  /** The sequence number of all cells of a bulk-loaded file, instead of those in the file. */
  readonly seq?: number;
}

export interface FileCursorOptions {
  /** False: blocks read are not cached, whatever the family says (HBase `Scan.setCacheBlocks`). Default true. */
  readonly cacheBlocks?: boolean;
  /**
   * True: blocks that are not cached are read into one buffer, so bytes of the cursor are valid only until its next move. For
   * compactions. Default false: they stay valid.
   */
  readonly transient?: boolean;
  /** True: blocks are always read part by part. For the verification of files. Default false. */
  readonly inParts?: boolean;
  /** About so many rows are read from where it seeks. Default: nobody knows. */
  readonly rows?: number | undefined;
}
