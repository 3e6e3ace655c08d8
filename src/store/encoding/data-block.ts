import { compareSlices } from '../../bytes/index.js';
import { CorruptionError } from '../../errors.js';
import { CacheEntry } from '../cache.js';
import type { CellCursor, PutVisitor, SeekKey } from '../cursor.js';
import type { EncodedRow } from './encoded-row.js';
import { PrefixIndex, RowHashIndex } from './row-lookup.js';

/** Results of a search for a cell of one row. The block has such a cell. */
export const FOUND = 0;
/** The block has no cell of the row, or a cell of another row where it would be. */
export const ABSENT = 1;
/** All cells of the block are before the target. */
export const BEHIND = 2;
export type InRow = typeof FOUND | typeof ABSENT | typeof BEHIND;

/**
 * A position in one data block. It sets the fields of `cursor`, which is the same object in every call. After a method has returned
 * false the fields are meaningless, and only `open`, `first`, `last`, `seek` and `lastBefore` may be called.
 */
export abstract class BlockDecoder {
  /** Opens a block, without a position. */
  abstract open(cursor: CellCursor, block: DataBlock): void;
  /** Moves to the first cell. */
  abstract first(cursor: CellCursor): void;
  /** Moves to the last cell. */
  abstract last(cursor: CellCursor): void;
  /** Moves to the next cell; false after the last. */
  abstract next(cursor: CellCursor): boolean;
  /** Moves to the first cell at or after `target`; false when the block has none. */
  abstract seek(cursor: CellCursor, target: SeekKey): boolean;
  /**
   * Like `seek`, but only to a cell of the target's row.
   * @param _hash the first lane of the row's hash
   */
  seekInRow(cursor: CellCursor, target: SeekKey, _hash: number): InRow {
    if (!this.seek(cursor, target)) return BEHIND;
    const { key, rowOffset, rowLength } = cursor;
    const order = compareSlices(key, rowOffset, rowLength, target.row, target.rowOffset, target.rowLength);
    return order === 0 ? FOUND : ABSENT;
  }
  /** Like `seekInRow`, in a block that has cells of no other row, and all of its file's cells of that row. */
  seekInOnlyRow(cursor: CellCursor, target: SeekKey, hash: number): boolean {
    return this.seekInRow(cursor, target, hash) === FOUND;
  }
  /** Like `seek`, for a target at or after the present cell. */
  abstract forward(cursor: CellCursor, target: SeekKey): boolean;
  /**
   * Like `CellCursor.visitRow`, for a row that ends in the block and is not the block's last, or is the only row of its block.
   * @param _seq the sequence number of all cells; negative when each has its own
   */
  visitRow(_cursor: CellCursor, _visitor: PutVisitor, _seq: number): boolean {
    return false;
  }
  /** Like `CellCursor.encodedRow`, for a row that ends in the block and is not the block's last. */
  encodedRow(_row: EncodedRow, _oldest: number): boolean {
    return false;
  }
  /** Moves to the row after the one that was visited or read, which is in the block. */
  leaveRow(_cursor: CellCursor): void {}
  /** Moves to the last cell whose row is less than `row`; false when the block has none. */
  abstract lastBefore(cursor: CellCursor, row: Uint8Array): boolean;
  /** Whether the position is the block's first cell. */
  abstract isFirst(): boolean;
  /** Releases the block. */
  abstract close(): void;
}

const FIRST_CAPACITY = 1 << 12;

/** Builds the payload of one data block after another. */
export abstract class BlockEncoder {
  /** The payload so far: its first `length` bytes. */
  bytes: Uint8Array = new Uint8Array(FIRST_CAPACITY);
  view: DataView = new DataView(this.bytes.buffer);
  length = 0;
  /** Cells in the block. */
  count = 0;

  /**
   * Adds the cell at `cursor`, which comes after the last one.
   * @param sharedRow the length of the common prefix of its row and the row of the cell before, also across blocks
   * @param sameRow whether the rows are equal
   * @param sharedQualifier the same for the qualifiers
   */
  abstract append(cursor: CellCursor, sharedRow: number, sameRow: boolean, sharedQualifier: number): void;

  /** Whether it has `appendCells`. */
  get takesEncodedRows(): boolean {
    return false;
  }

  /** Adds the cells from `first` to `end`, exclusive, of a row, which comes after the last cell. */
  appendCells(_row: EncodedRow, _first: number, _end: number): void {}

  /** Whether some of its cells can be read without the rest of the block, as a part. */
  get hasParts(): boolean {
    return false;
  }

  /** Whether a part can begin at the next cell; `sameRow`: it is of the row of the cell before. */
  canBeginPart(_sameRow: boolean): boolean {
    return false;
  }

  /** Appends the tables at the end of the block. Until `reset`, the payload is `bytes` up to `length`. */
  abstract finish(): void;

  /** Begins a new block. */
  reset(): void {
    this.length = 0;
    this.count = 0;
  }

  /** Makes room for `more` bytes after `length`. */
  protected reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
    this.view = new DataView(larger.buffer);
  }

  /** Writes bytes at `at`, which are reserved; returns their end. */
  protected putBytes(at: number, source: Uint8Array, offset: number, length: number): number {
    const bytes = this.bytes;
    if (length < 24) for (let i = 0; i < length; i++) bytes[at + i] = source[offset + i]!;
    else bytes.set(source.subarray(offset, offset + length), at);
    return at + length;
  }
}

/** Approximate memory of a block's objects, in bytes, beside its contents. */
const OBJECT_BYTES = 400;

/**
 * The number of searches and row look-ups after which a block gets its {@link PrefixIndex} and {@link RowHashIndex}. Building one costs
 * as much as many searches, and a block that is soon evicted never needs it.
 */
const SEARCHES_FOR_INDEX = 4;
const LOOKUPS_FOR_HASH_INDEX = 8;

/** A data block in memory that several threads can read. */
export interface SharedBlock {
  readonly buffer: SharedArrayBuffer;
  readonly offset: number;
  readonly start: number;
  readonly cellsEnd: number;
  readonly count: number;
  readonly groups: number;
  readonly sharedRow: number;
}

/**
 * A decompressed data block, still encoded, with verified structure. Immutable except for its lazily built indexes, and for a row that
 * is read into the same buffer as the one before.
 */
export class DataBlock extends CacheEntry {
  /** File and offset that the block was read from, for errors. */
  path = '';
  offset = 0;
  /** The number of searches so far, and the index for later ones. */
  private searches = 0;
  prefixIndex: PrefixIndex | null = null;
  /** The number of row look-ups so far, and the index for later ones. */
  private rowLookups = 0;
  hashIndex: RowHashIndex | null = null;
  /** Its cells are those of one row. */
  isRow = false;

  constructor(
    public bytes: Uint8Array,
    public view: DataView,
    /** The first byte of the payload. */
    public start: number,
    /** The byte after the last cell, where the tables begin. */
    public cellsEnd: number,
    /** The number of cells, at least one. */
    public count: number,
    /** The number of rows or restarts, depending on the encoding. */
    readonly groups: number,
    /** The length of the common prefix of its rows. */
    readonly sharedRow: number,
    /** The block is a part: it has too few cells for an index. */
    private readonly isPart = false,
  ) {
    const entries = isPart ? 0 : Math.max(count, groups);
    super(bytes.length + PrefixIndex.bytes(entries) + RowHashIndex.bytes(entries) + OBJECT_BYTES);
  }

  /** A block for one row after another in the buffer. */
  static ofRow(bytes: Uint8Array, view: DataView): DataBlock {
    const block = new DataBlock(bytes, view, 0, 0, 0, 0, 0, true);
    block.isRow = true;
    // No block of a file is there.
    block.offset = -1;
    return block;
  }

  /**
   * Moves its bytes to memory that other threads can read, if they are not there yet. Who reads the old ones may go on. They may be read
   * as long as the block has holders.
   */
  share(): SharedBlock {
    if (!(this.bytes.buffer instanceof SharedArrayBuffer)) {
      const shared = new Uint8Array(new SharedArrayBuffer(this.bytes.length));
      shared.set(this.bytes);
      if (this.memory !== null) this.memory = shared;
      this.bytes = shared;
      this.view = new DataView(shared.buffer);
    }
    const { start, cellsEnd, count, groups, sharedRow, offset } = this;
    return {
      buffer: this.bytes.buffer as SharedArrayBuffer,
      offset,
      start,
      cellsEnd,
      count,
      groups,
      sharedRow,
    };
  }

  /** A block that another thread shares, verified there; its memory belongs to that thread. */
  static ofShared({ buffer, offset, start, cellsEnd, count, groups, sharedRow }: SharedBlock): DataBlock {
    const view = new DataView(buffer);
    const block = new DataBlock(new Uint8Array(buffer), view, start, cellsEnd, count, groups, sharedRow);
    block.offset = offset;
    return block;
  }

  /** Counts a search; true once an index pays. The first row look-ups are searches too, and are not counted here. */
  needsPrefixIndex(): boolean {
    return !this.isPart && ++this.searches - this.rowLookups > SEARCHES_FOR_INDEX;
  }

  /** Counts a row look-up; true once an index pays. */
  needsHashIndex(): boolean {
    return !this.isPart && ++this.rowLookups >= LOOKUPS_FOR_HASH_INDEX;
  }
}

/** The payload of a data block violates its encoding. Callers that know the file add its name. */
export function badPayload(why: string, payloadOffset: number): CorruptionError {
  return new CorruptionError(`its payload is wrong at byte ${payloadOffset}: ${why}`, {
    details: { payloadOffset },
  });
}

/** What to do about a damaged file, as errors end. */
export const ON_DAMAGE =
  ' Restore the store from a backup, or run "rowan store repair": it keeps what is intact, and lists what is lost.';

/** The error for a block that differs from what was written, with what to do about it. */
export function badBlockOf(path: string, offset: number, why: CorruptionError): CorruptionError {
  return new CorruptionError(
    `"${path}" is damaged in the block at byte ${offset}: ${why.message}.${ON_DAMAGE}`,
    { cause: why, details: { file: path, offset } },
  );
}
