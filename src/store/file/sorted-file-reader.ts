import { compareBytes, compareSlices } from '../../bytes/index.js';
import { type CachedFile, type CacheEntry, CachePriority, CacheSlots } from '../cache.js';
import { SeekKey } from '../cursor.js';
import type { DataBlock } from '../encoding/index.js';
import { RowBuffer } from '../row-cache.js';
import { BLOCK_HEADER_BYTES, BlockType, corruption, LEAF_ENTRIES, readPlainBlock } from './block-frame.js';
import { BlockIndex } from './block-index.js';
import { BloomChunk, type BloomKey, isChunkLength } from './bloom-filter.js';
import { DataBlockSource, PartPosition, PartSource } from './data-block-source.js';
import { type FileMeta, type Footer, fileMetaFromJson, readFooter } from './footer.js';
import type { FileContext, FileCursorOptions, SortedFileReaderOptions } from './options.js';
import { RowReader } from './row-reader.js';
import { SortedFileCursor } from './sorted-file-cursor.js';

/** Closed cursors that are kept for reuse: a point read needs one for a microsecond. */
const MAX_FREE_CURSORS = 8;

/** A range of a file. */
export interface FilePlace {
  readonly file: CachedFile;
  readonly offset: number;
  readonly length: number;
}

/** Reused: nothing is kept in them. */
const part = new PartPosition();
const foundRow = new RowBuffer();

/**
 * Reads one sorted file. Footer, metadata and root index are read, verified and kept when it is opened; data blocks, leaf indexes and
 * bloom chunks are cached. Everything read from the disk is verified against its checksum once, when it is read.
 */
export class SortedFileReader {
  readonly meta: FileMeta;
  /** Bytes of the file. */
  readonly size: number;
  readonly path: string;
  /** The checksum of its footer. */
  readonly footerCrc: number;
  /** The sequence number of all cells, -1 when each has its own. */
  readonly seq: number;
  /** The only index, or the index of the leaves. */
  readonly root: BlockIndex;
  readonly twoLevels: boolean;
  /** Used by cursors. */
  readonly blocks: CacheSlots<DataBlock>;
  readonly source: DataBlockSource;
  /** The parts of its blocks; null when blocks have none. */
  readonly parts: PartSource | null;
  /** The file's number in the cache of rows. */
  readonly number: number;
  /** Whether single rows can be read by {@link RowReader}, and are cached. */
  private readonly readsRows: boolean;
  private readonly keepsRows: boolean;
  private readonly leaves: CacheSlots<BlockIndex>;
  /** The index of the bloom filter's chunks; undefined without a filter. */
  readonly bloomIndex: BlockIndex | undefined;
  readonly footer: Footer;
  private readonly bloomChunks: CacheSlots<BloomChunk>;
  private readonly freeCursors: SortedFileCursor[] = [];

  /**
   * Opens a sorted file.
   * @param fileNo the number under which it was written
   * @throws CorruptionError when its contents differ from what was written, or it is another file
   * @throws RowanError `ERR_FORMAT_VERSION` when a later version of Rowan wrote it, `ERR_UNSUPPORTED` when its codec was
   *   not prepared, `ERR_IO` when it cannot be read
   */
  static open(
    context: FileContext,
    path: string,
    fileNo: number,
    options: SortedFileReaderOptions = {},
  ): SortedFileReader {
    const file = context.files.file(path);
    try {
      return new SortedFileReader(context, file, fileNo, options);
    } catch (error) {
      file.close();
      throw error;
    }
  }

  private constructor(
    readonly context: FileContext,
    readonly file: CachedFile,
    readonly fileNo: number,
    options: SortedFileReaderOptions,
  ) {
    this.path = file.path;
    this.size = file.size;
    this.seq = options.seq ?? -1;
    this.number = context.cache.nextFile();
    const footer = readFooter(file, fileNo);
    this.footer = footer;
    this.footerCrc = footer.crc;
    this.meta = this.readMeta(footer);
    const { meta } = this;
    if (meta.dataBlocks * BLOCK_HEADER_BYTES > this.size)
      throw corruption(this.path, footer.meta.offset, `it cannot have ${meta.dataBlocks} blocks`);
    this.twoLevels = meta.dataBlocks > LEAF_ENTRIES;
    this.root = this.readIndex(
      footer.root.offset,
      footer.root.length,
      BlockType.RootIndex,
      !this.twoLevels,
      0,
    );
    const rootEntries = this.twoLevels ? Math.ceil(meta.dataBlocks / LEAF_ENTRIES) : meta.dataBlocks;
    if (this.root.count !== rootEntries)
      throw corruption(
        this.path,
        footer.root.offset,
        `its index has ${this.root.count} entries instead of ${rootEntries}`,
      );
    this.bloomIndex =
      footer.bloom.length === 0
        ? undefined
        : this.readIndex(footer.bloom.offset, footer.bloom.length, BlockType.BloomIndex, false, 0);
    this.bloomChunks = new CacheSlots(this.bloomIndex?.count ?? 0);
    this.leaves = new CacheSlots(this.twoLevels ? this.root.count : 0);
    this.blocks = new CacheSlots(meta.dataBlocks);
    const keep = options.cacheBlocks ?? true;
    const priority = options.inMemory ? CachePriority.Memory : CachePriority.Normal;
    this.parts =
      footer.parts.length === 0
        ? null
        : new PartSource(file, meta, footer.parts, context.cache, { keep, priority });
    this.readsRows = this.parts !== null && meta.encoding === 'NONE' && !options.inMemory;
    this.keepsRows = keep;
    const whole = this.parts === null || options.inMemory ? priority : CachePriority.Spare;
    this.source = new DataBlockSource(file, meta, context.cache, this.blocks, { keep, priority: whole });
  }

  /** A cursor without a position. It must be closed, and not used afterwards. */
  cursor(options: FileCursorOptions = {}): SortedFileCursor {
    const cursor = this.freeCursors.pop() ?? new SortedFileCursor(this);
    cursor.prepare(options);
    return cursor;
  }

  /** A reader of its single rows; null when they are read from blocks or parts. */
  rowReader(): RowReader | null {
    const { file, meta, context, number } = this;
    return this.readsRows ? new RowReader(file, meta, context.cache, number, this.keepsRows) : null;
  }

  /** Called by cursors when they are closed. */
  recycle(cursor: SortedFileCursor): void {
    if (this.freeCursors.length < MAX_FREE_CURSORS) this.freeCursors.push(cursor);
  }

  /**
   * False if the file certainly has no cell of the row; or, for a key with a column, none of the column and no family marker of the
   * row. For about one of a hundred absent keys the result is true.
   */
  mayContain(key: BloomKey): boolean {
    const { meta } = this;
    const { target } = key;
    // The filter rejects more than the first and the last row would.
    if (this.bloomIndex === undefined || (meta.bloomFilter === 'ROWCOL' && !key.hasColumn))
      return this.spans(target);
    const chunks = this.bloomChunks.entries;
    const number = chunks.length === 1 ? 0 : this.bloomIndex.find(target);
    if (number < 0) return false;
    const chunk = chunks[number] ?? this.loadChunk(number);
    chunk.touched = 1;
    if (meta.bloomFilter === 'ROW') return chunk.mayContain(key.row1, key.row2);
    if (chunk.mayContain(key.column1, key.column2)) return true;
    return meta.deleteFamilyCount > 0 && chunk.mayContain(key.row1, key.row2);
  }

  /**
   * What a read of the row would read from the file: the part or block in which it may be. Undefined when that is in the cache, or the file
   * does not have the row.
   */
  placeOf(key: BloomKey): FilePlace | undefined {
    if (!this.mayContain(key)) return undefined;
    const { target } = key;
    const { root, twoLevels, source, parts, file } = this;
    const index = twoLevels ? this.leaf(Math.max(0, root.find(target))) : root;
    const entry = Math.max(0, index.find(target));
    const block = index.firstBlocks[entry]!;
    if (this.blocks.entries[block]! !== null) return undefined;
    const offset = index.offsets[entry]!;
    if (parts === null || source.readsWhole(index, entry, true))
      return { file, offset, length: index.lengths[entry]! };
    const { rows } = this.context.cache;
    if (this.readsRows && rows?.find(this.number, key.row1, target, foundRow)) return undefined;
    part.locate(parts, block, offset, target);
    return parts.holds(part) ? undefined : { file, offset: part.payloadAt + part.start, length: part.length };
  }

  /** Whether the row is between the file's first and last. */
  private spans({ row, rowOffset, rowLength }: SeekKey): boolean {
    const { firstRow, lastRow } = this.meta;
    return (
      compareSlices(row, rowOffset, rowLength, firstRow, 0, firstRow.length) >= 0 &&
      compareSlices(row, rowOffset, rowLength, lastRow, 0, lastRow.length) <= 0
    );
  }

  /** A leaf of a two-level index. */
  leaf(number: number): BlockIndex {
    const cached = this.leaves.entries[number]!;
    if (cached !== null) {
      cached.touched = 1;
      return cached;
    }
    const { root, meta } = this;
    const first = number * LEAF_ENTRIES;
    const leaf = this.readIndex(
      root.offsets[number]!,
      root.lengths[number]!,
      BlockType.LeafIndex,
      true,
      first,
    );
    if (leaf.count !== Math.min(LEAF_ENTRIES, meta.dataBlocks - first))
      throw corruption(this.path, root.offsets[number]!, `a leaf of its index has ${leaf.count} entries`);
    this.context.cache.insert(this.leaves, number, leaf, CachePriority.Index);
    return leaf;
  }

  /** The cached blocks that may have rows of [start, stop), by their numbers; an empty `stop` is the end of the file. */
  cachedBlocks(start: Uint8Array, stop: Uint8Array): [number: number, block: DataBlock][] {
    const { root, twoLevels } = this;
    const found: [number, DataBlock][] = [];
    const target = new SeekKey().setRow(start);
    let leaf = twoLevels ? Math.max(0, root.find(target)) : 0;
    for (let from: SeekKey | undefined = target; leaf < (twoLevels ? root.count : 1); leaf++) {
      const index = twoLevels ? this.leaf(leaf) : root;
      for (let i = from === undefined ? 0 : Math.max(0, index.find(from)); i < index.count; i++) {
        if (stop.length > 0 && compareBytes(index.keyRow(i), stop) >= 0) return found;
        const number = index.firstBlocks[i]!;
        const block = this.blocks.entries[number]!;
        if (block !== null) found.push([number, block]);
      }
      from = undefined;
    }
    return found;
  }

  /**
   * Has its cursors read some blocks of another thread, where they are not cached, until they are taken away: before the memory of the
   * blocks is used again.
   */
  lend(blocks: ReadonlyMap<number, DataBlock>): void {
    const { entries } = this.blocks;
    for (const [number, block] of blocks) {
      block.path = this.path;
      entries[number] ??= block;
    }
  }

  takeAway(blocks: ReadonlyMap<number, DataBlock>): void {
    const { entries } = this.blocks;
    for (const [number, block] of blocks) if (entries[number] === block) entries[number] = null;
  }

  /**
   * A row near the middle of the file's bytes that is greater than its first row: a split point. Undefined when the file has one
   * block or one row.
   */
  middleRow(): Uint8Array | undefined {
    const { root, twoLevels } = this;
    const { firstRow } = this.meta;
    for (let number = twoLevels ? root.count >>> 1 : 0; number < (twoLevels ? root.count : 1); number++) {
      const leaf = twoLevels ? this.leaf(number) : root;
      for (let i = twoLevels && root.count > 2 ? 0 : leaf.count >>> 1; i < leaf.count; i++) {
        const row = leaf.keyRow(i);
        if (compareSlices(row, 0, row.length, firstRow, 0, firstRow.length) > 0) return row.slice();
      }
    }
    return undefined;
  }

  /** Releases its blocks and its file. Cursors that are still open fail at their next read. */
  close(): void {
    const { cache } = this.context;
    cache.invalidate(this.blocks as unknown as CacheSlots<CacheEntry>);
    this.parts?.close();
    cache.invalidate(this.leaves as unknown as CacheSlots<CacheEntry>);
    cache.invalidate(this.bloomChunks as unknown as CacheSlots<CacheEntry>);
    this.freeCursors.length = 0;
    this.file.close();
  }

  private readMeta(footer: Footer): FileMeta {
    const { offset, length } = footer.meta;
    const payload = readPlainBlock(this.file, this.fileNo, offset, length, BlockType.Meta);
    try {
      return fileMetaFromJson(JSON.parse(Buffer.from(payload).toString('latin1')));
    } catch (error) {
      throw corruption(this.path, offset, (error as Error).message, error);
    }
  }

  /** `ofData`: its entries are data blocks, numbered from `first`. */
  private readIndex(
    offset: number,
    length: number,
    type: BlockType,
    ofData: boolean,
    first: number,
  ): BlockIndex {
    const payload = readPlainBlock(this.file, this.fileNo, offset, length, type);
    let index: BlockIndex;
    try {
      index = new BlockIndex(payload);
    } catch (error) {
      throw corruption(this.path, offset, (error as Error).message, error);
    }
    for (let i = 0; i < index.count; i++) {
      const number = index.firstBlocks[i]!;
      const expected = ofData ? first + i : type === BlockType.RootIndex ? i * LEAF_ENTRIES : i;
      if (number !== expected || index.offsets[i]! + index.lengths[i]! > this.size)
        throw corruption(this.path, offset, `entry ${i} of an index points outside the file`);
    }
    return index;
  }

  private loadChunk(number: number): BloomChunk {
    const index = this.bloomIndex!;
    const offset = index.offsets[number]!;
    const bytes = readPlainBlock(
      this.file,
      this.fileNo,
      offset,
      index.lengths[number]!,
      BlockType.BloomChunk,
    );
    if (!isChunkLength(bytes.length))
      throw corruption(this.path, offset, `a bloom filter has ${bytes.length} bytes`);
    const chunk = new BloomChunk(bytes);
    this.context.cache.insert(this.bloomChunks, number, chunk, CachePriority.Index);
    return chunk;
  }
}
