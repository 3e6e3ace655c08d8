import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { type ColumnBuilder, defineEntity, defineTable, part } from '../../../decorators/index.js';
import { text } from '../../../src/codec/index.js';
import { open } from '../../../src/database.js';
import type { KeyedClass } from '../../../src/schema/entity-types.js';
import type { EmbeddedAdmin } from '../../../src/store/embedded-admin.js';
import { openEmbedded } from '../../../src/store/engine.js';
import { repairStore } from '../../../src/store/repair/repair.js';
import { Cell, CellType, Delete, type Engine, Get, Put, tableDescriptor } from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { backupTables, listBackups } from '../../../src/tools/backup.js';
import { countRows } from '../../../src/tools/count.js';
import { restoreTables } from '../../../src/tools/restore.js';
import { verifyTables } from '../../../src/tools/verify.js';
import { workerOn } from '../support.js';
import { stageOfEachTest } from './support.js';

const stage = stageOfEachTest();
beforeEach(async () => {
  for (const name of ['a', 'b.c']) {
    await stage.engine.admin.createTable(tableDescriptor(name, { f: { versions: 3 } }), [Buffer.from('m')]);
  }
});

async function write(table: string, from: number, to: number, value: string): Promise<void> {
  for (let i = from; i < to; i++) {
    await stage.engine.table(table).put(new Put(`${i % 2 ? 'a' : 'z'}${i}`).addColumn('f', 'q', value));
  }
}

async function differences(target: Engine, table: string): Promise<number> {
  const { counters } = await verifyTables(
    { engine: stage.engine, table },
    { engine: target, table },
    { run: { restart: true } },
  );
  return (counters['missing'] ?? 0) + (counters['extra'] ?? 0) + (counters['different'] ?? 0);
}

test('a backup of all tables is refused where some are hidden from the user', async () => {
  const { engine, folder } = stage;
  await write('a', 0, 5, 'one');
  const admin = Object.assign(Object.create(engine.admin) as Engine['admin'], {
    hiddenTables: async () => ['shop:secret', 'rowan_jobs'],
  });
  const source = Object.assign(Object.create(engine) as Engine, { admin });
  await expect(backupTables(source, folder)).rejects.toMatchObject({
    code: 'ERR_SECURITY',
    message: expect.stringContaining('would lack "shop:secret", whose'),
    details: { tables: ['shop:secret'] },
  });
  expect(await listBackups(folder).catch(() => [])).toEqual([]);
  expect(await backupTables(source, folder, { tables: ['a'] })).toMatchObject({ rows: 5 });
});

test('a full backup and what came after it restore every table, with versions and deletions', async () => {
  await write('a', 0, 20, 'one');
  await write('b.c', 0, 5, 'one');
  expect(await backupTables(stage.engine, stage.folder)).toMatchObject({
    backup: { name: '0001-full', tables: ['a', 'b.c'], complete: true },
    rows: 25,
  });
  await write('a', 10, 30, 'two');
  await stage.engine.table('a').delete(new Delete('a3'));
  await backupTables(stage.engine, stage.folder, { incremental: true });
  await write('b.c', 0, 3, 'three');
  await backupTables(stage.engine, stage.folder, { incremental: true });
  expect((await listBackups(stage.folder)).map(({ name }) => name)).toEqual([
    '0001-full',
    '0002-incremental',
    '0003-incremental',
  ]);

  await restoreTables(stage.other, stage.folder);
  expect(await differences(stage.other, 'a')).toBe(0);
  expect(await differences(stage.other, 'b.c')).toBe(0);
  expect((await stage.other.admin.getRegions('a')).length).toBe(2);
});

test('a restore creates the namespaces of its tables', async () => {
  await stage.engine.admin.createNamespace('shop');
  await stage.engine.admin.createTable(tableDescriptor('shop:orders', { f: {} }));
  await write('shop:orders', 0, 3, 'one');
  await backupTables(stage.engine, stage.folder, { tables: ['shop:orders'] });
  await restoreTables(stage.other, stage.folder);
  expect(await differences(stage.other, 'shop:orders')).toBe(0);
});

test('an earlier state and single tables can be restored', async () => {
  await write('a', 0, 4, 'one');
  await backupTables(stage.engine, stage.folder);
  await write('a', 4, 8, 'two');
  await backupTables(stage.engine, stage.folder, { incremental: true, tables: ['a'] });
  await restoreTables(stage.other, stage.folder, { to: '0001-full', tables: ['a'] });
  expect(await differences(stage.other, 'a')).toBe(4);
  expect(await stage.other.admin.tableExists('b.c')).toBe(false);
  await expect(restoreTables(stage.other, stage.folder)).rejects.toThrow('Table "a" has rows');
  await expect(restoreTables(stage.other, stage.folder, { tables: ['b.c'] })).rejects.toThrow(
    'has no table "b.c"',
  );
  await expect(restoreTables(stage.other, stage.folder, { to: '0009-full' })).rejects.toThrow(
    'no complete backup 0009-full',
  );
});

test('what was left unfinished is finished, and nobody restores it before', async () => {
  await write('a', 0, 40, 'one');
  await write('b.c', 0, 40, 'one');
  await backupTables(workerOn(stage.engine, { lives: 12 }).engine, stage.folder, {
    run: { batchRows: 5, checkpointRows: 5, parallel: 1 },
  }).catch(() => {});
  await expect(restoreTables(stage.other, stage.folder)).rejects.toThrow('has no complete backup');
  expect((await backupTables(stage.engine, stage.folder)).backup.name).toBe('0001-full');
  await restoreTables(stage.other, stage.folder);
  expect(await differences(stage.other, 'b.c')).toBe(0);
});

test('a restore that dies is gone on with; one that ended is not mixed with what came after', async () => {
  await write('a', 0, 40, 'one');
  await backupTables(stage.engine, stage.folder, { tables: ['a'] });
  await write('a', 20, 60, 'two');
  await backupTables(stage.engine, stage.folder, { tables: ['a'], incremental: true });
  const run = { batchRows: 1, checkpointRows: 1, parallel: 1 };
  for (const lives of [12, 14]) {
    const dying = workerOn(stage.other, { lives }).engine;
    await expect(restoreTables(dying, stage.folder, { run })).rejects.toThrow('This worker is dead');
  }
  expect((await countRows(stage.other, 'a')).counters['rows']).toBeGreaterThan(0);
  await restoreTables(stage.other, stage.folder, { run });
  expect(await differences(stage.other, 'a')).toBe(0);
  await expect(restoreTables(stage.other, stage.folder)).rejects.toThrow('Table "a" has rows');
  await expect(restoreTables(stage.other, stage.folder, { to: '0001-full' })).rejects.toThrow(
    'Table "a" has rows',
  );
});

test('an incremental backup has tables in full that the one before lacks', async () => {
  await write('a', 0, 4, 'one');
  await write('b.c', 0, 4, 'one');
  await backupTables(stage.engine, stage.folder, { tables: ['a'] });
  stage.later(3_600_000);
  await write('a', 4, 8, 'two');
  const { backup } = await backupTables(stage.engine, stage.folder, { incremental: true });
  expect(backup).toMatchObject({ kind: 'incremental', tables: ['a', 'b.c'], whole: ['b.c'] });
  await restoreTables(stage.other, stage.folder);
  expect(await differences(stage.other, 'a')).toBe(0);
  expect(await differences(stage.other, 'b.c')).toBe(0);
});

const CHANGES: Readonly<Record<string, (admin: EmbeddedAdmin) => Promise<void>>> = {
  'is emptied': async (admin) => {
    await admin.disableTable('a');
    await admin.truncateTable('a', true);
  },
  'is dropped, and made again': async (admin) => {
    await admin.disableTable('a');
    await admin.deleteTable('a');
    await admin.createTable(tableDescriptor('a', { f: { versions: 3 } }));
  },
  'is what a snapshot was': async (admin) => {
    await admin.disableTable('a');
    await admin.restoreSnapshot('before');
    await admin.enableTable('a');
  },
  'has another family': (admin) => admin.modifyTable(tableDescriptor('a', { f: { versions: 3 }, g: {} })),
};

test.each(Object.keys(CHANGES))('a table that %s between two backups is restored so', async (change) => {
  const { admin } = stage.engine;
  await write('a', 0, 4, 'one');
  await admin.snapshot('before', 'a');
  await write('a', 2, 8, 'two');
  await backupTables(stage.engine, stage.folder);
  stage.later(3_600_000);
  await CHANGES[change]!(admin);
  await write('a', 6, 9, 'three');
  if (change === 'has another family')
    await stage.engine.table('a').put(new Put('a1').addColumn('g', 'q', 'x'));
  const { backup } = await backupTables(stage.engine, stage.folder, { incremental: true });
  expect(backup.whole).toEqual(['a']);
  stage.later(3_600_000);
  await write('a', 20, 22, 'four');
  expect(
    (await backupTables(stage.engine, stage.folder, { incremental: true })).backup.whole,
  ).toBeUndefined();
  await restoreTables(stage.other, stage.folder);
  expect(await differences(stage.other, 'a')).toBe(0);
});

test('every incremental backup has a table in full while its rows are being upgraded', async () => {
  const stamp = {
    format: 2,
    entity: 'A',
    key: 'id:text',
    marker: 'f:5f',
    columns: [{ family: 'f', qualifier: '71', kind: 'column', codec: 'text', property: 'q' }],
    version: 2,
    oldest: 1,
  };
  const metadata = { 'rowan.record': JSON.stringify(stamp) };
  await stage.engine.admin.modifyTable(tableDescriptor('a', { f: { versions: 3 } }, { metadata }));
  await write('a', 0, 4, 'one');
  await backupTables(stage.engine, stage.folder);
  for (const from of [4, 8]) {
    stage.later(3_600_000);
    await write('a', from, from + 4, 'more');
    const { backup } = await backupTables(stage.engine, stage.folder, { incremental: true });
    expect(backup.whole).toEqual(['a']);
  }
});

test('a deleted row stays deleted though a compaction has dropped its marker since the last backup', async () => {
  await write('a', 0, 4, 'one');
  stage.later(1);
  await backupTables(stage.engine, stage.folder);
  stage.later(3_600_000);
  await stage.engine.table('a').delete(new Delete('a1'));
  await stage.engine.admin.majorCompact('a');
  const { backup } = await backupTables(stage.engine, stage.folder, { incremental: true });
  expect(backup.whole).toEqual(['a']);
  stage.later(3_600_000);
  await write('a', 20, 22, 'two');
  await stage.engine.admin.majorCompact('a');
  expect(
    (await backupTables(stage.engine, stage.folder, { incremental: true })).backup.whole,
  ).toBeUndefined();
  await restoreTables(stage.other, stage.folder);
  expect(await differences(stage.other, 'a')).toBe(0);
});

test('a table whose dropped markers the last backup has is not in full', async () => {
  await write('a', 0, 20, 'one');
  await backupTables(stage.engine, stage.folder);
  for (const row of ['a1', 'a3', 'z2']) {
    stage.later(1000);
    await stage.engine.table('a').delete(new Delete(row));
    stage.later(1000);
    await backupTables(stage.engine, stage.folder, { incremental: true });
    stage.later(1000);
    await write('a', 18, 20, 'two');
    await stage.engine.admin.majorCompact('a');
    const added = await backupTables(stage.engine, stage.folder, { incremental: true });
    expect([added.cells, added.backup.whole]).toEqual([2, undefined]);
  }
  await restoreTables(stage.other, stage.folder);
  expect((await stage.other.table('a').get(new Get('a1'))).isEmpty).toBe(true);
  const { counters } = await countRows(stage.other, 'a');
  expect(counters['rows']).toBe(17);
});

test('a put below a dropped marker, which earlier backups have, is not hidden in a restore', async () => {
  await write('a', 0, 4, 'one');
  stage.later(1000);
  await stage.engine.table('a').delete(new Delete('a1'));
  await backupTables(stage.engine, stage.folder, { tables: ['a'] });
  stage.later(1000);
  await stage.engine.admin.majorCompact('a');
  await backupTables(stage.engine, stage.folder, { incremental: true, tables: ['a'] });
  await stage.engine.table('a').put(new Put('a1').addColumn('f', 'q', 'old', stage.engine.now() - 1500));
  const { backup } = await backupTables(stage.engine, stage.folder, { incremental: true, tables: ['a'] });
  expect(backup.whole).toEqual(['a']);
  await restoreTables(stage.other, stage.folder);
  expect(await differences(stage.other, 'a')).toBe(0);
});

const INCREMENT = { incremental: true, tables: ['a'], run: { batchRows: 1, checkpointRows: 1, parallel: 1 } };

/** Begins an incremental backup of the table "a" in a process whose engine fails after twelve calls. */
async function cutOffIncrement(): Promise<void> {
  const { engine } = workerOn(stage.engine, { lives: 12 });
  await expect(backupTables(engine, stage.folder, INCREMENT)).rejects.toThrow('This worker is dead');
}

test('an incremental backup that was cut off has what was dropped until it is gone on with', async () => {
  await write('a', 0, 40, 'one');
  await backupTables(stage.engine, stage.folder, { tables: ['a'] });
  await write('a', 40, 80, 'two');
  await cutOffIncrement();
  for (const row of ['a1', 'z2', 'a41', 'z70']) await stage.engine.table('a').delete(new Delete(row));
  await stage.engine.admin.majorCompact('a');
  const { backup } = await backupTables(stage.engine, stage.folder, INCREMENT);
  expect(backup).toMatchObject({ name: '0002-incremental', whole: ['a'] });
  await restoreTables(stage.other, stage.folder);
  expect(await differences(stage.other, 'a')).toBe(0);
});

test('a put below a marker that was dropped while an incremental backup was cut off is not hidden in a restore', async () => {
  await write('a', 0, 40, 'one');
  stage.later(1000);
  await stage.engine.table('a').delete(new Delete('z38'));
  await backupTables(stage.engine, stage.folder, { tables: ['a'] });
  await write('a', 40, 80, 'two');
  await cutOffIncrement();
  await stage.engine.admin.majorCompact('a');
  await stage.engine.table('a').put(new Put('z38').addColumn('f', 'q', 'early', stage.engine.now() - 500));
  const { backup } = await backupTables(stage.engine, stage.folder, INCREMENT);
  expect(backup).toMatchObject({ name: '0002-incremental', whole: ['a'] });
  await restoreTables(stage.other, stage.folder);
  expect(await differences(stage.other, 'a')).toBe(0);
});

test('cells of old timestamps that were written or loaded since the last backup are in an incremental one, which stays small', async () => {
  await write('a', 0, 40, 'one');
  stage.later(1);
  await backupTables(stage.engine, stage.folder, { tables: ['a'] });
  stage.later(3_600_000);
  await stage.engine.table('a').put(new Put('a1').addColumn('f', 'old', 'x', 5));
  await stage.engine.table('a').delete(new Delete('z2').addFamily('f', stage.engine.now() - 3_000_000));
  await stage.engine.bulkLoad('a', [
    new Cell(Buffer.from('b'), 'f', Buffer.from('q'), 7, CellType.Put, Buffer.from('loaded')),
  ]);
  await stage.engine.admin.flush('a');
  const added = await backupTables(stage.engine, stage.folder, { tables: ['a'], incremental: true });
  expect([added.cells, added.backup.whole]).toEqual([3, undefined]);
  await restoreTables(stage.other, stage.folder);
  expect(await differences(stage.other, 'a')).toBe(0);
});

test('a version that was dropped before the newer one was deleted does not come back', async () => {
  await stage.engine.admin.modifyTable(tableDescriptor('a', { f: { versions: 1 } }));
  await write('a', 1, 2, 'old');
  await backupTables(stage.engine, stage.folder);
  stage.later(1);
  await write('a', 1, 2, 'new');
  await stage.engine.admin.majorCompact('a');
  await stage.engine.table('a').delete(new Delete('a1').addColumn('f', 'q'));
  await backupTables(stage.engine, stage.folder, { incremental: true });
  await restoreTables(stage.other, stage.folder);
  expect(await differences(stage.other, 'a')).toBe(0);
});

test('a version that was dropped by a merge that does not see the marker of the newer one does not come back', async () => {
  const configuration = { 'hbase.hstore.compaction.min': '2', 'hbase.hstore.compaction.max.size': '5000' };
  const { admin } = stage.engine;
  await admin.modifyTable(tableDescriptor('a', { f: { versions: 1 } }, { configuration }));
  const table = stage.engine.table('a');
  await table.delete(new Delete('a1').addColumn('f', 'q', 2000));
  await table.put(new Put('a2').addColumn('f', 'q', randomBytes(10_000)));
  await admin.flush('a');
  await table.put(new Put('a1').addColumn('f', 'q', 'old', 1000));
  await backupTables(stage.engine, stage.folder);
  await table.put(new Put('a1').addColumn('f', 'q', 'new', 2000));
  await admin.flush('a');
  await admin.compact('a');
  expect((await table.get(new Get('a1'))).isEmpty).toBe(true);
  await backupTables(stage.engine, stage.folder, { incremental: true });
  await restoreTables(stage.other, stage.folder);
  expect(await differences(stage.other, 'a')).toBe(0);
});

test('updates, their compactions and rows that expire leave incremental backups small', async () => {
  await stage.engine.admin.modifyTable(tableDescriptor('a', { f: { versions: 1 } }));
  const session = (row: string): Put =>
    new Put(row).addColumn('f', 'q', `${stage.engine.now()}`).setTtl(600_000);
  await write('a', 0, 20, 'one');
  for (let i = 0; i < 5; i++) await stage.engine.table('a').put(session(`s${i}`));
  stage.later(1);
  await backupTables(stage.engine, stage.folder);
  for (let day = 0; day < 3; day++) {
    stage.later(300_000 + day * 400_000);
    await write('a', 0, 2, 'more');
    await stage.engine.table('a').put(session(`s${day}`));
    await stage.engine.admin.majorCompact('a');
    stage.later(1);
    const added = await backupTables(stage.engine, stage.folder, { incremental: true });
    expect([added.cells, added.backup.whole]).toEqual([3, undefined]);
  }
  await restoreTables(stage.other, stage.folder);
  expect(await differences(stage.other, 'a')).toBe(0);
});

test('a table is in full after its families keep other cells, and where the store was restored to an earlier commit', async () => {
  await write('a', 0, 4, 'one');
  await write('b.c', 0, 4, 'one');
  await backupTables(stage.engine, stage.folder);
  await stage.engine.admin.modifyTable(tableDescriptor('a', { f: { versions: 1 } }));
  const { backup } = await backupTables(stage.engine, stage.folder, { incremental: true });
  expect(backup.whole).toEqual(['a']);
  await restoreTables(stage.other, stage.folder, { to: '0001-full' });
  const continued = await backupTables(stage.other, stage.folder, {
    incremental: true,
    tables: ['a', 'b.c'],
  });
  expect(continued.backup.whole).toEqual(['a', 'b.c']);
});

test('a table is in full after a repair of the store, which may show again what was deleted', async () => {
  const fileSystem = new MemoryFileSystem();
  const damaged = { fileSystem, background: 'inline', automatic: false } as const;
  const first = await openEmbedded('/damaged', damaged);
  await first.admin.createTable(tableDescriptor('c', { f: {} }));
  await first.table('c').put(new Put('x').addColumn('f', 'q', 'one'));
  await backupTables(first, stage.folder);
  await first.table('c').delete(new Delete('x'));
  await backupTables(first, stage.folder, { incremental: true });
  await first.close();
  const newest = fileSystem
    .readdir('/damaged')
    .filter((name) => name.endsWith('.sst'))
    .sort()
    .at(-1)!;
  fileSystem.place(`/damaged/${newest}`, Buffer.from('no file of cells'));
  expect((await repairStore('/damaged', fileSystem)).lost).toHaveLength(1);

  const repaired = await openEmbedded('/damaged', damaged);
  expect((await repaired.table('c').get(new Get('x'))).isEmpty).toBe(false);
  const { backup } = await backupTables(repaired, stage.folder, { incremental: true });
  expect(backup.whole).toEqual(['c']);
  await restoreTables(stage.other, stage.folder);
  expect((await stage.other.table('c').get(new Get('x'))).isEmpty).toBe(false);
  const { backup: next } = await backupTables(repaired, stage.folder, { incremental: true });
  expect(next.whole).toBeUndefined();
  await repaired.close();
});

test.each(['before the index was declared', 'before it was built'])(
  'a backup from %s is refused where a program has made an empty table with it',
  async (when) => {
    const declared = (isIndexed: boolean) =>
      defineEntity({
        name: 'Thing',
        table: defineTable({ name: 'things', families: { d: {} } }),
        key: [part('id')],
        columns: (c: ColumnBuilder<string>) => ({ a: c.column('d:a', text) }),
        ...(isIndexed && { indexes: { byA: { on: [part('a')] } } }),
      } as never) as unknown as KeyedClass;
    const [Plain, Indexed] = [declared(false), declared(true)];
    const fileSystem = new MemoryFileSystem();
    const opened = (path: string, isIndexed: boolean) =>
      open({ path, entities: [isIndexed ? Indexed : Plain], fileSystem, background: 'inline' });
    const first = await opened('/first', false);
    await first.repository(Plain).put({ id: 'x', a: 'y' } as never);
    await first.close();
    const source = await opened('/first', when.endsWith('built'));
    await backupTables(source.engine, stage.folder);
    await source.close();
    const fresh = await opened('/fresh', true);
    await expect(restoreTables(fresh.engine, stage.folder)).rejects.toThrow(
      'Table "things_idx" is in use for what the backup does not have',
    );
    await fresh.admin.disableTable('things_idx');
    await fresh.admin.deleteTable('things_idx');
    await restoreTables(fresh.engine, stage.folder);
    await fresh.close();
    await using again = await opened('/fresh', true);
    expect(again.index(Indexed, 'byA' as never).state).toBe('building');
    await again.index(Indexed, 'byA' as never).build();
    const found = again
      .repository(Indexed)
      .by('byA' as never)
      .find({ a: 'y' } as never);
    expect(await found.count()).toBe(1);
  },
);

test('a backup from before a summary was declared is refused where a program has made its table', async () => {
  const declared = (isSummed: boolean) =>
    defineEntity({
      name: 'Thing',
      table: defineTable({ name: 'things', families: { d: {} } }),
      key: [part('id')],
      columns: (c: ColumnBuilder<string>) => ({ a: c.column('d:a', text) }),
      ...(isSummed && { summaries: { perA: { by: ['a'], figures: { things: 'count' } } } }),
    } as never) as unknown as KeyedClass;
  const [Plain, Summed] = [declared(false), declared(true)];
  const settings = { fileSystem: new MemoryFileSystem(), background: 'inline' } as const;
  const source = await open({ path: '/first', entities: [Plain], ...settings });
  await source.repository(Plain).put({ id: 'x', a: 'y' } as never);
  await backupTables(source.engine, stage.folder);
  await source.close();
  await using fresh = await open({ path: '/fresh', entities: [Summed], ...settings });
  await expect(restoreTables(fresh.engine, stage.folder)).rejects.toThrow(
    'Table "things_sum" is in use for what the backup does not have',
  );
  expect(await fresh.repository(Summed).get({ id: 'x' } as never)).toBeNull();
});

test('what is written after a restore onto a clock that is behind is newer than what was restored', async () => {
  const time = Date.UTC(2030, 0, 1);
  const memory = { background: 'inline', automatic: false } as const;
  const source = await openEmbedded('/s', {
    ...memory,
    fileSystem: new MemoryFileSystem(),
    clock: () => time,
  });
  await source.admin.createTable(tableDescriptor('t', { f: {} }));
  for (const row of ['x', 'y', 'z'])
    await source.table('t').put(new Put(row).addColumn('f', 'q', 'restored'));
  await backupTables(source, stage.folder);
  await source.close();
  const behind = { ...memory, fileSystem: new MemoryFileSystem(), clock: () => time - 3_600_000 };
  const target = await openEmbedded('/t', behind);
  await restoreTables(target, stage.folder);
  await target.table('t').put(new Put('x').addColumn('f', 'q', 'later'));
  await target.close();
  const again = await openEmbedded('/t', behind);
  const stored = async (row: string) =>
    Buffer.from((await again.table('t').get(new Get(row))).getValue('f', 'q') ?? 'nothing').toString();
  expect(await stored('x')).toBe('later');
  await again.table('t').put(new Put('y').addColumn('f', 'q', 'later'));
  await again.table('t').delete(new Delete('z'));
  expect(await stored('y')).toBe('later');
  expect(await stored('z')).toBe('nothing');
  await again.close();
});

test('nothing is added to nothing, and a list that is none is refused', async () => {
  await expect(backupTables(stage.engine, stage.folder, { incremental: true })).rejects.toThrow(
    'Make a full one first',
  );
  await backupTables(stage.engine, stage.folder, { tables: ['a'] });
  const path = join(stage.folder, 'backup.json');
  await writeFile(path, (await readFile(path, 'utf8')).replace('0001-full', '../../0001-full'));
  await expect(restoreTables(stage.other, stage.folder)).rejects.toThrow('is not a list of backups');
});
