/** Scans by several threads give what a scan by one gives, whatever happens beside; and they end when something fails. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { toHex, toLatin1 } from '../../../src/bytes/index.js';
import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import type { EmbeddedOptions } from '../../../src/store/options.js';
import {
  filters,
  Put,
  RawRow,
  Scan,
  type ScannedRange,
  type SyncTable,
  type ThreadedScanner,
  type ThreadedScanOptions,
  tableDescriptor,
} from '../../../src/table/index.js';
import { fromMiddle } from '../../proof/scale.js';
import { change } from '../read-only/random-store.js';

const ALL: readonly ScannedRange[] = [{ start: new Uint8Array(0), stop: new Uint8Array(0) }];

async function withStore(
  options: EmbeddedOptions,
  body: (engine: EmbeddedEngine, folder: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-threads-'));
  const engine = await openEmbedded(join(folder, 'store'), options);
  try {
    await body(engine, folder);
  } finally {
    await engine.close();
    rmSync(folder, { recursive: true });
  }
}

function scanInThreads(
  table: SyncTable,
  scan: Scan = new Scan(),
  ranges: readonly ScannedRange[] = ALL,
  options: ThreadedScanOptions = { threads: 2 },
): ThreadedScanner {
  return table.scanInThreads!(scan, ranges, options)!;
}

function lineOf(raw: RawRow): string {
  const cells = Array.from(
    { length: raw.count },
    (_, i) =>
      `${raw.families[i]}:${toHex(raw.qualifiers[i]!)} ${raw.timestamps[i]} ${toLatin1(raw.valueAt(i))}`,
  );
  return [toHex(raw.row), ...cells].join(' ');
}

/** The rows, read in this thread. */
function readHere(table: SyncTable, scan: Scan, ranges: readonly ScannedRange[]): string[] {
  const lines: string[] = [];
  for (const { start, stop } of ranges) {
    const scanner = table.scanSync(scan.copy().withStartRow(start).withStopRow(stop));
    for (const raw = new RawRow(); scanner.nextRaw!(raw); ) lines.push(lineOf(raw));
  }
  return lines;
}

async function readAll(scanner: ThreadedScanner): Promise<string[]> {
  const lines: string[] = [];
  for (const raw = new RawRow(); await scanner.next(raw); ) lines.push(lineOf(raw));
  return lines;
}

/** A sequence of numbers in [0, 1) that a seed determines. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function randomScan(random: () => number): Scan {
  const scan = new Scan();
  const kind = Math.floor(random() * 6);
  if (kind === 1) scan.addFamily('a');
  if (kind === 2) scan.addColumn('a', 'x').addColumn('a', 'n');
  if (kind === 3) scan.readVersions(2);
  if (kind === 4) scan.setFilter(filters.singleColumnValue('a', 'x', 'GREATER', '3'));
  if (kind === 5) scan.setFilter(filters.all(filters.prefix('r1'), filters.qualifier('EQUAL', 'x')));
  if (random() < 0.2) scan.setTimeRange(0, 1_700_000_000_000 + Math.floor(random() * 1000));
  return scan;
}

function randomRanges(random: () => number): readonly ScannedRange[] {
  if (random() < 0.4) return ALL;
  const rows = Array.from({ length: 4 }, () => `r${Math.floor(random() * 40)}`).sort();
  const range = (from: number): ScannedRange => ({
    start: Buffer.from(rows[from]!),
    stop: Buffer.from(rows[from + 1]!),
  });
  return rows[0] === rows[1] || rows[2] === rows[3] ? [range(0)] : [range(0), range(2)];
}

/** Rows enough for several parts, of which some are in files, some in memory, and some expire. */
async function fill(engine: EmbeddedEngine, name: string, rows: number): Promise<SyncTable> {
  await engine.admin.createTable(tableDescriptor(name, { a: { blockSize: 4096 }, b: { ttl: 60 } }));
  const table = engine.table(name);
  const value = Buffer.alloc(150, 7);
  for (const round of [0, 1, 2]) {
    const puts: Put[] = [];
    for (let i = round; i < rows; i += 2 + round) {
      const put = new Put(`row${String(i).padStart(6, '0')}`);
      for (const column of ['x', 'y', `own${i % 97}`]) put.addColumn('a', column, value);
      puts.push(i % 5 === 0 ? put.addColumn('b', 'z', `${i}`) : put);
    }
    await table.putAll(puts);
    if (round < 2) await engine.admin.flush(name);
  }
  return table;
}

test('random scans of random stores are equal, though the store is changed before they are read', () => {
  const random = randomOf(20261126);
  let now = 1_700_000_000_000;
  const options = { clock: () => now, automatic: false };
  return withStore(options, async (engine) => {
    for (let step = 0; step < fromMiddle(600, 5000); step++) {
      await change(engine, random, step);
      now += Math.floor(random() * 20);
      const table = engine.table('t');
      if (!(await engine.admin.tableExists('t')) || !(await engine.admin.isTableEnabled('t'))) continue;
      const expiring = new Put(`r${step % 40}`).addColumn('a', 'x', 'short').setTtl(100);
      if (step % 7 === 0) await table.put(expiring);
      if (step % 3 > 0) continue;
      const scan = randomScan(random);
      const ranges = randomRanges(random);
      const expected = readHere(table, scan, ranges);
      const scanner = scanInThreads(table, scan, ranges, { threads: 1 + (step % 3) });
      const counting = scanInThreads(table, scan, ranges);
      await table.put(new Put('r20').addColumn('a', 'x', `late ${step}`));
      await engine.admin.flush('t');
      if (step % 2 === 0) await engine.admin.majorCompact('t');
      expect(await readAll(scanner), `step ${step}`).toEqual(expected);
      expect((await counting.count()).rows).toBe(expected.length);
    }
  });
});

test('many parts and packets come in the order of the rows; of two scans each goes on while the other is not read', () => {
  let now = Date.now();
  return withStore({ clock: () => now }, async (engine) => {
    const table = await fill(engine, 't', fromMiddle(30_000, 100_000));
    now += 61_000;
    const expected = readHere(table, new Scan(), ALL);
    const halves = [
      {
        start: Buffer.from(fromMiddle('row003', 'row003')),
        stop: Buffer.from(fromMiddle('row0045', 'row0045')),
      },
      { start: Buffer.from('row0000'), stop: Buffer.from(fromMiddle('row002', 'row002')) },
    ];
    const [first, second] = [scanInThreads(table), scanInThreads(table)];
    expect(await first.next(new RawRow())).toBe(true);
    expect(await readAll(second)).toEqual(expected);
    expect(await readAll(first)).toEqual(expected.slice(1));
    expect(await readAll(scanInThreads(table, new Scan(), halves, { threads: 3 }))).toEqual(
      readHere(table, new Scan(), halves),
    );
    const { rows, bytes } = await scanInThreads(table).count();
    expect(rows).toBe(expected.length);
    expect(bytes).toBe(3 * 150 * expected.length);
    expect(engine.stats().openScanners).toBe(0);
  });
});

test('blocks in the cache are read by threads in its memory, not from the disk', () =>
  withStore({ automatic: false }, async (engine, folder) => {
    const table = await fill(engine, 't', 600);
    await engine.admin.flush('t');
    const expected = readHere(table, new Scan(), ALL);
    for (const name of readdirSync(join(folder, 'store')).filter((file) => file.endsWith('.sst'))) {
      const file = join(folder, 'store', name);
      const bytes = readFileSync(file);
      bytes.fill(1, 100, 1000);
      writeFileSync(file, bytes);
    }
    expect(await readAll(scanInThreads(table))).toEqual(expected);
    expect((await scanInThreads(table).count()).rows).toBe(expected.length);
    expect(readHere(table, new Scan(), ALL)).toEqual(expected);
  }));

test('memory of cached blocks is not used again while threads read them', () =>
  withStore({ blockCacheSize: 1 << 19, automatic: false }, async (engine) => {
    const [table, other] = [await fill(engine, 't', 2500), await fill(engine, 'u', 2500)];
    for (const name of ['t', 'u']) await engine.admin.flush(name);
    const expected = readHere(table, new Scan(), ALL);
    const first = { start: new Uint8Array(0), stop: Buffer.from('row0006') };
    for (let round = 0; round < fromMiddle(20, 200); round++) {
      readHere(table, new Scan(), [first]);
      let reading = true;
      const rows = readAll(scanInThreads(table)).finally(() => (reading = false));
      while (reading) {
        readHere(other, new Scan(), [{ start: Buffer.from('row001'), stop: new Uint8Array(0) }]);
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(await rows).toEqual(expected);
    }
  }));

test('an encrypted store is read by threads too', () => {
  const encryption = { keyId: 'k', key: () => Buffer.alloc(32, 1) };
  return withStore({ encryption }, async (engine) => {
    const table = await fill(engine, 't', 500);
    expect(await readAll(scanInThreads(table))).toEqual(readHere(table, new Scan(), ALL));
  });
});

test('scans that threads cannot read are left to the caller', () =>
  withStore({}, async (engine) => {
    const table = await fill(engine, 't', 10);
    const asks = (scan: Scan): unknown => table.scanInThreads!(scan, ALL, { threads: 2 });
    expect(asks(new Scan().setLimit(3))).toBeUndefined();
    expect(asks(new Scan().setReversed(true))).toBeUndefined();
    expect(asks(new Scan().setRaw(true))).toBeUndefined();
    expect(asks(new Scan().setFilter(filters.page(3)))).toBeUndefined();
    expect(asks(new Scan().setFilter(filters.all(filters.random(0.5))))).toBeUndefined();
    expect(() => asks(new Scan().addFamily('none'))).toThrow(/has no family/);
  }));

test('without worker threads there are none', () =>
  withStore({ background: 'inline' }, async (engine) => {
    const table = await fill(engine, 't', 10);
    expect(table.scanInThreads!(new Scan(), ALL, { threads: 2 })).toBeUndefined();
  }));

test('an aborted scan ends with ERR_ABORTED, also one that is counted', () =>
  withStore({}, async (engine) => {
    const table = await fill(engine, 't', 2000);
    const abort = new AbortController();
    const options = { threads: 2, signal: abort.signal };
    const [read, counted] = [
      scanInThreads(table, new Scan(), ALL, options),
      scanInThreads(table, new Scan(), ALL, options),
    ];
    const failures = [readAll(read), counted.count()];
    abort.abort();
    for (const failure of failures) await expect(failure).rejects.toMatchObject({ code: 'ERR_ABORTED' });
    expect(() => scanInThreads(table, new Scan(), ALL, options)).toThrow(
      expect.objectContaining({ code: 'ERR_ABORTED' }),
    );
    expect(engine.stats().openScanners).toBe(0);
  }));

test('closing the store ends its scans', () =>
  withStore({}, async (engine) => {
    const table = await fill(engine, 't', 2000);
    const scans = [scanInThreads(table), scanInThreads(table), scanInThreads(table)] as const;
    expect(await scans[0].next(new RawRow())).toBe(true);
    const columns = { by: [], values: [] };
    // Closed in the turn in which the last two begin.
    const failures = [scans[1].count(), scans[2].groups(columns, () => {}), readAll(scans[0])].map(
      (reading) => expect(reading).rejects.toMatchObject({ code: 'ERR_CLOSED' }),
    );
    await engine.close();
    await Promise.all(failures);
  }));

test('threads that are faster than the consumer get equally many parts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-threads-'));
  const workerPath = join(folder, 'worker.mjs');
  // Answers each part at once: with one row, which names the thread, or where rows are counted with none.
  writeFileSync(
    workerPath,
    `import { parentPort, threadId } from 'node:worker_threads';
     parentPort.on('message', ({ scan, part, packets, close }) => {
       const send = (reply) => parentPort.postMessage({ scan, ...reply });
       if (close) send({ closed: true });
       if (part === undefined) return;
       const bytes = Uint8Array.of(threadId);
       const heads = Int32Array.of(-1, 1, 0);
       const packed = { rows: 1, shapes: [], families: [], heads, timestamps: new Float64Array(0), bytes };
       if (packets > 0) send({ part, packed });
       send({ part, counted: { rows: 0, bytes: 0 } });
     });`,
  );
  try {
    await withStore({ workerPath, automatic: false }, async (engine) => {
      const table = await fill(engine, 't', 4000);
      const given = new Map<number, number>();
      const scanner = scanInThreads(table);
      for (const raw = new RawRow(); await scanner.next(raw); ) {
        const thread = raw.row[0]!;
        given.set(thread, (given.get(thread) ?? 0) + 1);
        // Both threads answer this behind all parts that they were given.
        await scanInThreads(table).count();
      }
      const [first, second] = [...given.values()] as [number, number];
      expect(given.size).toBe(2);
      expect(first + second).toBeGreaterThan(10);
      expect(Math.abs(first - second)).toBeLessThan(3);
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a thread that ends fails its scans as ones to be tried again; memory and files are released', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-threads-'));
  const workerPath = join(folder, 'worker.mjs');
  writeFileSync(
    workerPath,
    `import { parentPort } from 'node:worker_threads';
     parentPort.on('message', (message) => { if (message.part === 0) process.exit(1); });`,
  );
  try {
    await withStore({ workerPath }, async (engine) => {
      await engine.admin.createTable(tableDescriptor('t', { a: {} }));
      const table = engine.table('t');
      await table.put(new Put('r').addColumn('a', 'x', 'v'));
      for (const reading of [() => readAll(scanInThreads(table)), () => scanInThreads(table).count()])
        await expect(reading()).rejects.toMatchObject({ code: 'ERR_IO', retryable: true });
      expect(engine.stats().openScanners).toBe(0);
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
