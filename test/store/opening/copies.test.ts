/** What a cluster has, and a store of one process takes: several copies of regions, properties of namespaces. */

import { expect, test } from 'vitest';
import { defineEntity, defineTable, part } from '../../../decorators/index.js';
import { text } from '../../../src/codec/index.js';
import { open } from '../../../src/database.js';
import { openEmbedded } from '../../../src/store/engine.js';
import { Get, Put, Scan, tableDescriptor } from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/index.js';

const Note = defineEntity({
  name: 'Note',
  table: defineTable({ name: 'notes', families: { d: {} }, regionReplication: 3 }),
  key: [part('id')],
  columns: (c) => ({ text: c.column('d:t', text) }),
});

test('a table of several copies is opened with one, which is said once', async () => {
  const fileSystem = new MemoryFileSystem();
  const told: unknown[] = [];
  const start = () =>
    open({
      path: '/notes',
      fileSystem,
      background: 'inline',
      entities: [Note],
      onEvent: (event) => {
        if (event.kind === 'singleCopy') told.push(event);
      },
    });
  for (let run = 0; run < 2; run++) {
    await using db = await start();
    const notes = db.repository(Note);
    await notes.put({ id: 'a', text: `run ${run}` });
    const key = { id: 'a' };
    expect(await notes.get(key, { consistency: 'TIMELINE' })).toMatchObject({ text: `run ${run}` });
    expect(await notes.find(key, { consistency: 'TIMELINE' }).all()).toHaveLength(1);
    expect(await notes.reading({ consistency: 'TIMELINE' }).find({}, { fullScan: true }).count()).toBe(1);
    const table = db.engine.table('notes');
    const [row] = await table.scan(new Scan().setConsistency('TIMELINE')).nextBatch(1);
    const got = await table.get(new Get('a').setConsistency('TIMELINE'));
    expect([row!.isStale, got.isStale]).toEqual([false, false]);
    expect(await db.admin.getDescriptor('notes')).toMatchObject({ regionReplication: 3 });
    expect(await db.admin.getRegions('notes')).toHaveLength(1);
  }
  expect(told).toEqual([{ kind: 'singleCopy', table: 'notes', regionReplication: 3 }]);
});

test('a table that comes to ask for copies is said, one that ceases to is not', async () => {
  const told: unknown[] = [];
  const engine = await openEmbedded('/s', {
    fileSystem: new MemoryFileSystem(),
    onEvent: (event) => {
      if (event.kind === 'singleCopy') told.push(event.regionReplication);
    },
  });
  const { admin } = engine;
  await admin.createTable(tableDescriptor('t', { d: {} }));
  for (const regionReplication of [2, 2, 1, 3]) {
    await admin.modifyTable(tableDescriptor('t', { d: {} }, { regionReplication }));
  }
  expect(told).toEqual([2, 3]);
  await engine.table('t').put(new Put('r').addColumn('d', 'q', 'v'));
  await engine.close();
});

test('properties of namespaces are kept over openings and new manifests, and go with their namespace', async () => {
  const fileSystem = new MemoryFileSystem();
  const start = () => openEmbedded('/s', { fileSystem });
  let engine = await start();
  await engine.admin.createNamespace('shop', { owner: 'ann', b: '1' });
  await engine.admin.createNamespace('bare');
  await engine.admin.modifyNamespace('default', { note: 'x' });
  for (let run = 0; run < 3; run++) {
    expect(await engine.admin.getNamespace('shop')).toEqual({ owner: 'ann', b: '1' });
    expect(await engine.admin.getNamespace('bare')).toEqual({});
    expect(await engine.admin.getNamespace('default')).toEqual({ note: 'x' });
    await engine.close();
    engine = await start();
  }
  await engine.admin.modifyNamespace('shop', { owner: 'bob' });
  expect(await engine.admin.getNamespace('shop')).toEqual({ owner: 'bob' });
  await engine.admin.deleteNamespace('shop');
  await expect(engine.admin.getNamespace('shop')).rejects.toMatchObject({ code: 'ERR_NAMESPACE_NOT_FOUND' });
  await expect(engine.admin.modifyNamespace('shop', {})).rejects.toMatchObject({
    code: 'ERR_NAMESPACE_NOT_FOUND',
  });
  await engine.admin.createNamespace('shop');
  expect(await engine.admin.getNamespace('shop')).toEqual({});
  for (const wrong of [null, 5, [], { a: 1 }, { '': 'x' }]) {
    await expect(engine.admin.modifyNamespace('shop', wrong as never)).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
    });
  }
  await engine.close();
});
