/**
 * Rows of cells that wait to be sorted, as bytes of one buffer: however many there are, they are one object to the garbage collector.
 *
 *     row:   length (4) | cells (4) | row | cell*
 *     cell:  family (4) | type (8) | timestamp (8) | life (8) | qualifier length (4) | value length (4) | qualifier | value
 *
 * A family is its number in the order in which families came; a life is NaN where a cell has none of its own. Numbers are little-endian,
 * type, timestamp and life doubles: whoever writes the cells checks them.
 */

import { compareBytes, compareSlices } from '../../bytes/index.js';
import { Cell, type CellType, EndingCell, type Result } from '../../table/index.js';

const ROW_HEAD = 8;
const CELL_HEAD = 36;
const FIRST_BYTES = 64 << 10;

export class RowArena {
  /** Bytes that are used. */
  size = 0;
  private bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  /** Where rows begin. */
  private starts: number[] = [];
  private readonly families: string[] = [];

  add({ row, cells }: Result): void {
    let needed = ROW_HEAD + row.length;
    for (const { qualifier, value } of cells) needed += CELL_HEAD + qualifier.length + value.length;
    this.makeRoom(needed);
    const { bytes } = this;
    this.starts.push(this.size);
    let at = bytes.writeUInt32LE(row.length, this.size);
    at = bytes.writeUInt32LE(cells.length, at);
    bytes.set(row, at);
    at += row.length;
    for (const cell of cells) {
      const { family, qualifier, timestamp, type, value } = cell;
      at = bytes.writeUInt32LE(this.familyNumber(family), at);
      at = bytes.writeDoubleLE(type, at);
      at = bytes.writeDoubleLE(timestamp, at);
      at = bytes.writeDoubleLE(cell instanceof EndingCell ? cell.ttl : Number.NaN, at);
      at = bytes.writeUInt32LE(qualifier.length, at);
      at = bytes.writeUInt32LE(value.length, at);
      bytes.set(qualifier, at);
      at += qualifier.length;
      bytes.set(value, at);
      at += value.length;
    }
    this.size = at;
  }

  /** Forgets all rows: cells that were given out are not to be used any more. */
  clear(): void {
    this.size = 0;
    this.starts = [];
  }

  /** The cells of all rows in their order, of each place the last; of one row at a time. */
  *rows(): Generator<readonly Cell[]> {
    const order = this.starts.sort((a, b) => this.compareRows(a, b));
    for (let at = 0; at < order.length; ) {
      const first = order[at]!;
      const cells = this.cellsOf(first);
      // The order is stable: what came later stands behind.
      while (++at < order.length && this.compareRows(first, order[at]!) === 0) {
        cells.push(...this.cellsOf(order[at]!));
      }
      yield lastOfEachPlace(cells.sort(compareInRow));
    }
  }

  private makeRoom(needed: number): void {
    const { bytes, size } = this;
    if (size + needed <= bytes.length) return;
    this.bytes = Buffer.allocUnsafeSlow(Math.max(2 * bytes.length, size + needed));
    this.bytes.set(bytes.subarray(0, size));
  }

  private familyNumber(family: string): number {
    const known = this.families.indexOf(family);
    return known >= 0 ? known : this.families.push(family) - 1;
  }

  private compareRows(a: number, b: number): number {
    const { bytes } = this;
    const first = bytes.readUInt32LE(a);
    const second = bytes.readUInt32LE(b);
    return compareSlices(bytes, a + ROW_HEAD, first, bytes, b + ROW_HEAD, second);
  }

  private cellsOf(start: number): Cell[] {
    const { bytes } = this;
    const cells: Cell[] = [];
    let at = start + ROW_HEAD;
    const row = this.view(at, bytes.readUInt32LE(start));
    at += row.length;
    for (let left = bytes.readUInt32LE(start + 4); left > 0; left--) {
      const family = this.families[bytes.readUInt32LE(at)]!;
      const type = bytes.readDoubleLE(at + 4) as CellType;
      const timestamp = bytes.readDoubleLE(at + 12);
      const ttl = bytes.readDoubleLE(at + 20);
      const qualifier = this.view(at + CELL_HEAD, bytes.readUInt32LE(at + 28));
      const value = this.view(at + CELL_HEAD + qualifier.length, bytes.readUInt32LE(at + 32));
      at += CELL_HEAD + qualifier.length + value.length;
      cells.push(
        Number.isNaN(ttl)
          ? new Cell(row, family, qualifier, timestamp, type, value)
          : new EndingCell(row, family, qualifier, timestamp, type, value, ttl),
      );
    }
    return cells;
  }

  private view(at: number, length: number): Uint8Array {
    return new Uint8Array(this.bytes.buffer, this.bytes.byteOffset + at, length);
  }
}

/** By family, qualifier, newest first, the higher type first. */
export function compareInRow(a: Cell, b: Cell): number {
  if (a.family !== b.family) return a.family < b.family ? -1 : 1;
  return compareBytes(a.qualifier, b.qualifier) || b.timestamp - a.timestamp || b.type - a.type;
}

function lastOfEachPlace(cells: Cell[]): readonly Cell[] {
  let kept = 0;
  for (let at = 0; at < cells.length; at++) {
    const cell = cells[at]!;
    if (kept > 0 && compareInRow(cells[kept - 1]!, cell) === 0) kept--;
    cells[kept++] = cell;
  }
  cells.length = kept;
  return cells;
}
