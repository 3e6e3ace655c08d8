import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Cell, CellType, type Engine, Put, Scan, tableDescriptor } from '../../../src/table/index.js';
import { exportTable } from '../../../src/tools/export.js';
import { importTable } from '../../../src/tools/import.js';
import { familyCells, textOf } from '../../hadoop/cells.js';
import { scaled } from '../../proof/scale.js';
import { workerOn } from '../support.js';
import { onStage, SMALL, stageOfEachTest } from './support.js';

const stage = stageOfEachTest();

const TABLE = tableDescriptor('t', { f: { versions: 1000, keepDeletedCells: 'TRUE' } });

async function stored(engine: Engine): Promise<string[]> {
  const found: string[] = [];
  for await (const { cells } of engine.table('t').scan(new Scan().setRaw(true).readAllVersions())) {
    found.push(...cells.map(textOf));
  }
  return found;
}

/** Deletes have no life of their own: neither engine's mutations take one. */
function endOnlyPuts(cells: readonly Cell[]): Cell[] {
  return cells.map((cell) => {
    const { row, family, qualifier, timestamp, type, value } = cell;
    return type === CellType.Put ? cell : new Cell(row, family, qualifier, timestamp, type, value);
  });
}

/** Sizes: each file has a random mark of its own. */
async function sizesIn(path: string): Promise<Map<string, number>> {
  const names = (await readdir(path)).sort();
  return new Map(
    await Promise.all(names.map(async (name) => [name, (await stat(join(path, name))).size] as const)),
  );
}

test('every version, marker and life comes back, whoever died on the way', async () => {
  await fc.assert(
    fc.asyncProperty(
      familyCells('f', 80).map(endOnlyPuts),
      fc.array(fc.integer({ min: 1, max: 25 }), { maxLength: 3 }),
      fc.array(fc.integer({ min: 1, max: 25 }), { maxLength: 3 }),
      async (cells, exportDeaths, importDeaths) => {
        await onStage(async ({ engine: one, other, folder: own }) => {
          for (const engine of [one, other]) {
            await engine.admin.createTable(TABLE, [Buffer.from([0x55]), Buffer.from([0xaa])]);
          }
          await one.bulkLoad('t', cells);
          const as = { format: 'hbase', table: 't' } as const;
          for (const lives of exportDeaths) {
            await exportTable(workerOn(one, { lives }).engine, 't', own, { ...as, run: SMALL }).catch(
              () => 0,
            );
          }
          const left = await sizesIn(own);
          const exported = await exportTable(one, 't', own, { ...as, run: SMALL });
          if (left.has('_SUCCESS')) expect(await sizesIn(own)).toEqual(left);
          for (const lives of importDeaths) {
            await importTable(workerOn(other, { lives }).engine, own, { ...as, run: SMALL }).catch(() => 0);
          }
          const imported = await importTable(other, own, { ...as, run: SMALL });
          expect(await stored(other)).toEqual(await stored(one));
          expect(imported.counters).toEqual(exported.counters);
        });
      },
    ),
    { numRuns: scaled(2, 20, 600) },
  );
});

test('files of an earlier export into the folder are not taken for part of this one', async () => {
  const { engine, folder, other } = stage;
  await engine.admin.createTable(TABLE, [Buffer.from('m')]);
  await other.admin.createTable(TABLE);
  await engine.table('t').putAll(['a', 'z'].map((row) => new Put(row).addColumn('f', 'q', row, 1)));
  await exportTable(engine, 't', folder, { format: 'hbase' });
  await writeFile(join(folder, '_logs'), 'not a sequence file');
  expect((await readdir(folder)).sort()).toEqual(['_SUCCESS', '_logs', 'part-00000.seq', 'part-00001.seq']);
  await exportTable(engine, 't', folder, {
    format: 'hbase',
    range: { start: Buffer.from('a'), stop: Buffer.from('b') },
    name: 'other',
  });
  await importTable(other, folder, { format: 'hbase', table: 't' });
  expect((await stored(other)).length).toBe(1);
});

test('what cannot be imported says why, before anything is written', async () => {
  const { folder, other } = stage;
  await other.admin.createTable(TABLE);
  const load = (path: string, options = {}): Promise<unknown> =>
    importTable(other, path, { format: 'hbase', table: 't', ...options });
  await expect(load(folder)).rejects.toMatchObject({ message: expect.stringContaining('no file to read') });
  await expect(load(join(folder, 'absent'))).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
  await expect(load(folder, { create: true })).rejects.toMatchObject({
    message: expect.stringContaining('families'),
  });
  await expect(load(folder, { table: undefined })).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
  await writeFile(join(folder, 'part-0'), 'no sequence file');
  await expect(load(folder)).rejects.toMatchObject({
    code: 'ERR_CORRUPTION',
    message: expect.stringContaining('part-0'),
  });
});
