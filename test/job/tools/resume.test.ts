/** What a tool that stood unfinished goes on with, and what it refuses to. */

import { appendFile, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RowanError } from '../../../src/errors.js';
import { JobStore } from '../../../src/job/job-store.js';
import { ndjsonFiles } from '../../../src/job/pipeline/file-sink.js';
import { JobBuilder } from '../../../src/job/pipeline/pipeline.js';
import type { Sink } from '../../../src/job/pipeline/sink.js';
import { tableSource } from '../../../src/job/pipeline/source.js';
import { runJob } from '../../../src/job/runner.js';
import { toolJobName } from '../../../src/job/table-pass.js';
import type { JobRunOptions } from '../../../src/job/types.js';
import { type Engine, Put, Scan, tableDescriptor } from '../../../src/table/index.js';
import { backupTables } from '../../../src/tools/backup.js';
import { copyTable } from '../../../src/tools/copy.js';
import { countRows } from '../../../src/tools/count.js';
import { exportTable } from '../../../src/tools/export.js';
import { importTable } from '../../../src/tools/import.js';
import { importTsv } from '../../../src/tools/import-tsv.js';
import { restoreTables } from '../../../src/tools/restore.js';
import { verifyTables } from '../../../src/tools/verify.js';
import { memoryStore } from '../../store/engine/support.js';
import { workerOn } from '../support.js';
import { cellsOf, rowName } from './random-table.js';
import { SMALL, stageOfEachTest } from './support.js';

const stage = stageOfEachTest();
const ONE_LANE: JobRunOptions = { ...SMALL, parallel: 1 };

async function fillRows(engine: Engine, rows: number, table = 't', value = 'v'): Promise<void> {
  if (!(await engine.admin.tableExists(table))) {
    await engine.admin.createTable(tableDescriptor(table, { f: {} }), [Buffer.from(rowName(20))]);
  }
  await engine
    .table(table)
    .putAll(
      Array.from({ length: rows }, (_, i) => new Put(rowName(i)).addColumn('f', 'q', `${value}${i}`, 1)),
    );
}

/** Runs something as a process that dies, later and later, until its job has a checkpoint and did not end. */
async function leaveUnfinished(
  engine: Engine,
  job: string,
  run: (engine: Engine) => Promise<unknown>,
): Promise<void> {
  for (let lives = 4; !(await hasCheckpoint(engine, job)); lives++) {
    const ended = await run(workerOn(engine, { lives }).engine).then(
      () => true,
      () => false,
    );
    expect(ended).toBe(false);
  }
}

async function hasCheckpoint(engine: Engine, job: string): Promise<boolean> {
  const store = new JobStore(engine.table('rowan_jobs'), job);
  const header = (await engine.admin.tableExists('rowan_jobs')) ? await store.header() : undefined;
  if (header === undefined || header.value.state === 'done') return false;
  store.run = header.value.run;
  const states = [...(await store.splits(0)).values(), ...(await store.splits(1)).values()];
  return states.some(({ value }) => value.position !== undefined);
}

test('a file that was cut or removed since the checkpoint is named, and not filled with zeros', async () => {
  await fillRows(stage.engine, 40);
  const first = join(stage.folder, 'part-00000.cells');
  const run = (engine: Engine) => exportTable(engine, 't', stage.folder, { run: ONE_LANE });
  await leaveUnfinished(stage.engine, 'export-t', run);
  const whole = await readFile(first);
  await truncate(first, Math.floor(whole.length / 2));
  await expect(run(stage.engine)).rejects.toMatchObject({
    code: 'ERR_CORRUPTION',
    message: expect.stringContaining(`${first} had `) as string,
  });
  await rm(first);
  await expect(run(stage.engine)).rejects.toThrow('it is not there');
  await writeFile(first, whole);
  await run(stage.engine);
  await importTable(stage.other, stage.folder, { create: true });
  expect(await cellsOf(stage.other)).toEqual(await cellsOf(stage.engine));
});

test('files of a sink likewise', async () => {
  await fillRows(stage.engine, 40);
  const first = join(stage.folder, 'part-00000.ndjson');
  const run = (engine: Engine) =>
    new JobBuilder(engine, 'lines')
      .from(tableSource('t', () => new Scan()))
      .map<number, string>(({ row }, emit) => emit(0, Buffer.from(row).toString()))
      .to(ndjsonFiles(stage.folder))
      .run(ONE_LANE);
  await leaveUnfinished(stage.engine, 'lines', run);
  await truncate(first, 3);
  await expect(run(stage.engine)).rejects.toMatchObject({ code: 'ERR_CORRUPTION' });
});

test('while a folder is written over it is no export', async () => {
  await fillRows(stage.engine, 40);
  await exportTable(stage.engine, 't', stage.folder, { run: ONE_LANE });
  await fillRows(stage.engine, 40, 't', 'w');
  await leaveUnfinished(stage.engine, 'export-t', (engine) =>
    exportTable(engine, 't', stage.folder, { run: ONE_LANE }),
  );
  // Each file may have as many bytes as before: only what is in them is of two moments.
  await expect(importTable(stage.other, stage.folder, { create: true })).rejects.toThrow('did not finish');
  await exportTable(stage.engine, 't', stage.folder, { run: ONE_LANE });
  await importTable(stage.other, stage.folder, { create: true });
  expect(await cellsOf(stage.other)).toEqual(await cellsOf(stage.engine));
});

test('an import is not gone on with when the folder has another export, nor text when its files have changed', async () => {
  await fillRows(stage.engine, 40);
  await exportTable(stage.engine, 't', stage.folder, { run: SMALL });
  const run = (engine: Engine) => importTable(engine, stage.folder, { create: true, run: ONE_LANE });
  await leaveUnfinished(stage.other, 'import-t', run);
  await stage.engine.table('t').put(new Put(rowName(3)).addColumn('f', 'q', 'x', 2));
  await exportTable(stage.engine, 't', stage.folder, { run: SMALL });
  await expect(run(stage.other)).rejects.toThrow('was started with other work');
  await importTable(stage.other, stage.folder, { create: true, run: { ...SMALL, restart: true } });
  expect(await cellsOf(stage.other)).toEqual(await cellsOf(stage.engine));

  const path = join(stage.folder, 'lines.tsv');
  await writeFile(path, Array.from({ length: 40 }, (_, i) => `l${i}\tv\n`).join(''));
  const options = { columns: ['HBASE_ROW_KEY', 'f:q'], run: ONE_LANE };
  const lines = (engine: Engine) => importTsv(engine, 't', [path], options);
  await leaveUnfinished(stage.other, 'importtsv-t', lines);
  const { size } = await stat(path);
  // It was still being written.
  await appendFile(path, 'l40\tv\n');
  await expect(lines(stage.other)).rejects.toMatchObject({
    code: 'ERR_JOB',
    message: expect.stringContaining(
      `The files that job "importtsv-t" reads have changed since it was started: 1 file of ${size} bytes then, ` +
        `1 file of ${size + 6} bytes now. Wait until the files are complete.`,
    ) as string,
  });
  await expect(importTsv(stage.other, 't', [path], { ...options, skipEmptyColumns: true })).rejects.toThrow(
    'was started with other work',
  );
  await importTsv(stage.other, 't', [path], { ...options, run: { ...ONE_LANE, restart: true } });
  expect((await countRows(stage.other, 't')).rows).toBe(81);
});

test('what an export says of its table and files is looked at before it is believed', async () => {
  await fillRows(stage.engine, 5);
  await exportTable(stage.engine, 't', stage.folder);
  const path = join(stage.folder, 'export.json');
  const manifest = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
  const files = manifest['files'] as Record<string, unknown>[];
  for (const wrong of [
    { table: undefined },
    { table: null },
    { table: { name: 5, families: [] } },
    { table: { name: 't', families: [null] } },
    { table: { name: 't', families: {} } },
    { splits: undefined },
    { splits: ['xyz'] },
    { splits: [5] },
    { files: [{ ...files[0], rows: undefined }] },
    { files: [{ ...files[0], rows: -1 }] },
    { files: [null] },
    { files: {} },
  ]) {
    await writeFile(path, JSON.stringify({ ...manifest, ...wrong }));
    await expect(importTable(stage.other, stage.folder, { create: true })).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
    });
  }
  await writeFile(path, JSON.stringify({ ...manifest, ended: undefined }));
  await importTable(stage.other, stage.folder, { create: true });
  expect(await cellsOf(stage.other)).toEqual(await cellsOf(stage.engine));
});

test('a copy or comparison with one store is not gone on with in another', async () => {
  await fillRows(stage.engine, 40);
  const third = Object.create(stage.other, { place: { value: '/elsewhere' } }) as Engine;
  await stage.other.admin.createTable(tableDescriptor('t', { f: {} }));
  const target = { engine: stage.other, table: 't' };
  await leaveUnfinished(stage.engine, 'copy-t-t', (engine) =>
    copyTable({ engine, table: 't' }, target, { run: ONE_LANE }),
  );
  const source = { engine: stage.engine, table: 't' };
  await expect(copyTable(source, { engine: third, table: 't' }, { run: ONE_LANE })).rejects.toThrow(
    'was started with other work',
  );
  await copyTable(source, target, { run: ONE_LANE });
  await leaveUnfinished(stage.engine, 'verify-t-t', (engine) =>
    verifyTables({ engine, table: 't' }, target, { run: ONE_LANE }),
  );
  await expect(verifyTables(source, { engine: third, table: 't' }, { run: ONE_LANE })).rejects.toThrow(
    'was started with other work',
  );
});

test('tables whose names are alike have jobs of their own, so that a backup of them is gone on with', async () => {
  const long = 'n'.repeat(120);
  const tables = ['a:t', 'a_t'];
  const names = [...tables, `${long}1`, `${long}2`].map((table) => toolJobName('count', table));
  expect(new Set(names).size).toBe(4);
  expect(toolJobName('count', 'orders')).toBe('count-orders');
  for (const { admin } of [stage.engine, stage.other]) await admin.createNamespace('a');
  for (const table of tables) await fillRows(stage.engine, 14, table, table);
  const folder = join(stage.folder, 'backups');
  const run = (engine: Engine) => backupTables(engine, folder, { tables, run: ONE_LANE });
  await expect(run(workerOn(stage.engine, { lives: 1 }).engine)).rejects.toThrow('dead');
  const listed = JSON.parse(await readFile(join(folder, 'backup.json'), 'utf8')) as {
    readonly backups: readonly { readonly begun: number }[];
  };
  const { begun } = listed.backups[0]!;
  await leaveUnfinished(stage.engine, toolJobName('backup', '0001-full', String(begun), 'a_t'), run);
  await run(stage.engine);
  await restoreTables(stage.other, folder);
  for (const table of tables)
    expect(await cellsOf(stage.other, table)).toEqual(await cellsOf(stage.engine, table));
});

async function jobsOn(engine: Engine): Promise<string[]> {
  const names = new Set<string>();
  for await (const { row } of engine.table('rowan_jobs').scan(new Scan()))
    names.add(Buffer.from(row).toString('latin1').split('\0')[0]!);
  return [...names].sort();
}

test('backups and restores leave no states of their jobs', async () => {
  await fillRows(stage.engine, 20, 'a');
  await fillRows(stage.engine, 20, 'b');
  await countRows(stage.engine, 'a');
  for (let at = 0; at < 3; at++) {
    stage.later(1000);
    await fillRows(stage.engine, 5, 'a', `v${at}`);
    await backupTables(stage.engine, stage.folder, { incremental: at > 0, run: SMALL });
  }
  expect(await jobsOn(stage.engine)).toEqual(['count-a']);
  await restoreTables(stage.other, stage.folder, { run: SMALL });
  expect(await jobsOn(stage.other)).toEqual([]);
});

test('an unfinished backup does not keep one in another folder out', async () => {
  await fillRows(stage.engine, 40);
  const [first, second] = ['x', 'y'].map((name) => join(stage.folder, name));
  const into = (folder: string) => (engine: Engine) => backupTables(engine, folder, { run: ONE_LANE });
  await expect(into(first!)(workerOn(stage.engine, { lives: 9 }).engine)).rejects.toThrow('dead');
  stage.later(1000);
  expect(await into(second!)(stage.engine)).toMatchObject({ rows: 40 });
  expect(await into(first!)(stage.engine)).toMatchObject({ rows: 40 });
  await restoreTables(stage.other, second!);
  expect(await cellsOf(stage.other)).toEqual(await cellsOf(stage.engine));
});

/** A backup in full and an incremental one, of two tables. */
async function backUpTwoTables(): Promise<readonly string[]> {
  const tables = ['a', 'b'];
  for (const table of tables) await fillRows(stage.engine, 22, table);
  await backupTables(stage.engine, stage.folder, { run: SMALL });
  stage.later(1000);
  for (const table of tables)
    await stage.engine.table(table).put(new Put(rowName(3)).addColumn('f', 'q', 'later'));
  await backupTables(stage.engine, stage.folder, { incremental: true, run: SMALL });
  return tables;
}

test('a restore that is cut off anywhere is continued', async () => {
  const tables = await backUpTwoTables();
  const ends = { continued: 0, complete: 0 };
  for (let lives = 1, isCut = true; isCut; lives++) {
    const { engine } = await memoryStore();
    const restore = (on: Engine) => restoreTables(on, stage.folder, { run: ONE_LANE });
    isCut = await restore(workerOn(engine, { lives }).engine).then(
      () => false,
      () => true,
    );
    const again = await restore(engine).catch((error: unknown) => error as Error);
    if (again instanceof Error) {
      // It was cut off when all was restored.
      expect(again.message).toMatch(/has rows/);
      ends.complete++;
    } else ends.continued++;
    for (const table of tables)
      expect(await cellsOf(engine, table)).toEqual(await cellsOf(stage.engine, table));
    await engine.close();
  }
  expect(ends.continued).toBeGreaterThan(30);
  expect(ends.complete).toBeLessThan(10);
});

/** The engine of a user who may not delete rows of `rowan_jobs`, and with `none` may not write or make it at all. */
function withoutJobRights(engine: Engine, none = false): Engine {
  const refused = async (): Promise<never> => {
    throw new RowanError('ERR_SECURITY', 'You may not write "rowan_jobs".');
  };
  const limited = <T extends object>(target: T, methods: Readonly<Record<string, unknown>>): T =>
    new Proxy(target, {
      get(object, name) {
        const member: unknown = methods[name as string] ?? Reflect.get(object, name);
        return typeof member === 'function' ? member.bind(object) : member;
      },
    });
  const batch = (deletes: readonly unknown[]): Promise<unknown> =>
    deletes.length === 0 ? Promise.resolve([]) : refused();
  const jobs = none ? { batch, checkAndMutate: refused } : { batch };
  return limited(engine, {
    table: (name: string) => (name === 'rowan_jobs' ? limited(engine.table(name), jobs) : engine.table(name)),
    admin: none ? limited(engine.admin, { createTable: refused }) : engine.admin,
  });
}

test('a backup is made by who may not write states of jobs, and leaves them alone', async () => {
  await fillRows(stage.engine, 22, 'a');
  const run = () => backupTables(withoutJobRights(stage.engine, true), stage.folder, { run: SMALL });
  expect(await run()).toMatchObject({ rows: 22, backup: { complete: true } });
  expect(await stage.engine.admin.tableExists('rowan_jobs')).toBe(false);
  await countRows(stage.engine, 'a');
  expect(await run()).toMatchObject({ rows: 22, backup: { complete: true } });
  expect(await jobsOn(stage.engine)).toEqual(['count-a']);
});

test('a restore whose states of jobs stay is not continued when it ended: rows may be those of a program since', async () => {
  await backUpTwoTables();
  const { engine } = await memoryStore();
  await restoreTables(withoutJobRights(engine), stage.folder);
  expect(await cellsOf(engine, 'b')).toEqual(await cellsOf(stage.engine, 'b'));
  expect(await jobsOn(engine)).toHaveLength(4);
  await engine.table('a').put(new Put('later').addColumn('f', 'q', 'later'));
  await expect(restoreTables(engine, stage.folder)).rejects.toThrow('Table "a" has rows');
  await engine.close();
});

test.each(['a', 'b'])(
  'a restore that is cut off has table %s anew if it was dropped since',
  async (dropped) => {
    const tables = await backUpTwoTables();
    for (let lives = 10, isCut = true; isCut; lives += 3) {
      const { engine } = await memoryStore();
      const restore = (on: Engine) => restoreTables(on, stage.folder, { run: ONE_LANE });
      isCut = await restore(workerOn(engine, { lives }).engine).then(
        () => false,
        () => true,
      );
      if (!(await engine.admin.tableExists(dropped))) continue;
      await engine.admin.disableTable(dropped);
      await engine.admin.deleteTable(dropped);
      const again = await restore(engine).catch((error: unknown) => error as Error);
      if (again instanceof Error) expect(again.message).toMatch(/has rows/);
      else
        for (const table of tables)
          expect(await cellsOf(engine, table)).toEqual(await cellsOf(stage.engine, table));
      await engine.close();
    }
  },
);

const HEADER = '{"signature":"count t {}","run":0,"state":"running","phase":0}';
const SPLIT =
  '{"state":"waiting","owner":"o","beat":1,"attempt":1,"rows":0,"bytes":0,"counters":{},"position":"00"}';

test('a state of a job that nobody could have written is named with its row', async () => {
  await fillRows(stage.engine, 5);
  await countRows(stage.engine, 't');
  const states = stage.engine.table('rowan_jobs');
  const put = (row: string, column: string, text: string) =>
    states.put(new Put(Buffer.from(row, 'latin1')).addColumn('j', column, text));
  const wrong: [kind: 'h' | 'p' | 's', text: string][] = [
    ...['{', 'null', '[]', HEADER.replace('"run":0', '"run":-1'), HEADER.replace('running', 'x')].map(
      (text): ['h', string] => ['h', text],
    ),
    ...['[', '{}', '[["00"]]', '[["zz","00"]]', '[[5,"00"]]'].map((text): ['p', string] => ['p', text]),
    ...['{', 'null', '{}', SPLIT.replace('"00"', '"zz"'), SPLIT.replace('{}', 'null')].map(
      (text): ['s', string] => ['s', text],
    ),
  ];
  for (const [at, [kind, text]] of wrong.entries()) {
    const name = `hostile${at}`;
    await put(`${name}\0h`, 'job', kind === 'h' ? text : HEADER);
    if (kind === 'p') await put(`${name}\0p\0\0\0\0\0`, 'plan', text);
    if (kind === 's') await put(`${name}\0s\0\0\0\0\0\0\0\0\0`, 'split', text);
    await expect(countRows(stage.engine, 't', { name })).rejects.toMatchObject({
      code: 'ERR_CORRUPTION',
      message: expect.stringContaining(name) as string,
    });
  }
  await put('sound\0h', 'job', HEADER);
  await put('sound\0s\0\0\0\0\0\0\0\0\0', 'split', SPLIT);
  expect((await countRows(stage.engine, 't', { name: 'sound' })).counters).toEqual({ rows: 5 });
});

test('workers that end an export together write its manifest each', async () => {
  await fillRows(stage.engine, 40);
  const run = () => exportTable(stage.engine, 't', stage.folder, { run: SMALL });
  await Promise.all([run(), run(), run()]);
  expect((await readdir(stage.folder)).sort()).toEqual([
    'export.json',
    'part-00000.cells',
    'part-00001.cells',
  ]);
  await importTable(stage.other, stage.folder, { create: true });
  expect(await cellsOf(stage.other)).toEqual(await cellsOf(stage.engine));
});

test('what a sink threw is told, whatever its closing throws', async () => {
  await fillRows(stage.engine, 5);
  const full: Sink<number> = {
    signature: 'full',
    open: () => ({
      write() {
        throw new Error('no space left');
      },
      close() {
        throw new Error('cannot be closed');
      },
    }),
  };
  await expect(
    new JobBuilder(stage.engine, 'full')
      .from(tableSource('t', () => new Scan()))
      .map<number, number>((_row, emit) => emit(0, 0))
      .to(full)
      .run(SMALL),
  ).rejects.toThrow('no space left');
});

test.each<[unknown, string]>([
  [null, 'Options of a job must be an object'],
  ['fast', 'Options of a job must be an object'],
  [{ shard: null }, '{ index, count } with an index from 0 to count - 1'],
  [{ shard: { index: 5, count: 4 } }, '{ index, count } with an index from 0 to count - 1'],
  [{ shard: { index: 0, count: 0 } }, '{ index, count } with an index from 0 to count - 1'],
  [{ leaseMs: 2 ** 31 }, 'no more than 2147483647'],
  [{ rowsPerSecond: -5 }, 'a number above 0'],
  [{ bytesPerSecond: 0 }, 'a number above 0'],
  [{ rowsPerSecond: Number.NaN }, 'a number above 0'],
  [{ batchRows: 1.5 }, 'a whole number of at least 1'],
])('options %j of a job are refused: %s', async (options, why) => {
  const definition = { name: 'n', signature: 's', phases: [] };
  await expect(runJob(stage.engine, definition, options as never)).rejects.toThrow(why);
});
