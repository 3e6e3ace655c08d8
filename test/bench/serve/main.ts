/**
 * `npm run bench:serve [-- --quick] [--rounds N] [--only TEXT] [--json FILE]`: HBase's own PerformanceEvaluation, in Java, against
 * `rowan serve` and against HBase 2.6.4 standalone, in one run, writes synced by both (`hbase.wal.hsync`), one server at a time and each
 * measurement in a fresh JVM. Then the time to the first answer, and what the processes hold. Higher is better where rows a second are
 * given, lower for milliseconds and megabytes.
 */

import { readFileSync } from 'node:fs';
import { startHBase } from '../../hbase/server/hbase-server.js';
import { ServedStore } from '../../hbase-served/served-store.js';
import { type BenchRow, median, report, toRow } from '../harness.js';
import { PerformanceEvaluation } from '../hbase/performance-evaluation.js';
import { WORKLOADS, type Workload } from '../hbase/workload.js';

const quick = process.argv.includes('--quick');
/** Of a few hundred milliseconds each, to see that it works; figures of it mean little. */
const scale = quick ? 0.05 : 0.5;
const rounds = Number(optionOf('--rounds') ?? (quick ? 1 : 3));
const TABLE_ROWS = 1_000_000;
const CLIENTS = [1, 16] as const;

type Figures = Map<string, number[]>;

function optionOf(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

function chosen(): readonly Workload[] {
  const text = optionOf('--only') ?? '';
  return WORKLOADS.filter((workload) => workload.operation.includes(text));
}

function add(figures: Figures, name: string, value: number): void {
  figures.set(name, [...(figures.get(name) ?? []), value]);
}

async function measure(tool: PerformanceEvaluation, figures: Figures, server: string): Promise<void> {
  for (const workload of chosen()) {
    for (const clients of CLIENTS) {
      const rows = Math.max(100, Math.round(workload.rows[clients] * scale));
      const rate = await tool.measure(workload.command, workload.arguments, rows, clients);
      const name = `${workload.operation}, ${clients} client${clients === 1 ? '' : 's'}`;
      console.error(`${server}: ${name}: ${Math.round(rate)} rows/s`);
      add(figures, name, rate);
    }
  }
}

/** Megabytes that a process holds; undefined where the system does not say. */
function residentOf(pid: number): number | undefined {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(status)?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
}

const START = 'start to first answer, ms';
const IDLE = 'resident when idle, MB';
const LOADED = 'resident when loaded, MB';

async function ofRowan(figures: Figures): Promise<void> {
  const began = performance.now();
  const store = await ServedStore.start();
  add(figures, START, performance.now() - began);
  try {
    add(figures, IDLE, residentOf(store.pid) ?? Number.NaN);
    const tool = await PerformanceEvaluation.prepare(await store.layout('bootstrap'));
    await tool.load(TABLE_ROWS * scale);
    await measure(tool, figures, 'rowan');
    add(figures, LOADED, residentOf(store.pid) ?? Number.NaN);
  } finally {
    await store.stop();
  }
}

async function ofHBase(figures: Figures): Promise<void> {
  const began = performance.now();
  const server = await startHBase({
    jit: 'full',
    handlers: 30,
    heap: '2g',
    // As safe as the store's writes: on the disk when they are acknowledged.
    settings: { 'hbase.wal.hsync': 'true', 'fs.file.impl': 'org.apache.hadoop.fs.RawLocalFileSystem' },
  });
  add(figures, START, performance.now() - began);
  try {
    const [jvm] = server.processes();
    const pid = jvm!.pid;
    add(figures, IDLE, residentOf(pid) ?? Number.NaN);
    const tool = await PerformanceEvaluation.prepare(server.layout);
    await tool.load(TABLE_ROWS * scale);
    await measure(tool, figures, 'hbase');
    add(figures, LOADED, residentOf(pid) ?? Number.NaN);
  } finally {
    await server.stop();
  }
}

async function main(): Promise<void> {
  const rowan: Figures = new Map();
  const hbase: Figures = new Map();
  for (let round = 0; round < rounds; round++) {
    const contestants = [() => ofRowan(rowan), () => ofHBase(hbase)];
    for (const contestant of round % 2 === 0 ? contestants : contestants.toReversed()) await contestant();
  }
  const rows: BenchRow[] = [...rowan].map(([name, values]) => {
    const unit = name.endsWith('ms') ? 'ms' : name.endsWith('MB') ? 'MB' : 'rows/s';
    return toRow(name, unit, { rowan: median(values), HBase: median(hbase.get(name) ?? [Number.NaN]) });
  });
  report(rows);
}

await main();
