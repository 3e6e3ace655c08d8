import { compareSlices } from '../../bytes/index.js';
import type { CellCursor, PutTaker, SeekKey } from '../cursor.js';
import type { DataBlock } from './data-block.js';

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
   * As `CellCursor.giveRow`, of a row that ends in the block and is not the block's last.
   * @param _seq that of every cell; negative: each has its own
   */
  giveRow(_cursor: CellCursor, _taker: PutTaker, _seq: number): boolean {
    return false;
  }
  /** To the last cell whose row is less than `row`; false when the block has none. */
  abstract lastBefore(cursor: CellCursor, row: Uint8Array): boolean;
  /** Whether the position is that of the block's first cell. */
  abstract isFirst(): boolean;
  /** Lets go of the block. */
  abstract close(): void;
}

/** What a decoder without a block looks at. */
export const EMPTY_VIEW: DataView = new DataView(new ArrayBuffer(0));

const TWO_32 = 0x100000000;

/** An integer of eight bytes; exact up to 2^53-1, which is the largest that is ever written. */
export function readU64(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * TWO_32;
}
