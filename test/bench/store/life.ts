/**
 * `npm run bench:life`: a store under steady updates, to see whether its figures last. Keys are drawn by zipf 0.99; for each update one row is
 * read. Each interval prints the rate, the times of updates and reads, files a family, and what the store wrote and takes for a byte that
 * it was given. At the end the last third of the intervals is held against the first.
 *
 * `--minutes N` (default 20), `--interval SECONDS` (default 60), `--keys N` (default 100000), `--bytes N` of a row (default 1000),
 * `--rate N` updates a second (default 2000; 0: as many as there can be), `--cache MB` (default 32), `--sync` (updates are acknowledged by
 * the disk), `--json FILE`, `--merge FILE`.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import { Get, Put, type SyncTable, tableDescriptor } from '../../../src/table/index.js';
import { type BenchRow, median, report } from '../harness.js';
import { keyOf, shuffled, zipf } from './data.js';
import { projectRoot } from './peers.js';

const { values: given } = parseArgs({
  options: {
    minutes: { type: 'string', default: '20' },
    interval: { type: 'string', default: '60' },
    keys: { type: 'string', default: '100000' },
    bytes: { type: 'string', default: '1000' },
    rate: { type: 'string', default: '2000' },
    cache: { type: 'string', default: '32' },
    sync: { type: 'boolean', default: false },
    json: { type: 'string' },
    merge: { type: 'string' },
  },
});

const MiB = 2 ** 20;
const FAMILY = 'f';
const QUALIFIER = Buffer.from('v');
const LOAD = 1000;
/** Keys are drawn once, and are used again from the start. */
const DRAWN = 1 << 20;

const keys = Number(given.keys);
const bytes = Number(given.bytes);
const rate = Number(given.rate);
const seconds = Number(given.interval);

/** Times of one kind of operation, in microseconds. */
class Times {
  private values = new Float64Array(1 << 16);
  count = 0;

  add(value: number): void {
    if (this.count === this.values.length) {
      const larger = new Float64Array(2 * this.count);
      larger.set(this.values);
      this.values = larger;
    }
    this.values[this.count++] = value;
  }

  /** The percentiles 50, 99 and 99.9, and empties the list. */
  take(): readonly [number, number, number] {
    const sorted = this.values.subarray(0, this.count).sort();
    const at = (share: number): number => sorted[Math.floor(share * (this.count - 1))] ?? Number.NaN;
    const taken = [at(0.5), at(0.99), at(0.999)] as const;
    this.count = 0;
    return taken;
  }
}

/** The figures of one interval. */
interface Interval {
  readonly rate: number;
  readonly processor: number;
  readonly update: readonly [number, number, number];
  readonly read: readonly [number, number, number];
  readonly files: number;
  /** Bytes that the process wrote for one that it was given, log included. */
  readonly written: number;
  /** Bytes of all files of the store, its log included, for one of its rows. */
  readonly space: number;
  readonly resident: number;
}

/** Bytes that this process has handed to the system for writing; 0 where the system does not say. */
function bytesWritten(): number {
  try {
    return Number(/^wchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'latin1'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

function bytesIn(folder: string): number {
  let sum = 0;
  for (const name of readdirSync(folder)) {
    // A file may be removed meanwhile.
    sum += statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0;
  }
  return sum;
}

function filesOf(engine: EmbeddedEngine): number {
  const [table] = engine.stats().tables;
  return table!.regions.reduce(
    (most, { families }) => Math.max(most, ...families.map(({ files }) => files)),
    0,
  );
}

async function load(table: SyncTable, values: readonly Buffer[]): Promise<void> {
  const order = shuffled(keys, 3);
  for (let at = 0; at < keys; at += LOAD) {
    const some = order.subarray(at, at + LOAD);
    await table.putAll(
      Array.from(some, (index) =>
        new Put(keyOf(index)).addColumn(FAMILY, QUALIFIER, values[index % values.length]!),
      ),
    );
  }
}

/** Values of `bytes` bytes that share nothing but their length. */
function valuesOf(): Buffer[] {
  return Array.from({ length: 256 }, (_, seed) => {
    const value = Buffer.alloc(bytes);
    for (let i = 0; i < bytes; i++) value[i] = (seed * 31 + i * i) & 255;
    return value;
  });
}

async function live(engine: EmbeddedEngine, folder: string): Promise<Interval[]> {
  const table = engine.table('life');
  const values = valuesOf();
  await load(table, values);
  const updated = zipf(keys, DRAWN, 5);
  const found = zipf(keys, DRAWN, 6);
  const [updates, reads] = [new Times(), new Times()];
  const intervals: Interval[] = [];
  const count = Math.max(1, Math.round((Number(given.minutes) * 60) / seconds));
  let at = 0;
  for (let interval = 0; interval < count; interval++) {
    const begun = performance.now();
    const cpu = process.cpuUsage();
    const before = { at, written: bytesWritten() };
    for (let now = begun; now < begun + seconds * 1000; now = performance.now()) {
      if (rate > 0 && at - before.at > ((now - begun) / 1000) * rate) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        continue;
      }
      const put = new Put(keyOf(updated[at % DRAWN]!)).addColumn(
        FAMILY,
        QUALIFIER,
        values[at % values.length]!,
      );
      await table.put(put);
      const between = performance.now();
      updates.add((between - now) * 1000);
      const get = new Get(keyOf(found[at % DRAWN]!)).addColumn(FAMILY, QUALIFIER);
      const length = table.getSync(get).cells[0]?.value.length;
      if (length !== bytes) throw new Error(`A read gave ${length} bytes instead of ${bytes}.`);
      reads.add((performance.now() - between) * 1000);
      at++;
    }
    const done = at - before.at;
    const { user, system } = process.cpuUsage(cpu);
    const row = {
      rate: (done * 1000) / (performance.now() - begun),
      processor: (user + system) / done,
      update: updates.take(),
      read: reads.take(),
      files: filesOf(engine),
      written: (bytesWritten() - before.written) / (done * bytes),
      space: bytesIn(folder) / (keys * bytes),
      resident: process.memoryUsage.rss() / 1e6,
    };
    intervals.push(row);
    console.log(lineOf(interval + 1, row));
  }
  return intervals;
}

function lineOf(number: number, row: Interval): string {
  const times = (three: readonly number[]): string => three.map((one) => one.toFixed(1)).join('/');
  return [
    `${number}: ${Math.round(row.rate)} updates/s`,
    `CPU ${row.processor.toFixed(1)} us`,
    `update ${times(row.update)} us`,
    `read ${times(row.read)} us`,
    `${row.files} files`,
    `written ${row.written.toFixed(2)}`,
    `space ${row.space.toFixed(2)}`,
    `${Math.round(row.resident)} MB`,
  ].join(', ');
}

/** Rows in which higher is better: the last third of the intervals, with the first as the other contestant. */
function rowsOf(intervals: readonly Interval[]): BenchRow[] {
  const third = Math.max(1, Math.floor(intervals.length / 3));
  const parts = { rowan: intervals.slice(-third), first: intervals.slice(0, third) };
  const label = `${keys} rows of ${bytes} bytes, zipf, ${intervals.length} x ${seconds} s`;
  const row = (title: string, unit: string, figure: (one: Interval) => number): BenchRow => ({
    row: `${title}, ${label}`,
    unit,
    rowan: median(parts.rowan.map(figure)),
    peers: { 'first third': median(parts.first.map(figure)) },
  });
  return [
    row('updates, each with a read', 'operations/s', ({ rate: each }) => each),
    row('operations for a second of CPU time', 'operations/s', ({ processor }) => 1e6 / processor),
    row('update, p99.9', 'operations/s', ({ update }) => 1e6 / update[2]),
    row('read, p50', 'operations/s', ({ read }) => 1e6 / read[0]),
    row('read, p99', 'operations/s', ({ read }) => 1e6 / read[1]),
    row('read, p99.9', 'operations/s', ({ read }) => 1e6 / read[2]),
    row('bytes given for one written', 'ratio', ({ written }) => 1 / written),
    row('bytes of rows for one on the disk', 'ratio', ({ space }) => 1 / space),
    row('1 / files a family', 'ratio', ({ files }) => 1 / files),
  ];
}

const folder = mkdtempSync(join(projectRoot, '.rowan-bench-'));
try {
  const engine = await openEmbedded(join(folder, 'store'), {
    blockCacheSize: Number(given.cache) * MiB,
    durability: given.sync ? 'FSYNC_WAL' : 'ASYNC_WAL',
  });
  await engine.admin.createTable(tableDescriptor('life', { [FAMILY]: {} }));
  const intervals = await live(engine, join(folder, 'store'));
  await engine.close();
  report(rowsOf(intervals));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
