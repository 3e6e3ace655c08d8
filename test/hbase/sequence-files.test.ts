import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Cell, CellWithTtl, type Engine, Put, Scan, tableDescriptor } from '../../src/table/index.js';
import { exportTable } from '../../src/tools/export.js';
import { importTable } from '../../src/tools/import.js';
import { familyCells, textOf } from '../hadoop/cells.js';
import { memoryStore, type TestStore } from '../store/engine/support.js';
import { connectShared, sharedHBase } from './connect.js';
import { InstanceLayout } from './server/layout.js';
import { runHBaseJob } from './server/tool.js';
import { dropTable, uniqueTable } from './tables.js';

const layout = new InstanceLayout(sharedHBase().instance);
let folder: string;
let hbase: Engine;
let store: TestStore;
const tables: string[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowan-jobs-'));
  hbase = await connectShared();
  store = await memoryStore();
  await mkdir(layout.tmp, { recursive: true });
});
afterAll(async () => {
  for (const table of tables) await dropTable(hbase, table);
  await hbase.close();
  await store.engine.close();
  await rm(folder, { recursive: true, force: true });
});

/** The same table in HBase and in the embedded store. */
async function makeTable(): Promise<string> {
  const name = uniqueTable('sequence');
  const family = { versions: 1000, keepDeletedCells: 'TRUE' as const };
  const splits = [Buffer.from([0x40]), Buffer.from([0xa0])];
  for (const { admin } of [hbase, store.engine]) {
    await admin.createTable(tableDescriptor(name, { f: family, g: family }), splits);
  }
  tables.push(name);
  return name;
}

async function rawCells(engine: Engine, name: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { cells } of engine.table(name).scan(new Scan().setRaw(true).readAllVersions())) {
    found.push(...cells.map(textOf));
  }
  return found;
}

/** Cells of two families with every kind of marker, in some rows beside each other. */
function someCells(seed: number): Cell[] {
  const largest = (family: string): Cell[] =>
    fc.sample(familyCells(family, 400), { numRuns: 60, seed }).sort((a, b) => b.length - a.length)[0]!;
  return [...largest('f'), ...largest('g')]
    .filter((cell) => !(cell instanceof CellWithTtl))
    .sort((a, b) => Buffer.compare(a.row, b.row) || (a.family < b.family ? -1 : 1));
}

it("what HBase's Export writes is imported, packed in any of its ways", async () => {
  const name = await makeTable();
  await store.engine.bulkLoad(name, someCells(1));
  await exportTable(store.engine, name, join(folder, 'seed'), { format: 'hbase' });
  await importTable(hbase, join(folder, 'seed'), { table: name, format: 'hbase' });
  const expected = await rawCells(hbase, name);
  expect(expected).toEqual(await rawCells(store.engine, name));
  const compressed = '-Dmapreduce.output.fileoutputformat.compress';
  const raw = ['-Dhbase.mapreduce.include.deleted.rows=true'];
  for (const [at, settings] of [
    [`${compressed}=false`],
    [`${compressed}=true`, `${compressed}.type=RECORD`],
    [
      `${compressed}=true`,
      `${compressed}.type=BLOCK`,
      `${compressed}.codec=org.apache.hadoop.io.compress.GzipCodec`,
    ],
  ].entries()) {
    const target = join(folder, `export-${at}`);
    await runHBaseJob(layout, 'Export', [...raw, ...settings, name, `file://${target}`, '2147483647']);
    expect(await readdir(target)).toContain('_SUCCESS');
    const copy = `${name}_${at}`;
    await store.engine.admin.createTable({ ...(await store.engine.admin.getDescriptor(name)), name: copy });
    const { counters } = await importTable(store.engine, target, { table: copy, format: 'hbase' });
    expect(await rawCells(store.engine, copy)).toEqual(expected);
    expect(counters['cells']).toBe(expected.length);
  }
});

it("what Rowan writes is read by HBase's Import, out of both engines", async () => {
  const name = await makeTable();
  await store.engine.bulkLoad(name, someCells(2));
  const expected = await rawCells(store.engine, name);
  const target = join(folder, 'rowan');
  await exportTable(store.engine, name, target, { format: 'hbase' });
  await runHBaseJob(layout, 'Import', [name, `file://${target}`]);
  expect(await rawCells(hbase, name)).toEqual(expected);
  const again = await makeTable();
  const second = join(folder, 'again');
  await exportTable(hbase, name, second, { format: 'hbase' });
  await runHBaseJob(layout, 'Import', [again, `file://${second}`]);
  expect(await rawCells(hbase, again)).toEqual(expected);
});

it('the life of single cells comes along where HBase is asked to send it', async () => {
  const name = await makeTable();
  await hbase.table(name).put(new Put('a').addColumn('f', 'q', 'mortal').setTtl(3_000_000_000));
  await hbase.table(name).put(new Put('b').addColumn('f', 'q', 'immortal'));
  const target = join(folder, 'mortal');
  const codec = '-Dhbase.client.rpc.codec=org.apache.hadoop.hbase.codec.KeyValueCodecWithTags';
  await runHBaseJob(layout, 'Export', [codec, name, `file://${target}`]);
  await importTable(store.engine, target, { table: name, format: 'hbase' });
  const lives: (number | undefined)[] = [];
  for await (const { cells } of store.engine.table(name).scan(new Scan().setRaw(true))) {
    lives.push(...cells.map((cell) => (cell instanceof CellWithTtl ? cell.ttl : undefined)));
  }
  expect(lives).toEqual([3_000_000_000, undefined]);
});
