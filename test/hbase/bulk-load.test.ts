import { chmod, copyFile, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fromLatin1 } from '../../src/bytes/index.js';
import type { BulkLoadFile } from '../../src/hbase/admin/bulk-load.js';
import type { HBaseEngine } from '../../src/hbase/engine.js';
import { Get, Put, Scan, tableDescriptor } from '../../src/table/index.js';
import { connectShared, sharedHBase } from './connect.js';
import { InstanceLayout } from './server/layout.js';
import { dropTable, uniqueTable } from './tables.js';

/** Between them the table is divided. */
const EDGE = 'm';
const layout = new InstanceLayout(sharedHBase().instance);
const folder = join(layout.data, uniqueTable('load'));

let engine: HBaseEngine;
const tables: string[] = [];
beforeAll(async () => {
  engine = (await connectShared()) as HBaseEngine;
});
afterAll(async () => {
  for (const table of tables) await dropTable(engine, table);
  await engine.close();
  await rm(folder, { recursive: true, force: true });
});

async function makeTable(splits: readonly string[] = []): Promise<string> {
  const name = uniqueTable('bulk');
  await engine.admin.createTable(tableDescriptor(name, { f: {}, g: {} }), splits.map(fromLatin1));
  tables.push(name);
  return name;
}

/** A file of HBase's own with these rows: what a flush of another table left. */
async function fileOf(family: string, rows: readonly string[]): Promise<BulkLoadFile> {
  const name = await makeTable();
  await engine.table(name).putAll(rows.map((row) => new Put(row).addColumn(family, 'q', `new ${row}`)));
  await engine.admin.flush(name);
  const regions = join(layout.data, 'root', 'data', 'default', name);
  for (const region of await readdir(regions)) {
    const [file] = await readdir(join(regions, region, family)).catch(() => []);
    if (file === undefined) continue;
    const target = join(folder, uniqueTable(family));
    await mkdir(folder, { recursive: true });
    await copyFile(join(regions, region, family, file), target);
    // The server opens and moves it in the name of whoever asks, who may be anybody.
    await chmod(folder, 0o777);
    await chmod(target, 0o666);
    const [firstRow, lastRow] = [rows[0]!, rows.at(-1)!].map(fromLatin1);
    return { family, path: `file://${target}`, firstRow: firstRow!, lastRow: lastRow! };
  }
  throw new Error(`The flush of ${name} left no file.`);
}

const exists = (file: BulkLoadFile): Promise<boolean> =>
  stat(file.path.slice('file://'.length)).then(
    () => true,
    () => false,
  );

async function rowsOf(name: string): Promise<string[]> {
  const rows: string[] = [];
  for await (const { row } of engine.table(name).scan(new Scan())) rows.push(Buffer.from(row).toString());
  return rows;
}

it('files of several families and regions are taken in, newer than what is there; one across an edge is named', async () => {
  const name = await makeTable([EDGE]);
  // Known before the table is divided further by somebody else.
  await engine.table(name).put(new Put('b').addColumn('f', 'q', 'old', 1));
  const below = await fileOf('f', ['a', 'b', 'c']);
  const beside = await fileOf('g', ['b', 'l']);
  const above = await fileOf('f', ['m', 'z']);
  const across = await fileOf('f', ['k', 'n']);
  const { loaded, straddling } = await engine.admin.bulkLoad({
    table: name,
    files: [above, across, below, beside],
  });
  expect(new Set(loaded)).toEqual(new Set([below, beside, above]));
  expect(straddling).toEqual([across]);
  expect(await rowsOf(name)).toEqual(['a', 'b', 'c', 'l', 'm', 'z']);
  const found = await engine.table(name).get(new Get('b'));
  expect(Buffer.from(found!.getValue('f', 'q')!).toString()).toBe('new b');
  expect(await readdir(join(layout.data, 'root', 'staging'))).toEqual([]);
});

it('copied files stay, and a table that others divided meanwhile is looked up again', async () => {
  const name = await makeTable();
  const other = (await connectShared()) as HBaseEngine;
  try {
    await engine.table(name).put(new Put('x').addColumn('f', 'q', 'old'));
    await other.admin.split(name, fromLatin1(EDGE));
    const files = [await fileOf('f', ['a', 'b']), await fileOf('f', ['a', 'q'])];
    const { loaded, straddling } = await engine.admin.bulkLoad({ table: name, files, copy: true });
    expect([loaded, straddling]).toEqual([[files[0]], [files[1]]]);
    expect(await rowsOf(name)).toEqual(['a', 'b', 'x']);
    expect(await Promise.all(files.map(exists))).toEqual([true, true]);
  } finally {
    await other.close();
  }
});

it('what cannot be loaded says why', async () => {
  const name = await makeTable([EDGE]);
  const file = await fileOf('f', ['a', 'q']);
  const load = (change: Partial<BulkLoadFile>, table = name): Promise<unknown> =>
    engine.admin.bulkLoad({ table, files: [{ ...file, ...change }] });
  await expect(load({ lastRow: fromLatin1('b') })).rejects.toMatchObject({
    code: 'ERR_REMOTE',
    retryable: false,
    message: expect.stringContaining('rows of other regions'),
  });
  await expect(load({ path: '/no/scheme' })).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
  await expect(load({ path: 'file:///is/not/there', lastRow: file.firstRow })).rejects.toMatchObject({
    message: expect.stringContaining('/is/not/there'),
  });
  await expect(load({ family: 'h', lastRow: file.firstRow })).rejects.toMatchObject({ retryable: false });
  await expect(load({}, 'absent')).rejects.toMatchObject({ code: 'ERR_TABLE_NOT_FOUND' });
  expect(await rowsOf(name)).toEqual([]);
});
