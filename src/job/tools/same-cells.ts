/** Whether cells of two tables are the same. */

import { compareBytes, compareSlices } from '../../bytes/index.js';
import type { Cell, RawRow } from '../../table/index.js';

export function sameCells(a: readonly Cell[], b: readonly Cell[]): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) if (!sameCell(a[at]!, b[at]!)) return false;
  return true;
}

/** Whether two rows have the same key and the same cells, all of which are puts. */
export function sameRawRows(a: RawRow, b: RawRow): boolean {
  const { count } = a;
  if (b.count !== count || compareBytes(a.row, b.row) !== 0) return false;
  for (let at = 0; at < count; at++) {
    // Values stand one behind the other.
    if (a.ends[at] !== b.ends[at] || a.timestamps[at] !== b.timestamps[at]) return false;
    if (a.families[at] !== b.families[at] || compareBytes(a.qualifiers[at]!, b.qualifiers[at]!) !== 0)
      return false;
  }
  const length = count === 0 ? 0 : a.ends[count - 1]!;
  return compareSlices(a.bytes, 0, length, b.bytes, 0, length) === 0;
}

function sameCell(a: Cell, b: Cell): boolean {
  return (
    a.timestamp === b.timestamp &&
    a.type === b.type &&
    a.family === b.family &&
    compareBytes(a.qualifier, b.qualifier) === 0 &&
    compareBytes(a.value, b.value) === 0
  );
}

/** Cells of a row by where they stand: the later of two in one place takes that of the other. */
export class CellPlaces {
  private readonly cells = new Map<string, Cell[]>();

  constructor(cells: readonly Cell[]) {
    for (const cell of cells) {
      const place = placeOf(cell);
      const known = this.cells.get(place);
      if (known === undefined) this.cells.set(place, [cell]);
      else known.push(cell);
    }
  }

  /** Whether one of them stands in the cell's place. */
  hasPlaceOf(cell: Cell): boolean {
    return this.cells.has(placeOf(cell));
  }

  has(cell: Cell): boolean {
    return this.cells.get(placeOf(cell))?.some((other) => sameCell(cell, other)) === true;
  }
}

function placeOf({ family, qualifier, timestamp }: Cell): string {
  const name = Buffer.from(qualifier.buffer, qualifier.byteOffset, qualifier.length).toString('latin1');
  return `${timestamp}\0${family}\0${name}`;
}
