/** Options of writers and readers of sorted files. */

import type { BloomFilter, Compression, DataBlockEncoding } from '../../table/index.js';
import type { BlockCache } from '../cache/block-cache.js';
import type { FileHandleCache } from '../cache/file-handle-cache.js';

/** A `FamilyDescriptor` has all of what is not optional but the file's number. */
export interface SortedFileWriterOptions {
  /** The number of the file, which every checksum in it is tied to. */
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

/** Caches and settings that all readers of a store share. */
export interface FileContext {
  readonly files: FileHandleCache;
  readonly cache: BlockCache;
}

export interface SortedFileReaderOptions {
  /** False: data blocks are not kept in the cache (BLOCKCACHE). Index and bloom always are. Default true. */
  readonly cacheBlocks?: boolean;
  /** True: data blocks are among the last to leave the cache (IN_MEMORY). Default false. */
  readonly inMemory?: boolean;
  /** The seq that every cell of a bulk-loaded file has instead of the one it was written with. */
  readonly seq?: number;
}

export interface FileCursorOptions {
  /** False: blocks that are read enter no cache, whatever the family says (HBase `Scan.setCacheBlocks`). Default true. */
  readonly cacheBlocks?: boolean;
  /**
   * True: blocks that enter no cache are read into one buffer, again and again, so bytes given out are gone after the
   * next move of the cursor. For compactions. Default false: bytes given out stay as they are.
   */
  readonly transient?: boolean;
  /** True: blocks are read part by part, however many. For tests of what a file says of itself. Default false. */
  readonly inParts?: boolean;
}
