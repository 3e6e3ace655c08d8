import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Database } from '../../src/database.js';
import { run } from './run.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MODULE = fileURLToPath(new URL('./fixtures/threads.mjs', import.meta.url));
const ROWS = 3000;

/** What is used of repositories; the module and the package it is of are the built ones, as the threads have them. */
interface Entities {
  putMany(entities: readonly object[]): Promise<void>;
  find(query: object, options: object): { all(): Promise<object[]>; deleteAll(): Promise<unknown> };
}
interface Opened {
  readonly visits: Entities;
  readonly pages: Entities;
  close(): Promise<void>;
}

let folder: string;
let store: string;
const naive = new Map<string, number>();
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowan-threads-'));
  store = join(folder, 'store');
  const db = await openDatabase();
  await db.visits.putMany(
    Array.from({ length: ROWS }, (_, i) => {
      const page = `/${(i * 7919) % 37}`;
      naive.set(page, (naive.get(page) ?? 0) + 1);
      return { id: `v${i}`, page };
    }),
  );
  await db.close();
});
afterAll(() => rm(folder, { recursive: true }));
beforeEach(async () => {
  const db = await openDatabase();
  await db.pages.find({}, { fullScan: true }).deleteAll();
  await db.close();
});

async function openDatabase(): Promise<Opened> {
  const { open } = (await import(join(ROOT, 'dist/index.js'))) as {
    open(options: object): Promise<Database>;
  };
  const { Page, Visit } = (await import(MODULE)) as { Page: never; Visit: never };
  const db = await open({ path: store, entities: [Page, Visit] });
  const entities = (of: never) => db.repository(of) as unknown as Entities;
  return { visits: entities(Visit), pages: entities(Page), close: () => db.close() };
}

function start(kind: string, ...args: string[]): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(
    process.execPath,
    ['dist/rowan.js', 'job', 'run', store, MODULE, '--workers', '2', '--json', ...args],
    { cwd: ROOT, env: { ...process.env, THREAD_JOB: kind, THREAD_FOLDER: join(folder, 'files') } },
  );
  let out = '';
  let err = '';
  child.stdout.on('data', (data: Buffer) => (out += data.toString()));
  child.stderr.on('data', (data: Buffer) => (err += data.toString()));
  return { child, ended: once(child, 'close').then(([code]) => ({ code: code as number | null, out, err })) };
}
interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

async function pages(): Promise<Map<string, number>> {
  const db = await openDatabase();
  const found = (await db.pages.find({}, { fullScan: true }).all()) as { page: string; visits: number }[];
  await db.close();
  return new Map(found.map(({ page, visits }) => [page, visits]));
}

test('two threads come to what one does, and leave nothing behind', async () => {
  const { code, out, err } = await start('sum').ended;
  expect([code, err]).toEqual([0, '']);
  expect(JSON.parse(out)).toMatchObject({ rows: ROWS, counters: { visits: ROWS } });
  expect(await pages()).toEqual(naive);
  expect(await readdir(folder)).toEqual(['store']);
});

test('what a job without reduce emits reaches its sink as it was, each once', async () => {
  expect(await start('files').ended).toMatchObject({ code: 0 });
  const files = (await readdir(join(folder, 'files'))).sort();
  const lines = await Promise.all(files.map((file) => readFile(join(folder, 'files', file), 'utf8')));
  const items = lines
    .flatMap((text) => text.trim().split('\n'))
    .map((line) => JSON.parse(line) as { id: string });
  expect(new Set(items.map(({ id }) => id)).size).toBe(ROWS);
  expect(items).toHaveLength(ROWS);
  expect(Object.keys(items[0]!).sort()).toEqual(['at', 'big', 'bytes', 'id', 'map']);
  await rm(join(folder, 'files'), { recursive: true });
});

test('a process that is killed is gone on with, by threads of another', async () => {
  const { child, ended } = start('slow');
  const copies = `${store}-job-copies`;
  // Its threads have their copies, and work on them.
  while (child.exitCode === null && (await readdir(copies).catch(() => [])).length < 2)
    await new Promise((done) => setTimeout(done, 5));
  child.kill('SIGKILL');
  expect(await ended).toMatchObject({ code: null });
  const again = await start('slow').ended;
  expect([again.code, again.err]).toEqual([0, '']);
  expect(JSON.parse(again.out)).toMatchObject({ rows: ROWS, counters: { visits: ROWS } });
  expect(await pages()).toEqual(naive);
});

const endings: [string, string][] = [
  ['fails', 'TypeError: no page of v'],
  ['ends', 'ERR_JOB'],
  ['writes', 'ERR_UNSUPPORTED'],
  ['changing', 'different jobs in different threads'],
];
test.each(endings)('a job that %s in a thread ends with an error that says so', async (kind, said) => {
  const { code, err } = await start(kind).ended;
  expect(code).toBe(1);
  expect(err).toContain(said);
  expect(await readdir(folder)).toEqual(['store']);
});

test('threads are refused on HBase, beside shards, and in numbers that are none', async () => {
  for (const [place, ...args] of [
    ['hbase:localhost:1', '--workers', '2'],
    [store, '--workers', '0'],
    [store, '--workers', 'two'],
    [store, '--workers', '2', '--shard', '0/2'],
  ] as const) {
    expect(await run('job', 'run', place, MODULE, ...args)).toMatchObject({
      code: 1,
      err: expect.stringContaining('ERR_INVALID_ARGUMENT') as string,
    });
  }
});
