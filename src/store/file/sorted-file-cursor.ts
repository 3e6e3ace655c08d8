import { EMPTY_BYTES } from '../../bytes/index.js';
import { CellCursor, compareToSeekKey, type PutTaker, SeekKey } from '../cursor.js';
import {
  ABSENT,
  type BlockDecoder,
  createDecoder,
  type DataBlock,
  FOUND,
  isRowAt,
} from '../encoding/index.js';
import type { BlockIndex } from './block-index.js';
import { type DataBlockSource, ReadBuffer } from './data-block-source.js';
import type { FileMeta } from './file-meta.js';
import type { FileCursorOptions } from './options.js';

/** Cells that `reseek` tries one by one before it searches. */
const WALK = 3;

/** What a cursor asks of the file it stands in. */
export interface CursorFile {
  readonly meta: FileMeta;
  readonly seq: number;
  readonly root: BlockIndex;
  readonly twoLevels: boolean;
  readonly source: DataBlockSource;
  leaf(number: number): BlockIndex;
  /** Takes back a cursor that was closed. */
  recycle(cursor: SortedFileCursor): void;
}

/**
 * A position in a sorted file. With the encodings NONE and ROW_INDEX_V1 its bytes are those of the block; with the
 * others the key is put together in a buffer of the cursor's own, and only the value is a view.
 */
export class SortedFileCursor extends CellCursor {
  private readonly decoder: BlockDecoder;
  private readonly seqOfAll: number;
  private index: BlockIndex;
  private leafNumber = 0;
  /** The entry of `index` whose block the position is in. */
  private entry = 0;
  private keep = true;
  private reuse: ReadBuffer | undefined;
  private rowKey: SeekKey | undefined;
  private inUse = false;
  /** The block that it stands in. */
  private held: DataBlock | null = null;

  constructor(private readonly reader: CursorFile) {
    super();
    this.decoder = createDecoder(reader.meta.encoding);
    this.index = reader.root;
    this.seqOfAll = reader.seq;
  }

  /** The reader's own: makes it a new cursor. */
  prepare(options: FileCursorOptions): void {
    this.inUse = true;
    this.valid = false;
    this.order = 0;
    this.keep = options.cacheBlocks ?? true;
    this.reuse = options.transient ? (this.reuse ?? new ReadBuffer()) : undefined;
  }

  /** Where the block of the present cell begins in the file. */
  get blockOffset(): number {
    return this.index.offsets[this.entry]!;
  }

  get isFirstOfBlock(): boolean {
    return this.decoder.isFirst();
  }

  /** Where the block of the present cell is in the index. */
  get indexPosition(): { readonly index: BlockIndex; readonly entry: number } {
    return { index: this.index, entry: this.entry };
  }

  override seekToFirst(): boolean {
    this.valid = false;
    this.leafNumber = 0;
    this.index = this.reader.twoLevels ? this.reader.leaf(0) : this.reader.root;
    this.entry = 0;
    this.openBlock();
    this.decoder.first(this);
    return this.settled();
  }

  override seek(target: SeekKey): boolean {
    this.valid = false;
    this.locate(target);
    this.openBlock();
    if (this.decoder.seek(this, target)) return this.settled();
    return this.firstOfNextBlock();
  }

  /** As `seek`, if what it comes to is a cell of the target's row, whose hash is `hash`; false otherwise. */
  seekInRow(target: SeekKey, hash: number): boolean {
    this.valid = false;
    this.locate(target);
    this.openBlock();
    const found = this.decoder.seekInRow(this, target, hash);
    if (found === FOUND) return this.settled();
    if (found === ABSENT || !this.firstOfNextBlock()) return false;
    this.valid = isRowAt(this.key, this.rowOffset, this.rowLength, target);
    return this.valid;
  }

  override reseek(target: SeekKey): boolean {
    if (!this.valid) return this.seek(target);
    for (let i = 0; i < WALK; i++) {
      if (compareToSeekKey(this, target) >= 0) return true;
      if (!this.decoder.next(this)) return this.seek(target);
      if (this.seqOfAll >= 0) this.seq = this.seqOfAll;
    }
    if (this.decoder.forward(this, target)) return this.settled();
    return this.seek(target);
  }

  override next(): boolean {
    if (!this.valid) return false;
    if (this.decoder.next(this)) {
      if (this.seqOfAll >= 0) this.seq = this.seqOfAll;
      return true;
    }
    this.valid = false;
    return this.firstOfNextBlock();
  }

  override visitRow(taker: PutTaker): boolean {
    return this.decoder.visitRow(this, taker, this.seqOfAll) && this.settled();
  }

  /** To the first cell of the block behind, also behind one that could not be read. */
  nextBlock(): boolean {
    this.valid = false;
    return this.firstOfNextBlock();
  }

  override seekToPreviousRow(row: Uint8Array | null): boolean {
    this.valid = false;
    const key = this.rowKey ?? new SeekKey();
    this.rowKey = key;
    if (!this.lastCellBefore(row, key)) return false;
    // The key's bytes are the decoder's: they change while it searches.
    const found = this.key.slice(this.rowOffset, this.rowOffset + this.rowLength);
    key.setRow(found);
    if (this.decoder.seek(this, key) && !this.decoder.isFirst()) return this.settled();
    return this.seek(key);
  }

  override close(): void {
    this.valid = false;
    if (!this.inUse) return;
    this.inUse = false;
    this.key = EMPTY_BYTES;
    this.value = EMPTY_BYTES;
    this.decoder.close();
    if (this.held !== null) this.held.holders--;
    this.held = null;
    this.reader.recycle(this);
  }

  /** To the last cell of the greatest row before `row`, or of the file. */
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

  /** To the block in which `target` is, or after which it would be. */
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

  private openBlock(): DataBlock {
    const block = this.reader.source.block(this.index, this.entry, this.keep, this.reuse);
    const { held } = this;
    if (held !== block) {
      if (held !== null) held.holders--;
      block.holders++;
      this.held = block;
    }
    this.decoder.open(this, block);
    return block;
  }

  private firstOfNextBlock(): boolean {
    if (this.entry + 1 < this.index.count) {
      this.entry++;
    } else {
      const { reader } = this;
      if (!reader.twoLevels || this.leafNumber + 1 >= reader.root.count) return false;
      this.leafNumber++;
      this.index = reader.leaf(this.leafNumber);
      this.entry = 0;
    }
    this.openBlock();
    this.decoder.first(this);
    return this.settled();
  }

  private settled(): boolean {
    if (this.seqOfAll >= 0) this.seq = this.seqOfAll;
    this.valid = true;
    return true;
  }
}
