/**
 * `npm run bench:limits`: what the embedded engine holds to under load. Loads cells of 100-byte values and watches the
 * process's memory and the longest put; compacts and watches the event loop and the space; writes one text under each
 * compression. The JSON rows give limit / figure, so that 1 or more is within the limit.
 *
 * `--cells N` (default 10000000), `--json FILE`.
 */

import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { openEmbedded } from '../../../src/store/engine.js';
import { COMPRESSIONS, Put, tableDescriptor } from '../../../src/table/index.js';
import { type BenchRow, report } from '../harness.js';
import { keyOf, makeValues, shuffled } from './data.js';
import { projectRoot } from './peers.js';

const FAMILY = 'f';
const QUALIFIER = Buffer.from('v');
const MiB = 1024 * 1024;

function option(name: string, fallback: number): number {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : Number(process.argv[at + 1]);
}

function within(row: string, unit: string, limit: number, figure: number): BenchRow {
  console.log(`${row}: ${figure.toFixed(1)} ${unit} (limit ${limit})`);
  return { row: `${row} (limit ${limit} ${unit} / figure)`, unit: 'ratio', rowan: limit / figure, peers: {} };
}

function sizeOf(folder: string, ending: string): number {
  return readdirSync(folder)
    .filter((name) => name.endsWith(ending))
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

/** The longest delays, in milliseconds, of a 10 ms timer while `work` runs: p99 and the longest. */
async function timerDelays(work: () => Promise<void>): Promise<{ p99: number; max: number }> {
  const delays: number[] = [];
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    delays.push(Math.max(0, now - last - 10));
    last = now;
  }, 10);
  await work();
  clearInterval(timer);
  delays.sort((a, b) => a - b);
  return { p99: delays[Math.floor(delays.length * 0.99)] ?? 0, max: delays.at(-1) ?? 0 };
}

async function load(folder: string, cells: number): Promise<BenchRow[]> {
  const engine = await openEmbedded(folder, { durability: 'ASYNC_WAL' });
  await engine.admin.createTable(tableDescriptor('load', { [FAMILY]: {} }));
  const table = engine.table('load');
  const values = makeValues(10_000);
  const order = shuffled(cells, 3);
  let peak = 0;
  let longest = 0;
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 50);
  const loop = monitorEventLoopDelay({ resolution: 10 });
  loop.enable();
  const start = performance.now();
  for (let at = 0; at < cells; at += 1000) {
    const puts: Put[] = [];
    const end = Math.min(at + 1000, cells);
    for (let i = at; i < end; i++)
      puts.push(new Put(keyOf(order[i]!)).addColumn(FAMILY, QUALIFIER, values[i % 10_000]!));
    const before = performance.now();
    await table.putAll(puts);
    longest = Math.max(longest, performance.now() - before);
    if (at % 20_000 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  const seconds = (performance.now() - start) / 1000;
  loop.disable();
  clearInterval(watch);
  console.log(`${cells} cells in ${seconds.toFixed(1)} s, ${Math.round(cells / seconds)} a second`);
  const rows = [
    within(`resident memory while ${cells / 1e6}M cells are loaded`, 'MB', 700, peak / 1e6),
    within('longest put of 1000 rows while loading', 'ms', 2000, longest),
  ];
  await engine.admin.flush('load');
  await engine.quiet();
  const delays = await timerDelays(() => engine.admin.majorCompact('load'));
  console.log(`longest delay of a 10 ms timer during the compaction: ${delays.max.toFixed(1)} ms`);
  rows.push(
    within(
      `p99 delay of a 10 ms timer while ${Math.round(sizeOf(folder, '.sst') / MiB)} MiB compact`,
      'ms',
      50,
      delays.p99,
    ),
  );
  const live = engine.stats().tables[0]!.regions[0]!.families[0]!;
  const ideal = cells * (16 + 1 + 100 + 8 + 8);
  console.log(
    `${live.fileBytes} bytes in ${live.files} file(s); keys, values, timestamps and numbers alone: ${ideal}`,
  );
  rows.push(
    within('space after major compaction', 'x the live data', 1.1, sizeOf(folder, '.sst') / live.fileBytes),
  );
  await engine.close();
  return rows;
}

/** One text of 20 MB in a family for each compression. */
async function compressions(folder: string): Promise<BenchRow[]> {
  const engine = await openEmbedded(folder, { durability: 'SKIP_WAL' });
  const families = Object.fromEntries(
    COMPRESSIONS.map((name) => [name.toLowerCase(), { compression: name }]),
  );
  await engine.admin.createTable(tableDescriptor('text', families));
  const table = engine.table('text');
  const words =
    'row key family column version cell region store flush compaction filter scan bloom block index '.split(
      ' ',
    );
  const next = shuffled(words.length * 1000, 5);
  const lines = Array.from({ length: 20_000 }, (_, i) =>
    Array.from({ length: 160 }, (_, j) => words[next[(i * 160 + j) % next.length]! % words.length]).join(' '),
  );
  for (const [i, line] of lines.entries()) {
    const put = new Put(keyOf(i));
    for (const family of Object.keys(families)) put.addColumn(family, QUALIFIER, line);
    await table.put(put);
  }
  await engine.admin.majorCompact('text');
  const stats = engine.stats().tables[0]!.regions[0]!.families;
  const plain = stats.find((family) => family.family === 'none')!.fileBytes;
  const rows = stats.map((family) => {
    console.log(
      `${family.family}: ${family.fileBytes} bytes, ${(plain / family.fileBytes).toFixed(2)} times smaller than none`,
    );
    return {
      row: `the same text, ${family.family}`,
      unit: 'x smaller',
      rowan: plain / family.fileBytes,
      peers: {},
    };
  });
  await engine.close();
  return rows;
}

const folder = mkdtempSync(join(projectRoot, '.rowan-bench-'));
try {
  const rows = await load(join(folder, 'load'), option('cells', 10_000_000));
  rows.push(...(await compressions(join(folder, 'text'))));
  report(rows);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
