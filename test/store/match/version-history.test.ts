import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ALIVE, DELETED, MASKED, VersionHistory } from '../../../src/store/match/matcher.js';
import { CellType } from '../../../src/table/index.js';
import { alivePuts } from '../../model/alive.js';
import { scaled } from '../../proof/scale.js';
import { ArrayCursor, cellOf, type RunCell } from '../scan/array-cursor.js';
import { cellsArbitrary } from '../scan/runs.js';

/** The fates of a row's puts, in the order of the cells. */
function fates(cells: readonly RunCell[], versions: number): { cell: RunCell; fate: number }[] {
  const history = new VersionHistory(versions);
  history.startRow();
  const cursor = new ArrayCursor(cells);
  const out: { cell: RunCell; fate: number }[] = [];
  for (let more = cursor.seekToFirst(); more; more = cursor.next()) {
    if (cursor.type === CellType.Put) out.push({ cell: cellOf(cursor), fate: history.addPut(cursor) });
    else history.addMarker(cursor);
  }
  return out;
}

const cell = (timestamp: number, seq: number, type: number = CellType.Put): RunCell => ({
  row: 'r',
  qualifier: 'q',
  timestamp,
  type,
  seq,
});

const fatesOf = (cells: readonly RunCell[], versions: number): number[] =>
  fates(cells, versions).map(({ fate }) => fate);

describe('versions that count as they are written', () => {
  test('R79: a marker hides only what was written before it', () => {
    const marker = cell(20, 1000, CellType.DeleteColumn);
    expect(fatesOf([marker, cell(19, 1001), cell(18, 999)], 3)).toEqual([ALIVE, DELETED]);
  });

  test('R80: versions that a deleted one had pushed out stay away', () => {
    const puts = [cell(1, 1), cell(2, 2), cell(3, 3)];
    expect(fatesOf([...puts, cell(3, 4, CellType.Delete)], 2)).toEqual([DELETED, ALIVE, MASKED]);
    expect(fatesOf(puts, 2)).toEqual([ALIVE, ALIVE, MASKED]);
    // Written after the deletion it takes the free place.
    expect(fatesOf([cell(2, 2), cell(3, 3), cell(3, 4, CellType.Delete), cell(1, 5)], 2)).toEqual([
      DELETED,
      ALIVE,
      ALIVE,
    ]);
  });

  test('R81: of puts with one timestamp the last written stands', () => {
    expect(fatesOf([cell(5, 1), cell(5, 3), cell(5, 2)], 3)).toEqual([ALIVE, MASKED, MASKED]);
  });

  test('agree with the history written again, change by change', () => {
    fc.assert(
      fc.property(cellsArbitrary, fc.integer({ min: 1, max: 3 }), (cells, versions) => {
        const row = cells.map((each) => ({ ...each, row: 'r' }));
        const stored = row.map((each) => ({
          ...each,
          family: 'f',
          type: each.type as CellType,
          value: each.value ?? '',
          ttl: 0,
        }));
        const alive = new Set(alivePuts(stored, versions).map((put) => put.seq));
        const given = fates(row, versions)
          .filter(({ fate }) => fate === ALIVE)
          .map(({ cell: put }) => put.seq);
        expect(new Set(given)).toEqual(alive);
      }),
      { numRuns: scaled(150, 500, 5000) },
    );
  });
});
