import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toStringBinary } from '../../src/bytes/index.js';
import { createScript, javaSource } from '../../src/ddl/index.js';
import { type Engine, FOREVER, Scan, type TableDescriptor, tableDescriptor } from '../../src/table/index.js';
import { runScript } from '../crash/run-script.js';
import { connectShared, sharedHBase } from './connect.js';
import { InstanceLayout } from './server/layout.js';
import { runShell } from './server/shell.js';
import { runJava } from './server/tool.js';
import { dropTable, uniqueTable } from './tables.js';

const namespace = uniqueTable('ddl');

interface Declared {
  readonly descriptor: TableDescriptor;
  readonly splitKeys: readonly Uint8Array[];
}

/** Between them every option, the defaults, and every character that Ruby or the shell could misread. */
const DECLARED: readonly Declared[] = [
  {
    descriptor: tableDescriptor(
      `${namespace}:everything`,
      {
        d: {
          versions: 5,
          minVersions: 2,
          ttl: 93_784,
          compression: 'SNAPPY',
          dataBlockEncoding: 'FAST_DIFF',
          bloomFilter: 'ROWCOL',
          blockSize: 8192,
          blockCache: false,
          inMemory: true,
          keepDeletedCells: 'TTL',
          replicationScope: 1,
          cacheDataOnWrite: true,
          prefetchBlocksOnOpen: true,
          configuration: { 'hbase.hstore.compaction.min': '4' },
          metadata: { owner: 'crm' },
        },
        n: {
          newVersionBehavior: true,
          compression: 'ZSTD',
          dataBlockEncoding: 'ROW_INDEX_V1',
          bloomFilter: 'NONE',
        },
        p: {},
      },
      {
        durability: 'ASYNC_WAL',
        maxFileSize: 5_368_709_120,
        memstoreFlushSize: 67_108_864,
        splitEnabled: false,
        compactionEnabled: false,
        splitPolicy: 'org.apache.hadoop.hbase.regionserver.ConstantSizeRegionSplitPolicy',
        configuration: { 'hbase.hregion.majorcompaction': '0' },
        metadata: { 'rowan.layout': '3' },
      },
    ),
    splitKeys: [
      [0x00],
      [0x00, 0x27, 0xff],
      [0x01, 0x0a, 0x0d],
      [...Buffer.from('#{x}"')],
      [...Buffer.from("\\x41'z\\")],
      [0x80, 0xc3, 0xa9],
      [0xff, 0xfe],
    ].map((bytes) => Uint8Array.from(bytes)),
  },
  {
    descriptor: tableDescriptor(
      `${namespace}:words`,
      { d: { metadata: { "o'wner": 'c\'r\\m "x" #{1 + 1}', 'höhe & <x>': '🙂\nsecond line\t' } } },
      { readOnly: true, regionReplication: 2, metadata: { quote: "'", backslash: '\\', hash: '#{boom}' } },
    ),
    splitKeys: [],
  },
];

describe('generated DDL in the real HBase shell', () => {
  let output: string;
  let engine: Engine;

  beforeAll(async () => {
    engine = await connectShared();
    const names = DECLARED.map(({ descriptor }) => descriptor.name);
    output = await runShell(
      new InstanceLayout(sharedHBase().instance),
      [createScript(DECLARED), ...names.map((name) => `describe '${name}'\nget_splits '${name}'`), ''].join(
        '\n',
      ),
    );
  });
  afterAll(async () => {
    for (const { descriptor } of DECLARED) {
      await engine.admin.disableTable(descriptor.name);
      await engine.admin.deleteTable(descriptor.name);
    }
    await engine.admin.deleteNamespace(namespace);
    await engine.close();
  });

  it('runs without a word of an argument that was ignored', () => {
    expect(output).not.toMatch(/ignored|ERROR|WARN.*(?<!NativeCodeLoader.*)argument/i);
    for (const { descriptor } of DECLARED) expect(output).toContain(`Created table ${descriptor.name}`);
  });

  it('makes the tables that were declared, every option of them', async () => {
    for (const { descriptor } of DECLARED) {
      expect(await engine.admin.getDescriptor(descriptor.name)).toEqual(descriptor);
    }
  });

  it('and describe says so in its own words', () => {
    const { descriptor } = DECLARED[0] as Declared;
    const text = sectionOf(output, `describe '${descriptor.name}'`);
    for (const family of descriptor.families) {
      const line = text.split('\n').find((candidate) => candidate.startsWith(`{NAME => '${family.name}'`));
      expect(attributes(line ?? '')).toMatchObject({
        NAME: family.name,
        VERSIONS: String(family.versions),
        MIN_VERSIONS: String(family.minVersions),
        TTL: family.ttl === FOREVER ? 'FOREVER' : '93784 SECONDS (1 DAY 2 HOURS 3 MINUTES 4 SECONDS)',
        COMPRESSION: family.compression,
        DATA_BLOCK_ENCODING: family.dataBlockEncoding,
        BLOOMFILTER: family.bloomFilter,
        BLOCKSIZE: String(family.blockSize),
        BLOCKCACHE: String(family.blockCache),
        IN_MEMORY: String(family.inMemory),
        KEEP_DELETED_CELLS: family.keepDeletedCells,
        NEW_VERSION_BEHAVIOR: String(family.newVersionBehavior),
        REPLICATION_SCOPE: String(family.replicationScope),
        CACHE_DATA_ON_WRITE: String(family.cacheDataOnWrite),
        PREFETCH_BLOCKS_ON_OPEN: String(family.prefetchBlocksOnOpen),
        ...family.configuration,
        ...family.metadata,
      });
    }
    const line = text.split('\n').find((candidate) => candidate.includes('TABLE_ATTRIBUTES'));
    expect(attributes(line ?? '')).toMatchObject({
      DURABILITY: 'ASYNC_WAL',
      MAX_FILESIZE: '5368709120',
      MEMSTORE_FLUSHSIZE: '67108864',
      SPLIT_ENABLED: 'false',
      COMPACTION_ENABLED: 'false',
      SPLIT_POLICY: descriptor.splitPolicy,
      'hbase.hregion.majorcompaction': '0',
      'rowan.layout': '3',
    });
  });

  it.each(DECLARED)(
    'and get_splits gives back the split keys of $descriptor.name',
    ({ descriptor, splitKeys }) => {
      const text = sectionOf(output, `get_splits '${descriptor.name}'`);
      expect(text).toContain(`Total number of splits = ${splitKeys.length + 1}\n`);
      const lines = text.split('\n').slice(2, 2 + splitKeys.length);
      expect(lines.sort()).toEqual(splitKeys.map((key) => toStringBinary(key)).sort());
    },
  );
});

describe('generated Java', () => {
  const own = uniqueTable('java');
  const declared = DECLARED.map(({ descriptor, splitKeys }) => ({
    descriptor: { ...descriptor, name: descriptor.name.replace(namespace, own) },
    splitKeys,
  }));
  let engine: Engine;

  beforeAll(async () => {
    engine = await connectShared();
  });
  afterAll(async () => {
    for (const { descriptor } of declared) {
      await engine.admin.disableTable(descriptor.name);
      await engine.admin.deleteTable(descriptor.name);
    }
    await engine.admin.deleteNamespace(own);
    await engine.close();
  });

  it('compiles without a warning, and makes the tables that were declared, with their regions', async () => {
    const sources = { CreateTables: javaSource(declared), Main: MAIN };
    await runJava(new InstanceLayout(sharedHBase().instance), sources, 'Main');
    for (const { descriptor, splitKeys } of declared) {
      expect(await engine.admin.getDescriptor(descriptor.name)).toEqual(descriptor);
      const regions = await engine.admin.getRegions(descriptor.name);
      const starts = regions.map(({ startKey }) => toStringBinary(startKey)).filter((key) => key !== '');
      expect(starts).toEqual(splitKeys.map((key) => toStringBinary(key)));
    }
  }, 900_000);
});

const MAIN = `
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;

public final class Main {
  public static void main(String[] args) throws Exception {
    try (Connection connection = ConnectionFactory.createConnection(HBaseConfiguration.create());
        Admin admin = connection.getAdmin()) {
      CreateTables.create(admin);
    }
  }
}
`;

/** What the shell printed after it echoed a command, up to the next prompt. */
function sectionOf(output: string, command: string): string {
  const start = output.indexOf(command);
  const end = output.indexOf('\nhbase:', start);
  return start < 0 ? '' : output.slice(start, end < 0 ? undefined : end);
}

/** `KEY => 'value'` pairs, those of inner hashes too. */
function attributes(line: string): Record<string, string> {
  return Object.fromEntries(
    [...line.matchAll(/'?([\w.]+)'? => '([^']*)'/g)].map((match) => [match[1], match[2]]),
  );
}

it('processes that start at once make the tables of their declarations together, and all succeed', async () => {
  const space = uniqueTable('started');
  const name = `${space}:orders`;
  const ids = ['a', 'b', 'c', 'd'];
  const programs = ids.map((id) =>
    runScript('test/hbase/starting-process.ts', [sharedHBase().masters.join(), name, id]),
  );
  await Promise.all(programs.map((program) => program.line((line) => line === 'ready')));
  for (const { pid } of programs) process.kill(pid, 'SIGUSR2');
  const ends = await Promise.all(
    programs.map(async (program) => ({ exit: await program.exit, errors: program.errors() })),
  );
  expect(ends).toEqual(ids.map(() => ({ exit: 0, errors: '' })));
  const engine = await connectShared();
  const rows: string[] = [];
  for await (const { row } of engine.table(name).scan(new Scan())) rows.push(Buffer.from(row).toString());
  expect(rows).toEqual(ids);
  const made = (await engine.admin.listTables()).filter((table) => table.name.startsWith(`${space}:`));
  expect(made.length).toBeGreaterThan(2);
  for (const table of made) await dropTable(engine, table.name);
  await engine.admin.deleteNamespace(space);
  await engine.close();
});
