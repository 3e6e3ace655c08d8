/** Backups of a whole store: online, incremental, checked when they are restored. */

import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { toBytes } from '../../../src/bytes/index.js';
import {
  pruneStoreBackups,
  restoreStore,
  storeBackups,
  verifyStoreBackups,
} from '../../../src/store/backup.js';
import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import { Get, Put, Scan, tableDescriptor } from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/index.js';
import { scaled } from '../../proof/scale.js';

let root: string;
let folder: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rowan-'));
  folder = join(root, 'backups');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

async function openStore(name = 'store'): Promise<EmbeddedEngine> {
  const engine = await openEmbedded(join(root, name), { background: 'inline', flushOnClose: false });
  if (!(await engine.admin.tableExists('t'))) await engine.admin.createTable(tableDescriptor('t', { f: {} }));
  return engine;
}

const row = (n: number) => `row${String(n).padStart(6, '0')}`;

async function fill(engine: EmbeddedEngine, from: number, to: number): Promise<void> {
  const puts = Array.from({ length: to - from }, (_, i) =>
    new Put(row(from + i)).addColumn('f', 'q', `v${from + i}`),
  );
  await engine.table('t').putAll(puts);
}

async function rowsOf(path: string): Promise<number> {
  await using engine = await openEmbedded(path, { background: 'inline', createIfMissing: false });
  await engine.verify();
  let count = 0;
  for await (const _ of engine.table('t').scan(new Scan())) count++;
  return count;
}

test('each backup is a store as of its moment, and copies what no earlier one has', async () => {
  await using engine = await openStore();
  await fill(engine, 0, 2000);
  await engine.admin.flush('t');
  const first = await engine.backup(folder);
  expect(first).toMatchObject({ name: '000001', added: first.bytes });
  await fill(engine, 2000, 2100);
  const second = await engine.backup(folder);
  expect(second.name).toBe('000002');
  const sorted = readdirSync(join(root, 'store')).filter((name) => name.endsWith('.sst'));
  const size = statSync(join(root, 'store', sorted[0]!)).size;
  expect(size).toBeGreaterThan(10_000);
  expect(second.added).toBeLessThanOrEqual(second.bytes - size);
  await engine.admin.majorCompact('t');
  await fill(engine, 2100, 2150);
  await engine.backup(folder);
  expect(await storeBackups(folder)).toMatchObject([first, second, { name: '000003' }]);
  expect(existsSync(join(root, 'store.backup'))).toBe(false);

  await restoreStore(folder, join(root, 'one'), { to: '000001' });
  await restoreStore(folder, join(root, 'two'), { to: new Date(second.time) });
  await restoreStore(folder, join(root, 'last'));
  expect(await Promise.all(['one', 'two', 'last'].map((name) => rowsOf(join(root, name))))).toEqual([
    2000, 2100, 2150,
  ]);
});

test('has every acknowledged write, beside writers, flushes and compactions', async () => {
  await using engine = await openStore();
  let written = 0;
  let ends = false;
  const writer = (async () => {
    while (!ends) {
      await fill(engine, written, written + 50);
      written += 50;
      if (written % 500 === 0) await engine.admin.flush('t');
      if (written % 2000 === 0) await engine.admin.majorCompact('t');
    }
  })();
  const known: number[] = [];
  for (let i = 0; i < scaled(3, 5, 5); i++) {
    const before = written + 500;
    while (written < before) await new Promise((resolve) => setImmediate(resolve));
    known.push(written);
    await engine.backup(folder);
  }
  ends = true;
  await writer;
  for (const [i, acknowledged] of known.entries()) {
    const path = join(root, `restored${i}`);
    await restoreStore(folder, path, { to: `00000${i + 1}` });
    expect(await rowsOf(path)).toBeGreaterThanOrEqual(acknowledged);
  }
  expect((await verifyStoreBackups(folder)).files).toBeGreaterThan(5);
});

test('of two stores in one folder each is restored as it was, also where their files have the same names', async () => {
  await using one = await openStore('one');
  await using two = await openStore('two');
  await one.table('t').put(new Put('r').addColumn('f', 'q', 'one'));
  await two.table('t').put(new Put('r').addColumn('f', 'q', 'two'));
  for (const engine of [one, two]) {
    await engine.admin.flush('t');
    await engine.backup(folder);
  }
  for (const [to, value] of [
    ['000001', 'one'],
    ['000002', 'two'],
  ] as const) {
    await restoreStore(folder, join(root, `restored-${value}`), { to });
    await using engine = await openEmbedded(join(root, `restored-${value}`), { background: 'inline' });
    expect((await engine.table('t').get(new Get('r'))).getValue('f', 'q')).toEqual(toBytes(value));
  }
});

test('a damaged or missing file is named when it is checked and when it is restored, and nothing is left', async () => {
  await using engine = await openStore();
  await fill(engine, 0, 1000);
  await engine.admin.flush('t');
  await engine.backup(folder);
  const files = readdirSync(join(folder, 'files'));
  const largest = files.sort(
    (a, b) => statSync(join(folder, 'files', b)).size - statSync(join(folder, 'files', a)).size,
  )[0]!;
  const saved = join(root, 'saved');
  cpSync(folder, saved, { recursive: true });
  writeFileSync(join(folder, 'files', largest), 'x', { flag: 'a' });
  rmSync(join(saved, 'files', largest));
  for (const [place, what] of [
    [folder, /has other contents/],
    [saved, /is missing/],
  ] as const) {
    await expect(verifyStoreBackups(place)).rejects.toThrow(what);
    const restoring = restoreStore(place, join(root, 'new'));
    await expect(restoring).rejects.toMatchObject({
      code: 'ERR_CORRUPTION',
      message: expect.stringMatching(what),
    });
    expect(readdirSync(root).filter((name) => name.startsWith('new'))).toEqual([]);
  }
  // A backup finds that the file in its place has another length, and stores it again.
  await engine.backup(folder);
  await verifyStoreBackups(folder);
});

test('prunes backups and what only they used', async () => {
  await using engine = await openStore();
  for (let i = 0; i < 4; i++) {
    await fill(engine, i * 100, i * 100 + 100);
    await engine.admin.majorCompact('t');
    await engine.backup(folder);
  }
  const before = readdirSync(join(folder, 'files')).length;
  expect((await pruneStoreBackups(folder, { keep: 2 })).map(({ name }) => name)).toEqual([
    '000001',
    '000002',
  ]);
  expect(readdirSync(join(folder, 'files')).length).toBeLessThan(before);
  await restoreStore(folder, join(root, 'third'), { to: '000003' });
  expect(await rowsOf(join(root, 'third'))).toBe(300);
  expect((await engine.backup(folder)).name).toBe('000005');
  await expect(pruneStoreBackups(folder, { keep: 0 })).rejects.toThrow(/1 or more, not 0/);
});

test('what a killed or aborted backup left is no backup, and the next one goes on', async () => {
  await using engine = await openStore();
  await fill(engine, 0, 1000);
  await engine.admin.flush('t');
  const controller = new AbortController();
  let copied = 0;
  // The first file is the log, which the next backup finds changed: it has a mark then. The second is the table's.
  const onProgress = (): void => {
    if (++copied === 2) controller.abort();
  };
  const aborted = engine.backup(folder, { signal: controller.signal, onProgress });
  await expect(aborted).rejects.toMatchObject({ code: 'ERR_ABORTED' });
  expect(await storeBackups(folder)).toEqual([]);
  await engine.checkpoint(join(root, 'checkpoint'));
  mkdirSync(join(root, 'store.backup'));
  cpSync(join(root, 'checkpoint'), join(root, 'store.backup', 'store'), { recursive: true });
  writeFileSync(join(folder, 'files', 'partial'), 'half of a file');
  const { added, bytes } = await engine.backup(folder);
  expect(added).toBeLessThan(bytes);
  await verifyStoreBackups(folder);
});

test('a backup and a restore are aborted within a file, tell of each 64 MiB, and leave nothing', async () => {
  await using engine = await openStore();
  const table = engine.table('t');
  const value = Buffer.alloc(5 << 20, 'x');
  for (let n = 0; n < 14; n++) await table.put(new Put(row(n)).addColumn('f', 'q', value));
  await engine.admin.flush('t');
  const abortAt = (part: number) => {
    const controller = new AbortController();
    const onProgress = ({ bytes, total }: { bytes: number; total: number }): void => {
      if (bytes > total * part && bytes < total * 0.97) controller.abort();
    };
    return { signal: controller.signal, onProgress };
  };
  await expect(engine.backup(folder, abortAt(0.5))).rejects.toMatchObject({ code: 'ERR_ABORTED' });
  expect(readdirSync(join(folder, 'files')).filter((name) => name === 'partial')).toEqual([]);
  expect(await storeBackups(folder)).toEqual([]);
  const seen: number[] = [];
  const { bytes } = await engine.backup(folder, { onProgress: (progress) => seen.push(progress.bytes) });
  expect([seen.at(-1), seen.length > readdirSync(join(folder, 'files')).length]).toEqual([bytes, true]);
  const copy = join(root, 'copy');
  const restore = restoreStore(folder, copy, abortAt(0.5));
  await expect(restore).rejects.toMatchObject({ code: 'ERR_ABORTED', message: 'The restore was aborted.' });
  expect([existsSync(copy), existsSync(`${copy}.partial`)]).toEqual([false, false]);
  await restoreStore(folder, copy);
  expect(await rowsOf(copy)).toBe(14);
});

test('refuses folders that are something else, two backups at once, and stores without files', async () => {
  await using engine = await openStore();
  await fill(engine, 0, 10);
  await expect(engine.backup(join(root, 'store'))).rejects.toThrow(
    /holds no backups of stores, and is not empty/,
  );
  mkdirSync(join(root, 'disk', 'lost+found'), { recursive: true });
  await engine.backup(join(root, 'disk'));
  await expect(storeBackups(root)).rejects.toThrow(/has no file ROWAN-BACKUPS/);
  writeFileSync(join(root, 'file'), '');
  await expect(engine.backup(join(root, 'file', 'in'))).rejects.toMatchObject({ code: 'ERR_IO' });
  await expect(restoreStore(folder, join(root, 'new'))).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
  });
  const both = await Promise.allSettled([engine.backup(folder), engine.backup(join(root, 'others'))]);
  expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect((both[1] as PromiseRejectedResult).reason).toMatchObject({ code: 'ERR_BUSY' });
  await expect(restoreStore(folder, join(root, 'store'))).rejects.toThrow(/exists already/);
  await expect(restoreStore(folder, join(root, 'new'), { to: new Date(0) })).rejects.toThrow(
    /no backup of 1970-01-01T00:00:00.000Z or before. It has: 000001/,
  );
  writeFileSync(join(folder, 'backups', '000002.json'), '{"name":"../../x"}');
  await expect(storeBackups(folder)).rejects.toMatchObject({ code: 'ERR_CORRUPTION' });
  mkdirSync(join(root, 'store.backup'));
  writeFileSync(join(root, 'store.backup', 'mine'), '');
  await expect(engine.backup(join(root, 'more'))).rejects.toThrow(
    /in use by something else \("mine" in it\)/,
  );
  await using memory = await openEmbedded('/memory', {
    fileSystem: new MemoryFileSystem(),
    background: 'inline',
  });
  await expect(memory.backup(join(root, 'memory'))).rejects.toMatchObject({ code: 'ERR_UNSUPPORTED' });
});
