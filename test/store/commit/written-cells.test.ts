import { expect, test } from 'vitest';
import { fromLatin1, toLatin1 } from '../../../src/bytes/index.js';
import { WrittenCells } from '../../../src/store/commit/commit-queue.js';
import { ChunkPool } from '../../../src/store/memstore/arena.js';
import { Memstore } from '../../../src/store/memstore/memstore.js';
import { CellType } from '../../../src/table/index.js';

const NONE = new Uint8Array(0);

function newMemstore(): Memstore {
  return new Memstore(new ChunkPool(0));
}

function add(memstore: Memstore, row: string): number {
  return memstore.add(fromLatin1(row), NONE, 1, CellType.Put, 1, 0, NONE);
}

function rowsOf(memstore: Memstore): string {
  const rows: string[] = [];
  const cursor = memstore.cursor();
  for (let more = cursor.seekToFirst(); more; more = cursor.next())
    rows.push(toLatin1(cursor.key, cursor.rowOffset, cursor.rowOffset + cursor.rowLength));
  return rows.join(' ');
}

/** Cells a to e: of one memstore, of another, and of the first again. */
function written(reserved: number, reservesBehind = 0): [WrittenCells, Memstore, Memstore] {
  const [one, other] = [newMemstore(), newMemstore()];
  const cells = new WrittenCells();
  if (reserved > 0) cells.reserve(reserved);
  cells.add(one, add(one, 'a'));
  if (reservesBehind > 0) cells.reserve(reservesBehind);
  cells.add(one, add(one, 'b'));
  cells.addAll(other, Uint32Array.of(add(other, 'c'), add(other, 'd'), 7), 2);
  cells.add(one, add(one, 'e'));
  return [cells, one, other];
}

test.each([
  [0, 0],
  [3, 0],
  [100, 0],
  [2 ** 21, 0],
  [0, 100],
])(
  'cells are taken back from the last to any, with room for %d before and for %d behind the first',
  (reserved, behind) => {
    for (const [count, ofOne, ofOther] of [
      [5, 'a b e', 'c d'],
      [4, 'a b', 'c d'],
      [3, 'a b', 'c'],
      [1, 'a', ''],
      [0, '', ''],
    ] as const) {
      const [cells, one, other] = written(reserved, behind);
      expect(cells.count).toBe(5);
      cells.rollbackTo(count, 1);
      expect([cells.count, rowsOf(one), rowsOf(other)]).toEqual([count, ofOne, ofOther]);
      cells.add(other, add(other, 'f'));
      cells.rollback();
      expect([rowsOf(one), rowsOf(other)]).toEqual(['', '']);
    }
  },
);

test('cells that have moved to another memstore are taken back there', () => {
  const [cells, one, other] = written(100);
  const moved = newMemstore();
  const places = new Map([[add(newMemstore(), 'a'), { memstore: moved, ref: add(moved, 'a') }]]);
  cells.relocate(new Map([[one, places]]));
  expect(cells.count).toBe(5);
  cells.rollback();
  expect([rowsOf(one), rowsOf(other), rowsOf(moved)]).toEqual(['a', '', '']);
});

test('cells that are forgotten are not taken back', () => {
  const [cells, one, other] = written(100);
  cells.forgetTo(2);
  cells.rollback();
  expect([cells.count, rowsOf(one), rowsOf(other)]).toEqual([2, 'e', 'c d']);
});
