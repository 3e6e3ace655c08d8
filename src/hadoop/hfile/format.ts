import { type Cell, CellWithTtl } from '../../table/index.js';
import { type ByteBuilder, type ByteParser, cellOf, TTL_TAG_BYTES, writeTtlTag } from '../writable.js';

// — HFile, version 3: HBase's file format for cells, which its bulk load accepts
// (HBase reference guide, appendix "HFile format"; docs/bulk-load.md). FROZEN.
//
//     scanned      data blocks, interleaved with leaf index blocks and chunks of the Bloom filter
//     not scanned  intermediate index blocks
//     on open      root index | index of meta blocks (none) | file info | meta of the Bloom filter
//     trailer      4096 bytes
//
// A block: magic (8) | size on disk without this header (4) | uncompressed size (4) | offset of the previous block of its kind, or -1
// (8) | type of checksum (1) | bytes per checksum (4) | size of header and content (4) | content | a checksum (4) for each
// 16384 bytes of header and content. Numbers are big-endian.

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
/** HBase 1's class name for the order of cells; every version accepts it. */
export const COMPARATOR = 'org.apache.hadoop.hbase.KeyValue$KVComparator';
/** The prefix of a protocol-buffers message; older versions have another encoding there. */
export const MESSAGE_MARK = Buffer.from('PBUF');

/** The supported codecs, by HBase's numbers (`Compression.Algorithm`). */
export const HFILE_CODECS = { GZ: 1, NONE: 2, SNAPPY: 3, LZ4: 4, ZSTD: 6 } as const;
export type HFileCompression = keyof typeof HFILE_CODECS;
/** HBase's other codecs, for error messages. */
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

// — Cells as `KeyValue`s of an HFile, with tags.

/** Bytes of a key besides row, family and qualifier: two lengths, timestamp, type. */
const KEY_OVERHEAD = 12;

export function keyLength(cell: Cell, family: Uint8Array): number {
  return KEY_OVERHEAD + cell.row.length + family.length + cell.qualifier.length;
}

export function writeKey(target: ByteBuilder, cell: Cell, family: Uint8Array): void {
  target.short(cell.row.length).bytes(cell.row);
  target.byte(family.length).bytes(family).bytes(cell.qualifier);
  target.long(cell.timestamp).byte(cell.type);
}

/** The number of bytes of a cell's tags. */
export function tagBytes(cell: Cell): number {
  return cell instanceof CellWithTtl ? TTL_TAG_BYTES : 0;
}

/** The cell, its tags and its sequence number: 0, because the server assigns one to each file that it loads. */
export function writeCell(target: ByteBuilder, cell: Cell, family: Uint8Array): void {
  target.int(keyLength(cell, family)).int(cell.value.length);
  writeKey(target, cell, family);
  target.bytes(cell.value);
  target.short(tagBytes(cell));
  if (cell instanceof CellWithTtl) writeTtlTag(target, cell.ttl);
  target.vint(0);
}

/** The fields after the values of a file's cells. */
export interface CellShape {
  readonly tags: boolean;
  readonly sequence: boolean;
}

const NO_BYTES: Buffer = Buffer.alloc(0);

/** Parses consecutive cells. A cell with the row or family of the previous one shares its array. */
export class CellReader {
  private row = NO_BYTES;
  private familyBytes = NO_BYTES;
  private family = '';

  constructor(
    private readonly parser: ByteParser,
    private readonly shape: CellShape,
  ) {}

  /** The cell at the parser's position. @throws CorruptionError */
  read(): Cell {
    const { parser, shape } = this;
    const keyBytes = parser.int();
    const valueBytes = parser.int();
    const keyEnd = parser.at + keyBytes;
    this.row = parser.takeLike(this.row, parser.short());
    this.takeFamily(parser.byte());
    const { row, family } = this;
    const qualifier = parser.take(keyEnd - parser.at - 9);
    const timestamp = parser.long();
    const type = parser.byte();
    const value = parser.take(valueBytes);
    const tags = shape.tags ? parser.take(parser.short()) : undefined;
    if (shape.sequence) parser.vint();
    return cellOf({ row, family, qualifier, timestamp, type, value, tags });
  }

  private takeFamily(length: number): void {
    const bytes = this.parser.takeLike(this.familyBytes, length);
    if (bytes === this.familyBytes) return;
    this.familyBytes = bytes;
    this.family = bytes.toString();
  }
}
