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

/** Facts about a sorted file that are known without reading its cells. They are kept in the file itself, and in the MANIFEST. */

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

/** File facts as JSON: for the meta block and the MANIFEST. */

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

/** A plain object that `JSON.stringify` takes: rows in hex. */
export function fileMetaToJson(meta: FileMeta): FileMetaJson {
  const json: Record<string, unknown> = {};
  for (const field of Object.keys(FIELDS) as (keyof FileMeta)[]) {
    const value = meta[field];
    json[field] = value instanceof Uint8Array ? toHex(value) : value;
  }
  return json as FileMetaJson;
}

/**
 * Fields that are not known are passed over: later versions may add some.
 * @throws CorruptionError naming the field that is missing or wrong.
 */
export function fileMetaFromJson(json: unknown): FileMeta {
  if (typeof json !== 'object' || json === null)
    throw new CorruptionError('The facts of a sorted file are no object.');
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
