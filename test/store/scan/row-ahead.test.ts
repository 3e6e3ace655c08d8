/** Rows whose values are copied together (`copyRowAhead`) against rows whose cells are copied one by one. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CellCursor } from '../../../src/store/cursor.js';
import { PlainRow } from '../../../src/store/scan/newest-put.js';
import { CellMaker, copyRow, copyRowAhead, StoredRowBuilder } from '../../../src/store/scan/row-builder.js';
import { CellType, type Result } from '../../../src/table/index.js';
import { scaled } from '../../proof/scale.js';
import { cell, memstoreOf, rowAt, sorted, type TestCell } from '../file/cells.js';
import { reader } from '../file/fixture.js';

const maker = new CellMaker('f', undefined);

/** Reads the row at which the cursors stand. `ahead`: its values are copied together. */
function readRow(plain: PlainRow, cursors: readonly CellCursor[], ahead: boolean): Result {
  const out = new StoredRowBuilder();
  const head = cursors[0]!;
  const row = ahead ? copyRowAhead(head, true) : copyRow(head);
  plain.rule.readPoint = 100;
  plain.out = out;
  plain.begin();
  for (const cursor of cursors) plain.add(cursor);
  expect(plain.read(maker, row, null, 0, ahead ? head : null)).toBe(true);
  return out.take(row, false);
}

function told({ row, cells }: Result): unknown {
  return cells.map(({ qualifier, timestamp, value }) => [
    Buffer.from(row).toString('latin1'),
    Buffer.from(qualifier).toString('latin1'),
    timestamp,
    Buffer.from(value).toString('latin1'),
  ]);
}

/** The cursors in the first row of all, and that row. */
function atFirst(cursors: readonly CellCursor[]): CellCursor[] {
  const present = cursors.filter(({ valid }) => valid);
  present.sort((a, b) => Buffer.compare(rowAt(a), rowAt(b)));
  return present.filter((cursor) => Buffer.compare(rowAt(cursor), rowAt(present[0]!)) === 0);
}

/** Every row of the sources. */
function readAll(sources: readonly (() => CellCursor)[], ahead: boolean): Result[] {
  const cursors = sources.map((open) => open());
  for (const [order, cursor] of cursors.entries()) {
    cursor.order = order;
    cursor.seekToFirst();
  }
  const plain = new PlainRow();
  const results: Result[] = [];
  for (let row = atFirst(cursors); row.length > 0; row = atFirst(cursors))
    results.push(readRow(plain, row, ahead));
  return results;
}

const someCell = fc
  .record({
    row: fc.nat(12),
    qualifier: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
    timestamp: fc.integer({ min: 1, max: 9 }),
    type: fc.oneof(
      { weight: 20, arbitrary: fc.constant(CellType.Put) },
      { weight: 1, arbitrary: fc.constantFrom(CellType.DeleteColumn, CellType.DeleteFamily) },
    ),
    length: fc.oneof(
      { weight: 20, arbitrary: fc.integer({ min: 80, max: 120 }) },
      { weight: 3, arbitrary: fc.nat(4) },
      { weight: 1, arbitrary: fc.constantFrom(600, 4000, 5000) },
    ),
    place: fc.nat(2),
  })
  .map(({ row, qualifier, timestamp, type, length, place }) => ({
    place,
    of: cell(
      `row-${row + 10}`,
      type === CellType.DeleteFamily ? '' : qualifier,
      timestamp,
      `${qualifier}${timestamp}`.repeat(length).slice(0, length),
      { type, seq: timestamp + 10 * place },
    ),
  }));

describe('rows whose values are copied together', () => {
  test('are those whose cells are copied one by one, from files and a memstore, and stay as they are', () => {
    fc.assert(
      fc.property(
        fc.array(someCell, { minLength: 1, maxLength: 300, size: 'max' }),
        fc.constantFrom(512, 4096),
        (some, blockSize) => {
          const at = (place: number): TestCell[] =>
            sorted(some.filter((each) => each.place === place).map(({ of }) => of));
          const memstore = memstoreOf(at(2));
          // A cache of few blocks, whose memory is used again.
          const files = [0, 1].filter((place) => at(place).length > 0);
          const sources = files.map((place) => {
            const file = reader(at(place), { blockSize }, {}, 4 * blockSize);
            return () => file.cursor({});
          });
          const all = [...sources, () => memstore.cursor()];
          const expected = readAll(all, false).map(told);
          const found = readAll(all, true);
          // Cursors of files are used again, and know the rows of before.
          expect(readAll(all, true).map(told)).toEqual(expected);
          expect(found.map(told)).toEqual(expected);
        },
      ),
      { numRuns: scaled(10, 200, 4000) },
    );
  });

  test('have one copy once a row of their length was read, also where another source has newer cells', () => {
    const columns = [...'abcdefghij'];
    const rows = [...'abcdefghijklmnopqrst'];
    const cells = rows.flatMap((row) => columns.map((name) => cell(row, name, 5, name.repeat(100))));
    const file = reader(cells, { blockSize: 1 << 16 });
    const filler = reader(cells, { blockSize: 1 << 16 });
    /** Reads until the next 32 KiB go into one slab of 64 KiB: of a row over two slabs there are two copies. */
    const fillSlab = (): void => {
      let last: Uint8Array;
      do last = readAll([() => filler.cursor({})], true).at(-1)!.row;
      while (last.byteOffset > 30_000);
    };
    const memstore = memstoreOf(rows.map((row) => cell(row, 'd', 6, 'newer'.repeat(20))));
    const distances = ({ row, cells }: Result): number[] =>
      cells
        .filter(({ timestamp, value }) => timestamp === 5 && value.buffer === row.buffer)
        .map(({ value }) => value.byteOffset - row.byteOffset);
    // Row, qualifier, value and header of a cell: 1, 1, 100 and 28 bytes.
    const together = columns.map((_, i) => 2 + 130 * i);
    const isTogether = (result: Result): boolean => distances(result).join() === together.join();
    fillSlab();
    const alone = readAll([() => file.cursor({})], true);
    expect(isTogether(alone[0]!)).toBe(false);
    expect(alone.slice(2).map(distances)).toEqual(alone.slice(2).map(() => together));
    together.splice(3, 1);
    fillSlab();
    const merged = readAll([() => file.cursor({}), () => memstore.cursor()], true);
    expect(merged.slice(2).map(distances)).toEqual(merged.slice(2).map(() => together));
  });

  test('are not taken from a block that the cursor has left, whose memory may be another block by then', () => {
    const first = new Uint8Array(600).fill(1);
    const second = new Uint8Array(600).fill(2);
    const qualifierAt = (at: number): number => at - 1;
    const places: readonly (readonly [Uint8Array, column: string, timestamp: number, at: number])[] = [
      [first, 'a', 9, 50],
      // Older than a cell of its column: it is passed over.
      [second, 'a', 8, 200],
      [first, 'b', 9, 350],
    ];
    class Moving extends CellCursor {
      private index = -1;
      override next(): boolean {
        this.index++;
        const place = places[this.index];
        this.valid = place !== undefined;
        if (place === undefined) return false;
        const [bytes, column, timestamp, at] = place;
        if (this.index === 2) bytes.fill(3);
        bytes[0] = 0x72;
        bytes[qualifierAt(at)] = column.charCodeAt(0);
        this.key = bytes;
        this.value = bytes;
        this.rowLength = 1;
        this.qualifierOffset = qualifierAt(at);
        this.qualifierLength = 1;
        this.timestamp = timestamp;
        this.type = CellType.Put;
        this.valueOffset = at;
        this.valueLength = 100;
        return true;
      }
      override seekToFirst(): boolean {
        return this.next();
      }
      override seek(): boolean {
        throw new Error('not needed');
      }
      override reseek(): boolean {
        throw new Error('not needed');
      }
      override seekToPreviousRow(): boolean {
        throw new Error('not needed');
      }
      override close(): void {}
    }
    const cursor = new Moving();
    cursor.rowBytes = 600;
    cursor.seekToFirst();
    const { cells } = readRow(new PlainRow(), [cursor], true);
    expect(cells.map(({ value }) => value[50])).toEqual([1, 3]);
  });
});
