import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HBaseAdmin } from '../../src/hbase/admin/hbase-admin.js';
import {
  BLOOM_FILTERS,
  type BloomFilter,
  type Compression,
  DATA_BLOCK_ENCODINGS,
  DURABILITIES,
  type Engine,
  type FamilyOptions,
  FOREVER,
  Get,
  KEEP_DELETED_CELLS,
  Put,
  Scan,
  splitKeys,
  type TableOptions,
  tableDescriptor,
} from '../../src/table/index.js';
import { connectShared } from './connect.js';
import { PATIENCE } from './patience.js';
import { dropTable, uniqueTable } from './tables.js';

let engine: Engine;

beforeAll(async () => {
  engine = await connectShared();
});
afterAll(() => engine.close());

/** All options of a family, each away from its default. */
const EVERY_FAMILY_OPTION: Required<FamilyOptions> = {
  versions: 5,
  minVersions: 2,
  ttl: 86_400,
  compression: 'SNAPPY',
  dataBlockEncoding: 'FAST_DIFF',
  bloomFilter: 'ROWCOL',
  blockSize: 8192,
  blockCache: false,
  inMemory: true,
  keepDeletedCells: 'TTL',
  newVersionBehavior: false,
  replicationScope: 1,
  cacheDataOnWrite: true,
  prefetchBlocksOnOpen: true,
  configuration: { 'hbase.hstore.compaction.min': '4', 'hbase.hstore.blockingStoreFiles': '30' },
  metadata: { owner: 'crm', 'höhe & <x>': '"1" 🙂' },
};

const EVERY_TABLE_OPTION: Required<{ [K in keyof TableOptions]: NonNullable<TableOptions[K]> }> = {
  durability: 'ASYNC_WAL',
  maxFileSize: 5_368_709_120,
  memstoreFlushSize: 67_108_864,
  readOnly: false,
  splitEnabled: false,
  compactionEnabled: false,
  regionReplication: 1,
  splitPolicy: 'org.apache.hadoop.hbase.regionserver.ConstantSizeRegionSplitPolicy',
  configuration: { 'hbase.hregion.majorcompaction': '0' },
  metadata: { 'rowan.layout': '3' },
};

describe('descriptors come back as they were declared', () => {
  it('with every family and table option', async () => {
    const name = uniqueTable('options');
    const declared = tableDescriptor(name, { f: EVERY_FAMILY_OPTION, plain: {} }, EVERY_TABLE_OPTION);
    await engine.admin.createTable(declared);
    expect(await engine.admin.getDescriptor(name)).toEqual(declared);
    await dropTable(engine, name);
  });

  it('with every value of every enumeration', async () => {
    const compressions: Compression[] = ['NONE', 'GZ', 'SNAPPY', 'LZ4', 'ZSTD', 'LZO'];
    const families: Record<string, FamilyOptions> = {};
    for (const compression of compressions) families[`c_${compression}`] = { compression };
    for (const dataBlockEncoding of DATA_BLOCK_ENCODINGS)
      families[`e_${dataBlockEncoding}`] = { dataBlockEncoding };
    for (const bloomFilter of BLOOM_FILTERS) families[`b_${bloomFilter}`] = { bloomFilter };
    for (const keepDeletedCells of KEEP_DELETED_CELLS)
      families[`k_${keepDeletedCells}`] = { keepDeletedCells };
    families['forever'] = { ttl: FOREVER };
    families['new'] = { newVersionBehavior: true };
    for (const durability of DURABILITIES) {
      const name = uniqueTable('enums');
      const declared = tableDescriptor(name, families, { durability });
      await engine.admin.createTable(declared);
      expect(await engine.admin.getDescriptor(name)).toEqual(declared);
      await dropTable(engine, name);
    }
  });

  it('and data is written and read back through every codec and encoding that the server has', async () => {
    const name = uniqueTable('codecs');
    const families: Record<string, FamilyOptions> = {};
    for (const compression of ['GZ', 'SNAPPY', 'LZ4', 'ZSTD', 'LZO'] as const) {
      families[compression] = { compression, dataBlockEncoding: 'FAST_DIFF' };
    }
    await engine.admin.createTable(tableDescriptor(name, families));
    const table = engine.table(name);
    const value = Buffer.alloc(3000, 'rowan ');
    for (const family of Object.keys(families)) await table.put(new Put('r').addColumn(family, 'q', value));
    await engine.admin.flush(name);
    const result = await table.get(new Get('r'));
    for (const family of Object.keys(families))
      expect(Buffer.from(result.getValue(family, 'q') ?? [])).toEqual(value);
    await dropTable(engine, name);
  });

  it('after an alteration, which adds, changes and drops families and table options', async () => {
    const name = uniqueTable('alter');
    await engine.admin.createTable(
      tableDescriptor(name, { a: { versions: 2 }, b: {} }, { metadata: { gone: '1' } }),
    );
    await engine.table(name).put(new Put('r').addColumn('a', 'q', '1').addColumn('b', 'q', '2'));
    const altered = tableDescriptor(
      name,
      { a: { versions: 7, bloomFilter: 'NONE' as BloomFilter }, c: EVERY_FAMILY_OPTION },
      { durability: 'SKIP_WAL', metadata: { kept: '2' } },
    );
    await engine.admin.modifyTable(altered);
    expect(await engine.admin.getDescriptor(name)).toEqual(altered);
    const result = await engine.table(name).get(new Get('r'));
    expect(result.cells.map((cell) => cell.family)).toEqual(['a']);
    await expect(engine.table(name).put(new Put('r').addColumn('b', 'q', '3'))).rejects.toMatchObject({
      code: 'ERR_NO_SUCH_FAMILY',
    });
    await dropTable(engine, name);
  });

  it('a second time, in read-only and replicated tables', async () => {
    const name = uniqueTable('replicas');
    const declared = tableDescriptor(name, { f: {} }, { readOnly: true, regionReplication: 2 });
    await engine.admin.createTable(declared);
    expect(await engine.admin.getDescriptor(name)).toEqual(declared);
    await expect(engine.table(name).put(new Put('r').addColumn('f', 'q', '1'))).rejects.toMatchObject({
      retryable: false,
    });
    await dropTable(engine, name);
  });
});

describe('hbase:meta', () => {
  it('is a table of one region, which can be looked at, flushed, compacted and moved, and not divided', async () => {
    const { admin } = engine;
    const [region, ...others] = await admin.getRegions('hbase:meta');
    expect(others).toEqual([]);
    expect(region).toMatchObject({ table: 'hbase:meta', name: 'hbase:meta,,1' });
    expect(region!.server).toMatch(/:\d+$/);
    await admin.flush('hbase:meta', 'info');
    await admin.compact('hbase:meta');
    await (admin as HBaseAdmin).moveRegion(region!.name, region!.server);
    await expect(admin.split('hbase:meta')).rejects.toThrow(/has one region/);
    expect(await admin.tableExists('hbase:meta')).toBe(true);
  });
});

describe('tables', () => {
  it('are split where it was said, binary keys too, and truncated with or without their splits', async () => {
    const name = uniqueTable('splits');
    const keys = [
      Buffer.from([0, 0x27, 0xff]),
      Buffer.from([0x01]),
      Buffer.from('\\x41', 'latin1'),
      Buffer.from([0xff]),
    ];
    await engine.admin.createTable(tableDescriptor(name, { f: {} }), keys);
    const starts = async () =>
      (await engine.admin.getRegions(name)).map((region) => Buffer.from(region.startKey));
    const sorted = [Buffer.alloc(0), ...keys];
    expect(await starts()).toEqual(sorted);
    await engine.table(name).put(new Put('r').addColumn('f', 'q', '1'));
    await engine.admin.disableTable(name);
    await engine.admin.truncateTable(name, true);
    expect(await engine.admin.isTableEnabled(name)).toBe(true);
    expect(await starts()).toEqual(sorted);
    expect(await engine.table(name).exists(new Get('r'))).toBe(false);
    await engine.admin.disableTable(name);
    await engine.admin.truncateTable(name);
    expect(await starts()).toEqual([Buffer.alloc(0)]);
    await dropTable(engine, name);
  });

  it('are pre-split by the algorithms of RegionSplitter', async () => {
    for (const algorithm of ['HexStringSplit', 'DecimalStringSplit', 'UniformSplit'] as const) {
      const name = uniqueTable(algorithm);
      const keys = splitKeys(algorithm, 7);
      await engine.admin.createTable(tableDescriptor(name, { f: {} }), keys);
      const starts = (await engine.admin.getRegions(name))
        .slice(1)
        .map((region) => Buffer.from(region.startKey));
      expect(starts).toEqual(keys.map((key) => Buffer.from(key)));
      await dropTable(engine, name);
    }
  });

  it('live in namespaces', async () => {
    const namespace = uniqueTable('ns');
    await engine.admin.createNamespace(namespace);
    expect(await engine.admin.listNamespaces()).toContain(namespace);
    await expect(engine.admin.createNamespace(namespace)).rejects.toMatchObject({
      code: 'ERR_NAMESPACE_EXISTS',
    });
    const name = `${namespace}:t`;
    await engine.admin.createTable(tableDescriptor(name, { f: {} }));
    await engine.table(name).put(new Put('r').addColumn('f', 'q', '1'));
    expect(await engine.table(name).exists(new Get('r'))).toBe(true);
    expect((await engine.admin.listTables()).map((table) => table.name)).toContain(name);
    await expect(engine.admin.deleteNamespace(namespace)).rejects.toMatchObject({ retryable: false });
    await dropTable(engine, name);
    await engine.admin.deleteNamespace(namespace);
    expect(await engine.admin.listNamespaces()).not.toContain(namespace);
    await expect(engine.admin.deleteNamespace(namespace)).rejects.toMatchObject({
      code: 'ERR_NAMESPACE_NOT_FOUND',
    });
    await expect(engine.admin.createTable(tableDescriptor(name, { f: {} }))).rejects.toMatchObject({
      code: 'ERR_NAMESPACE_NOT_FOUND',
    });
  });

  it('refuse with the error that says why', async () => {
    const name = uniqueTable('errors');
    await expect(engine.admin.getDescriptor(name)).rejects.toMatchObject({ code: 'ERR_TABLE_NOT_FOUND' });
    await expect(engine.admin.disableTable(name)).rejects.toMatchObject({ code: 'ERR_TABLE_NOT_FOUND' });
    await engine.admin.createTable(tableDescriptor(name, { f: {} }));
    await expect(engine.admin.createTable(tableDescriptor(name, { f: {} }))).rejects.toMatchObject({
      code: 'ERR_TABLE_EXISTS',
    });
    await expect(engine.admin.enableTable(name)).rejects.toMatchObject({
      code: 'ERR_TABLE_ENABLED',
      message: `The table "${name}" is enabled.`,
    });
    await expect(engine.admin.deleteTable(name)).rejects.toMatchObject({ code: 'ERR_TABLE_ENABLED' });
    await engine.admin.disableTable(name);
    await expect(engine.admin.disableTable(name)).rejects.toMatchObject({ code: 'ERR_TABLE_DISABLED' });
    await expect(engine.table(name).get(new Get('r'))).rejects.toMatchObject({ code: 'ERR_TABLE_DISABLED' });
    await engine.admin.deleteTable(name);
    expect(await engine.admin.tableExists(name)).toBe(false);
  });

  it('are flushed, compacted and split, and show their load', async () => {
    const name = uniqueTable('load');
    await engine.admin.createTable(tableDescriptor(name, { f: {}, g: {} }));
    const table = engine.table(name);
    const rows = Array.from({ length: 3000 }, (_, i) => `r${String(i).padStart(4, '0')}`);
    for (let round = 0; round < 2; round++) {
      await table.putAll(
        rows.map((row) =>
          new Put(row).addColumn('f', 'q', Buffer.alloc(100, round)).addColumn('g', 'q', 'x'),
        ),
      );
      await engine.admin.flush(name);
    }
    const files = async () =>
      (await engine.admin.getRegions(name)).reduce((sum, region) => sum + region.storeFiles, 0);
    await expect.poll(files, PATIENCE).toBe(4);
    await engine.admin.majorCompact(name);
    await expect.poll(files, PATIENCE).toBe(2);
    await engine.admin.split(name, Buffer.from('r1500'));
    const regions = await engine.admin.getRegions(name);
    expect(regions.map((region) => Buffer.from(region.startKey).toString())).toEqual(['', 'r1500']);
    // A daughter has no middle of its own until it is compacted and its parent's files are given up.
    await engine.admin.majorCompact(name);
    const splitAgain = async () => {
      await engine.admin.split(name);
      return (await engine.admin.getRegions(name)).length;
    };
    await expect.poll(splitAgain, PATIENCE).toBe(4);
    const read: string[] = [];
    for await (const result of table.scan(new Scan())) {
      read.push(Buffer.from(result.row).toString());
    }
    expect(read).toEqual(rows);
    await dropTable(engine, name);
  });
});
