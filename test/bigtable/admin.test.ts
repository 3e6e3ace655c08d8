import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gcRuleOf, gcRuleText, keepingOf } from '../../src/bigtable/gc-rules.js';
import { tableIdOf, tableNameOf } from '../../src/bigtable/names.js';
import {
  CheckAndMutate,
  type Engine,
  FOREVER,
  Get,
  Put,
  Scan,
  tableDescriptor,
} from '../../src/table/index.js';
import { connectShared } from './connect.js';

let engine: Engine;

beforeAll(async () => {
  engine = await connectShared();
});
afterAll(() => engine.close());

async function codeOf(work: () => Promise<unknown> | unknown): Promise<string> {
  try {
    await work();
    return 'accepted';
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

describe('tables of Bigtable', () => {
  it('keep the whole descriptor, what the service has no place for too', async () => {
    const descriptor = tableDescriptor(
      'kept',
      {
        a: { versions: 3, ttl: 7200, minVersions: 1, compression: 'ZSTD', metadata: { why: 'ä' } },
        b: { versions: 2147483647 },
        c: { ttl: 60 },
      },
      { metadata: { stamp: 'x' }, maxFileSize: 1 << 30 },
    );
    await engine.admin.createTable(descriptor);
    expect(await engine.admin.getDescriptor('kept')).toEqual(descriptor);
    const changed = tableDescriptor('kept', { a: { versions: 4 }, d: {} }, { metadata: { stamp: 'y' } });
    await engine.admin.modifyTable(changed);
    expect(await engine.admin.getDescriptor('kept')).toEqual(changed);
    expect(await engine.admin.getDescriptors(['kept', 'other'])).toEqual([changed]);
    expect((await engine.admin.listTables()).map(({ name }) => name)).not.toContain('rowan_tables');
  });

  it('are disabled, emptied and deleted as on HBase', async () => {
    const { admin } = engine;
    await admin.createTable(tableDescriptor('gone', { f: {} }));
    const table = engine.table('gone');
    await table.put(new Put('r').addColumn('f', 'q', 'v'));
    expect(await codeOf(() => admin.createTable(tableDescriptor('gone', { f: {} })))).toBe(
      'ERR_TABLE_EXISTS',
    );
    expect(await codeOf(() => admin.deleteTable('gone'))).toBe('ERR_TABLE_ENABLED');
    await admin.disableTable('gone');
    expect(await codeOf(() => table.get(new Get('r')))).toBe('ERR_TABLE_DISABLED');
    expect(await codeOf(() => table.scan(new Scan()).next())).toBe('ERR_TABLE_DISABLED');
    expect(await codeOf(() => admin.disableTable('gone'))).toBe('ERR_TABLE_DISABLED');
    await admin.truncateTable('gone');
    expect(await admin.isTableEnabled('gone')).toBe(true);
    expect((await table.get(new Get('r'))).isEmpty).toBe(true);
    await admin.disableTable('gone');
    await admin.deleteTable('gone');
    expect(await admin.tableExists('gone')).toBe(false);
    expect(await codeOf(() => table.get(new Get('r')))).toBe('ERR_TABLE_NOT_FOUND');
    expect(await codeOf(() => admin.split('gone'))).toBe('ERR_UNSUPPORTED');
  });

  it('stand in namespaces, which are names here', async () => {
    const { admin } = engine;
    expect(await codeOf(() => admin.createTable(tableDescriptor('shop:orders', { f: {} })))).toBe(
      'ERR_NAMESPACE_NOT_FOUND',
    );
    await admin.createNamespace('shop', { owner: 'me' });
    expect(await codeOf(() => admin.createNamespace('shop'))).toBe('ERR_NAMESPACE_EXISTS');
    await admin.createTable(tableDescriptor('shop:orders', { f: {} }));
    expect(await admin.getNamespace('shop')).toEqual({ owner: 'me' });
    await admin.modifyNamespace('shop', { owner: 'you' });
    expect(await admin.getNamespace('shop')).toEqual({ owner: 'you' });
    expect(await admin.listNamespaces()).toEqual(['default', 'shop']);
    expect((await admin.listTables()).map(({ name }) => name)).toContain('shop:orders');
    expect(await codeOf(() => admin.deleteNamespace('shop'))).toBe('ERR_INVALID_ARGUMENT');
    await admin.disableTable('shop:orders');
    await admin.deleteTable('shop:orders');
    await admin.deleteNamespace('shop');
    expect(await admin.listNamespaces()).toEqual(['default']);
  });

  it('have regions that hold every row once', async () => {
    const { admin } = engine;
    await admin.createTable(tableDescriptor('wide', { f: {} }), [Buffer.from('m')]);
    const table = engine.table('wide');
    await table.putAll(
      Array.from({ length: 500 }, (_, i) =>
        new Put(`r${String(i).padStart(4, '0')}`).addColumn('f', 'q', 'v'),
      ),
    );
    const regions = await admin.getRegions('wide');
    expect(regions.at(0)!.startKey.length + regions.at(-1)!.endKey.length).toBe(0);
    let count = 0;
    for (const [i, { startKey, endKey }] of regions.entries()) {
      expect(Buffer.compare(startKey, regions[i - 1]?.endKey ?? startKey)).toBe(0);
      for await (const _ of table.scan(new Scan().withStartRow(startKey).withStopRow(endKey))) count++;
    }
    expect(count).toBe(500);
  });

  it('are described anew when others have changed them', async () => {
    const { admin } = engine;
    await admin.createTable(tableDescriptor('shared', { f: {} }));
    const table = engine.table('shared');
    await table.put(new Put('r').addColumn('f', 'q', 'v'));
    const put = new Put('r').addColumn('later', 'q', 'v');
    expect(await codeOf(() => table.put(put))).toBe('ERR_NO_SUCH_FAMILY');
    await admin.modifyTable(tableDescriptor('shared', { f: {}, later: {} }));
    await table.put(put);
  });

  it('take no writes of this engine while they are read-only', async () => {
    const { admin } = engine;
    const descriptor = tableDescriptor('resting', { f: {} });
    await admin.createTable({ ...descriptor, readOnly: true });
    const table = engine.table('resting');
    const put = new Put('r').addColumn('f', 'q', 'v');
    expect(await codeOf(() => table.put(put))).toBe('ERR_READONLY');
    expect(await codeOf(() => table.putAll([put]))).toBe('ERR_READONLY');
    const check = CheckAndMutate.ifNotExists('f', Buffer.from('q'), put);
    expect(await codeOf(() => table.checkAndMutate(check))).toBe('ERR_READONLY');
    expect((await table.get(new Get('r'))).isEmpty).toBe(true);
    await admin.modifyTable(descriptor);
    await table.put(put);
  });

  it('are refused when the service cannot have them', async () => {
    const { admin } = engine;
    const long = 'x'.repeat(51);
    for (const name of [long, 'straße', 'a..b']) {
      expect(await codeOf(() => admin.createTable(tableDescriptor(name, { f: {} })))).toBe(
        'ERR_INVALID_ARGUMENT',
      );
    }
    expect(await codeOf(() => admin.createTable(tableDescriptor('t', { 'ä b': {} })))).toBe('ERR_SCHEMA');
  });
});

describe('rules of garbage collection', () => {
  it('say what a family keeps, and are read back', () => {
    const families = fc
      .record({
        versions: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constant(2147483647)),
        minVersions: fc.integer({ min: 0, max: 5 }),
        ttl: fc.oneof(fc.constant(FOREVER), fc.integer({ min: 1, max: 1_000_000 })),
      })
      .filter(({ versions, minVersions }) => minVersions <= versions);
    fc.assert(
      fc.property(families, (family) => {
        const keeping = { ...family, minVersions: family.ttl === FOREVER ? 0 : family.minVersions };
        expect(keepingOf(gcRuleOf(family))).toEqual(keeping);
      }),
    );
  });

  it('are written as cbt writes them', () => {
    expect(gcRuleText(gcRuleOf({ versions: 1, minVersions: 0, ttl: FOREVER }))).toBe('maxversions=1');
    expect(gcRuleText(gcRuleOf({ versions: 3, minVersions: 1, ttl: 60 }))).toBe(
      '(maxversions=3 || (maxage=60s && maxversions=1))',
    );
    expect(gcRuleText(undefined)).toBe('never');
  });

  it('names of tables are read back from their ids', () => {
    for (const name of ['orders', 'shop:orders', 'a.b-c', '_x:y.z'])
      expect(tableNameOf(tableIdOf(name))).toBe(name);
  });
});
