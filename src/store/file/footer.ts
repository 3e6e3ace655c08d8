import { crc32, equalBytes, fromHex, putU64, readU64, toHex } from '../../bytes/index.js';
import { CorruptionError, RowanError } from '../../errors.js';
import {
  BLOOM_FILTERS,
  type BloomFilter,
  COMPRESSIONS,
  type Compression,
  DATA_BLOCK_ENCODINGS,
  type DataBlockEncoding,
} from '../../table/index.js';
import type { CachedFile } from '../cache.js';
import type { FileHandle } from '../fs/file-system.js';
import {
  BLOCK_HEADER_BYTES,
  type BlockType,
  checksumSeed,
  corruption,
  FOOTER_BYTES,
  FORMAT_VERSION,
  MAGIC,
  OLDEST_FORMAT_VERSION,
  writeHeader,
} from './block-frame.js';

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

// — The metadata as JSON, for the meta block and the MANIFEST.

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

type FileMetaJson = {
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

const CRC_AT = 52;
const MAGIC_AT = 56;

/**
 * The last 64 bytes of a sorted file, which locate the rest. FROZEN, see docs/formats-sorted-files.md:
 *
 *     0   meta offset u64, length u32
 *     12  root index offset u64, length u32
 *     24  bloom index offset u64, length u32 (0: no bloom filter)
 *     36  length u32 of the index of part groups, which is directly before the root index (0: blocks have no parts)
 *     40  file number u64
 *     48  format version u32
 *     52  crc u32 of the 52 bytes before, seeded like a block's
 *     56  "ROWANSST"
 */
export interface Footer {
  readonly meta: BlockHandle;
  readonly root: BlockHandle;
  readonly bloom: BlockHandle;
  /** Directly before the root index. */
  readonly parts: BlockHandle;
  readonly fileNo: number;
}

/** A footer that was read. */
interface ReadFooter extends Footer {
  /** Its checksum. */
  readonly crc: number;
}

export function writeFooter(footer: Footer, offset: number): Uint8Array {
  const bytes = new Uint8Array(FOOTER_BYTES);
  const view = new DataView(bytes.buffer);
  const place = (at: number, block: BlockHandle): void => {
    putU64(view, at, block.offset);
    view.setUint32(at + 8, block.length, true);
  };
  place(0, footer.meta);
  place(12, footer.root);
  place(24, footer.bloom);
  view.setUint32(36, footer.parts.length, true);
  putU64(view, 40, footer.fileNo);
  view.setUint32(48, FORMAT_VERSION, true);
  view.setUint32(CRC_AT, crc32(bytes, 0, CRC_AT, checksumSeed(footer.fileNo, offset)), true);
  bytes.set(MAGIC, MAGIC_AT);
  return bytes;
}

/** The checksum in a footer's bytes, by which the MANIFEST identifies the file. */
export function footerCrc(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(CRC_AT, true);
}

/**
 * @throws CorruptionError when the file does not end with a footer of file `fileNo`.
 * @throws RowanError `ERR_FORMAT_VERSION` when a later version of Rowan wrote it.
 */
export function readFooter(file: CachedFile, fileNo: number): ReadFooter {
  const offset = file.size - FOOTER_BYTES;
  if (offset < 0) throw corruption(file.path, 0, `it has only ${file.size} bytes, too few for a sorted file`);
  const bytes = new Uint8Array(FOOTER_BYTES);
  if (file.read(bytes, 0, FOOTER_BYTES, offset) !== FOOTER_BYTES)
    throw corruption(file.path, offset, 'its footer could not be read completely');
  if (!equalBytes(bytes.subarray(MAGIC_AT), MAGIC))
    throw corruption(file.path, offset + MAGIC_AT, 'it does not end like a sorted file');
  const view = new DataView(bytes.buffer);
  const writtenAs = readU64(view, 40);
  if (crc32(bytes, 0, CRC_AT, checksumSeed(writtenAs, offset)) !== view.getUint32(CRC_AT, true))
    throw corruption(file.path, offset, 'the checksum of its footer does not match');
  const version = view.getUint32(48, true);
  if (version < OLDEST_FORMAT_VERSION || version > FORMAT_VERSION) {
    throw new RowanError(
      'ERR_FORMAT_VERSION',
      `"${file.path}" has format version ${version}; this version of Rowan reads versions ${OLDEST_FORMAT_VERSION} to ${FORMAT_VERSION}. Open the store with the version that wrote it, or a later one.`,
      { details: { file: file.path, version } },
    );
  }
  if (writtenAs !== fileNo)
    throw corruption(file.path, offset + 40, `it is file ${writtenAs}, where file ${fileNo} should be`);
  const place = (at: number): BlockHandle => ({
    offset: readU64(view, at),
    length: view.getUint32(at + 8, true),
  });
  const root = place(12);
  const partsLength = view.getUint32(36, true);
  const parts = { offset: root.offset - partsLength, length: partsLength };
  return { meta: place(0), root, bloom: place(24), parts, fileNo, crc: footerCrc(bytes) };
}

/** The number under which a file was written, whatever its name: for files from other stores. */
export function fileNumberOf(file: CachedFile): number {
  const bytes = new Uint8Array(8);
  file.read(bytes, 0, 8, Math.max(0, file.size - FOOTER_BYTES + 40));
  const fileNo = readU64(new DataView(bytes.buffer), 0);
  return readFooter(file, fileNo).fileNo;
}

const STAGING_BYTES = 1 << 18;
/** The first size of the staging buffer, which grows with what is staged: most files of small stores are smaller. */
const FIRST_STAGING_BYTES = 1 << 13;

/**
 * Bytes after which the file is synced while it is written. Otherwise the system would write a large file at once in the final
 * sync, and syncs of the log would wait for it.
 */
const SYNCED_BYTES = 1 << 20;

/** The position of a block in the file. */
export interface BlockHandle {
  readonly offset: number;
  /** Header included. */
  readonly length: number;
}

/** Appends blocks to a file, several with each system call. */
export class FileOutput {
  private staging: Uint8Array = Buffer.allocUnsafeSlow(FIRST_STAGING_BYTES);
  private staged = 0;
  private unsynced = 0;
  /** The offset of the next byte. */
  offset = 0;

  constructor(
    readonly handle: FileHandle,
    private readonly fileNo: number,
  ) {}

  block(
    type: BlockType,
    payload: Uint8Array,
    length: number,
    codec = 0,
    encoding = 0,
    rawLength = length,
  ): BlockHandle {
    const total = BLOCK_HEADER_BYTES + length;
    this.reserve(total);
    const { staging, staged, offset } = this;
    staging.set(
      length === payload.length ? payload : payload.subarray(0, length),
      staged + BLOCK_HEADER_BYTES,
    );
    writeHeader(staging, staged, { type, codec, encoding, rawLength, length }, this.fileNo, offset);
    this.staged += total;
    this.offset += total;
    return { offset, length: total };
  }

  bytes(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.staging.set(bytes, this.staged);
    this.staged += bytes.length;
    this.offset += bytes.length;
  }

  flush(): void {
    if (this.staged === 0) return;
    this.handle.write(this.staging, 0, this.staged);
    this.unsynced += this.staged;
    this.staged = 0;
    if (this.unsynced < SYNCED_BYTES) return;
    this.handle.sync();
    this.unsynced = 0;
  }

  private reserve(length: number): void {
    const { staging, staged } = this;
    if (staged + length <= staging.length) return;
    if (staged + length > STAGING_BYTES) this.flush();
    const needed = this.staged + length;
    if (needed <= staging.length) return;
    this.staging = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(4 * staging.length, STAGING_BYTES)));
    this.staging.set(staging.subarray(0, this.staged));
  }
}
