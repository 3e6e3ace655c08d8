/** A store that was closed completely: it is opened and read without a write, and its log and MANIFEST begin with the first change. */

import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openEmbedded } from '../../../src/store/engine.js';
import type { StoreEvent } from '../../../src/store/events.js';
import type { EmbeddedOptions } from '../../../src/store/options.js';
import { openReadOnly } from '../../../src/store/read-only/read-only-store.js';
import { Get, Scan } from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { contents, createTable, put, readValue, withFolder } from '../engine/support.js';
import { FaultFileSystem } from '../fs/fault-fs.js';

const OPTIONS = { automatic: false } as const;
const kill = (files: MemoryFileSystem): MemoryFileSystem => files.crash({ keepUnsynced: 1, random: () => 0 });

/** A store with a row, closed; in files (`flush`) or in the log. */
async function closed(files: MemoryFileSystem, flush = true): Promise<void> {
  const engine = await openEmbedded('/db', { fileSystem: files, ...OPTIONS });
  const table = await createTable(engine);
  await table.put(put('a', '1'));
  if (flush) await engine.admin.flush('t');
  await engine.close();
}

function images(files: MemoryFileSystem): Record<string, string> {
  const names = files.readdir('/db').sort();
  return Object.fromEntries(
    names.map((name) => [name, Buffer.from(files.contents(`/db/${name}`)).toString('base64')]),
  );
}

/** Every file of a folder, but the one that names the opener: its bytes and the time of its last change. */
function folderOf(path: string): Record<string, string> {
  const names = readdirSync(path)
    .filter((name) => name !== 'LOCK')
    .sort();
  return Object.fromEntries(
    names.map((name) => {
      const file = join(path, name);
      const hash = createHash('sha256').update(readFileSync(file)).digest('hex');
      return [name, `${hash} ${statSync(file, { bigint: true }).mtimeNs}`];
    }),
  );
}

test.each([
  ['in files', {}],
  ['in the log', { flushOnClose: false }],
] as const)('a store that is opened, read and closed leaves its folder as it was (writes %s)', (_, more) =>
  withFolder(async (folder) => {
    const path = join(folder, 'db');
    const options: EmbeddedOptions = more;
    const first = await openEmbedded(path, options);
    await (await createTable(first)).put(put('a', '1'));
    await first.close();
    const before = folderOf(path);
    for (let i = 0; i < 3; i++) {
      const engine = await openEmbedded(path, options);
      expect(await readValue(engine.table('t'), 'a')).toBe('1');
      expect(await contents(engine.table('t'), new Scan())).toEqual(['a f:q=1']);
      await engine.verify();
      expect(engine.stats().tables.length).toBe(1);
      await engine.close();
      expect(folderOf(path)).toEqual(before);
    }
  }),
);

test('opening and reading make no call that changes anything, and the first change begins log and MANIFEST', async () => {
  const calls: string[] = [];
  const files: MemoryFileSystem = new MemoryFileSystem({ onOperation: ({ call }) => calls.push(call) });
  await closed(files);
  const before = images(files);
  calls.length = 0;
  const engine = await openEmbedded('/db', { fileSystem: files, ...OPTIONS });
  expect(await readValue(engine.table('t'), 'a')).toBe('1');
  expect(calls).toEqual([]);
  await engine.table('t').put(put('b', '2'));
  expect(calls.length).toBeGreaterThan(0);
  // A process that is killed here has lost nothing; one that was killed before had nothing to lose.
  const again = await openEmbedded('/db', { fileSystem: kill(files), ...OPTIONS });
  expect(await contents(again.table('t'))).toEqual(['a f:q=1', 'b f:q=2']);
  await again.close();
  await engine.close();
  expect(images(files)).not.toEqual(before);
});

test('a process that is killed before its first change leaves a clean store', async () => {
  const files = new MemoryFileSystem();
  await closed(files);
  const engine = await openEmbedded('/db', { fileSystem: files, ...OPTIONS });
  const left = kill(files);
  await engine.close();
  const before = images(left);
  const again = await openEmbedded('/db', { fileSystem: left, ...OPTIONS });
  expect(await readValue(again.table('t'), 'a')).toBe('1');
  expect(images(left)).toEqual(before);
  await again.close();
});

test('what a crash left over is removed by the opening itself', async () => {
  for (const leftover of ['000099.sst', '000099.wal', 'MANIFEST-000099', 'CURRENT.tmp', 'CHECKPOINT']) {
    const files = new MemoryFileSystem();
    await closed(files);
    files.place(`/db/${leftover}`, new Uint8Array(0));
    const engine = await openEmbedded('/db', { fileSystem: files, ...OPTIONS });
    expect(files.readdir('/db'), leftover).not.toContain(leftover);
    await engine.close();
  }
});

test('a disk that fails while the log begins refuses the change, and the next one is tried anew', async () => {
  let refused = 0;
  let readOnly = 0;
  for (let after = 0; ; after++) {
    const disk = new MemoryFileSystem();
    await closed(disk, false);
    const files = new FaultFileSystem(disk);
    const engine = await openEmbedded('/db', { fileSystem: files, ...OPTIONS });
    const table = engine.table('t');
    files.inject({ after, errno: 'ENOSPC', calls: ['create', 'write', 'sync', 'rename', 'syncDirectory'] });
    const first = await table.put(put('b', '2')).then(
      () => 'written',
      (error) => error.code,
    );
    files.clear();
    if (files.failures === 0) {
      expect(first).toBe('written');
      await engine.close();
      break;
    }
    expect(await contents(table)).toEqual(first === 'written' ? ['a f:q=1', 'b f:q=2'] : ['a f:q=1']);
    refused++;
    const second = await table.put(put('c', '3')).then(
      () => 'written',
      (error) => error.code,
    );
    // Once CURRENT was being replaced it is unknown which MANIFEST stands: then nothing more is written.
    if (second !== 'written') {
      expect(second).toBe('ERR_READONLY');
      readOnly++;
    }
    for (const keepUnsynced of [0, 1]) {
      const left = disk.crash({ keepUnsynced, random: () => 0 });
      const again = await openEmbedded('/db', { fileSystem: left, ...OPTIONS });
      const rows = await contents(again.table('t'));
      expect(rows[0]).toBe('a f:q=1');
      if (second === 'written') expect(rows).toContain('c f:q=3');
      await again.close();
    }
    await engine.close().catch(() => undefined);
    expect(disk.openHandles).toBe(0);
  }
  expect(refused).toBeGreaterThan(6);
  expect(readOnly).toBeGreaterThan(1);
  expect(readOnly).toBeLessThan(refused);
});

test('readers beside a writer that has written nothing see the store, and then its first change', () =>
  withFolder(async (folder) => {
    const path = join(folder, 'db');
    const options: EmbeddedOptions = { background: 'inline', flushOnClose: false };
    const first = await openEmbedded(path, options);
    await (await createTable(first)).put(put('a', '1'));
    await first.close();
    const writer = await openEmbedded(path, options);
    const reader = await openReadOnly(path);
    expect(await contents(reader.table('t'))).toEqual(['a f:q=1']);
    await reader.refresh();
    await writer.table('t').put(put('b', '2'));
    await reader.refresh();
    expect(await contents(reader.table('t'))).toEqual(['a f:q=1', 'b f:q=2']);
    await writer.close();
    await reader.refresh();
    expect(await contents(reader.table('t'))).toEqual(['a f:q=1', 'b f:q=2']);
    await reader.close();
  }));

test('a checkpoint of a store that was not changed opens by itself, and the store stays as it was', () =>
  withFolder(async (folder) => {
    const path = join(folder, 'db');
    mkdirSync(path);
    const options: EmbeddedOptions = { background: 'inline', flushOnClose: false };
    const first = await openEmbedded(path, options);
    await (await createTable(first)).put(put('a', '1'));
    await first.close();
    const before = folderOf(path);
    const engine = await openEmbedded(path, options);
    await engine.checkpoint(join(folder, 'copy'));
    await engine.close();
    expect(folderOf(path)).toEqual(before);
    await using copy = await openEmbedded(join(folder, 'copy'), { ...options, createIfMissing: false });
    expect(await contents(copy.table('t'))).toEqual(['a f:q=1']);
  }));

test('a clock that was ahead is reported by an opening that writes nothing', async () => {
  const files = new MemoryFileSystem();
  let now = 2_000_000_000_000;
  const events: StoreEvent[] = [];
  const options: EmbeddedOptions = {
    fileSystem: files,
    ...OPTIONS,
    clock: () => now,
    onEvent: (event) => events.push(event),
  };
  const first = await openEmbedded('/db', options);
  await (await createTable(first)).put(put('a', '1'));
  await first.close();
  now -= 1_000_000_000;
  const engine = await openEmbedded('/db', options);
  expect(events).toContainEqual(expect.objectContaining({ kind: 'clockAhead', milliseconds: 1_000_000_000 }));
  // Times go on from the greatest that was assigned, also after a kill.
  await engine.table('t').put(put('b', '2'));
  const again = await openEmbedded('/db', { ...options, fileSystem: kill(files) });
  const [cell] = (await again.table('t').get(new Get('b'))).cells;
  expect(cell!.timestamp).toBeGreaterThanOrEqual(2_000_000_000_000);
  await again.close();
  await engine.close();
});
