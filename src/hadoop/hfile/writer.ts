import { compareBytes, copyBytes, equalBytes, toStringBinary } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { checkRow, checkTimestamp } from '../../table/checks.js';
import { type Cell, CellType, LATEST_TIMESTAMP } from '../../table/index.js';
import { ByteBuilder } from '../writable.js';
import { packBlock } from './block.js';
import { packFileInfo, packTrailer } from './file-info.js';
import {
  BlockMagic,
  HFILE_CODECS,
  type HFileCompression,
  Info,
  keyLength,
  MESSAGE_MARK,
  TRAILER_BYTES,
  tagBytes,
  writeCell,
  writeKey,
} from './format.js';

// — The index of an HFile's data blocks: one level, or leaves between the data blocks and the levels above them.

/** Offset, size on disk and first key of a block. */
interface IndexEntry {
  readonly key: Uint8Array;
  readonly offset: number;
  readonly bytes: number;
}

/** Entries of one index block, in order. */
class IndexEntries {
  private entries: IndexEntry[] = [];
  /** The approximate size of their block. */
  size = 0;

  get count(): number {
    return this.entries.length;
  }

  add(entry: IndexEntry): void {
    this.entries.push(entry);
    this.size += entry.key.length + 16;
  }

  /** Returns the entries and removes them. */
  take(): readonly IndexEntry[] {
    const { entries } = this;
    this.entries = [];
    this.size = 0;
    return entries;
  }

  /** In the encoding of a root: read sequentially. */
  rootBytes(): Buffer {
    const bytes = new ByteBuilder(this.size + 16);
    for (const { key, offset, bytes: length } of this.entries) bytes.long(offset).int(length).vbytes(key);
    return bytes.copy();
  }
}

/** In the encoding of leaves and intermediate blocks: the offsets of the entries come first, for a binary search. */
function searchableBytes(entries: readonly IndexEntry[]): Buffer {
  const bytes = new ByteBuilder().int(entries.length);
  let place = 0;
  for (const { key } of entries) {
    bytes.int(place);
    place += 12 + key.length;
  }
  bytes.int(place);
  for (const { key, offset, bytes: length } of entries) bytes.long(offset).int(length).bytes(key);
  return bytes.copy();
}

// — The Bloom filter of the rows of an HFile, in chunks (`CompoundBloomFilter`, 1 % false positives).

const FILTER_VERSION = 3;
/** HBase's number for the hash below, its default (`hbase.hash.type`). */
const MURMUR = 1;
const HASHES = 7;
const BITS_PER_KEY = 9.6;
/** Keys per chunk, which then has at most 128 KiB. */
const KEYS_PER_CHUNK = Math.floor((8 * 131072) / BITS_PER_KEY);

/** HBase's variant of MurmurHash2: the bytes after the last full word are signed. */
export function murmurHash(bytes: Uint8Array, seed: number): number {
  const m = 0x5bd1e995;
  const words = bytes.length & ~3;
  let hash = seed ^ bytes.length;
  for (let at = 0; at < words; at += 4) {
    let k = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    k = Math.imul(k, m);
    k ^= k >>> 24;
    hash = Math.imul(hash, m) ^ Math.imul(k, m);
  }
  const left = bytes.length - words;
  if (left > 0) {
    if (left >= 3) hash ^= signed(bytes[words + 2]!) << 16;
    if (left >= 2) hash ^= signed(bytes[words + 1]!) << 8;
    hash = Math.imul(hash ^ signed(bytes[words]!), m);
  }
  hash ^= hash >>> 13;
  hash = Math.imul(hash, m);
  return hash ^ (hash >>> 15);
}

function signed(byte: number): number {
  return (byte << 24) >> 24;
}

/** The bits of a filter for keys with these hashes. */
function filterBits(first: Int32Array, second: Int32Array, keys: number): Buffer {
  const bits = Buffer.alloc(Math.ceil((keys * BITS_PER_KEY) / 8));
  const size = bits.length * 8;
  for (let key = 0; key < keys; key++) {
    let hash = first[key]!;
    for (let i = 0; i < HASHES; i++) {
      const bit = Math.abs(hash % size);
      bits[bit >> 3]! |= 1 << (bit & 7);
      hash = (hash + second[key]!) | 0;
    }
  }
  return bits;
}

/** Whether a filter may contain a key; false is certain. */
export function mayContain(bits: Uint8Array, key: Uint8Array): boolean {
  const size = bits.length * 8;
  let hash = murmurHash(key, 0);
  const step = murmurHash(key, hash);
  for (let i = 0; i < HASHES; i++) {
    const bit = Math.abs(hash % size);
    if ((bits[bit >> 3]! & (1 << (bit & 7))) === 0) return false;
    hash = (hash + step) | 0;
  }
  return true;
}

/** Collects the rows of a file, sorted and without duplicates; `chunk` writes a block and returns its offset. */
class BloomWriter {
  private readonly first = new Int32Array(KEYS_PER_CHUNK);
  private readonly second = new Int32Array(KEYS_PER_CHUNK);
  private readonly chunks = new IndexEntries();
  private firstKey: Uint8Array = new Uint8Array(0);
  private keys = 0;
  private allKeys = 0;
  private bytes = 0;
  lastKey: Uint8Array = new Uint8Array(0);

  get full(): boolean {
    return this.keys === KEYS_PER_CHUNK;
  }

  /** Keeps a reference to `row`. */
  add(row: Uint8Array): void {
    if (this.keys === 0) this.firstKey = row;
    const hash = murmurHash(row, 0);
    this.first[this.keys] = hash;
    this.second[this.keys++] = murmurHash(row, hash);
    this.lastKey = row;
  }

  /** The bits of the keys added since the last chunk; undefined when there are none. */
  takeChunk(): Buffer | undefined {
    if (this.keys === 0) return undefined;
    const bits = filterBits(this.first, this.second, this.keys);
    this.allKeys += this.keys;
    this.bytes += bits.length;
    this.keys = 0;
    return bits;
  }

  /** Records the offset of the chunk that was returned last. */
  chunkAt(offset: number, bytes: number): void {
    this.chunks.add({ key: this.firstKey, offset, bytes });
  }

  meta(): Buffer {
    const meta = new ByteBuilder()
      .int(FILTER_VERSION)
      .long(this.bytes)
      .int(HASHES)
      .int(MURMUR)
      .long(this.allKeys)
      .long(this.allKeys)
      .int(this.chunks.count)
      // No comparator: rows are compared byte by byte.
      .vint(0);
    return meta.bytes(this.chunks.rootBytes()).copy();
  }
}

// — Writes HFiles (format.ts): sorted cells of one family, for HBase's bulk load.

export interface HFileOptions {
  /** The family of all its cells. */
  readonly family: string;
  /** Default `NONE`. Codecs other than GZ must be loaded first (`prepareHFileCodec`). */
  readonly compression?: HFileCompression;
  /** Bytes of cells after which a data block ends. Default 64 KiB. */
  readonly blockSize?: number;
  /** Bytes after which an index block ends. Default 128 KiB. */
  readonly indexBlockSize?: number;
  /** Whether to write a Bloom filter of the rows. Default true. */
  readonly bloom?: boolean;
  /** The time of creation in its metadata, ms. Default: now. */
  readonly now?: number;
}

/** The destination of a file's bytes, in order. */
export interface HFileOutput {
  append(bytes: Uint8Array): Promise<void>;
}

/** The written file. */
export interface WrittenHFile {
  readonly cells: number;
  readonly bytes: number;
  readonly firstRow: Uint8Array;
  readonly lastRow: Uint8Array;
}

/** Bytes of finished blocks that are buffered in memory. */
const PENDING_BYTES = 1 << 20;

/**
 * Writes one file. Call `add` for each cell in order (row, qualifier, newest timestamp first, higher type first), await `drain`
 * whenever `full`, then call `finish`.
 */
export class HFileWriter {
  private readonly family: Buffer;
  private readonly compression: HFileCompression;
  private readonly blockSize: number;
  private readonly indexBlockSize: number;
  private readonly now: number;
  private readonly bloom: BloomWriter | undefined;
  private readonly content: ByteBuilder;
  private readonly previous = new Map<BlockMagic, number>();
  private pending: Buffer[] = [];
  private pendingBytes = 0;
  private blockKey: Uint8Array = new Uint8Array(0);
  private leaf = new IndexEntries();
  private root = new IndexEntries();
  private levels = 1;
  private indexBytes = 0;
  private offset = 0;
  private unpacked = 0;
  private firstRow: Uint8Array | undefined;
  private last: Cell | undefined;
  private largest: Cell | undefined;
  private largestLength = 0;
  private cells = 0;
  private keyBytes = 0;
  private valueBytes = 0;
  private longestTags = 0;
  private deletedFamilies = 0;
  private earliest = LATEST_TIMESTAMP;
  private latest = 0;
  private earliestPut = LATEST_TIMESTAMP;

  constructor(
    private readonly output: HFileOutput,
    options: HFileOptions,
  ) {
    this.family = Buffer.from(options.family);
    this.compression = options.compression ?? 'NONE';
    this.blockSize = options.blockSize ?? 65536;
    this.indexBlockSize = options.indexBlockSize ?? 131072;
    this.now = options.now ?? Date.now();
    this.bloom = options.bloom === false ? undefined : new BloomWriter();
    this.content = new ByteBuilder(this.blockSize + 1024);
    for (const size of [this.blockSize, this.indexBlockSize]) {
      if (!Number.isSafeInteger(size) || size < 1) {
        throw new InvalidArgumentError(
          `A block of an HFile has a whole number of bytes from 1, not ${size}.`,
        );
      }
    }
  }

  /** Approximate bytes written so far. */
  get size(): number {
    return this.offset + this.content.length;
  }

  /** Whether `drain` must be awaited before the next cell. */
  get full(): boolean {
    return this.pendingBytes >= PENDING_BYTES;
  }

  /**
   * Adds a cell. Its arrays must not change before the file is finished.
   * @throws InvalidArgumentError when it is out of order, or a kind of cell that files do not have.
   */
  add(cell: Cell): void {
    const { last } = this;
    checkCell(cell);
    if (last !== undefined && compareCells(last, cell) > 0) throw outOfOrder(cell);
    if (this.content.length >= this.blockSize) this.finishBlock();
    if (last === undefined || !equalBytes(last.row, cell.row)) this.beginRow(cell);
    if (this.content.length === 0) this.blockKey = this.keyOf(cell);
    const before = this.content.length;
    writeCell(this.content, cell, this.family);
    this.count(cell, this.content.length - before);
    this.last = cell;
  }

  /** Writes the finished blocks. */
  async drain(): Promise<void> {
    const { pending } = this;
    this.pending = [];
    this.pendingBytes = 0;
    if (pending.length > 0) await this.output.append(Buffer.concat(pending));
  }

  /** Completes the file. @throws InvalidArgumentError when it has no cell. */
  async finish(): Promise<WrittenHFile> {
    const { last, firstRow } = this;
    if (last === undefined || firstRow === undefined) {
      throw new InvalidArgumentError('An HFile has at least one cell.');
    }
    const firstDataBlock = 0;
    this.finishBlock();
    const lastDataBlock = this.previous.get(BlockMagic.data)!;
    this.finishBloomChunk();
    this.finishIndex();
    const indexCount = this.root.count;
    const root = this.root.rootBytes();
    this.indexBytes += root.length;
    const loadOnOpenOffset = this.write(BlockMagic.rootIndex, root).offset;
    this.write(BlockMagic.rootIndex, new Uint8Array(0));
    const fileInfoOffset = this.write(BlockMagic.fileInfo, packFileInfo(this.info(last))).offset;
    if (this.bloom !== undefined) this.write(BlockMagic.bloomMeta, this.bloom.meta());
    this.pending.push(
      packTrailer({
        fileInfoOffset,
        loadOnOpenOffset,
        indexBytes: this.indexBytes,
        totalBytes: this.unpacked + TRAILER_BYTES,
        indexCount,
        entries: this.cells,
        indexLevels: this.levels,
        firstDataBlock,
        lastDataBlock,
        codec: HFILE_CODECS[this.compression],
      }),
    );
    await this.drain();
    return { cells: this.cells, bytes: this.offset + TRAILER_BYTES, firstRow, lastRow: copyBytes(last.row) };
  }

  private beginRow({ row }: Cell): void {
    const own = copyBytes(row);
    this.firstRow ??= own;
    if (this.bloom === undefined) return;
    if (this.bloom.full) this.finishBloomChunk();
    this.bloom.add(own);
  }

  private count(cell: Cell, length: number): void {
    const { timestamp, type } = cell;
    this.cells++;
    this.keyBytes += keyLength(cell, this.family);
    this.valueBytes += cell.value.length;
    this.longestTags = Math.max(this.longestTags, tagBytes(cell));
    if (timestamp < this.earliest) this.earliest = timestamp;
    if (timestamp > this.latest) this.latest = timestamp;
    if (type === CellType.Put) this.earliestPut = Math.min(this.earliestPut, timestamp);
    else if (type === CellType.DeleteFamily || type === CellType.DeleteFamilyVersion) this.deletedFamilies++;
    if (length > this.largestLength) {
      this.largestLength = length;
      this.largest = cell;
    }
  }

  private keyOf(cell: Cell): Buffer {
    const key = new ByteBuilder(keyLength(cell, this.family));
    writeKey(key, cell, this.family);
    return key.copy();
  }

  private finishBlock(): void {
    if (this.content.length === 0) return;
    this.leaf.add(this.write(BlockMagic.data, this.content.view(), this.blockKey));
    this.content.clear();
    if (this.leaf.size >= this.indexBlockSize) this.finishLeaf();
  }

  private finishLeaf(): void {
    this.levels = 2;
    this.root.add(this.writeIndex(BlockMagic.leafIndex, this.leaf.take()));
  }

  private writeIndex(magic: BlockMagic, entries: readonly IndexEntry[]): IndexEntry {
    const bytes = searchableBytes(entries);
    this.indexBytes += bytes.length;
    return this.write(magic, bytes, entries[0]!.key);
  }

  private finishIndex(): void {
    if (this.levels === 1) {
      this.root = this.leaf;
      return;
    }
    if (this.leaf.count > 0) this.finishLeaf();
    while (this.root.size > this.indexBlockSize && this.root.count > 2) {
      const above = new IndexEntries();
      const part = new IndexEntries();
      for (const entry of this.root.take()) {
        part.add(entry);
        // At least two entries per block, so that each level is shorter than the one below.
        if (part.size >= this.indexBlockSize && part.count > 1) {
          above.add(this.writeIndex(BlockMagic.intermediateIndex, part.take()));
        }
      }
      if (part.count > 0) above.add(this.writeIndex(BlockMagic.intermediateIndex, part.take()));
      this.root = above;
      this.levels++;
    }
  }

  private finishBloomChunk(): void {
    const chunk = this.bloom?.takeChunk();
    if (chunk === undefined) return;
    const { offset, bytes } = this.write(BlockMagic.bloomChunk, chunk);
    this.bloom!.chunkAt(offset, bytes);
  }

  private write(magic: BlockMagic, content: Uint8Array, key: Uint8Array = this.blockKey): IndexEntry {
    const block = packBlock(magic, content, this.previous.get(magic) ?? -1, this.compression);
    const { offset } = this;
    this.previous.set(magic, offset);
    this.offset += block.length;
    this.unpacked += content.length + 33;
    this.pending.push(block);
    this.pendingBytes += block.length;
    return { key, offset, bytes: block.length };
  }

  private info(last: Cell): Map<string, Buffer> {
    const int = (value: number): Buffer => new ByteBuilder().int(value).copy();
    const long = (value: number): Buffer => new ByteBuilder().long(value).copy();
    const truth = (value: boolean): Buffer => Buffer.from([value ? 0xff : 0]);
    const times = new ByteBuilder()
      .bytes(MESSAGE_MARK)
      .numberField(1, this.earliest)
      .numberField(2, this.latest);
    const info = new Map<string, Buffer>([
      [Info.lastKey, this.keyOf(last)],
      [Info.averageKey, int(Math.floor(this.keyBytes / this.cells))],
      [Info.averageValue, int(Math.floor(this.valueBytes / this.cells))],
      [Info.created, long(this.now)],
      [Info.largestKey, this.keyOf(this.largest!)],
      [Info.largestLength, long(this.largestLength)],
      [Info.longestTags, int(this.longestTags)],
      [Info.tagsCompressed, truth(false)],
      [Info.cellVersion, int(1)],
      [Info.largestSequence, long(0)],
      [Info.timeRange, times.copy()],
      [Info.earliestPut, long(this.earliestPut)],
      [Info.majorCompaction, truth(false)],
      [Info.deletedFamilies, long(this.deletedFamilies)],
      [Info.bulkLoaded, long(this.now)],
    ]);
    if (this.bloom !== undefined) {
      info.set(Info.bloomType, Buffer.from('ROW'));
      info.set(Info.lastBloomKey, Buffer.from(this.bloom.lastKey));
    }
    return info;
  }
}

const TYPES: ReadonlySet<number> = new Set(Object.values(CellType));

/** The order of cells in a file of one family: row, qualifier, newest first, higher type first. */
export function compareCells(a: Cell, b: Cell): number {
  return (
    compareBytes(a.row, b.row) ||
    compareBytes(a.qualifier, b.qualifier) ||
    b.timestamp - a.timestamp ||
    b.type - a.type
  );
}

function checkCell({ row, timestamp, type, value }: Cell): void {
  checkRow(row);
  checkTimestamp(timestamp);
  if (timestamp !== LATEST_TIMESTAMP && TYPES.has(type) && value.length <= 0x7fffffff) return;
  throw new InvalidArgumentError(
    `The cell of row ${toStringBinary(row.subarray(0, 40))} has timestamp ${timestamp} and type ${type}. ` +
      `Cells of files have a timestamp below ${LATEST_TIMESTAMP} and a type of CellType.`,
  );
}

function outOfOrder(cell: Cell): InvalidArgumentError {
  return new InvalidArgumentError(
    `The cell of row ${toStringBinary(cell.row)} comes after a greater one. Sort the cells by row, family, qualifier ` +
      'and newest timestamp first.',
  );
}
