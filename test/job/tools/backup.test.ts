import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { backupTables, listBackups, restoreTables } from '../../../src/job/tools/backup.js';
import { countRows } from '../../../src/job/tools/count.js';
import { verifyTables } from '../../../src/job/tools/verify.js';
import { Delete, type Engine, Put, tableDescriptor } from '../../../src/table/index.js';
import { memoryStore, type TestStore } from '../../store/engine/support.js';
import { workerOn } from '../support.js';

let store: TestStore;
let other: TestStore;
let folder: string;
beforeEach(async () => {
  store = await memoryStore();
  other = await memoryStore();
  folder = await mkdtemp(join(tmpdir(), 'rowan-backup-'));
  for (const name of ['a', 'b.c']) {
    await store.engine.admin.createTable(tableDescriptor(name, { f: { versions: 3 } }), [Buffer.from('m')]);
  }
});
afterEach(async () => {
  await store.engine.close();
  await other.engine.close();
  await rm(folder, { recursive: true });
});

async function write(table: string, from: number, to: number, value: string): Promise<void> {
  for (let i = from; i < to; i++) {
    await store.engine.table(table).put(new Put(`${i % 2 ? 'a' : 'z'}${i}`).addColumn('f', 'q', value));
  }
}

async function differences(target: Engine, table: string): Promise<number> {
  const { counters } = await verifyTables(
    { engine: store.engine, table },
    { engine: target, table },
    { run: { restart: true } },
  );
  return (counters['missing'] ?? 0) + (counters['extra'] ?? 0) + (counters['different'] ?? 0);
}

test('a full backup and what came after it restore every table, with versions and deletions', async () => {
  await write('a', 0, 20, 'one');
  await write('b.c', 0, 5, 'one');
  expect(await backupTables(store.engine, folder)).toMatchObject({
    backup: { name: '0001-full', tables: ['a', 'b.c'], complete: true },
    rows: 25,
  });
  await write('a', 10, 30, 'two');
  await store.engine.table('a').delete(new Delete('a3'));
  await backupTables(store.engine, folder, { incremental: true });
  await write('b.c', 0, 3, 'three');
  await backupTables(store.engine, folder, { incremental: true });
  expect((await listBackups(folder)).map(({ name }) => name)).toEqual([
    '0001-full',
    '0002-incremental',
    '0003-incremental',
  ]);

  await restoreTables(other.engine, folder);
  expect(await differences(other.engine, 'a')).toBe(0);
  expect(await differences(other.engine, 'b.c')).toBe(0);
  expect((await other.engine.admin.getRegions('a')).length).toBe(2);
});

test('an earlier state and single tables can be restored', async () => {
  await write('a', 0, 4, 'one');
  await backupTables(store.engine, folder);
  await write('a', 4, 8, 'two');
  await backupTables(store.engine, folder, { incremental: true, tables: ['a'] });
  await restoreTables(other.engine, folder, { to: '0001-full', tables: ['a'] });
  expect(await differences(other.engine, 'a')).toBe(4);
  expect(await other.engine.admin.tableExists('b.c')).toBe(false);
  await expect(restoreTables(other.engine, folder)).rejects.toThrow('Table "a" has rows');
  await expect(restoreTables(other.engine, folder, { tables: ['b.c'] })).rejects.toThrow(
    'has no table "b.c"',
  );
  await expect(restoreTables(other.engine, folder, { to: '0009-full' })).rejects.toThrow(
    'no complete backup 0009-full',
  );
});

test('what was left unfinished is finished, and nobody restores it before', async () => {
  await write('a', 0, 40, 'one');
  await write('b.c', 0, 40, 'one');
  await backupTables(workerOn(store.engine, { lives: 12 }).engine, folder, {
    run: { batchRows: 5, checkpointRows: 5, parallel: 1 },
  }).catch(() => {});
  await expect(restoreTables(other.engine, folder)).rejects.toThrow('holds no complete backup');
  expect((await backupTables(store.engine, folder)).backup.name).toBe('0001-full');
  await restoreTables(other.engine, folder);
  expect(await differences(other.engine, 'b.c')).toBe(0);
});

test('a restore that dies is gone on with; one that ended is not mixed with what came after', async () => {
  await write('a', 0, 40, 'one');
  await backupTables(store.engine, folder, { tables: ['a'] });
  await write('a', 20, 60, 'two');
  await backupTables(store.engine, folder, { tables: ['a'], incremental: true });
  const run = { batchRows: 1, checkpointRows: 1, parallel: 1 };
  for (const lives of [12, 14]) {
    const dying = workerOn(other.engine, { lives }).engine;
    await expect(restoreTables(dying, folder, { run })).rejects.toThrow('This worker is dead');
  }
  expect((await countRows(other.engine, 'a')).counters['rows']).toBeGreaterThan(0);
  await restoreTables(other.engine, folder, { run });
  expect(await differences(other.engine, 'a')).toBe(0);
  await expect(restoreTables(other.engine, folder)).rejects.toThrow('Table "a" has rows');
  await expect(restoreTables(other.engine, folder, { to: '0001-full' })).rejects.toThrow(
    'Table "a" has rows',
  );
});

test('nothing is added to nothing, and a list that is none is refused', async () => {
  await expect(backupTables(store.engine, folder, { incremental: true })).rejects.toThrow(
    'Make a full one first',
  );
  await backupTables(store.engine, folder, { tables: ['a'] });
  await expect(backupTables(store.engine, folder, { incremental: true })).rejects.toThrow(
    'has no table "b.c" to go on from',
  );
  const path = join(folder, 'backup.json');
  await writeFile(path, (await readFile(path, 'utf8')).replace('0001-full', '../../0001-full'));
  await expect(restoreTables(other.engine, folder)).rejects.toThrow('is no list of backups');
});
