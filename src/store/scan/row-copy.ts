import type { CellCursor } from '../cursor.js';
import { ByteSlab } from './byte-slab.js';

/** What readers are given is copied here. Scans are synchronous, so one slab serves them all. */
export const slab: ByteSlab = new ByteSlab();

/** A copy of the row that a cursor stands in. */
export function copyRow(cell: CellCursor): Uint8Array {
  return slab.copy(cell.key, cell.rowOffset, cell.rowLength);
}

/**
 * As `copyRow`, of a row whose first cell is likely to be made next, which is told so (`CellMaker.make`): its value is copied
 * with the row, behind which it stands.
 */
export function copyRowAhead(cell: CellCursor): Uint8Array {
  const { key, rowOffset, rowLength } = cell;
  if (key !== cell.value) return slab.copy(key, rowOffset, rowLength);
  return slab.copyAhead(key, rowOffset, rowLength, cell.valueOffset + cell.valueLength);
}

/** Gives back the last row copied, which was not given to anybody. */
export function dropRow(row: Uint8Array): void {
  slab.undo(row);
}
