/** A log that is larger than the memory that a store may take for its writes is replayed in turns, and flushed meanwhile. */

import { expect, test } from 'vitest';
import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import type { StoreEvent } from '../../../src/store/events.js';
import type { EmbeddedOptions } from '../../../src/store/options.js';
import { Delete, Put, tableDescriptor } from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { scaled } from '../../proof/scale.js';
import { contents, turnsFromNow } from '../engine/support.js';
import { FaultFileSystem } from '../fs/fault-fs.js';

const LIMIT = 32 * 1024;
/** A family is never flushed by its own size before all families together are. */
const SMALL: EmbeddedOptions = {
  memstoreLimit: LIMIT,
  memstoreFlushSize: LIMIT,
  maxWalSegments: 1,
  background: 'inline',
};
const ROWS = 400;

const kill = (files: MemoryFileSystem, onOperation?: () => void): MemoryFileSystem =>
  files.crash({ keepUnsynced: 1, random: () => 0 }, onOperation === undefined ? {} : { onOperation });

async function both(engine: EmbeddedEngine): Promise<string[]> {
  return [...(await contents(engine.table('t'))), ...(await contents(engine.table('u')))];
}

/** A store that was killed when 20 segments of its log had writes that were in no file, and what it held. */
async function killed(): Promise<{ disk: MemoryFileSystem; held: string[] }> {
  const files = new MemoryFileSystem();
  const engine = await openEmbedded('/db', { fileSystem: files, automatic: false, walSegmentSize: 8 * 1024 });
  await engine.admin.createTable(tableDescriptor('t', { f: {}, g: {} }), [Buffer.from('r2')]);
  await engine.admin.createTable(tableDescriptor('u', { f: {} }));
  const [t, u] = [engine.table('t'), engine.table('u')];
  const filled = 'v'.repeat(300);
  for (let i = 0; i < ROWS; i++) {
    const row = `r${(i * 7) % 100}`;
    await t.put(new Put(row).addColumn('f', 'q', `${i} ${filled}`).addColumn('g', `${i}`, `${i}`));
    // Puts that a marker of a row hides, which was written before them.
    if (i % 9 === 0) await t.delete(new Delete(row));
    if (i % 5 === 0) await u.put(new Put(`u${i}`).addColumn('f', 'q', `${i}`));
    if (i === 100) await engine.admin.flush('u');
  }
  const held = await both(engine);
  const disk = kill(files);
  await engine.close();
  return { disk, held };
}

function snapshot(files: MemoryFileSystem): string[] {
  const names = files.readdir('/db').filter((name) => !name.startsWith('LOCK'));
  return names.map((name) => `${name} ${Buffer.from(files.contents(`/db/${name}`)).toString('base64')}`);
}

test('memory stays within its limit, other work has its turns, and every write is there', async () => {
  const { disk, held } = await killed();
  const log = disk.readdir('/db').filter((name) => name.endsWith('.wal'));
  const bytes = log.reduce((sum, name) => sum + disk.contents(`/db/${name}`).length, 0);
  expect(bytes).toBeGreaterThan(4 * LIMIT);
  const turns = turnsFromNow();
  const events: StoreEvent[] = [];
  const options = { ...SMALL, fileSystem: disk, onEvent: (event: StoreEvent) => events.push(event) };
  const engine = await openEmbedded('/db', options);
  // All of the log is read once, and most of it twice.
  expect(turns()).toBeGreaterThan(bytes / (LIMIT / 8));
  const flushes = events.flatMap((event) => (event.kind === 'flushBegin' ? [event.bytes] : []));
  expect(flushes.length).toBeGreaterThan(bytes / LIMIT / 2);
  for (const each of flushes) expect(each).toBeLessThan(1.5 * LIMIT);
  // What is hidden may be dropped, and segments of the log, only when all writes are there.
  expect(events.map(({ kind }) => kind)).not.toContain('compactionEnd');
  expect(await both(engine)).toEqual(held);
  await engine.close();
  const again = await openEmbedded('/db', { fileSystem: disk, automatic: false });
  expect(await both(again)).toEqual(held);
  await again.close();
});

test('damage at the end of such a log is found before anything is changed', async () => {
  const { disk } = await killed();
  const last = disk
    .readdir('/db')
    .filter((name) => name.endsWith('.wal'))
    .at(-2)!;
  const content = disk.contents(`/db/${last}`);
  content[content.length - 40]! ^= 1;
  const before = snapshot(disk);
  await expect(openEmbedded('/db', { ...SMALL, fileSystem: disk })).rejects.toMatchObject({
    code: 'ERR_CORRUPTION',
  });
  expect(snapshot(disk)).toEqual(before);
});

test('whatever a crash of such an opening leaves has every write', async () => {
  const { disk, held } = await killed();
  const crashes: MemoryFileSystem[] = [];
  let operations = 0;
  const every = scaled(29, 5, 1);
  const running = kill(disk, () => {
    if (operations++ % every !== 0) return;
    crashes.push(kill(running), running.crash({ keepUnsynced: 0, random: () => 0 }));
  });
  const engine = await openEmbedded('/db', { ...SMALL, fileSystem: running });
  await engine.close();
  expect(crashes.length).toBeGreaterThan(scaled(10, 50, 250));
  for (const [at, crash] of crashes.entries()) {
    const options = at % 4 < 2 ? SMALL : { automatic: false };
    const found = await openEmbedded('/db', { ...options, fileSystem: crash });
    expect(await both(found), `crash ${at}`).toEqual(held);
    await found.close();
  }
});

test('where memory cannot be flushed, as on a full disk, the log is kept in memory', async () => {
  const { disk, held } = await killed();
  const faults = new FaultFileSystem(disk);
  faults.inject({ calls: ['create'], path: /\.sst/, errno: 'ENOSPC', times: Number.POSITIVE_INFINITY });
  const events: StoreEvent[] = [];
  const onEvent = (event: StoreEvent): unknown => events.push(event);
  const engine = await openEmbedded('/db', { ...SMALL, fileSystem: faults, onEvent });
  // Each of the five families is tried once at most, and again when the store is open.
  const failures = events.filter(({ kind }) => kind === 'backgroundError').length;
  expect(failures).toBeGreaterThan(0);
  expect(failures).toBeLessThanOrEqual(10);
  expect(await both(engine)).toEqual(held);
  await engine.close();
});
