import { expect, test } from 'vitest';
import {
  type FamilyOptions,
  type TableDescriptor,
  type TableOptions,
  tableDescriptor,
} from '../../../src/table/index.js';
import { memoryStore } from '../engine/support.js';

test('every option of a table and of a family is held to what it takes', () => {
  const tables: Record<string, unknown[]> = {
    maxFileSize: [Number.NaN, -1, 0, '1'],
    memstoreFlushSize: [Number.NaN, -1, 1.5],
    regionReplication: [0, Number.NaN],
    readOnly: ['yes', 1],
    splitEnabled: [0],
    compactionEnabled: [null],
  };
  for (const [name, values] of Object.entries(tables)) {
    for (const value of values) {
      expect(
        () => tableDescriptor('t', { f: {} }, { [name]: value } as TableOptions),
        `${name} ${value}`,
      ).toThrow(name);
    }
  }
  for (const name of [
    'blockCache',
    'inMemory',
    'newVersionBehavior',
    'cacheDataOnWrite',
    'prefetchBlocksOnOpen',
  ]) {
    expect(() => tableDescriptor('t', { f: { [name]: 'yes' } as FamilyOptions }), name).toThrow(name);
  }
  expect(() => tableDescriptor('t', { f: {} }, { maxfilesize: 5 } as TableOptions)).toThrow('maxFileSize');
});

test('a descriptor made by hand is held to the same rules by whoever takes it, and is kept as it was', async () => {
  const store = await memoryStore();
  const { admin } = store.engine;
  const good = tableDescriptor('t', { f: {} });
  const [family] = good.families;
  const wrong: [string, unknown][] = [
    ['nothing', undefined],
    ['no name', { ...good, name: undefined }],
    ['no families', { ...good, families: undefined }],
    ['a family without name', { ...good, families: [{}] }],
    ['an empty list of families', { ...good, families: [] }],
    ['a family twice', { ...good, families: [family, family] }],
    ['a codec that is none', { ...good, families: [{ ...family, compression: 'ARJ' }] }],
    ['versions that are none', { ...good, families: [{ ...family, versions: 0 }] }],
    ['a time to live of text', { ...good, families: [{ ...family, ttl: '5' }] }],
    ['a size that is none', { ...good, memstoreFlushSize: Number.NaN }],
    ['a policy that is no name', { ...good, splitPolicy: 7 }],
    ['settings that are no text', { ...good, metadata: { a: 1 } }],
    ['settings that are no settings', { ...good, families: [{ ...family, configuration: null }] }],
    ['an unknown option', { ...good, maxfilesize: 5 }],
    ['a durability that is none', { ...good, durability: 'MAYBE' }],
  ];
  for (const [what, descriptor] of wrong) {
    const made = admin.createTable(descriptor as TableDescriptor);
    await expect(made, what).rejects.toMatchObject({ code: 'ERR_SCHEMA' });
  }
  expect(await admin.listTables()).toEqual([]);
  const byHand = { ...good, families: [{ ...family! }], metadata: { a: '1' } };
  await admin.createTable(byHand);
  byHand.families[0]!.versions = 0;
  byHand.metadata.a = '2';
  for (const [what, descriptor] of wrong) {
    const changed = admin.modifyTable(descriptor as TableDescriptor);
    await expect(changed, what).rejects.toMatchObject({ code: 'ERR_SCHEMA' });
  }
  const kept = await admin.getDescriptor('t');
  expect([kept.families[0]!.versions, kept.metadata]).toEqual([1, { a: '1' }]);
  await store.reopen();
  expect(await store.engine.admin.getDescriptor('t')).toEqual(kept);
  await store.engine.close();
});
