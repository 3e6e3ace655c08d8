import type { PutTaker, SeekKey } from '../cursor.js';
import { isRowAt } from '../encoding/row-slots.js';
import { type CellArena, type CellRef, chunkOf, goesOn, offsetBehind, offsetOf } from './arena.js';
import type { CellList } from './cell-list.js';
import { compareToKeyInRow } from './cell-order.js';
import { giveCell, MemstoreCursor } from './memstore-cursor.js';
import { isRun, NO_ROW, placeOf, type RowIndex } from './row-index.js';

/** Cells of a run that are looked at one by one before a search. */
const WALK = 16;

/**
 * A position in a memstore for reads of one row, each of which ends before anything is written: in a row that is a run of
 * the arena it goes from cell to cell there, and knows nothing of the rows behind.
 */
export class MemstoreRowCursor extends MemstoreCursor {
  /** It stands in a run. */
  private walks = false;

  constructor(
    arena: CellArena,
    list: CellList,
    private readonly rows: RowIndex,
  ) {
    super(arena, list);
  }

  /** To the first cell of the target's row, whose hash is `hash`, at or after the target; false when there is none. */
  seekInRow(target: SeekKey, hash: number): boolean {
    const entry = this.rows.find(hash, target.row, target.rowOffset, target.rowLength);
    this.valid = false;
    if (entry === NO_ROW) return false;
    if (isRun(entry)) return this.walkTo(target, placeOf(entry));
    return this.seek(target) && this.isIn(target);
  }

  override reseek(target: SeekKey): boolean {
    return this.walks && this.valid ? this.walkTo(target, this.ref) : super.reseek(target);
  }

  override next(): boolean {
    if (!this.walks) return super.next();
    const { chunk, ref } = this;
    const offset = offsetOf(ref);
    this.valid = goesOn(chunk, offset);
    if (this.valid) this.load(ref - offset + offsetBehind(chunk, offset));
    return this.valid;
  }

  override nextInRow(): boolean {
    return this.walks ? this.next() : super.nextInRow();
  }

  override giveRow(taker: PutTaker): boolean {
    if (!this.walks) return super.giveRow(taker);
    const { chunk, rowLength } = this;
    for (let offset = offsetOf(this.ref); ; offset = offsetBehind(chunk, offset)) {
      if (!giveCell(chunk, offset, rowLength, taker)) return false;
      if (goesOn(chunk, offset)) continue;
      this.valid = false;
      return true;
    }
  }

  protected override settle(leafNumber: number, index: number): boolean {
    this.walks = false;
    return super.settle(leafNumber, index);
  }

  /** To the first cell of a run at or after the target, looked for from the cell at `from` on. */
  private walkTo(target: SeekKey, from: CellRef): boolean {
    const chunk = this.arena.chunks[chunkOf(from)]!;
    const first = offsetOf(from);
    let offset = first;
    for (let i = 0; i < WALK; i++) {
      if (compareToKeyInRow(chunk, offset, target) >= 0) {
        this.walks = true;
        this.valid = true;
        this.load(from - first + offset);
        return true;
      }
      if (!goesOn(chunk, offset)) {
        this.valid = false;
        return false;
      }
      offset = offsetBehind(chunk, offset);
    }
    return this.seek(target) && this.isIn(target);
  }

  private isIn(target: SeekKey): boolean {
    this.valid = isRowAt(this.key, this.rowOffset, this.rowLength, target);
    return this.valid;
  }
}
