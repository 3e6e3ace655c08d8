import { compareSlices } from '../../bytes/index.js';
import { CorruptionError } from '../../errors.js';
import { CacheEntry } from '../cache/block-cache.js';
import type { CellCursor, PutVisitor, SeekKey } from '../cursor.js';
import { PrefixIndex, RowHashIndex } from './row-lookup.js';

/** What a search for a cell of one row comes to: the block has it, */
export const FOUND = 0;
/** the block has no cell of the row, or one of another row where it would be, */
export const ABSENT = 1;
/** or everything in the block is before it. */
export const BEHIND = 2;
export type InRow = typeof FOUND | typeof ABSENT | typeof BEHIND;

/**
 * A position in one data block, which shows itself in the fields of a cursor: `cursor` is the same object in every
 * call. A method that returns false has left the cursor's fields without meaning; only `open`, `first`, `last`, `seek`
 * and `lastBefore` may follow.
 */
export abstract class BlockDecoder {
  /** Turns to a block; no position yet. */
  abstract open(cursor: CellCursor, block: DataBlock): void;
  /** To the first cell. */
  abstract first(cursor: CellCursor): void;
  /** To the last cell. */
  abstract last(cursor: CellCursor): void;
  /** To the next cell; false behind the last. */
  abstract next(cursor: CellCursor): boolean;
  /** To the first cell at or after `target`; false when the block has none. */
  abstract seek(cursor: CellCursor, target: SeekKey): boolean;
  /**
   * As `seek`, if what it comes to is a cell of the target's row.
   * @param _hash the first lane of the row's hash
   */
  seekInRow(cursor: CellCursor, target: SeekKey, _hash: number): InRow {
    if (!this.seek(cursor, target)) return BEHIND;
    const { key, rowOffset, rowLength } = cursor;
    const order = compareSlices(key, rowOffset, rowLength, target.row, target.rowOffset, target.rowLength);
    return order === 0 ? FOUND : ABSENT;
  }
  /** As `seek`, for a target at or after the present cell. */
  abstract forward(cursor: CellCursor, target: SeekKey): boolean;
  /**
   * As `CellCursor.visitRow`, of a row that ends in the block and is not the block's last.
   * @param _seq that of every cell; negative: each has its own
   */
  visitRow(_cursor: CellCursor, _visitor: PutVisitor, _seq: number): boolean {
    return false;
  }
  /** To the last cell whose row is less than `row`; false when the block has none. */
  abstract lastBefore(cursor: CellCursor, row: Uint8Array): boolean;
  /** Whether the position is that of the block's first cell. */
  abstract isFirst(): boolean;
  /** Lets go of the block. */
  abstract close(): void;
}

/** The view of a decoder that has no block. */
export const EMPTY_VIEW: DataView = new DataView(new ArrayBuffer(0));

const TWO_32 = 0x100000000;

/** An integer of eight bytes; exact up to 2^53-1, which is the largest that is ever written. */
export function readU64(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * TWO_32;
}

const FIRST_CAPACITY = 1 << 12;

/** Builds the payload of one data block after another. */
export abstract class BlockEncoder {
  /** The payload so far; its first `length` bytes count. */
  bytes: Uint8Array = new Uint8Array(FIRST_CAPACITY);
  view: DataView = new DataView(this.bytes.buffer);
  length = 0;
  /** Cells in the block. */
  count = 0;

  /**
   * Adds the cell at which `cursor` stands, which comes after the last one.
   * @param sharedRow how many bytes its row begins with in common with the row of the cell before, also across blocks
   * @param sameRow whether the rows are equal
   * @param sharedQualifier the same for the qualifiers
   */
  abstract append(cursor: CellCursor, sharedRow: number, sameRow: boolean, sharedQualifier: number): void;

  /** Whether a run of its cells can be read without the rest of the block. */
  get hasParts(): boolean {
    return false;
  }

  /** Whether such a run can begin at the next cell; `sameRow`: it is of the row of the cell before. */
  canBeginPart(_sameRow: boolean): boolean {
    return false;
  }

  /** Adds the tables that end the block. The payload is then `bytes` up to `length`, until `reset`. */
  abstract finish(): void;

  /** Begins a new block. */
  reset(): void {
    this.length = 0;
    this.count = 0;
  }

  /** Makes room for `more` bytes behind `length`. */
  protected reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
    this.view = new DataView(larger.buffer);
  }

  /** Writes an integer of 0..2^53-1 in eight bytes, at a place that is reserved. */
  protected putU64(at: number, value: number): void {
    this.view.setUint32(at, value % TWO_32, true);
    this.view.setUint32(at + 4, value / TWO_32, true);
  }

  /** Appends bytes at `at`, which are reserved; returns the place after them. */
  protected putBytes(at: number, source: Uint8Array, offset: number, length: number): number {
    const bytes = this.bytes;
    if (length < 24) for (let i = 0; i < length; i++) bytes[at + i] = source[offset + i]!;
    else bytes.set(source.subarray(offset, offset + length), at);
    return at + length;
  }
}

/** Rough memory of a block's objects, in bytes, beside its contents. */
const OBJECT_BYTES = 400;

/**
 * Searches and looks from which on a block is given its {@link PrefixIndex} and its {@link RowHashIndex}: to make one costs as much as
 * many searches, which a block that is about to leave the cache never sees.
 */
const SEARCHES_FOR_TABLE = 4;
const LOOKS_FOR_SLOTS = 8;

/** A data block as cursors read it: decompressed, still encoded, its structure checked. Never changed, but for memoized help. */
export class DataBlock extends CacheEntry {
  /** Where the block was read from: for errors. */
  path = '';
  offset = 0;
  /** Searches of this block so far, and what speeds up the later ones. */
  private searches = 0;
  rowTable: PrefixIndex | null = null;
  /** Looks for single rows so far, and what speeds up the later ones. */
  private looks = 0;
  rowSlots: RowHashIndex | null = null;

  constructor(
    readonly bytes: Uint8Array,
    readonly view: DataView,
    /** The first byte of the payload. */
    readonly start: number,
    /** The byte after the last cell: where the tables begin. */
    readonly cellsEnd: number,
    /** Cells in it, at least one. */
    readonly count: number,
    /** Rows or restarts in it, by its encoding. */
    readonly groups: number,
    /** Bytes that all its rows begin with. */
    readonly sharedRow: number,
    /** A part of a block: so few cells that a table of them would spare nothing. */
    private readonly isPart = false,
  ) {
    const entries = isPart ? 0 : Math.max(count, groups);
    super(bytes.length + PrefixIndex.bytes(entries) + RowHashIndex.bytes(entries) + OBJECT_BYTES);
  }

  /** Counts a search; whether it is one of so many that a table pays. The first looks are searches too, and wait for slots. */
  isSearchedOften(): boolean {
    return !this.isPart && ++this.searches - this.looks > SEARCHES_FOR_TABLE;
  }

  /** Counts a look for a single row; whether it is one of so many that slots pay. */
  isLookedIntoOften(): boolean {
    return !this.isPart && ++this.looks >= LOOKS_FOR_SLOTS;
  }
}

/** The payload of a data block is not what its encoding says; whoever knows the file adds its name. */
export function badPayload(why: string, payloadOffset: number): CorruptionError {
  return new CorruptionError(`its payload is wrong at byte ${payloadOffset}: ${why}`, {
    details: { payloadOffset },
  });
}

/** The error for a block that is not what was written, with what to do about it. */
export function badBlockOf(path: string, offset: number, why: CorruptionError): CorruptionError {
  return new CorruptionError(
    `"${path}" is damaged in the block at byte ${offset}: ${why.message}. Restore the store from a checkpoint, or run "rowan store verify" to see how far the damage goes.`,
    { cause: why, details: { file: path, offset } },
  );
}

/** How many bytes two slices begin with in common. */
export function sharedPrefix(
  a: Uint8Array,
  aOffset: number,
  aLength: number,
  b: Uint8Array,
  bOffset: number,
  bLength: number,
): number {
  const length = aLength < bLength ? aLength : bLength;
  let i = 0;
  while (i < length && a[aOffset + i] === b[bOffset + i]) i++;
  return i;
}
