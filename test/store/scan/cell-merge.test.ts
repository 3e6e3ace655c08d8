import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fromLatin1, toLatin1 } from '../../../src/bytes/index.js';
import { SeekKey, TYPE_MAXIMUM } from '../../../src/store/cursor.js';
import { CellMerge, ReverseMerge } from '../../../src/store/scan/cell-merge.js';
import { ArrayCursor, cellOf, compareRunCells, type RunCell } from './array-cursor.js';
import { cellsArbitrary, deal } from './runs.js';

const choices = fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 1, maxLength: 40 });
const runCount = fc.integer({ min: 1, max: 9 });

function keyOf(row: string, qualifier = '', timestamp = Number.MAX_SAFE_INTEGER): SeekKey {
  const key = new SeekKey();
  key.row = fromLatin1(row);
  key.rowLength = row.length;
  key.qualifier = fromLatin1(qualifier);
  key.qualifierLength = qualifier.length;
  key.timestamp = timestamp;
  key.type = TYPE_MAXIMUM;
  return key;
}

function drain(merge: CellMerge): RunCell[] {
  const out: RunCell[] = [];
  for (; merge.top !== null; merge.next()) out.push({ ...cellOf(merge.top), value: '' });
  return out;
}

const sorted = (cells: readonly RunCell[]): RunCell[] =>
  [...cells].sort(compareRunCells).map((cell) => ({ ...cell, ttl: 0, value: '' }));

describe('merged cursors', () => {
  test('give the cells of all runs in order, without those that are too new', () => {
    fc.assert(
      fc.property(
        cellsArbitrary,
        runCount,
        choices,
        fc.integer({ min: 0, max: 45 }),
        (cells, k, deals, rp) => {
          const merge = new CellMerge(
            deal(cells, k, deals).map((run) => new ArrayCursor(run)),
            rp,
          );
          merge.seek(keyOf(''));
          expect(drain(merge)).toEqual(sorted(cells.filter((cell) => cell.seq <= rp)));
        },
      ),
    );
  });

  test('seek to the first cell at or after a key, whichever cursors lie before it', () => {
    fc.assert(
      fc.property(
        cellsArbitrary,
        runCount,
        choices,
        fc.constantFrom('a', 'ab', 'b', 'bb', '\xff'),
        fc.constantFrom('', 'x', 'xz'),
        fc.integer({ min: 0, max: 7 }),
        (cells, k, deals, row, qualifier, steps) => {
          const merge = new CellMerge(
            deal(cells, k, deals).map((run) => new ArrayCursor(run)),
            100,
          );
          merge.seek(keyOf(''));
          const all = sorted(cells);
          for (let i = 0; i < steps && merge.top !== null; i++) merge.next();
          merge.reseek(keyOf(row, qualifier, 3));
          const wanted = all.filter((cell, i) => {
            const order = compareRunCells(cell, { row, qualifier, timestamp: 3, type: 255, seq: 0 });
            return i >= steps && order >= 0;
          });
          expect(drain(merge)).toEqual(wanted);
        },
      ),
    );
  });

  test('win ties of equal cells with equal seq by the order of their sources', () => {
    const cell = { row: 'r', qualifier: 'q', timestamp: 1, type: 4, seq: 7 };
    const cursors = ['older', 'newer'].map((value, order) => {
      const cursor = new ArrayCursor([{ ...cell, value }]);
      cursor.order = order;
      return cursor;
    });
    const merge = new CellMerge(cursors, 100);
    merge.seek(keyOf(''));
    expect(cellOf(merge.top!).value).toBe('newer');
  });

  test('close every cursor', () => {
    const cursors = [new ArrayCursor([]), new ArrayCursor([])];
    new CellMerge(cursors, 1).close();
    expect(cursors.map((cursor) => cursor.closed)).toEqual([true, true]);
  });
});

describe('merged cursors in reverse', () => {
  test('go from the last row to the first, and through each row in the usual order', () => {
    fc.assert(
      fc.property(
        cellsArbitrary,
        runCount,
        choices,
        fc.constantFrom(null, 'b', 'b\x00', 'zz'),
        (cells, k, deals, bound) => {
          const merge = new ReverseMerge(
            deal(cells, k, deals).map((run) => new ArrayCursor(run)),
            30,
          );
          const seen: RunCell[][] = [];
          const rows: string[] = [];
          merge.previousRow(bound === null ? null : fromLatin1(bound));
          while (merge.head !== null) {
            const { key, rowOffset, rowLength } = merge.head;
            const row = toLatin1(key.subarray(rowOffset, rowOffset + rowLength));
            rows.push(row);
            merge.enterRow();
            const inRow: RunCell[] = [];
            for (; merge.top !== null && cellOf(merge.top).row === row; merge.next()) {
              inRow.push({ ...cellOf(merge.top), value: '' });
            }
            seen.push(inRow);
            merge.previousRow(fromLatin1(row));
          }
          const expected = [...new Set(cells.map((cell) => cell.row))]
            .filter((row) => bound === null || row < bound)
            .sort()
            .reverse();
          expect(rows).toEqual(expected);
          expect(seen).toEqual(
            expected.map((row) => sorted(cells.filter((cell) => cell.row === row && cell.seq <= 30))),
          );
        },
      ),
    );
  });
});
