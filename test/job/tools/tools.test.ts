import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { copyTable } from '../../../src/job/tools/copy.js';
import { countCells, countRows } from '../../../src/job/tools/count.js';
import { exportTable } from '../../../src/job/tools/export.js';
import { importTable } from '../../../src/job/tools/import.js';
import { type RowDifference, verifyTables } from '../../../src/job/tools/verify.js';
import type { JobRunOptions } from '../../../src/job/types.js';
import { Put } from '../../../src/table/index.js';
import { scaled } from '../../proof/scale.js';
import { memoryStore, type TestStore } from '../../store/engine/support.js';
import { workerOn } from '../support.js';
import { cellsOf, changes, fill, rowName } from './random-table.js';

let store: TestStore;
let other: TestStore;
let folder: string;
beforeEach(async () => {
  store = await memoryStore();
  other = await memoryStore();
  folder = await mkdtemp(join(tmpdir(), 'rowan-export-'));
});
afterEach(async () => {
  await store.engine.close();
  await other.engine.close();
  await rm(folder, { recursive: true });
});

const SMALL: JobRunOptions = { batchRows: 3, checkpointRows: 6, checkpointMs: 60_000, parallel: 2 };

test('a table that is exported and imported has every version and marker, whoever died on the way', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(changes, { maxLength: 60 }),
      fc.array(fc.integer({ min: 1, max: 25 }), { maxLength: 3 }),
      fc.array(fc.integer({ min: 1, max: 25 }), { maxLength: 3 }),
      async (all, exportDeaths, importDeaths) => {
        const from = await memoryStore();
        const into = await memoryStore();
        const own = await mkdtemp(join(tmpdir(), 'rowan-export-'));
        try {
          await fill(from.engine, all);
          for (const lives of exportDeaths) {
            await exportTable(workerOn(from.engine, { lives }).engine, 't', own, { run: SMALL }).catch(
              () => 0,
            );
          }
          const exported = await exportTable(from.engine, 't', own, { run: SMALL });
          for (const lives of importDeaths) {
            await importTable(workerOn(into.engine, { lives }).engine, own, {
              create: true,
              run: SMALL,
            }).catch(() => 0);
          }
          const imported = await importTable(into.engine, own, { create: true, run: SMALL });
          expect(await cellsOf(into.engine)).toEqual(await cellsOf(from.engine));
          expect(imported.counters).toEqual(exported.counters);
          expect(await into.engine.admin.getDescriptor('t')).toEqual(
            await from.engine.admin.getDescriptor('t'),
          );
          const { counters } = await verifyTables(
            { engine: from.engine, table: 't' },
            { engine: into.engine, table: 't' },
            { raw: true, run: SMALL },
          );
          expect(counters['equal'] ?? 0).toBe(counters['rows'] ?? 0);
        } finally {
          await from.engine.close();
          await into.engine.close();
          await rm(own, { recursive: true });
        }
      },
    ),
    { numRuns: scaled(3, 8, 400) },
  );
});

test('what is not a whole export, or is damaged, is refused with its place', async () => {
  await fill(
    store.engine,
    Array.from({ length: 31 }, (_, row) => ({
      row,
      family: 'a',
      column: 'x',
      timestamp: 5,
      kind: 'put',
      value: new Uint8Array([row]),
    })),
    [],
  );
  await expect(importTable(other.engine, folder, { create: true })).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
  });
  await exportTable(store.engine, 't', folder);
  const name = (await readdir(folder)).find((file) => file.endsWith('.cells'))!;
  const whole = await readFile(join(folder, name));
  for (let at = 0; at < whole.length; at++) {
    const damaged = Buffer.from(whole);
    damaged[at]! ^= 0x10;
    await writeFile(join(folder, name), damaged);
    await expect(importTable(other.engine, folder, { create: true, name: `n${at}` })).rejects.toMatchObject({
      code: 'ERR_CORRUPTION',
      message: expect.stringContaining(name) as string,
    });
  }
  await writeFile(join(folder, name), whole.subarray(0, whole.length - 1));
  await expect(importTable(other.engine, folder, { create: true })).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
  });
  await writeFile(join(folder, name), whole);
  await importTable(other.engine, folder, { create: true });
  expect(await cellsOf(other.engine)).toEqual(await cellsOf(store.engine));
});

test('copies are equal, renamed families too; verify tells every difference and mends it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(changes, { maxLength: 40 }),
      fc.array(changes, { maxLength: 10 }),
      async (all, drift) => {
        const from = await memoryStore();
        const into = await memoryStore();
        try {
          await fill(from.engine, all);
          const source = { engine: from.engine, table: 't' };
          const target = { engine: into.engine, table: 'copied' };
          await copyTable(source, target, { create: true, run: SMALL });
          expect(await cellsOf(into.engine, 'copied')).toEqual(await cellsOf(from.engine));

          const table = into.engine.table('copied');
          for (const { row, family, column, timestamp, value } of drift) {
            await table.put(new Put(rowName(row)).addColumn(family, column, value, timestamp));
          }
          const naive = differences(
            await cellsOf(from.engine, 't', false),
            await cellsOf(into.engine, 'copied', false),
          );
          const told: RowDifference[] = [];
          const { counters } = await verifyTables(source, target, {
            run: SMALL,
            onDifference: (difference) => told.push(difference),
          });
          expect(told.map(({ row, kind }) => `${Buffer.from(row).toString('hex')} ${kind}`).sort()).toEqual(
            naive,
          );
          expect((counters['missing'] ?? 0) + (counters['extra'] ?? 0) + (counters['different'] ?? 0)).toBe(
            naive.length,
          );
        } finally {
          await from.engine.close();
          await into.engine.close();
        }
      },
    ),
    { numRuns: scaled(3, 8, 400) },
  );
});

function differences(first: readonly string[], second: readonly string[]): string[] {
  const byRow = (cells: readonly string[]): Map<string, string> => {
    const rows = new Map<string, string>();
    for (const cell of cells) {
      const row = cell.slice(0, cell.indexOf(' '));
      rows.set(row, `${rows.get(row) ?? ''}\n${cell}`);
    }
    return rows;
  };
  const a = byRow(first);
  const b = byRow(second);
  const out: string[] = [];
  for (const [row, cells] of a) {
    if (!b.has(row)) out.push(`${row} missing`);
    else if (b.get(row) !== cells) out.push(`${row} different`);
  }
  for (const row of b.keys()) if (!a.has(row)) out.push(`${row} extra`);
  return out.sort();
}

test('counts rows and what they consist of', async () => {
  await fill(store.engine, []);
  const table = store.engine.table('t');
  for (let i = 0; i < 25; i++) {
    await table.put(new Put(rowName(i)).addColumn('a', 'x', 'v', 1).addColumn('a', 'x', 'w', 2));
    if (i % 5 === 0) await table.put(new Put(rowName(i)).addColumn('b', 'y', 'abc', 1));
  }
  expect((await countRows(store.engine, 't')).counters).toEqual({ rows: 25 });
  expect((await countRows(store.engine, 't', { families: ['b'] })).counters).toEqual({ rows: 5 });
  expect((await countCells(store.engine, 't')).counters).toEqual({
    rows: 25,
    cells: 55,
    bytes: 65,
    'family:a rows': 25,
    'family:a cells': 50,
    'family:b rows': 5,
    'family:b cells': 5,
    'column:a:x rows': 25,
    'column:a:x cells': 50,
    'column:b:y rows': 5,
    'column:b:y cells': 5,
  });
  await expect(countRows(store.engine, 'nope')).rejects.toMatchObject({ code: 'ERR_TABLE_NOT_FOUND' });
  await expect(countRows(store.engine, 't', { families: ['zz'] })).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
  });
});
