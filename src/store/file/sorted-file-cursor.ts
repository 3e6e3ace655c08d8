import { EMPTY_BYTES } from '../../bytes/index.js';
import { CellCursor, compareToSeekKey, type PutVisitor, SeekKey } from '../cursor.js';
import {
  ABSENT,
  type BlockDecoder,
  createDecoder,
  type DataBlock,
  type EncodedRow,
  FOUND,
  isRowAt,
} from '../encoding/index.js';
import { LEAF_ENTRIES } from './block-frame.js';
import type { BlockIndex } from './block-index.js';
import type { BloomKey } from './bloom-filter.js';
import { type DataBlockSource, PartPosition, type PartSource, ReadBuffer } from './data-block-source.js';
import type { FileMeta } from './footer.js';
import type { FileContext, FileCursorOptions } from './options.js';
import type { RowReader } from './row-reader.js';

/** The most cells that `reseek` steps over before it searches. */
const MAX_STEPS = 3;
/** Parts that a cursor reads together when it moves beyond the first one; after them it reads the rest of the block. */
const PARTS_AHEAD = 4;
/** The most parts that a cursor reads together where it seeks, or begins a block: those of a block of 64 KiB. */
const MAX_PARTS_SOUGHT = 32;
/** The most parts that a cursor reads before it reads whole blocks. */
const MAX_PARTS_READ = 8;
/** Reads of rows for which the bloom filter is asked first, after one that it has answered. */
const FILTERED_READS = 16;

/** The part of a file's reader that its cursors use. */
interface CursorFile {
  readonly meta: FileMeta;
  readonly seq: number;
  readonly root: BlockIndex;
  readonly twoLevels: boolean;
  readonly source: DataBlockSource;
  /** Null when blocks have no parts. */
  readonly parts: PartSource | null;
  readonly context: FileContext;
  leaf(number: number): BlockIndex;
  mayContain(key: BloomKey): boolean;
  rowReader(): RowReader | null;
  /** Called with a cursor that was closed. */
  recycle(cursor: SortedFileCursor): void;
}

/**
 * A position in a sorted file. With the encodings NONE and ROW_INDEX_V1 its bytes are those of the block. With the others the key is
 * decoded into a buffer of the cursor, and only the value is a view.
 */
export class SortedFileCursor extends CellCursor {
  private readonly decoder: BlockDecoder;
  private readonly seqOfAll: number;
  private index: BlockIndex;
  private leafNumber = 0;
  /** The entry of `index` for the current block. */
  private entry = 0;
  private keep = true;
  private reuse: ReadBuffer | undefined;
  private rowKey: SeekKey | undefined;
  private inUse = false;
  /** The current block or part. */
  private block: DataBlock | null = null;
  /** The current part, if `inPart`. */
  readonly part = new PartPosition();
  /** The cursor is in a part, not in a whole block. */
  private inPart = false;
  /** The number of parts it has moved through since the last seek. */
  private partsRead = 0;
  /** The current block, if it consists of several parts read together. */
  private run: DataBlock | null = null;
  private onlyParts = false;
  /** About so many more cells are read; 0: nobody knows. */
  private wanted = 0;
  /** Reads single rows, once the cache has no room for their blocks. */
  private rows: RowReader | null = null;
  /** While it is not 0, the bloom filter is asked before the cache of rows. */
  private filteredReads = 0;
  /** The cursor has only the row that was sought, and ends after it. */
  private inRow = false;

  constructor(private readonly reader: CursorFile) {
    super();
    this.decoder = createDecoder(reader.meta.encoding);
    this.index = reader.root;
    this.seqOfAll = reader.seq;
  }

  /** Called by the reader: makes it a new cursor. */
  prepare(options: FileCursorOptions): void {
    this.inUse = true;
    this.valid = false;
    this.order = 0;
    this.keep = options.cacheBlocks ?? true;
    this.onlyParts = (options.inParts ?? false) && this.reader.parts !== null;
    const { meta } = this.reader;
    this.wanted = options.rows === undefined ? 0 : options.rows * (meta.cells / meta.rows);
    this.reuse = options.transient ? (this.reuse ?? new ReadBuffer()) : undefined;
  }

  /** The offset of the current block in the file. */
  get blockOffset(): number {
    return this.index.offsets[this.entry]!;
  }

  /** The number of the current block in the file. */
  get blockNumber(): number {
    return this.index.firstBlocks[this.entry]!;
  }

  get isFirstOfBlock(): boolean {
    return this.decoder.isFirst();
  }

  /** The position of the current block in the index. */
  get indexPosition(): { readonly index: BlockIndex; readonly entry: number } {
    return { index: this.index, entry: this.entry };
  }

  override seekToFirst(): boolean {
    return this.seekToBlock(0);
  }

  /** Moves to the first cell of a block. */
  seekToBlock(number: number): boolean {
    const { twoLevels, root } = this.reader;
    this.valid = false;
    this.inRow = false;
    this.leafNumber = twoLevels ? Math.floor(number / LEAF_ENTRIES) : 0;
    this.index = twoLevels ? this.reader.leaf(this.leafNumber) : root;
    this.entry = number - this.leafNumber * LEAF_ENTRIES;
    this.inPart = false;
    this.openNext();
    this.decoder.first(this);
    return this.positioned();
  }

  override seek(target: SeekKey): boolean {
    this.valid = false;
    this.inRow = false;
    this.locate(target);
    this.openFor(target);
    if (this.decoder.seek(this, target)) return this.positioned();
    return this.firstOfNextBlock();
  }

  /**
   * Like `seek`, but only to a cell of the target's row; false otherwise, and where the bloom filter has no such cell. The cursor may end
   * after that row.
   */
  seekInRow(target: SeekKey, key: BloomKey): boolean {
    this.valid = false;
    const { rows } = this;
    const hash = key.row1;
    const filtersFirst = rows === null || this.filteredReads > 0;
    if (filtersFirst && !this.passesFilter(key)) return false;
    const cached = rows === null ? null : rows.cached(target, hash);
    if (cached !== null) return this.seekInOnlyRow(cached, target, hash);
    if (!filtersFirst && !this.passesFilter(key)) return false;
    this.inRow = false;
    this.locate(target);
    const whole = this.reader.source.cached(this.index, this.entry);
    if (whole !== null && !this.onlyParts) {
      this.partsRead = 0;
      this.inPart = false;
      this.useBlock(whole);
    } else {
      const read = this.readRow(target, hash);
      if (read !== undefined) return read !== null && this.seekInOnlyRow(read, target, hash);
      this.openFor(target);
    }
    const found = this.decoder.seekInRow(this, target, hash);
    if (found === FOUND) return this.positioned();
    if (found === ABSENT || !this.firstOfNextBlock()) return false;
    this.valid = isRowAt(this.key, this.rowOffset, this.rowLength, target);
    return this.valid;
  }

  /** Asks the bloom filter, and notes whether it is worth asking before cached rows: each costs a wait for memory. */
  private passesFilter(key: BloomKey): boolean {
    if (!this.reader.mayContain(key)) {
      this.filteredReads = FILTERED_READS;
      return false;
    }
    if (this.filteredReads > 0) this.filteredReads--;
    return true;
  }

  private seekInOnlyRow(row: DataBlock, target: SeekKey, hash: number): boolean {
    this.inRow = true;
    this.useBlock(row);
    return this.decoder.seekInOnlyRow(this, target, hash) && this.positioned();
  }

  /** The row from parts of the located block, null when the file has none; undefined when it has to be read otherwise. */
  private readRow(target: SeekKey, hash: number): DataBlock | null | undefined {
    const { reader, index, entry, keep } = this;
    const { source, parts } = reader;
    if (parts === null || source.readsWhole(index, entry, keep)) return undefined;
    const rows = this.rows ?? reader.rowReader();
    if (rows === null) return undefined;
    if (this.rows === null) {
      this.rows = rows;
      if (rows.keep) reader.context.cache.beginRows();
    }
    this.part.locate(parts, index.firstBlocks[entry]!, index.offsets[entry]!, target);
    return parts.holds(this.part) ? undefined : rows.read(this.part, target, hash);
  }

  override reseek(target: SeekKey): boolean {
    if (!this.valid) return this.seek(target);
    if (this.inRow) return this.reseekInRow(target);
    for (let i = 0; i < MAX_STEPS; i++) {
      if (compareToSeekKey(this, target) >= 0) return true;
      if (!this.decoder.next(this)) return this.seek(target);
      if (this.seqOfAll >= 0) this.seq = this.seqOfAll;
    }
    if (this.decoder.forward(this, target)) return this.positioned();
    return this.seek(target);
  }

  /** In a single row; false, like after a file's end, when the target comes after the row. */
  private reseekInRow(target: SeekKey): boolean {
    while (compareToSeekKey(this, target) < 0) if (!this.next()) return false;
    return true;
  }

  override next(): boolean {
    if (!this.valid) return false;
    if (this.decoder.next(this)) {
      if (this.seqOfAll >= 0) this.seq = this.seqOfAll;
      return true;
    }
    this.valid = false;
    if (this.inRow) return false;
    return this.inPart && this.part.left > 0 ? this.firstOfNextParts() : this.firstOfNextBlock();
  }

  override nextInRow(row: Uint8Array): boolean {
    return this.inRow ? this.next() : super.nextInRow(row);
  }

  override visitRow(visitor: PutVisitor): boolean {
    return this.decoder.visitRow(this, visitor, this.seqOfAll);
  }

  override encodedRow(row: EncodedRow, oldest: number): boolean {
    // Where all cells have the file's sequence number, those in its bytes are not theirs.
    return this.seqOfAll < 0 && this.decoder.encodedRow(row, oldest);
  }

  override leaveRow(): void {
    this.valid = false;
    if (this.inRow) return;
    this.decoder.leaveRow(this);
    this.positioned();
  }

  /** Moves to the first cell of the next block, also after a block that could not be read. */
  nextBlock(): boolean {
    this.valid = false;
    this.inRow = false;
    this.inPart = false;
    return this.firstOfNextBlock();
  }

  override seekToPreviousRow(row: Uint8Array | null): boolean {
    this.valid = false;
    this.inRow = false;
    const key = this.rowKey ?? new SeekKey();
    this.rowKey = key;
    if (!this.lastCellBefore(row, key)) return false;
    // The key's bytes belong to the decoder and change while it searches.
    const found = this.key.slice(this.rowOffset, this.rowOffset + this.rowLength);
    key.setRow(found);
    if (this.decoder.seek(this, key) && !this.decoder.isFirst()) return this.positioned();
    return this.seek(key);
  }

  override close(): void {
    this.valid = false;
    if (!this.inUse) return;
    this.inUse = false;
    this.key = EMPTY_BYTES;
    this.value = EMPTY_BYTES;
    this.decoder.close();
    this.releaseBlock();
    this.part.clear();
    this.inPart = false;
    this.inRow = false;
    this.reader.recycle(this);
  }

  /** Moves to the last cell of the greatest row before `row`, or of the file. */
  private lastCellBefore(row: Uint8Array | null, key: SeekKey): boolean {
    const { reader } = this;
    if (row === null) {
      this.leafNumber = reader.twoLevels ? reader.root.count - 1 : 0;
      this.index = reader.twoLevels ? reader.leaf(this.leafNumber) : reader.root;
      this.entry = this.index.count - 1;
      this.openBlock();
      this.decoder.last(this);
      return true;
    }
    this.locate(key.setRow(row));
    this.openBlock();
    if (this.decoder.lastBefore(this, row)) return true;
    if (this.entry === 0) {
      if (this.leafNumber === 0) return false;
      this.leafNumber--;
      this.index = reader.leaf(this.leafNumber);
      this.entry = this.index.count;
    }
    this.entry--;
    this.openBlock();
    this.decoder.last(this);
    return true;
  }

  /** Moves to the entry of the block that contains `target`, or after which it would be. */
  private locate(target: SeekKey): void {
    const { root, twoLevels } = this.reader;
    let found = root.find(target);
    if (found < 0) found = 0;
    if (!twoLevels) {
      this.index = root;
      this.entry = found;
      return;
    }
    this.leafNumber = found;
    this.index = this.reader.leaf(found);
    const entry = this.index.find(target);
    this.entry = entry < 0 ? 0 : entry;
  }

  /** Opens the block for a search: the whole block if it is cached or fits into the cache, else only the part. */
  private openFor(target: SeekKey): void {
    const cached = this.reader.source.cached(this.index, this.entry) ?? this.heldWhole();
    this.partsRead = 0;
    if (cached === null || this.onlyParts) {
      this.read(target);
      return;
    }
    this.inPart = false;
    this.useBlock(cached);
  }

  /** Reads the block, or its part that contains `target`; without a target the first part. */
  private read(target: SeekKey | null): void {
    const { source, parts } = this.reader;
    const { index, entry, keep } = this;
    this.inPart = parts !== null && (this.onlyParts || !source.readsWhole(index, entry, keep));
    if (!this.inPart) {
      this.useBlock(source.read(index, entry, keep, this.reuse));
      return;
    }
    const { part } = this;
    part.locate(parts!, index.firstBlocks[entry]!, index.offsets[entry]!, target);
    const count = this.onlyParts || parts!.holds(part) ? 1 : part.countOf(this.wanted - 1, MAX_PARTS_SOUGHT);
    if (count === 1) this.useBlock(parts!.part(part, keep));
    else this.useRun(count);
  }

  /** Reads the part and those after it, `count` in all. */
  private useRun(count: number): void {
    const run = this.reader.parts!.run(this.part, count);
    this.useBlock(run);
    this.run = run;
    this.part.part += count - 1;
    this.partsRead += count;
    this.wanted = Math.max(0, this.wanted - run.count);
  }

  /** Opens the block for reading from its beginning. */
  private openNext(): void {
    const readsOn = this.inPart && this.partsRead < MAX_PARTS_READ;
    const cached = readsOn ? this.reader.source.cached(this.index, this.entry) : null;
    if (this.onlyParts || (readsOn && cached === null)) this.read(null);
    else this.openBlock();
  }

  private openBlock(): void {
    this.inPart = false;
    const { index, entry } = this;
    this.useBlock(this.heldWhole() ?? this.reader.source.block(index, entry, this.keep, this.reuse));
  }

  /** The current block, if it is the one to be opened; it need not be in the cache. */
  private heldWhole(): DataBlock | null {
    const { block: held, reuse } = this;
    // A part never has the offset of a block. In a reused buffer the block may be half overwritten.
    if (held === null || reuse !== undefined) return null;
    return held.offset === this.index.offsets[this.entry] ? held : null;
  }

  private useBlock(block: DataBlock): void {
    const { block: held } = this;
    if (held !== block) {
      this.releaseBlock();
      block.holders++;
      this.block = block;
    }
    this.decoder.open(this, block);
  }

  /** Releases the current block. */
  private releaseBlock(): void {
    const { block: held, run } = this;
    if (held === null) return;
    held.holders--;
    this.block = null;
    if (run === null) return;
    this.run = null;
    this.reader.source.release(run);
  }

  /** Moves to the first cell of the next part, and reads some more parts with it: a scan needs them next. */
  private firstOfNextParts(): boolean {
    const { part, partsRead } = this;
    const parts = this.reader.parts!;
    const { left } = part;
    part.part++;
    const cached = this.onlyParts ? parts.part(part, false) : parts.cached(part);
    if (cached !== null) {
      this.partsRead++;
      this.useBlock(cached);
    } else {
      this.useRun(partsRead >= PARTS_AHEAD ? left : Math.min(PARTS_AHEAD, left));
    }
    this.decoder.first(this);
    return this.positioned();
  }

  /** Moves to the first cell after the current block or part. */
  private firstOfNextBlock(): boolean {
    if (this.inPart) {
      this.partsRead++;
      if (this.part.left > 0) {
        this.part.part++;
        this.useBlock(this.reader.parts!.part(this.part, this.keep));
        this.decoder.first(this);
        return this.positioned();
      }
    }
    if (this.entry + 1 < this.index.count) {
      this.entry++;
    } else {
      const { reader } = this;
      if (!reader.twoLevels || this.leafNumber + 1 >= reader.root.count) return false;
      this.leafNumber++;
      this.index = reader.leaf(this.leafNumber);
      this.entry = 0;
    }
    this.openNext();
    this.decoder.first(this);
    return this.positioned();
  }

  private positioned(): boolean {
    if (this.seqOfAll >= 0) this.seq = this.seqOfAll;
    this.valid = true;
    return true;
  }
}
