/** Tables and namespaces that are made, altered and dropped at the same moment. */

import { expect, test } from 'vitest';
import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import { tableDescriptor } from '../../../src/table/index.js';
import { createTable, memoryStore, put, readValue } from '../engine/support.js';

test('of two who make a namespace at once one is told that it exists', async () => {
  const { engine } = await memoryStore();
  const [first, second] = await Promise.allSettled([
    engine.admin.createNamespace('n'),
    engine.admin.createNamespace('n'),
  ]);
  expect(first.status).toBe('fulfilled');
  expect(second).toMatchObject({ reason: { code: 'ERR_NAMESPACE_EXISTS' } });
  const outcomes = await Promise.allSettled([
    engine.admin.deleteNamespace('n'),
    engine.admin.deleteNamespace('n'),
  ]);
  expect(outcomes[0]!.status).toBe('fulfilled');
  expect(outcomes[1]).toMatchObject({ reason: { code: 'ERR_NAMESPACE_NOT_FOUND' } });
  await engine.close();
});

test('a namespace is not deleted while a table of it is being made', async () => {
  for (let turns = 0; turns < 8; turns++) {
    for (const deleteFirst of [true, false]) {
      const { engine } = await memoryStore();
      await engine.admin.createNamespace('n');
      const create = (): Promise<void> => engine.admin.createTable(tableDescriptor('n:t', { f: {} }));
      const drop = (): Promise<void> => engine.admin.deleteNamespace('n');
      const first = Promise.allSettled([deleteFirst ? drop() : create()]);
      for (let i = 0; i < turns; i++) await null;
      const second = Promise.allSettled([deleteFirst ? create() : drop()]);
      const outcomes = [...(await first), ...(await second)];
      expect(outcomes.filter((outcome) => outcome.status === 'fulfilled').length).toBe(1);
      const tables = (await engine.admin.listTables()).map((each) => each.name);
      const there = (await engine.admin.listNamespaces()).includes('n');
      expect(tables.length === 0 || there, `${turns} turns`).toBe(true);
      await engine.close();
    }
  }
});

const CHANGES: Readonly<Record<string, (admin: EmbeddedEngine['admin']) => Promise<void>>> = {
  createTable: (admin) => admin.createTable(tableDescriptor('n', { f: {} })),
  createNamespace: (admin) => admin.createNamespace('n'),
  modifyTable: (admin) => admin.modifyTable(tableDescriptor('other', { f: {}, g: {} })),
  disableTable: (admin) => admin.disableTable('other'),
  truncateTable: (admin) => admin.truncateTable('off'),
};

test.each(Object.entries(CHANGES))('a loss of power after %s loses no earlier write', async (_, change) => {
  const { engine, fileSystem } = await memoryStore();
  const table = await createTable(engine);
  for (const name of ['other', 'off']) await engine.admin.createTable(tableDescriptor(name, { f: {} }));
  await engine.admin.disableTable('off');
  await table.put(put('r', 'v').setDurability('ASYNC_WAL'));
  await change(engine.admin);
  const crashed = fileSystem.crash({ keepUnsynced: 0, random: () => 0.5 });
  const again = await openEmbedded('/db', { fileSystem: crashed, automatic: false });
  expect(await readValue(again.table('t'), 'r')).toBe('v');
  await Promise.all([engine.close(), again.close()]);
});
