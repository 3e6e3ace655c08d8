/** Everything at its limit, which is stored and found, and past it, which is refused and leaves nothing. */

import { describe, expect, test } from 'vitest';
import { RowanError } from '../../../src/errors.js';
import { openEmbedded } from '../../../src/store/engine.js';
import {
  Append,
  Get,
  Increment,
  LATEST_TIMESTAMP,
  MAX_ROW_LENGTH,
  Put,
  Scan,
  tableDescriptor,
} from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { record } from '../../proof/evidence.js';
import { scaled } from '../../proof/scale.js';
import { contents, createTable, memoryStore, type TestStore } from './support.js';

const bytes = (length: number, fill = 0x61): Buffer => Buffer.alloc(length, fill);

interface Sizes {
  readonly row: number;
  readonly qualifier: number;
  readonly value: number;
}

const SIZES: readonly Sizes[] = [
  { row: 1, qualifier: 0, value: 0 },
  { row: MAX_ROW_LENGTH, qualifier: 0, value: 0 },
  { row: MAX_ROW_LENGTH - 1, qualifier: 32_768, value: 1 },
  { row: 127, qualifier: 128, value: 127 },
  { row: 128, qualifier: 65_535, value: 65_536 },
  { row: 16_384, qualifier: 16_383, value: 2 ** 21 - 1 },
  { row: 2, qualifier: 1, value: 10 * 1024 * 1024 - 6 },
];

/** Through memory, log, files of every way, and a new opening. */
async function everywhere(store: TestStore, look: () => Promise<void>): Promise<void> {
  await look();
  await store.reopen();
  await look();
  await store.engine.admin.flush('t');
  await look();
  await store.engine.admin.majorCompact('t');
  await look();
  await store.reopen();
  await look();
  await store.engine.verify();
}

describe('what is as long as it may be', () => {
  test.each(SIZES)('is found again: %o', async ({ row, qualifier, value }) => {
    const store = await memoryStore();
    await createTable(store.engine, { f: { dataBlockEncoding: 'FAST_DIFF', bloomFilter: 'ROWCOL' }, g: {} });
    const put = new Put(bytes(row));
    const lasts = value > 2 ** 21 ? scaled([2], [1, 2], [1, 2]) : [1, 2];
    for (const family of ['f', 'g'])
      for (const last of lasts)
        put.addColumn(family, Buffer.concat([bytes(qualifier), Buffer.of(last)]), bytes(value, last));
    await store.engine.table('t').put(put);
    await everywhere(store, async () => {
      const result = await store.engine.table('t').get(new Get(bytes(row)));
      expect(result.cells.map(({ value }) => [value.length, value.at(-1)])).toEqual(
        [...lasts, ...lasts].map((last) => [value, value === 0 ? undefined : last]),
      );
      for (const cell of result.cells) expect(cell.qualifier.length).toBe(qualifier + 1);
    });
    await store.engine.close();
    record('limits', { cases: 1 });
  });

  test('a row of 5,000 columns, a family of 127 bytes, 1,000 versions', async () => {
    const store = await memoryStore();
    const long = 'x'.repeat(127);
    const table = await createTable(store.engine, { [long]: {}, v: { versions: 1000 } });
    const wide = new Put('wide');
    for (let i = 0; i < 5000; i++) wide.addColumn(long, `q${i}`, String(i));
    await table.put(wide);
    for (let i = 0; i < 1000; i++) await table.put(new Put('old').addColumn('v', 'q', String(i), i));
    await everywhere(store, async () => {
      const current = store.engine.table('t');
      expect((await current.get(new Get('wide'))).cells.length).toBe(5000);
      expect((await current.get(new Get('old').readAllVersions())).cells.length).toBe(1000);
    });
    await store.engine.close();
    record('limits', { cases: 3 });
  });

  test('the times at both ends', async () => {
    const store = await memoryStore();
    const table = await createTable(store.engine, { f: { versions: 5 } });
    for (const time of [0, 1, LATEST_TIMESTAMP - 1])
      await table.put(new Put('row').addColumn('f', 'q', String(time), time));
    await everywhere(store, async () => {
      const { cells } = await store.engine.table('t').get(new Get('row').readAllVersions());
      expect(cells.map(({ timestamp }) => timestamp)).toEqual([LATEST_TIMESTAMP - 1, 1, 0]);
    });
    await store.engine.close();
    record('limits', { cases: 3 });
  });

  test('counters wrap around at both ends of 64 bits', async () => {
    const store = await memoryStore();
    const table = await createTable(store.engine);
    const add = async (amount: bigint): Promise<bigint> => {
      const result = await table.increment(new Increment('row').addColumn('f', 'n', amount));
      return Buffer.from(result.getValue('f', 'n')!).readBigInt64BE();
    };
    expect(await add(2n ** 63n - 1n)).toBe(2n ** 63n - 1n);
    expect(await add(1n)).toBe(-(2n ** 63n));
    expect(await add(-1n)).toBe(2n ** 63n - 1n);
    await store.engine.close();
    record('limits', { cases: 3 });
  });
});

describe('what is past its limit is refused by name and leaves nothing', () => {
  const wrong: readonly (readonly [string, () => Put | Append | Increment])[] = [
    ['a cell of more than 10 MiB', () => new Put('row').addColumn('f', 'q', bytes(10 * 1024 * 1024))],
    ['an empty row', () => new Put('').addColumn('f', 'q', 'v')],
    ['a row of 32,768 bytes', () => new Put(bytes(MAX_ROW_LENGTH + 1)).addColumn('f', 'q', 'v')],
    ['a family that is not there', () => new Put('row').addColumn('none', 'q', 'v')],
    ['a family of 128 bytes', () => new Put('row').addColumn('x'.repeat(128), 'q', 'v')],
    ['the time that means now', () => new Put('row').addColumn('f', 'q', 'v', LATEST_TIMESTAMP + 1)],
    ['a time before 1970', () => new Put('row').addColumn('f', 'q', 'v', -1)],
    ['half a millisecond', () => new Put('row').addColumn('f', 'q', 'v', 0.5)],
    ['no number as a time', () => new Put('row').addColumn('f', 'q', 'v', Number.NaN)],
    ['infinity as a time', () => new Put('row').addColumn('f', 'q', 'v', Infinity)],
    ['no columns', () => new Put('row')],
    ['an amount beyond 64 bits', () => new Increment('row').addColumn('f', 'q', 2n ** 63n)],
    ['half an amount', () => new Increment('row').addColumn('f', 'q', 0.5)],
    ['an append of nothing', () => new Append('row')],
  ];

  test.each(wrong)('%s', async (_, make) => {
    const store = await memoryStore();
    const table = await createTable(store.engine);
    await table.put(new Put('there').addColumn('f', 'q', 'v'));
    const write = async (): Promise<unknown> => {
      const mutation = make();
      if (mutation.kind === 'put') return table.put(mutation);
      return mutation.kind === 'append' ? table.append(mutation) : table.increment(mutation);
    };
    await expect(write()).rejects.toSatisfy(
      (error) => error instanceof RowanError && error.code !== 'ERR_IO',
    );
    expect(await contents(table)).toEqual(['there f:q=v']);
    await store.reopen();
    expect(await contents(store.engine.table('t'))).toEqual(['there f:q=v']);
    await store.engine.close();
    record('limits', { cases: 1 });
  });

  test.each([
    ['no families', () => tableDescriptor('t', {})],
    ['a family of 128 bytes', () => tableDescriptor('t', { ['x'.repeat(128)]: {} })],
    ['a family with a colon', () => tableDescriptor('t', { 'a:b': {} })],
    ['an empty family', () => tableDescriptor('t', { '': {} })],
    ['no versions', () => tableDescriptor('t', { f: { versions: 0 } })],
    ['half a version', () => tableDescriptor('t', { f: { versions: 1.5 } })],
    ['more least than most versions', () => tableDescriptor('t', { f: { versions: 1, minVersions: 2 } })],
    ['a negative time to live', () => tableDescriptor('t', { f: { ttl: -1 } })],
    ['blocks of no number', () => tableDescriptor('t', { f: { blockSize: Number.NaN } })],
    ['blocks of nothing', () => tableDescriptor('t', { f: { blockSize: 0 } })],
    ['an empty name', () => tableDescriptor('', { f: {} })],
    ['a name with a slash', () => tableDescriptor('a/b', { f: {} })],
    ['a name of two namespaces', () => tableDescriptor('a:b:c', { f: {} })],
    ['the name of a folder above', () => tableDescriptor('..', { f: {} })],
  ])('a table with %s', async (_, make) => {
    const store = await memoryStore();
    const create = async (): Promise<void> => store.engine.admin.createTable(make());
    await expect(create()).rejects.toBeInstanceOf(RowanError);
    expect(await store.engine.admin.listTables()).toEqual([]);
    await store.engine.close();
    record('limits', { cases: 1 });
  });

  test.each([
    ['a negative limit', () => new Scan().setLimit(-1)],
    ['a batch of nothing', () => new Scan().setBatch(0)],
    ['half a version', () => new Scan().readVersions(0.5)],
    ['no versions', () => new Scan().readVersions(0)],
  ])('a scan with %s', async (_, make) => {
    const store = await memoryStore();
    const table = await createTable(store.engine);
    const read = async (): Promise<string[]> => contents(table, make());
    await expect(read()).rejects.toBeInstanceOf(RowanError);
    await store.engine.close();
    record('limits', { cases: 1 });
  });
});

describe('options that mean nothing', () => {
  test.each([
    [{ memstoreFlushSize: Number.NaN }],
    [{ memstoreFlushSize: -1 }],
    [{ memstoreLimit: Infinity * 0 }],
    [{ blockCacheSize: -1 }],
    [{ blockCacheSize: Number.NaN }],
    [{ maxOpenFiles: 0.5 }],
    [{ maxFileSize: -5 }],
    [{ walSegmentSize: 8 * 2 ** 30 }],
    [{ walSegmentSize: 0 }],
    [{ maxWalSegments: Number.NaN }],
    [{ compaction: { minFiles: Number.NaN } }],
    [{ timeToPurgeDeletes: -1 }],
  ])('are refused before a folder is made: %o', async (options) => {
    const fileSystem = new MemoryFileSystem();
    const opening = openEmbedded('/db', { fileSystem, ...options });
    await expect(opening).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
    expect(fileSystem.exists('/db')).toBe(false);
    record('limits', { cases: 1 });
  });
});
