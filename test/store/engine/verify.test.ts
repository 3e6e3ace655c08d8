/** Verifying a store beside reads and writes: rate, pauses, progress, end. */

import { afterEach, expect, test, vi } from 'vitest';
import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import type { StoreEvent } from '../../../src/store/events.js';
import { Put, tableDescriptor } from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { scaled } from '../../proof/scale.js';

afterEach(() => {
  vi.useRealTimers();
});

const FILES = 3;
const VALUE = 'v'.repeat(1000);

async function store(
  files = new MemoryFileSystem(),
  onEvent: (event: StoreEvent) => void = () => {},
  rows = 1500,
): Promise<EmbeddedEngine> {
  const engine = await openEmbedded('/s', { fileSystem: files, automatic: false, onEvent });
  await engine.admin.createTable(tableDescriptor('t', { f: {} }));
  for (let file = 0; file < FILES; file++) {
    const puts = Array.from({ length: rows }, (_, n) => new Put(`row${n}`).addColumn('f', `q${file}`, VALUE));
    await engine.table('t').putAll(puts);
    await engine.admin.flush('t');
  }
  return engine;
}

/** Until everything that can go on without the clock has. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
}

test('progress rises to all files and bytes; its end is an event and a metric', async () => {
  const events: string[] = [];
  const engine = await store(undefined, ({ kind }) => events.push(kind));
  const seen: number[] = [];
  const report = await engine.verify({ onProgress: ({ bytes, ofBytes }) => seen.push(bytes / ofBytes) });
  expect(report).toMatchObject({ files: FILES, cells: FILES * 1500 });
  expect(seen.length).toBeGreaterThan(2 * FILES);
  expect(seen).toEqual([...seen].sort((a, b) => a - b));
  expect(seen.at(-1)).toBeLessThan(1);
  expect(events.filter((kind) => kind === 'verifyEnd')).toHaveLength(1);
  const metrics = new Map(engine.metrics().map(({ name, value }) => [name, value]));
  expect(metrics.get('rowan.store.verify.runs')).toBe(1);
  expect(metrics.get('rowan.store.verify.faults')).toBe(0);
  await engine.close();
});

test('a rate is kept, a pause does not lead to a burst, and a store can be used meanwhile', async () => {
  const engine = await store();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  let steps = 0;
  // A step has at most half a MiB and a block: at most one begins each second, besides the first.
  const verification = engine.startVerify({ bytesPerSecond: 512 * 1024, onProgress: () => steps++ });
  const after = async (seconds: number): Promise<number> => {
    for (let n = 0; n < seconds * 5; n++) {
      await vi.advanceTimersByTimeAsync(200);
      await settle();
    }
    return steps;
  };
  await settle();
  expect(steps).toBe(1);
  const three = await after(3);
  expect(three).toBeGreaterThanOrEqual(2);
  expect(three).toBeLessThanOrEqual(4);
  verification.pause();
  const paused = await after(20);
  expect(paused).toBeLessThanOrEqual(three + 1);
  await engine.table('t').put(new Put('meanwhile').addColumn('f', 'q', 'x'));
  verification.resume();
  await settle();
  const resumed = await after(2);
  expect(resumed).toBeGreaterThan(paused);
  expect(resumed).toBeLessThanOrEqual(paused + 4);
  expect(verification.progress).toMatchObject({ ofFiles: FILES });
  await after(60);
  await expect(verification.done).resolves.toMatchObject({ files: FILES, cells: FILES * 1500 });
  vi.useRealTimers();
  await engine.close();
});

test('stop, and the close of the store, end it; files that were replaced are let go', async () => {
  const disk = new MemoryFileSystem();
  const engine = await store(disk, undefined, scaled(100, 1500, 1500));
  const stopped = engine.startVerify({ bytesPerSecond: 1 });
  stopped.pause();
  stopped.stop();
  await expect(stopped.done).rejects.toMatchObject({ code: 'ERR_ABORTED' });
  const sorted = (): number => disk.readdir('/s').filter((name) => name.endsWith('.sst')).length;
  await engine.admin.majorCompact('t');
  expect(sorted()).toBe(1);
  const closed = engine.startVerify({ bytesPerSecond: 1 });
  await engine.close();
  await expect(closed.done).rejects.toMatchObject({ code: 'ERR_CLOSED' });
});

test('damage is an error, an event and a metric', async () => {
  const disk = new MemoryFileSystem();
  const events: StoreEvent[] = [];
  const engine = await store(disk, (event) => events.push(event), scaled(100, 1500, 1500));
  const name = disk.readdir('/s').find((each) => each.endsWith('.sst'))!;
  const bytes = disk.contents(`/s/${name}`);
  bytes[bytes.length >> 1]! ^= 1;
  await expect(engine.verify()).rejects.toMatchObject({
    code: 'ERR_CORRUPTION',
    details: { file: `/s/${name}` },
  });
  expect(events.filter(({ kind }) => kind === 'corruption')).toHaveLength(1);
  const faults = engine.metrics().find((metric) => metric.name === 'rowan.store.verify.faults');
  expect(faults?.value).toBe(1);
  await engine.close();
});

test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, '1'])('a rate of %s is refused', async (rate) => {
  const engine = await openEmbedded('/s', { fileSystem: new MemoryFileSystem() });
  expect(() => engine.startVerify({ bytesPerSecond: rate as number })).toThrow(
    /bytesPerSecond is a number above 0/,
  );
  await engine.close();
});
