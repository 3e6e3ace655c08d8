/**
 * `npm run bench:serve [-- --quick] [--rounds N] [--only TEXT] [--json FILE]`: HBase's own PerformanceEvaluation, in Java, against
 * `rowan serve` and against HBase 2.6.4 standalone, in one run. Both sync each write to the disk before they acknowledge it
 * (`SyncedFileSystem.java`). Both servers hold the same rows; each workload runs on one and then on the other, each time in a fresh JVM.
 * CPU time is that of the server's process. Then the time to the first answer, and the memory of the processes. Higher is better
 * where rows a second are given, lower for milliseconds and megabytes.
 */

import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startHBase } from '../../hbase/server/hbase-server.js';
import { PROJECT_ROOT } from '../../hbase/server/layout.js';
import { probeMaster } from '../../hbase/server/probe.js';
import { compileJava } from '../../hbase/server/tool.js';
import { ServedStore } from '../../hbase-served/served-store.js';
import { type BenchRow, median, report, toRow } from '../harness.js';
import { PerformanceEvaluation } from '../hbase/performance-evaluation.js';

const quick = process.argv.includes('--quick');
/** Workloads of a few hundred milliseconds each show that the bench works; their figures mean little. */
const scale = quick ? 0.05 : 1;
const rounds = Number(optionOf('--rounds') ?? (quick ? 1 : 3));
const TABLE_ROWS = 500_000;
const CLIENTS = [1, 16] as const;

interface Workload {
  readonly name: string;
  readonly command: string;
  readonly arguments: readonly string[];
  /** Rows of each client, for 1 client and for 16: some seconds each, so that the client's JVM has compiled for most of them. */
  readonly rows: { readonly 1: number; readonly 16: number };
  /** The ratio to HBase's rate that is to be reached. */
  readonly goal: number;
}

const SYNCED = '--autoFlush=true';
/** The Java class that HBase writes its files with. */
const FILE_SYSTEM = 'SyncedFileSystem';

const WORKLOADS: readonly Workload[] = [
  { name: 'random read', command: 'randomRead', arguments: [], rows: { 1: 10_000, 16: 2000 }, goal: 1 },
  {
    name: 'multi-get of 100',
    command: 'randomRead',
    arguments: ['--multiGet=100'],
    rows: { 1: 60_000, 16: 10_000 },
    goal: 1,
  },
  {
    name: 'scan, 1,000 rows a call',
    command: 'scan',
    arguments: ['--caching=1000'],
    rows: { 1: 300_000, 16: 40_000 },
    goal: 1,
  },
  {
    name: 'random write, synced',
    command: 'randomWrite',
    arguments: [SYNCED],
    rows: { 1: 10_000, 16: 1000 },
    goal: 1.5,
  },
  {
    name: 'sequential write, synced',
    command: 'sequentialWrite',
    arguments: [SYNCED],
    rows: { 1: 10_000, 16: 1000 },
    goal: 1.5,
  },
  {
    name: 'increment, synced',
    command: 'increment',
    arguments: [],
    rows: { 1: 10_000, 16: 1000 },
    goal: 1.5,
  },
];

/** A server with the rows of the table in it. */
interface Contestant {
  readonly name: string;
  readonly pid: number;
  readonly tool: PerformanceEvaluation;
}

/** The figures of one measurement: of each contestant one for each round. */
class Figures {
  private readonly figures = new Map<string, number[]>();

  add(contestant: string, value: number): void {
    const values = this.figures.get(contestant) ?? [];
    this.figures.set(contestant, [...values, value]);
  }

  medians(): Record<string, number> {
    return Object.fromEntries([...this.figures].map(([name, values]) => [name, median(values)]));
  }
}

function optionOf(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

/** The memory in use by a process, in megabytes. */
function residentOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(status)?.[1];
  if (kilobytes === undefined) throw new Error(`/proc/${pid}/status names no VmRSS.`);
  return (Number(kilobytes) * 1024) / 1e6;
}

/** A tick of `/proc/PID/stat`, in seconds. */
const TICK = 0.01;

/** Seconds of CPU time of all threads of a process. */
function processorOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // Behind the name, which may contain spaces, come the fields from the third one on.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK;
}

async function measure(contestant: Contestant, workload: Workload, clients: 1 | 16) {
  const { tool, pid } = contestant;
  const rows = Math.max(100, Math.round(workload.rows[clients] * scale));
  const before = processorOf(pid);
  const rate = await tool.measure(workload.command, workload.arguments, rows, clients);
  const taken = Math.max(TICK, processorOf(pid) - before);
  return { rate, ofProcessor: (rows * clients) / taken };
}

async function workloadRow(
  contestants: readonly Contestant[],
  workload: Workload,
  clients: 1 | 16,
): Promise<BenchRow> {
  const name = `${workload.name}, ${clients} client${clients === 1 ? '' : 's'}`;
  const rates = new Figures();
  const ofProcessor = new Figures();
  for (let round = 0; round < rounds; round++) {
    for (const contestant of round % 2 === 0 ? contestants : contestants.toReversed()) {
      const figures = await measure(contestant, workload, clients);
      rates.add(contestant.name, figures.rate);
      ofProcessor.add(contestant.name, figures.ofProcessor);
    }
  }
  const row = { ...toRow(name, 'rows/s', rates.medians()), processor: ofProcessor.medians() };
  tell(row, workload.goal);
  return row;
}

/** Prints a row; its ratio is to be at least, or for milliseconds and megabytes its figure at most, the goal. */
function tell({ row, unit, rowan, peers, processor }: BenchRow, goal: number | undefined): void {
  const hbase = peers['HBase']!;
  const isMissed =
    goal !== undefined && (unit === 'rows/s' ? rowan / hbase < goal : rowan > goal) ? ', GOAL MISSED' : '';
  const cpu =
    processor === undefined ? '' : `, by CPU ${(processor['rowan']! / processor['HBase']!).toFixed(2)}`;
  const figures = [rowan, hbase].map((figure) => Math.round(figure).toLocaleString('en-US'));
  console.error(
    `${row}: ${figures.join(' and ')} ${unit}, ${(rowan / hbase).toFixed(2)}x${cpu}${goal === undefined ? '' : ` (goal ${goal}${isMissed})`}`,
  );
}

const START = new Figures();
const IDLE = new Figures();

/** Milliseconds after the first answer at which a server is idle. */
const REST = quick ? 0 : 5000;

async function startRowan(): Promise<ServedStore> {
  const began = performance.now();
  const store = await ServedStore.start();
  await probeMaster('127.0.0.1', store.port);
  START.add('rowan', performance.now() - began);
  await delay(REST);
  IDLE.add('rowan', residentOf(store.pid));
  return store;
}

async function startPeer(classes: string) {
  const began = performance.now();
  const server = await startHBase({
    jit: 'full',
    handlers: 30,
    heap: '2g',
    classes: [classes],
    settings: { 'fs.file.impl': FILE_SYSTEM },
  });
  START.add('HBase', performance.now() - began);
  await delay(REST);
  IDLE.add('HBase', residentOf(server.master().pid));
  return server;
}

async function main(): Promise<void> {
  const classes = await mkdtemp(join(tmpdir(), 'rowan-bench-serve-'));
  try {
    const source = join(PROJECT_ROOT, `test/bench/serve/${FILE_SYSTEM}.java`);
    await compileJava({ [FILE_SYSTEM]: readFileSync(source, 'utf8') }, classes);
    await measureAll(classes);
  } finally {
    await rm(classes, { recursive: true, force: true });
  }
}

async function measureAll(classes: string): Promise<void> {
  for (let round = 1; round < rounds; round++) {
    await (await startRowan()).stop();
    await (await startPeer(classes)).stop();
  }
  const store = await startRowan();
  try {
    const server = await startPeer(classes);
    try {
      report(await rowsOf(store, server));
    } finally {
      await server.stop();
    }
  } finally {
    await store.stop();
  }
}

async function rowsOf(
  store: ServedStore,
  server: Awaited<ReturnType<typeof startPeer>>,
): Promise<BenchRow[]> {
  const tools = [await store.layout('bootstrap'), server.layout].map((layout) =>
    PerformanceEvaluation.prepare(layout),
  );
  const contestants: Contestant[] = [
    { name: 'rowan', pid: store.pid, tool: await tools[0]! },
    { name: 'HBase', pid: server.master().pid, tool: await tools[1]! },
  ];
  for (const { tool } of contestants) await tool.load(TABLE_ROWS * scale);
  const rows: BenchRow[] = [];
  const text = optionOf('--only') ?? '';
  for (const workload of WORKLOADS.filter(({ name }) => name.includes(text))) {
    for (const clients of CLIENTS) rows.push(await workloadRow(contestants, workload, clients));
  }
  const loaded = new Figures();
  for (const { name, pid } of contestants) loaded.add(name, residentOf(pid));
  const goals: readonly (readonly [string, string, Figures, number | undefined])[] = [
    ['start to first answer', 'ms', START, 300],
    ['memory when idle', 'MB', IDLE, 120],
    ['memory when loaded', 'MB', loaded, undefined],
  ];
  for (const [name, unit, figures, goal] of goals) {
    const row = toRow(name, unit, figures.medians());
    tell(row, goal);
    rows.push(row);
  }
  return rows;
}

await main();
