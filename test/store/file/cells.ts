/** Cells for the tests of sorted files: as plain objects, in order, and as a cursor over them. */

import fc from 'fast-check';
import { expect } from 'vitest';
import { CellCursor, type SeekKey } from '../../../src/store/cursor.js';
import { ChunkPool } from '../../../src/store/memstore/arena.js';
import { Memstore } from '../../../src/store/memstore/memstore.js';

export interface TestCell {
  row: Uint8Array;
  qualifier: Uint8Array;
  timestamp: number;
  type: number;
  seq: number;
  ttl: number;
  value: Uint8Array;
}

/** Reads an array of cells that is in order. */
export class ArrayCursor extends CellCursor {
  private index = -1;

  constructor(private readonly cells: readonly TestCell[]) {
    super();
  }

  override seekToFirst(): boolean {
    this.index = -1;
    return this.next();
  }

  override next(): boolean {
    this.index++;
    const cell = this.cells[this.index];
    this.valid = cell !== undefined;
    if (cell) place(this, cell);
    return this.valid;
  }

  override seek(_target: SeekKey): boolean {
    throw new Error('not needed');
  }

  override reseek(_target: SeekKey): boolean {
    throw new Error('not needed');
  }

  override seekToPreviousRow(_row: Uint8Array | null): boolean {
    throw new Error('not needed');
  }

  override close(): void {}
}

/** Points a cursor at a cell, its key at odd places of a larger buffer. */
function place(cursor: CellCursor, cell: TestCell): void {
  const key = new Uint8Array(cell.row.length + cell.qualifier.length + 5);
  key.set(cell.row, 2);
  key.set(cell.qualifier, 3 + cell.row.length);
  cursor.key = key;
  cursor.rowOffset = 2;
  cursor.rowLength = cell.row.length;
  cursor.qualifierOffset = 3 + cell.row.length;
  cursor.qualifierLength = cell.qualifier.length;
  cursor.timestamp = cell.timestamp;
  cursor.type = cell.type;
  cursor.seq = cell.seq;
  cursor.ttl = cell.ttl;
  cursor.value = cell.value;
  cursor.valueOffset = 0;
  cursor.valueLength = cell.value.length;
}

/** A cell as text, which is compared faster than its bytes are one by one. */
export function show(cell: TestCell): string {
  const { row, qualifier, timestamp, type, seq, ttl, value } = cell;
  return [latin1(row), latin1(qualifier), timestamp, type, seq, ttl, latin1(value)].join('|');
}

/** The cell at which a cursor stands, as text. */
export function shown(cursor: CellCursor): string {
  const { key, value } = cursor;
  return show({
    row: key.subarray(cursor.rowOffset, cursor.rowOffset + cursor.rowLength),
    qualifier: key.subarray(cursor.qualifierOffset, cursor.qualifierOffset + cursor.qualifierLength),
    timestamp: cursor.timestamp,
    type: cursor.type,
    seq: cursor.seq,
    ttl: cursor.ttl,
    value: value.subarray(cursor.valueOffset, cursor.valueOffset + cursor.valueLength),
  });
}

/** Holds that a read found the cell, or none, and that the cursor says so. `expect` takes longer than a read: it gets what differs. */
export function expectAt(found: boolean, cursor: CellCursor, cell: TestCell | undefined): void {
  const is = found && shown(cursor);
  const should = cell !== undefined && show(cell);
  if (is !== should || cursor.valid !== found) expect([is, cursor.valid]).toEqual([should, found]);
}

/** R2. */
export function compareCells(a: TestCell, b: TestCell): number {
  return (
    Buffer.compare(a.row, b.row) ||
    Buffer.compare(a.qualifier, b.qualifier) ||
    b.timestamp - a.timestamp ||
    b.type - a.type ||
    (a.seq === b.seq ? 0 : b.seq - a.seq)
  );
}

/** In order, and no two equal in everything. */
export function sorted(cells: readonly TestCell[]): TestCell[] {
  const inOrder = [...cells].sort(compareCells);
  return inOrder.filter((cell, i) => i === 0 || compareCells(inOrder[i - 1]!, cell) !== 0);
}

export function cell(
  row: string,
  qualifier: string,
  timestamp: number,
  value: string | Uint8Array = '',
  more: Partial<TestCell> = {},
): TestCell {
  return {
    row: Buffer.from(row, 'latin1'),
    qualifier: Buffer.from(qualifier, 'latin1'),
    timestamp,
    type: 4,
    seq: 1,
    ttl: 0,
    value: typeof value === 'string' ? Buffer.from(value, 'latin1') : value,
    ...more,
  };
}

const text = (alphabet: string, minLength: number, maxLength: number) =>
  fc
    .array(fc.constantFrom(...alphabet), { minLength, maxLength })
    .map((characters) => new Uint8Array(Buffer.from(characters.join(''), 'latin1')));

/** Few letters, so that rows and columns repeat and share prefixes. */
const rows = fc.oneof(
  { weight: 6, arbitrary: text('ab', 1, 4) },
  {
    weight: 3,
    arbitrary: fc.integer({ min: 0, max: 40 }).map((n) => bytes(`user${String(n).padStart(6, '0')}`)),
  },
  { weight: 2, arbitrary: fc.uint8Array({ minLength: 1, maxLength: 12 }) },
  { weight: 1, arbitrary: fc.constantFrom(100, 300, 32767).map((n) => new Uint8Array(n).fill(0x61)) },
);
const qualifiers = fc.oneof(
  { weight: 2, arbitrary: fc.constant(new Uint8Array(0)) },
  { weight: 6, arbitrary: text('qr', 0, 3) },
  { weight: 2, arbitrary: fc.uint8Array({ maxLength: 300 }) },
);
const times = fc.oneof(
  fc.integer({ min: 0, max: 6 }),
  fc.integer({ min: 1_700_000_000_000, max: 1_700_000_100_000 }),
  fc.maxSafeNat(),
);
const values = fc.oneof(
  { weight: 8, arbitrary: fc.uint8Array({ maxLength: 20 }) },
  { weight: 2, arbitrary: fc.constantFrom(bytes('active'), bytes('inactive')) },
  { weight: 1, arbitrary: fc.constantFrom(200, 3000, 70_000).map((n) => new Uint8Array(n).fill(n)) },
);

const anyCell: fc.Arbitrary<TestCell> = fc.record({
  row: rows,
  qualifier: qualifiers,
  timestamp: times,
  type: fc.constantFrom(4, 4, 4, 4, 8, 10, 12, 14),
  seq: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.maxSafeNat()),
  ttl: fc.oneof(
    { weight: 5, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 1e12 }) },
  ),
  value: values,
});

/** At least one cell, in order. */
export function anyCells(maxLength: number): fc.Arbitrary<TestCell[]> {
  return fc.array(anyCell, { minLength: 1, maxLength, size: 'max' }).map(sorted);
}

function bytes(characters: string): Uint8Array {
  return new Uint8Array(Buffer.from(characters, 'latin1'));
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

/** Cells as a client writes them: those of a row side by side, here and there some of it later. */
export function memstoreOf(cells: readonly TestCell[]): Memstore {
  const memstore = new Memstore(new ChunkPool(0));
  const late = cells.filter((_, i) => i % 17 === 5);
  const order = [...cells.filter((_, i) => i % 17 !== 5), ...late];
  let last: Uint8Array | undefined;
  for (const { row, qualifier, timestamp, type, seq, ttl, value } of order) {
    const same = last !== undefined && Buffer.compare(last, row) === 0;
    memstore.add(row, qualifier, timestamp, type, seq, ttl, value, same);
    last = row;
  }
  return memstore;
}

export function rowAt({ key, rowOffset, rowLength }: CellCursor): Uint8Array {
  return key.slice(rowOffset, rowOffset + rowLength);
}
