import { fromHex, toHex } from '../../bytes/index.js';
import { CorruptionError } from '../../errors.js';
import {
  BLOOM_FILTERS,
  type BloomFilter,
  COMPRESSIONS,
  type Compression,
  DATA_BLOCK_ENCODINGS,
  type DataBlockEncoding,
} from '../../table/index.js';

/** The metadata of a sorted file. It is stored in the file's meta block and in part in the MANIFEST. */

export interface FileMeta {
  /** The number under which the file was written; it is part of every checksum. */
  readonly fileNo: number;
  readonly cells: number;
  readonly puts: number;
  /** Delete markers of any kind. */
  readonly deletes: number;
  /** Those of a whole family (`DeleteFamily`, `DeleteFamilyVersion`). */
  readonly deleteFamilyCount: number;
  readonly rows: number;
  /**
   * The range of timestamps that the file affects (R56, HBase `TimeRangeTracker`). `minTimestamp` is 0 if it has a `DeleteColumn` or
   * `DeleteFamily`, which hide everything below their timestamp.
   */
  readonly minTimestamp: number;
  readonly maxTimestamp: number;
  /** The timestamp of the oldest put; 2^53-1 when there is none (HBase `EARLIEST_PUT_TS`). */
  readonly earliestPutTimestamp: number;
  readonly minSeq: number;
  readonly maxSeq: number;
  readonly firstRow: Uint8Array;
  readonly lastRow: Uint8Array;
  /** The greatest number of cells of one column. */
  readonly maxVersions: number;
  /** Whether any cell has a time to live of its own. */
  readonly hasTtl: boolean;
  /** Written by a compaction of all files of its store. */
  readonly majorCompacted: boolean;
  /** Bulk-loaded: its cells get the sequence number of the load (R83). */
  readonly bulkLoaded: boolean;
  readonly compression: Compression;
  readonly encoding: DataBlockEncoding;
  readonly bloomFilter: BloomFilter;
  /** Keys in the bloom filter. */
  readonly bloomKeys: number;
  /** Bytes of cells, before encoding, at which a data block was closed. */
  readonly blockSize: number;
  readonly dataBlocks: number;
  /** Bytes of all rows, qualifiers and values, with a fixed header each: the size of the cells without encoding. */
  readonly rawBytes: number;
  /** Bytes of the data blocks in the file. */
  readonly dataBytes: number;
}

/** A file that was written. */
export interface WrittenFile {
  readonly meta: FileMeta;
  /** The length of the file in bytes. */
  readonly size: number;
  /** The checksum of its footer. */
  readonly footerCrc: number;
}

/** The metadata as JSON, for the meta block and the MANIFEST. */

type Kind = 'number' | 'boolean' | 'bytes' | readonly string[];

const FIELDS: Readonly<Record<keyof FileMeta, Kind>> = {
  fileNo: 'number',
  cells: 'number',
  puts: 'number',
  deletes: 'number',
  deleteFamilyCount: 'number',
  rows: 'number',
  minTimestamp: 'number',
  maxTimestamp: 'number',
  earliestPutTimestamp: 'number',
  minSeq: 'number',
  maxSeq: 'number',
  firstRow: 'bytes',
  lastRow: 'bytes',
  maxVersions: 'number',
  hasTtl: 'boolean',
  majorCompacted: 'boolean',
  bulkLoaded: 'boolean',
  compression: COMPRESSIONS,
  encoding: DATA_BLOCK_ENCODINGS,
  bloomFilter: BLOOM_FILTERS,
  bloomKeys: 'number',
  blockSize: 'number',
  dataBlocks: 'number',
  rawBytes: 'number',
  dataBytes: 'number',
};

export type FileMetaJson = {
  readonly [Field in keyof FileMeta]: FileMeta[Field] extends Uint8Array ? string : FileMeta[Field];
};

/** A JSON object, with rows in hex. */
export function fileMetaToJson(meta: FileMeta): FileMetaJson {
  const json: Record<string, unknown> = {};
  for (const field of Object.keys(FIELDS) as (keyof FileMeta)[]) {
    const value = meta[field];
    json[field] = value instanceof Uint8Array ? toHex(value) : value;
  }
  return json as FileMetaJson;
}

/**
 * Decodes metadata. Unknown fields are ignored, because later versions may add some.
 * @throws CorruptionError naming the field that is missing or wrong.
 */
export function fileMetaFromJson(json: unknown): FileMeta {
  if (typeof json !== 'object' || json === null)
    throw new CorruptionError('The metadata of a sorted file is not an object.');
  const given = json as Record<string, unknown>;
  const meta: Record<string, unknown> = {};
  for (const [field, kind] of Object.entries(FIELDS)) {
    const value = given[field];
    if (!isOfKind(value, kind))
      throw new CorruptionError(`"${field}" of a sorted file is ${JSON.stringify(value)}.`, {
        details: { field },
      });
    meta[field] = kind === 'bytes' ? fromHex(value as string) : value;
  }
  return Object.freeze(meta) as unknown as FileMeta;
}

function isOfKind(value: unknown, kind: Kind): boolean {
  if (kind === 'number') return Number.isSafeInteger(value) && (value as number) >= 0;
  if (kind === 'boolean') return typeof value === 'boolean';
  if (kind === 'bytes') return typeof value === 'string' && /^(?:[0-9a-f]{2}){1,32767}$/.test(value);
  return kind.includes(value as string);
}
