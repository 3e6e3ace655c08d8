/**
 * HFile, version 3: the files that HBase keeps cells in and takes in by its bulk load
 * (HBase reference guide, appendix "HFile format"; docs/bulk-load.md). FROZEN.
 *
 *     scanned    data blocks, and between them leaf index blocks and chunks of the Bloom filter
 *     not        intermediate index blocks
 *     on open    root index | index of meta blocks (none) | file info | meta of the Bloom filter
 *     trailer    4096 bytes
 *
 * A block: magic (8) | bytes on disk behind this head (4) | bytes unpacked (4) | where the block of its kind before it is, or -1
 * (8) | kind of checksum (1) | bytes that each is of (4) | bytes of head and content (4) | content | a checksum (4) of each
 * 16384 bytes of head and content. Numbers are big-endian.
 */

export const BlockMagic = {
  data: 'DATABLK*',
  encodedData: 'DATABLKE',
  leafIndex: 'IDXLEAF2',
  intermediateIndex: 'IDXINTE2',
  rootIndex: 'IDXROOT2',
  fileInfo: 'FILEINF2',
  bloomChunk: 'BLMFBLK2',
  bloomMeta: 'BLMFMET2',
  trailer: 'TRABLK"$',
} as const;
export type BlockMagic = (typeof BlockMagic)[keyof typeof BlockMagic];

export const MAGIC_BYTES = 8;
export const BLOCK_HEAD_BYTES = 33;
export const CHECKSUM_CHUNK = 16384;
/** HBase's ChecksumType. */
export const CHECKSUM_NONE = 0;
export const CHECKSUM_CRC32 = 1;

export const TRAILER_BYTES = 4096;
export const MAJOR_VERSION = 3;
export const MINOR_VERSION = 3;
/** What HBase 1 called the order of cells; all versions know it by this name. */
export const COMPARATOR = 'org.apache.hadoop.hbase.KeyValue$KVComparator';
/** What begins a message where older versions had something else. */
export const MESSAGE_MARK = Buffer.from('PBUF');

/** The codecs that HFiles are written and read with here, by HBase's numbers (`Compression.Algorithm`). */
export const HFILE_CODECS = { GZ: 1, NONE: 2, SNAPPY: 3, LZ4: 4, ZSTD: 6 } as const;
export type HFileCompression = keyof typeof HFILE_CODECS;
/** HBase's others, for messages. */
export const CODEC_NAMES: readonly string[] = [
  'LZO',
  'GZ',
  'NONE',
  'SNAPPY',
  'LZ4',
  'BZIP2',
  'ZSTD',
  'LZMA',
  'BROTLI',
];

/** Keys of the file info. */
export const Info = {
  lastKey: 'hfile.LASTKEY',
  averageKey: 'hfile.AVG_KEY_LEN',
  averageValue: 'hfile.AVG_VALUE_LEN',
  created: 'hfile.CREATE_TIME_TS',
  largestKey: 'hfile.KEY_OF_BIGGEST_CELL',
  largestLength: 'hfile.LEN_OF_BIGGEST_CELL',
  longestTags: 'hfile.MAX_TAGS_LEN',
  tagsCompressed: 'hfile.TAGS_COMPRESSED',
  cellVersion: 'KEY_VALUE_VERSION',
  largestSequence: 'MAX_MEMSTORE_TS_KEY',
  encoding: 'DATA_BLOCK_ENCODING',
  timeRange: 'TIMERANGE',
  earliestPut: 'EARLIEST_PUT_TS',
  majorCompaction: 'MAJOR_COMPACTION_KEY',
  deletedFamilies: 'DELETE_FAMILY_COUNT',
  bloomType: 'BLOOM_FILTER_TYPE',
  lastBloomKey: 'LAST_BLOOM_KEY',
  bulkLoaded: 'BULKLOAD_TIMESTAMP',
} as const;
