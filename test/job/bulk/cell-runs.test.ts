import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CellRuns, mergedRuns } from '../../../src/job/bulk/cell-runs.js';
import { rowsOf } from '../../../src/job/files/cell-files.js';
import { type Cell, CellWithTtl, Result } from '../../../src/table/index.js';
import { familyCells, textOf } from '../../hadoop/cells.js';
import { scaled } from '../../proof/scale.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowan-runs-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** Rows in any order, the same places more than once. */
const anyRows = fc
  .array(
    fc.constantFrom('f', 'g').chain((family) => familyCells(family, 12)),
    { maxLength: 6 },
  )
  .chain((groups) => {
    const rows = groups.flatMap(rowsOf);
    return fc.shuffledSubarray([...rows, ...rows], { minLength: 0 });
  });

const placeOf = (cell: Cell): string =>
  [
    Buffer.from(cell.row).toString('hex'),
    cell.family,
    Buffer.from(cell.qualifier).toString('hex'),
    cell.timestamp,
    cell.type,
  ].join();

test('cells come out sorted, of each place the last, in however many runs and merges', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyRows, { maxLength: 3 }),
      fc.integer({ min: 1, max: 4000 }),
      fc.integer({ min: 3, max: 8 }),
      async (splits, runBytes, most) => {
        const own = await mkdtemp(join(folder, 'own-'));
        const files: string[] = [];
        const expected = new Map<string, Cell>();
        for (const [split, rows] of splits.entries()) {
          // The value says which of two cells of the same place is the later.
          const told = rows.map(
            ({ row, cells }, at) =>
              new Result(
                row,
                cells.map((cell) => ({ ...cell, value: Buffer.from(`${split} ${at}`) })),
              ),
          );
          const runs = await CellRuns.open(own, split, undefined, runBytes);
          for (const row of told) await runs.add([row]);
          files.push(...(await runs.commit()).files);
          for (const { cells } of told) for (const cell of cells) expected.set(placeOf(cell), cell);
        }
        const found: Cell[] = [];
        for await (const list of mergedRuns(own, files, most)) found.push(...list);
        expect(new Set(found.map(placeOf)).size).toBe(found.length);
        expect(new Map(found.map((cell) => [placeOf(cell), Buffer.from(cell.value).toString()]))).toEqual(
          new Map([...expected].map(([place, cell]) => [place, Buffer.from(cell.value).toString()])),
        );
        const rows = found.map(({ row }) => Buffer.from(row));
        expect(rows).toEqual([...rows].sort(Buffer.compare));
      },
    ),
    { numRuns: scaled(4, 60, 2000) },
  );
});

test('a split that is begun again goes on behind its checkpoint', async () => {
  const [one, two, three] = ['a', 'b', 'c'].map((row) => rowsOf([cellOf(row)]));
  const runs = await CellRuns.open(folder, 0, undefined);
  await runs.add(one!);
  const kept = await runs.commit();
  await runs.add(two!);
  await runs.commit();
  await writeFile(join(folder, 'run-00001-000000'), 'of another split');
  const again = await CellRuns.open(folder, 0, kept);
  await again.add(three!);
  const { files } = await again.commit();
  const found: string[] = [];
  for await (const list of mergedRuns(folder, files)) found.push(...list.map(textOf));
  expect(found).toEqual([cellOf('a'), cellOf('c')].map(textOf));
  expect((await readdir(folder)).length).toBe(3);
});

test('rows of any size are sorted, those with a life of their own keep it', async () => {
  const runs = await CellRuns.open(folder, 0, undefined);
  const rows = ['d', 'a', 'c', 'b'].map((row, at) => {
    const [key, qualifier, value] = [Buffer.from(row), Buffer.from('q'), Buffer.alloc(40_000 * at, row)];
    return new Result(key, [new CellWithTtl(key, 'f', qualifier, 2 ** 53 - 2, 4, value, 1000 + at)]);
  });
  await runs.add(rows);
  const found: Cell[] = [];
  for await (const list of mergedRuns(folder, (await runs.commit()).files)) found.push(...list);
  const expected = rows.flatMap(({ cells }) => cells.map(textOf)).sort();
  expect(found.map(textOf)).toEqual(expected);
});

function cellOf(row: string): Cell {
  return {
    row: Buffer.from(row),
    family: 'f',
    qualifier: Buffer.from('q'),
    timestamp: 1,
    type: 4,
    value: Buffer.from(row),
  };
}
