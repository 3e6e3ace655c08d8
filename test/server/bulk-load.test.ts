/** Bulk load of HFiles into a served store: which files, by whom, and all of their cells or none. */

import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fromLatin1 } from '../../src/bytes/index.js';
import { HFileWriter } from '../../src/hadoop/hfile/index.js';
import type { HBaseEngine } from '../../src/hbase/engine.js';
import type { BulkLoadFile } from '../../src/hbase/index.js';
import { secretAuthenticator } from '../../src/hbase/security/delegation-token.js';
import { Cell, CellType, Get, Put, Scan, tableDescriptor } from '../../src/table/index.js';
import { Served } from './served.js';

let root: string;
let folder: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'rowan-bulk-load-'));
  folder = join(root, 'load');
  await mkdir(folder);
});
afterEach(() => rm(root, { recursive: true }));

async function fileOf(
  name: string,
  rows: readonly string[],
  { family = 'f', value = 'loaded', timestamp = 5, at = folder } = {},
): Promise<BulkLoadFile> {
  const path = join(at, name);
  const bytes: Uint8Array[] = [];
  const file = new HFileWriter(
    { append: async (part) => void bytes.push(Uint8Array.from(part)) },
    { family },
  );
  for (const row of rows)
    file.add(new Cell(fromLatin1(row), family, fromLatin1('q'), timestamp, CellType.Put, fromLatin1(value)));
  await file.finish();
  await writeFile(path, Buffer.concat(bytes));
  return {
    family,
    path: `file://${path}`,
    firstRow: fromLatin1(rows[0]!),
    lastRow: fromLatin1(rows.at(-1)!),
  };
}

async function served(
  splits: readonly string[] = [],
): Promise<{ served: Served; engine: HBaseEngine } & AsyncDisposable> {
  const started = await Served.start({ bulkLoad: folder });
  await started.store.admin.createTable(tableDescriptor('t', { f: {}, g: {} }), splits.map(fromLatin1));
  const engine = await started.connect();
  return { served: started, engine, [Symbol.asyncDispose]: () => started[Symbol.asyncDispose]() };
}

async function valuesOf(engine: HBaseEngine): Promise<string[]> {
  const found: string[] = [];
  for await (const { cells } of engine.table('t').scan(new Scan()))
    for (const { row, family, value } of cells)
      found.push(`${Buffer.from(row)} ${family} ${Buffer.from(value)}`);
  return found;
}

test('files of several families and regions are loaded, win at equal timestamps, and are removed unless they are copied', async () => {
  await using run = await served(['k']);
  const { engine } = run;
  await engine.table('t').put(new Put('b').addColumn('f', 'q', 'before', 5));
  const files = [
    await fileOf('one', ['a', 'b']),
    await fileOf('later', ['b'], { value: 'later' }),
    await fileOf('beside', ['b', 'c'], { family: 'g' }),
    await fileOf('above', ['k', 'z']),
  ];
  const across = await fileOf('across', ['j', 'k']);
  const outcome = await engine.admin.bulkLoad({ table: 't', files: [...files, across] });
  expect(new Set(outcome.loaded)).toEqual(new Set(files));
  expect(outcome.straddling).toEqual([across]);
  const expected = ['a f loaded', 'b f later', 'b g loaded', 'c g loaded', 'k f loaded', 'z f loaded'];
  expect(await valuesOf(engine)).toEqual(expected);
  expect(await readdir(folder)).toEqual(['across']);

  const copied = await fileOf('copied', ['d']);
  await engine.admin.bulkLoad({ table: 't', files: [copied], copy: true });
  expect(await readdir(folder)).toEqual(['across', 'copied']);
  expect(await valuesOf(engine)).toContain('d f loaded');
});

test('a file with rows of another region loads nothing of its request', async () => {
  await using run = await served(['k']);
  const whole = await fileOf('whole', ['a', 'b']);
  const across = await fileOf('across', ['c', 'z']);
  const files = [whole, { ...across, lastRow: fromLatin1('d') }];
  await expect(run.engine.admin.bulkLoad({ table: 't', files })).rejects.toMatchObject({
    code: 'ERR_REMOTE',
    message: expect.stringContaining('rows of other regions'),
  });
  expect(await valuesOf(run.engine)).toEqual([]);
  expect(await readdir(folder)).toEqual(['across', 'whole']);
});

test('a damaged file, one without cells beside it, or one for an unknown family loads nothing', async () => {
  await using run = await served();
  const { engine } = run;
  const good = await fileOf('good', ['a']);
  const bad = await fileOf('bad', ['b', 'c']);
  const path = bad.path.slice('file://'.length);
  const bytes = await readFile(path);
  bytes[40]! ^= 1;
  await writeFile(path, bytes);
  await expect(engine.admin.bulkLoad({ table: 't', files: [good, bad] })).rejects.toThrow(
    'Nothing was loaded',
  );
  await writeFile(path, 'no HFile');
  await expect(engine.admin.bulkLoad({ table: 't', files: [good, bad] })).rejects.toThrow(
    'Nothing was loaded',
  );
  await expect(engine.admin.bulkLoad({ table: 't', files: [{ ...good, family: 'h' }] })).rejects.toThrow(
    'has no family "h"',
  );
  expect(await valuesOf(engine)).toEqual([]);
  expect((await readdir(folder)).sort()).toEqual(['bad', 'good']);
});

test('only files in the folder are loaded, also by links, and others are told apart by nothing', async () => {
  await using run = await served();
  const { engine } = run;
  const outside = await fileOf('outside', ['a'], { at: root });
  const link = join(folder, 'link');
  await symlink(join(root, 'outside'), link);
  const beside = `${folder}-beside`;
  await mkdir(beside);
  await copyFile(join(root, 'outside'), join(beside, 'file'));
  const paths = [
    outside.path,
    `file://${link}`,
    `file://${folder}/../outside`,
    `file://${beside}/file`,
    'file:///absent',
    `${'file://'}${folder}`,
    'hdfs://name/file',
  ];
  for (const path of paths) {
    const load = engine.admin.bulkLoad({ table: 't', files: [{ ...outside, path }] });
    await expect(load).rejects.toThrow(`${path} is no file in the folder from which this server loads files`);
  }
  expect(await valuesOf(engine)).toEqual([]);
  expect(await readFile(join(root, 'outside'))).toEqual(await readFile(join(beside, 'file')));
});

test('without a folder, on a read-only server, and without permission to write the table nothing is loaded', async () => {
  const file = await fileOf('file', ['a']);
  const users = { reader: { secret: 'reader-secret-0123456789', read: ['t'] } };
  const authenticator = secretAuthenticator('reader', users.reader.secret);
  for (const [options, connection, message] of [
    [{}, {}, 'rowan serve --bulk-load'],
    [{ bulkLoad: folder, readOnly: true }, {}, 'read only'],
    [{ bulkLoad: folder, users }, { authenticator }, 'Permission denied'],
  ] as const) {
    await using started = await Served.start(options);
    await started.store.admin.createTable(tableDescriptor('t', { f: {} }));
    const engine = await started.connect(connection);
    await expect(engine.admin.bulkLoad({ table: 't', files: [file] })).rejects.toThrow(message);
    expect((await started.store.table('t').get(new Get('a'))).isEmpty).toBe(true);
  }
  expect(await readdir(folder)).toEqual(['file']);
});
