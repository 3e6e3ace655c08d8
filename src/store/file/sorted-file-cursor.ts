import { EMPTY_BYTES } from '../../bytes/index.js';
import { CellCursor, compareToSeekKey, type PutVisitor, SeekKey } from '../cursor.js';
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
import { PartPosition, type PartSource } from './part-source.js';

/** Cells that `reseek` tries one by one before it searches. */
const WALK = 3;
/** Parts that a cursor reads in one when it moves on from the one that it was sent to; behind them it reads what is left of the block. */
const PARTS_AHEAD = 4;
/** Parts that a cursor reads before it reads whole blocks. */
const MOST_PARTS_READ = 8;

/** The part of a file's reader that its cursors use. */
export interface CursorFile {
  readonly meta: FileMeta;
  readonly seq: number;
  readonly root: BlockIndex;
  readonly twoLevels: boolean;
  readonly source: DataBlockSource;
  /** Null when blocks have no parts. */
  readonly parts: PartSource | null;
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
  /** The part of the block that it stands in, */
  readonly part = new PartPosition();
  /** if it is in a part and not in a whole block; */
  private inPart = false;
  /** and how many parts it has come through since it was last sent somewhere. */
  private passed = 0;
  /** The block that it stands in, if that is a run of parts. */
  private run: DataBlock | null = null;
  private onlyParts = false;

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
    this.onlyParts = (options.inParts ?? false) && this.reader.parts !== null;
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
    this.inPart = false;
    this.openNext();
    this.decoder.first(this);
    return this.settled();
  }

  override seek(target: SeekKey): boolean {
    this.valid = false;
    this.locate(target);
    this.openFor(target);
    if (this.decoder.seek(this, target)) return this.settled();
    return this.firstBehind();
  }

  /** As `seek`, if what it comes to is a cell of the target's row, whose hash is `hash`; false otherwise. */
  seekInRow(target: SeekKey, hash: number): boolean {
    this.valid = false;
    this.locate(target);
    this.openFor(target);
    const found = this.decoder.seekInRow(this, target, hash);
    if (found === FOUND) return this.settled();
    if (found === ABSENT || !this.firstBehind()) return false;
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
    return this.inPart && this.part.left > 0 ? this.firstOfNextParts() : this.firstBehind();
  }

  override visitRow(visitor: PutVisitor): boolean {
    return this.decoder.visitRow(this, visitor, this.seqOfAll) && this.settled();
  }

  /** To the first cell of the block behind, also behind one that could not be read. */
  nextBlock(): boolean {
    this.valid = false;
    this.inPart = false;
    return this.firstBehind();
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
    this.letGo();
    this.part.letGo();
    this.inPart = false;
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

  /** Opens the block for what is sought in it: as a whole when it is in the cache or has room there, else a part alone. */
  private openFor(target: SeekKey): void {
    const cached = this.reader.source.cached(this.index, this.entry) ?? this.heldWhole();
    this.passed = 0;
    if (cached === null || this.onlyParts) {
      this.read(target);
      return;
    }
    this.inPart = false;
    this.stand(cached);
  }

  /** Reads the block, or the part of it that `target` is in; without a target the first one. */
  private read(target: SeekKey | null): void {
    const { source, parts } = this.reader;
    const { index, entry, keep } = this;
    this.inPart = parts !== null && (this.onlyParts || !source.readsWhole(index, entry, keep));
    if (!this.inPart) {
      this.stand(source.read(index, entry, keep, this.reuse));
      return;
    }
    this.part.locate(parts!, index.firstBlocks[entry]!, index.offsets[entry]!, target);
    this.stand(parts!.part(this.part, keep));
  }

  /** Opens the block for what is in it from its beginning on. */
  private openNext(): void {
    const readsOn = this.inPart && this.passed < MOST_PARTS_READ;
    const cached = readsOn ? this.reader.source.cached(this.index, this.entry) : null;
    if (this.onlyParts || (readsOn && cached === null)) this.read(null);
    else this.openBlock();
  }

  private openBlock(): void {
    this.inPart = false;
    const { index, entry } = this;
    this.stand(this.heldWhole() ?? this.reader.source.block(index, entry, this.keep, this.reuse));
  }

  /** The block that the cursor stands in, if it is the one to be opened: it need not be in the cache. */
  private heldWhole(): DataBlock | null {
    const { held, reuse } = this;
    // A part never begins where a block does. In a buffer that is used again the block may be half of another.
    if (held === null || reuse !== undefined) return null;
    return held.offset === this.index.offsets[this.entry] ? held : null;
  }

  private stand(block: DataBlock): void {
    const { held } = this;
    if (held !== block) {
      this.letGo();
      block.holders++;
      this.held = block;
    }
    this.decoder.open(this, block);
  }

  /** Of the block that it stands in. */
  private letGo(): void {
    const { held, run } = this;
    if (held === null) return;
    held.holders--;
    this.held = null;
    if (run === null) return;
    this.run = null;
    this.reader.source.giveBack(run);
  }

  /** To the first cell of the part behind, some more parts being read with it: a scan wants them next. */
  private firstOfNextParts(): boolean {
    const { part, passed } = this;
    const parts = this.reader.parts!;
    const { left } = part;
    part.part++;
    const cached = this.onlyParts ? parts.part(part, false) : parts.cached(part);
    if (cached !== null) {
      this.passed++;
      this.stand(cached);
    } else {
      const count = passed > 0 ? left : Math.min(PARTS_AHEAD, left);
      const run = parts.run(part, count);
      this.stand(run);
      this.run = run;
      part.part += count - 1;
      this.passed += count;
    }
    this.decoder.first(this);
    return this.settled();
  }

  /** To the first cell behind the block, or the part of one, that the cursor stands in. */
  private firstBehind(): boolean {
    if (this.inPart) {
      this.passed++;
      if (this.part.left > 0) {
        this.part.part++;
        this.stand(this.reader.parts!.part(this.part, this.keep));
        this.decoder.first(this);
        return this.settled();
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
    return this.settled();
  }

  private settled(): boolean {
    if (this.seqOfAll >= 0) this.seq = this.seqOfAll;
    this.valid = true;
    return true;
  }
}
