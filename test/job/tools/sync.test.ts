import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Delete, type Engine, Put } from '../../../src/table/index.js';
import { hashTable } from '../../../src/tools/hash.js';
import { syncTables } from '../../../src/tools/sync.js';
import { type RowDifference, verifyTables } from '../../../src/tools/verify.js';
import { scaled } from '../../proof/scale.js';
import { workerOn } from '../support.js';
import { cellsOf, changes, fill, rowName } from './random-table.js';
import { onStage, SMALL, stageOfEachTest } from './support.js';

const stage = stageOfEachTest();
const put = (engine: Engine, row: string, value: string, timestamp: number, column = 'x') =>
  engine.table('t').put(new Put(row).addColumn('a', column, value, timestamp));
const tables = () =>
  [
    { engine: stage.engine, table: 't' },
    { engine: stage.other, table: 't' },
  ] as const;

test('two tables of any cells are the same after a sync, with hashes or without, whoever died on the way', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(changes, { maxLength: 50 }),
      fc.array(changes, { maxLength: 50 }),
      fc.boolean(),
      fc.integer({ min: 1, max: 400 }),
      fc.array(fc.integer({ min: 1, max: 25 }), { maxLength: 3 }),
      async (here, there, hashed, chunkBytes, deaths) => {
        await onStage(async ({ engine: from, other: into, folder: own }) => {
          await fill(from, here);
          await fill(into, there, [5]);
          const target = { engine: into, table: 't' };
          const options = { run: SMALL, ...(hashed ? { hashes: own } : {}) };
          for (const lives of hashed ? [...deaths, undefined] : []) {
            const { engine } = workerOn(from, lives === undefined ? {} : { lives });
            const made = hashTable(engine, 't', own, { chunkBytes, run: SMALL });
            if (lives === undefined) await made;
            else await made.catch(() => 0);
          }
          for (const lives of deaths) {
            const { engine } = workerOn(from, { lives });
            await syncTables({ engine, table: 't' }, target, options).catch(() => 0);
          }
          const source = { engine: from, table: 't' };
          const { counters } = await syncTables(source, target, options);
          const differ = ['missing', 'extra', 'different'].reduce(
            (sum, kind) => sum + (counters[kind] ?? 0),
            0,
          );
          const left = differ - (counters['repaired'] ?? 0);
          // What markers of the second table hide is told, and is all that may be left.
          const told: RowDifference[] = [];
          await verifyTables(source, target, { ...options, onDifference: (each) => told.push(each) });
          expect(told.length).toBe(left);
          await into.admin.flush('t');
          await into.admin.majorCompact('t');
          for (let round = 0; round < 2; round++) await syncTables(source, target, options);
          if (!(await hasKeptMarkers(into))) {
            expect(await cellsOf(into, 't', false)).toEqual(await cellsOf(from, 't', false));
          }
        });
      },
    ),
    { numRuns: scaled(1, 15, 1000) },
  );
});

/** Markers that a family keeps whatever is compacted (`keepDeletedCells`). */
async function hasKeptMarkers(engine: Engine): Promise<boolean> {
  return (await cellsOf(engine, 't', true)).some((cell) => cell.split(' ')[4] !== '4');
}

test('a sync writes what lacks, deletes what is too much, and brings older versions to light no further than they are wanted', async () => {
  await fill(stage.engine, []);
  await fill(stage.other, []);
  await put(stage.engine, 'row001', 'same', 5);
  await put(stage.other, 'row001', 'same', 5);
  await put(stage.engine, 'row002', 'right', 5);
  await put(stage.other, 'row002', 'wrong', 5);
  await put(stage.engine, 'row003', 'missing', 5);
  await put(stage.other, 'row004', 'extra', 5);
  await put(stage.engine, 'row025', 'one', 5);
  // Eight versions of a family that shows five: what is deleted brings older ones to light.
  for (let time = 7; time < 15; time++) await put(stage.other, 'row025', 'other time', time);
  const first = await syncTables(...tables());
  expect(first.counters).toEqual({ different: 2, equal: 1, extra: 1, missing: 1, repaired: 4, rows: 4 });
  const again = await verifyTables(...tables());
  expect(again.counters).toEqual({ equal: 4, rows: 4 });
  expect(await cellsOf(stage.other, 't', false)).toEqual(await cellsOf(stage.engine, 't', false));
});

test('what a marker of the second table hides counts as not repaired', async () => {
  await fill(stage.engine, []);
  await fill(stage.other, []);
  await put(stage.engine, 'row001', 'v', 5);
  await stage.other.table('t').delete(new Delete('row001').addFamily('a', 9));
  expect((await syncTables(...tables())).counters).toEqual({ equal: 0, missing: 1, repaired: 0, rows: 1 });
});

test('puts or deletes alone are done where the other is not wished', async () => {
  await fill(stage.engine, []);
  await fill(stage.other, []);
  await put(stage.engine, 'row003', 'missing', 5);
  await put(stage.other, 'row004', 'extra', 5);
  const added = await syncTables(...tables(), { deletes: false });
  expect(added.counters).toEqual({ equal: 0, extra: 1, missing: 1, repaired: 1, rows: 1 });
  expect(await cellsOf(stage.other, 't', false)).toHaveLength(2);
  const deleted = await syncTables(...tables(), { puts: false });
  expect(deleted.counters).toEqual({ equal: 1, extra: 1, repaired: 1, rows: 1 });
  expect(await cellsOf(stage.other, 't', false)).toEqual(await cellsOf(stage.engine, 't', false));
});

test('with hashes the first table is read where they differ only, rows behind its last too', async () => {
  await fill(stage.engine, []);
  await fill(stage.other, [], [3]);
  for (let i = 0; i < 31; i++)
    for (const engine of [stage.engine, stage.other]) await put(engine, rowName(i), `v${i}`, 5);
  await hashTable(stage.engine, 't', stage.folder, { chunkBytes: 40 });
  await put(stage.other, rowName(7), 'changed', 6);
  await put(stage.other, 'zzz', 'extra', 6);
  const told: string[] = [];
  const { counters } = await verifyTables(...tables(), {
    hashes: stage.folder,
    onDifference: ({ row, kind }) => told.push(`${kind} ${Buffer.from(row).toString()}`),
  });
  expect(told.sort()).toEqual(['different row007', 'extra zzz']);
  expect(counters).toMatchObject({ rows: 31, equal: 30, different: 1, extra: 1, 'chunks read': 2 });
  expect(counters['chunks']).toBeGreaterThan(10);
});

test('hashes that are not whole, damaged, of another table or of another selection are refused', async () => {
  await fill(stage.engine, []);
  await fill(stage.other, []);
  await put(stage.engine, 'row001', 'v', 5);
  const refused = (options: object) =>
    verifyTables(...tables(), { hashes: stage.folder, ...options }).then(
      () => 'taken',
      (error: { code: string }) => error.code,
    );
  expect(await refused({})).toBe('ERR_INVALID_ARGUMENT');
  await hashTable(stage.engine, 't', stage.folder, { raw: true });
  expect(await refused({ versions: 1 })).toBe('ERR_INVALID_ARGUMENT');
  await expect(
    verifyTables({ engine: stage.other, table: 'x' }, tables()[1], { hashes: stage.folder }),
  ).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
  const manifest = await readFile(join(stage.folder, 'hashes.json'), 'utf8');
  await writeFile(join(stage.folder, 'hashes.json'), manifest.replace('"selection"', '"other"'));
  expect(await refused({})).toBe('ERR_INVALID_ARGUMENT');
  await writeFile(join(stage.folder, 'hashes.json'), manifest.replace(/part-\d+/, '../secret'));
  expect(await refused({})).toBe('ERR_INVALID_ARGUMENT');
  await writeFile(join(stage.folder, 'hashes.json'), manifest);
  const file = join(stage.folder, 'part-00000.ndjson');
  const whole = await readFile(file, 'utf8');
  for (const damaged of [
    whole.replace('{', '['),
    whole.replace(/"hash":".{4}/, '"hash":"zzzz'),
    whole.slice(0, -1),
  ]) {
    await writeFile(file, damaged);
    expect(['ERR_CORRUPTION', 'ERR_INVALID_ARGUMENT']).toContain(
      await refused({ name: `n${damaged.length}` }),
    );
  }
  await expect(hashTable(stage.engine, 't', stage.folder, { chunkBytes: 0 })).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
  });
});
