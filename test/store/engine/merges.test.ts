/** Regions that are merged: nothing is lost, nothing comes back, and what cannot be merged is refused. */

import { describe, expect, test } from 'vitest';
import { openEmbedded } from '../../../src/store/engine.js';
import { ServedStore } from '../../../src/store/serving.js';
import { Delete, Get, Increment, tableDescriptor } from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { scaled } from '../../proof/scale.js';
import { FaultFileSystem } from '../fs/fault-fs.js';
import { contents, createTable, memoryStore, put, readValue, type TestStore } from './support.js';

const keys = (...texts: string[]): Uint8Array[] => texts.map((text) => Buffer.from(text));

async function namesOf({ engine }: TestStore): Promise<string[]> {
  return (await engine.admin.getRegions('t')).map(({ name }) => name);
}

async function startsOf({ engine }: TestStore): Promise<string[]> {
  return (await engine.admin.getRegions('t')).map(({ startKey }) => Buffer.from(startKey).toString());
}

describe('a merge of regions', () => {
  test('leaves every row where reads and writes find it, also after it is opened again', async () => {
    const store = await memoryStore();
    const table = await createTable(store.engine, { f: {}, g: {} }, {}, keys('r2', 'r3', 'r4'));
    for (let i = 100; i < 300; i++) await table.put(put(`r${i}`, `${i}`));
    await store.engine.admin.flush('t');
    for (let i = 300; i < 500; i++) await table.put(put(`r${i}`, `${i}`, 'g'));
    const before = await contents(table);
    const names = await namesOf(store);
    await store.engine.admin.mergeRegions([names[2]!, names[1]!]);
    expect(await startsOf(store)).toEqual(['', 'r2', 'r4']);
    expect(await contents(table)).toEqual(before);
    await store.engine.admin.mergeRegions(await namesOf(store));
    expect(await startsOf(store)).toEqual(['']);
    expect(await contents(table)).toEqual(before);
    await table.put(put('r260', 'changed'));
    await store.reopen();
    const again = store.engine.table('t');
    expect(await startsOf(store)).toEqual(['']);
    expect(await readValue(again, 'r260')).toBe('changed');
    expect((await contents(again)).length).toBe(before.length);
    await store.engine.admin.split('t', Buffer.from('r250'));
    await store.engine.admin.majorCompact('t');
    expect((await contents(again)).length).toBe(before.length);
    await store.engine.verify();
    await store.engine.close();
  });

  test('brings nothing back that a compaction of one half of a shared file has dropped', async () => {
    const store = await memoryStore();
    const table = await createTable(store.engine);
    for (const row of ['a', 'b', 'y', 'z']) await table.put(put(row, '1'));
    await store.engine.admin.flush('t');
    await store.engine.admin.split('t', Buffer.from('m'));
    await table.delete(new Delete('a'));
    await store.engine.admin.flush('t');
    // Only the half with the deletion is compacted: the marker goes, and the other half keeps the shared file.
    const served = new ServedStore(store.engine);
    const state = served.table('t')!;
    await served.compact(state, state.regions[0]!, { family: undefined, isMajor: true });
    expect(await contents(table)).toEqual(['b f:q=1', 'y f:q=1', 'z f:q=1']);
    await store.engine.admin.mergeRegions(await namesOf(store));
    expect(await contents(table)).toEqual(['b f:q=1', 'y f:q=1', 'z f:q=1']);
    await store.reopen();
    expect(await contents(store.engine.table('t'))).toEqual(['b f:q=1', 'y f:q=1', 'z f:q=1']);
    await store.engine.close();
  });

  test('of which one is flushed and the other is not: a crash behind it loses no write, and counts none twice', async () => {
    const fileSystem = new MemoryFileSystem();
    const engine = await openEmbedded('/db', { fileSystem, automatic: false });
    await engine.admin.createTable(tableDescriptor('t', { f: {} }), keys('m'));
    const table = engine.table('t');
    const served = new ServedStore(engine);
    const state = served.table('t')!;
    const count = (row: string): Promise<unknown> =>
      table.increment(new Increment(row).addColumn('f', 'n', 1));
    for (let round = 0; round < 4; round++) {
      await count('a');
      await count('z');
      await table.put(put('z1', `${round}`));
      if (round === 1) await served.flush(state, state.regions[1]!, undefined);
      if (round === 2) await table.delete(new Delete('z1'));
    }
    const names = (await engine.admin.getRegions('t')).map(({ name }) => name);
    await engine.admin.mergeRegions(names);
    await count('a');
    const crashed = fileSystem.crash({ keepUnsynced: 0, random: () => 0 });
    await engine.close();
    const again = await openEmbedded('/db', { fileSystem: crashed, automatic: false });
    for (const [row, value] of [
      ['a', 5n],
      ['z', 4n],
    ] as const) {
      const { cells } = await again.table('t').get(new Get(row));
      expect(cells.map((cell) => Buffer.from(cell.value).readBigInt64BE())).toEqual([value]);
    }
    expect(await readValue(again.table('t'), 'z1')).toBe('3');
    await again.close();
  });

  test('while writes go on and are refused by the log has what was acknowledged, and nothing else', async () => {
    const files = new FaultFileSystem(new MemoryFileSystem());
    const engine = await openEmbedded('/db', { fileSystem: files, automatic: false });
    const table = await createTable(engine, { f: {} }, {}, keys('m'));
    for (let distance = 0; distance < 60; distance += scaled(4, 2, 1)) {
      await table.putAll([put('a', `${distance}`), put('z', `${distance}`)]);
      const names = (await engine.admin.getRegions('t')).map(({ name }) => name);
      const merge = engine.admin.mergeRegions(names).then(
        () => 'merged',
        () => 'refused',
      );
      for (let i = 0; i < distance; i++) await null;
      files.inject({ calls: ['write'], path: /\.wal$/, errno: 'ENOSPC' });
      const rows = [`b${distance}`, `y${distance}`];
      const outcomes = await Promise.allSettled(rows.map((row) => table.put(put(row, 'x'))));
      files.clear();
      const merged = await merge;
      for (const [index, row] of rows.entries()) {
        const found = !(await table.get(new Get(row))).isEmpty;
        expect(found, `${row}, ${distance} turns`).toBe(outcomes[index]!.status === 'fulfilled');
      }
      expect((await engine.admin.getRegions('t')).length).toBe(merged === 'merged' ? 1 : 2);
      if (merged === 'merged') await engine.admin.split('t', Buffer.from('m'));
    }
    await engine.verify();
    await engine.close();
  });

  test('that fails leaves the regions as they were', async () => {
    const files = new FaultFileSystem(new MemoryFileSystem());
    const engine = await openEmbedded('/db', { fileSystem: files, automatic: false });
    const table = await createTable(engine, { f: {} }, {}, keys('m'));
    await table.putAll([put('a', '1'), put('z', '1')]);
    const names = (await engine.admin.getRegions('t')).map(({ name }) => name);
    for (const path of [/\.sst$/, /MANIFEST/]) {
      files.inject({ calls: ['write'], path, errno: 'ENOSPC' });
      await expect(engine.admin.mergeRegions(names)).rejects.toMatchObject({ code: 'ERR_IO' });
      files.clear();
      expect((await engine.admin.getRegions('t')).map(({ name }) => name)).toEqual(names);
    }
    await engine.admin.mergeRegions(names);
    expect(await contents(table)).toEqual(['a f:q=1', 'z f:q=1']);
    await engine.close();
  });

  test('is refused where it cannot be', async () => {
    const store = await memoryStore();
    const { admin } = store.engine;
    await createTable(store.engine, { f: {} }, {}, keys('g', 'p'));
    await admin.createTable(tableDescriptor('u', { f: {} }), keys('g'));
    const names = await namesOf(store);
    const other = (await admin.getRegions('u'))[0]!.name;
    const refused = async (given: unknown, words: RegExp): Promise<void> => {
      await expect(admin.mergeRegions(given as string[])).rejects.toThrow(words);
    };
    await refused([names[0], names[2]], /are not adjacent/);
    await refused([names[0], names[0]], /each once/);
    await refused([names[0]], /two or more/);
    await refused(names[0], /two or more/);
    await refused([names[0], 5], /two or more/);
    await refused([names[0], other], /has no region "u,/);
    await refused(['none', names[0]], /There is no table|table name/);
    await admin.disableTable('t');
    await expect(admin.mergeRegions(names)).rejects.toMatchObject({ code: 'ERR_TABLE_DISABLED' });
    await admin.enableTable('t');
    await admin.mergeRegions(names);
    await refused(names.slice(0, 2), /has no region "t,/);
    await store.engine.close();
  });
});
