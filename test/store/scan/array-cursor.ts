/** A sorted run of cells in an array: the plainest cursor there is. */

import { fromLatin1 } from '../../../src/bytes/index.js';
import { CellCursor, compareToSeekKey, type SeekKey } from '../../../src/store/cursor.js';

export interface RunCell {
  readonly row: string;
  readonly qualifier: string;
  readonly timestamp: number;
  readonly type: number;
  readonly seq: number;
  readonly value?: string;
  readonly ttl?: number;
}

export class ArrayCursor extends CellCursor {
  private readonly cells: readonly RunCell[];
  private index = -1;
  closed = false;

  constructor(cells: readonly RunCell[]) {
    super();
    this.cells = [...cells].sort(compareRunCells);
  }

  override seekToFirst(): boolean {
    return this.load(0);
  }

  override next(): boolean {
    return this.load(this.index + 1);
  }

  override seek(target: SeekKey): boolean {
    this.load(0);
    return this.reseek(target);
  }

  override reseek(target: SeekKey): boolean {
    while (this.valid && compareToSeekKey(this, target) < 0) this.next();
    return this.valid;
  }

  override seekToPreviousRow(row: Uint8Array | null): boolean {
    const bound = row === null ? undefined : Buffer.from(row).toString('latin1');
    const rows = this.cells.map((cell) => cell.row).filter((each) => bound === undefined || each < bound);
    const last = rows.at(-1);
    return this.load(last === undefined ? this.cells.length : this.cells.findIndex((c) => c.row === last));
  }

  override close(): void {
    this.valid = false;
    this.closed = true;
  }

  private load(index: number): boolean {
    this.index = index;
    const cell = this.cells[index];
    this.valid = cell !== undefined;
    if (!cell) return false;
    // New bytes for each position, and those of the last one spoilt, as cursors may do.
    this.key.fill(0xee);
    this.value.fill(0xee);
    this.key = fromLatin1(`${cell.row}${cell.qualifier}`);
    this.rowLength = cell.row.length;
    this.qualifierOffset = cell.row.length;
    this.qualifierLength = cell.qualifier.length;
    this.timestamp = cell.timestamp;
    this.type = cell.type;
    this.seq = cell.seq;
    this.value = fromLatin1(cell.value ?? '');
    this.valueLength = this.value.length;
    this.ttl = cell.ttl ?? 0;
    return true;
  }
}

export function compareRunCells(a: RunCell, b: RunCell): number {
  if (a.row !== b.row) return a.row < b.row ? -1 : 1;
  if (a.qualifier !== b.qualifier) return a.qualifier < b.qualifier ? -1 : 1;
  return b.timestamp - a.timestamp || b.type - a.type || b.seq - a.seq;
}

/** The cell under a cursor. */
export function cellOf(cursor: CellCursor): RunCell {
  const text = (bytes: Uint8Array, offset: number, length: number): string =>
    Buffer.from(bytes.subarray(offset, offset + length)).toString('latin1');
  return {
    row: text(cursor.key, cursor.rowOffset, cursor.rowLength),
    qualifier: text(cursor.key, cursor.qualifierOffset, cursor.qualifierLength),
    timestamp: cursor.timestamp,
    type: cursor.type,
    seq: cursor.seq,
    value: text(cursor.value, cursor.valueOffset, cursor.valueLength),
    ttl: cursor.ttl,
  };
}
