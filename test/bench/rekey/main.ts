/**
 * `npm run bench:rekey`: how fast an entity's keys are changed from 16 salts to 64 on the embedded engine (stores on disk,
 * durability as by default), and what readers and writers notice of it: the times of single operations of eight of them before,
 * and while it runs, by pass and kind, and how long turns of the event loop were.
 *
 * `--rows N` (default 1,000,000, of four cells), `--pace MS` (the pause of a writer between two operations, default 4),
 * `--rate ROWS` (throttles the run beside the writers; without it none), `--quiet` leaves the writers out, `--json FILE`.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineEntity, defineTable, int32, int53, open, part, salt, text } from '../../../src/index.js';
import type { JobProgress } from '../../../src/public/jobs.js';
import { type BenchRow, type Percentiles, report, rowLine } from '../harness.js';
import { projectRoot } from '../orm/contestant.js';

const WRITERS = 8;
const BEFORE_MS = 5000;
const BATCH = 2000;

const rows = numberOf('--rows', 1_000_000);
const pace = numberOf('--pace', 4);
const rate = numberOf('--rate', 0);
const quiet = process.argv.includes('--quiet');

function entity(name: string, table: string, salts: number) {
  return defineEntity({
    name,
    table: defineTable({ name: table, families: { d: {} } }),
    key: [salt(salts), part('customer'), part('number', int53)],
    columns: (c) => ({
      status: c.column('d:status', text),
      total: c.column('d:total', int32),
      note: c.column('d:note', text),
    }),
  });
}

const Old = entity('Old', 'bench_old', 16);
const New = entity('New', 'bench_new', 64);

const orderOf = (i: number, total: number) => ({
  customer: `customer${String((i * 7919) % 50_000).padStart(6, '0')}`,
  number: i,
  status: 'open',
  total,
  note: 'left at the neighbour'.slice(0, 6 + (i % 14)),
});

type Store = Awaited<ReturnType<typeof openStore>>;

const folder = mkdtempSync(join(projectRoot, '.rowan-bench-rekey-'));
const openStore = (name: string) => open({ path: join(folder, name), entities: [Old, New] });

try {
  const measured: BenchRow[] = [];
  const add = (row: BenchRow): void => {
    console.log(rowLine(row));
    measured.push(row);
  };
  await using db = await openStore('store');
  const orders = db.repository(Old);
  const filled = performance.now();
  for (let from = 0; from < rows; from += BATCH) {
    const count = Math.min(BATCH, rows - from);
    await orders.putMany(Array.from({ length: count }, (_, i) => orderOf(from + i, 0)));
  }
  await db.engine.admin.flush('bench_old');
  add(figure('putMany, to compare with', rows / secondsSince(filled)));
  if (quiet) await change(db, add, 0);
  else await beside(db, add);
  report(measured);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** The run alone: the rate of each pass. */
async function change(
  db: Store,
  add: (row: BenchRow) => void,
  rowsPerSecond: number,
  note?: (pass: string) => void,
): Promise<void> {
  const passes = new Map<string, { first: JobProgress; last: JobProgress; began: number; ended: number }>();
  /** How far the estimate was from the truth, told at each fraction. */
  const told: { fraction: number; at: number; remainingMs: number }[] = [];
  const began = performance.now();
  await db.rekey(Old, New).run({
    ...(rowsPerSecond > 0 ? { rowsPerSecond } : {}),
    onProgress: (progress) => {
      const copies = progress.job.includes('-copy-');
      const name = copies
        ? 'copy'
        : progress.phase === 0
          ? 'verify: old held against new'
          : 'verify: new without old';
      const pass = passes.get(name);
      const at = performance.now();
      note?.(name);
      if (pass === undefined) passes.set(name, { first: progress, last: progress, began: at, ended: at });
      else Object.assign(pass, { last: progress, ended: at });
      if (progress.remainingMs === undefined || !copies) return;
      told.push({ fraction: progress.fraction, at, remainingMs: progress.remainingMs });
    },
  });
  add(figure('whole run: counted, copied, verified', rows / secondsSince(began)));
  for (const [name, { first, last, began: from, ended }] of passes) {
    if (ended > from) add(figure(name, (1000 * (last.rows - first.rows)) / (ended - from)));
  }
  const end = told.at(-1)?.at ?? 0;
  for (const fraction of [0.1, 0.25, 0.5]) {
    const then = told.find((each) => each.fraction >= fraction);
    if (then === undefined || end <= then.at) continue;
    add(figure(`estimate at ${fraction}, of the truth`, then.remainingMs / (end - then.at), 'x'));
  }
}

/** What one of the eight did, and how long that took. */
interface Operation {
  readonly kind: 'read' | 'write';
  readonly milliseconds: number;
}

/** The run beside writers, and the times of their operations before, and in each pass of it. */
async function beside(db: Store, add: (row: BenchRow) => void): Promise<void> {
  let done: Operation[] = [];
  /** By the pass of the run during which they ended. */
  const ofPasses = new Map<string, Operation[]>();
  const stop = new AbortController();
  const writers = Array.from({ length: WRITERS }, (_, id) => {
    return work(db, id, (operation) => done.push(operation), stop.signal);
  });
  await sleep(1000);
  done = [];
  const turnsBefore = monitorEventLoopDelay({ resolution: 1 });
  turnsBefore.enable();
  await sleep(BEFORE_MS);
  turnsBefore.disable();
  const before = done;
  done = [];
  const turns = monitorEventLoopDelay({ resolution: 1 });
  turns.enable();
  const began = performance.now();
  let passed = 0;
  await change(db, add, rate, (pass) => {
    ofPasses.set(pass, [...(ofPasses.get(pass) ?? []), ...done.slice(passed)]);
    passed = done.length;
  });
  turns.disable();
  const meanwhile = done;
  const seconds = secondsSince(began);
  stop.abort();
  await Promise.all(writers);
  const timed = (row: string, during: Percentiles, then: Percentiles): void => {
    add({
      row: `${row}: p99, of before`,
      unit: 'x',
      rowan: during.p99 / then.p99,
      peers: {},
      microseconds: { rowan: during, before: then },
    });
  };
  for (const [pass, own] of ofPasses) {
    if (own.length > 0) timed(`all of 8 during ${pass}`, percentiles(own), percentiles(before));
  }
  for (const kind of ['read', 'write'] as const) {
    const of = (list: readonly Operation[]): Percentiles =>
      percentiles(list.filter((each) => each.kind === kind));
    timed(`each ${kind} while it runs`, of(meanwhile), of(before));
  }
  timed('turns of the event loop while it runs', ofTurns(turns), ofTurns(turnsBefore));
  add({
    row: 'operations of 8 writers while it runs',
    unit: 'ops/s',
    rowan: meanwhile.length / seconds,
    peers: { before: before.length / (BEFORE_MS / 1000) },
  });
  timed('all of 8 while it runs', percentiles(meanwhile), percentiles(before));
}

/** Three reads, a put and an update, over and over. */
async function work(
  db: Store,
  id: number,
  note: (operation: Operation) => void,
  signal: AbortSignal,
): Promise<void> {
  const orders = db.repository(Old);
  for (let i = id; !signal.aborted; i += WRITERS) {
    const order = orderOf((i * 104_729) % rows, i % 1000);
    const began = performance.now();
    if (i % 5 < 3) await orders.get({ customer: order.customer, number: order.number });
    else if (i % 5 === 3) await orders.put(order);
    else await orders.update({ customer: order.customer, number: order.number }, { total: order.total });
    note({ kind: i % 5 < 3 ? 'read' : 'write', milliseconds: performance.now() - began });
    await sleep(pace);
  }
}

function percentiles(operations: readonly Operation[]): Percentiles {
  const sorted = operations.map(({ milliseconds }) => milliseconds).sort((a, b) => a - b);
  const at = (share: number): number => Math.round(1000 * sorted[Math.floor(share * (sorted.length - 1))]!);
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999) };
}

/** How late a timer of a millisecond was: the turns of the event loop that it waited for. */
function ofTurns(delays: IntervalHistogram): Percentiles {
  const at = (share: number): number => Math.round(delays.percentile(share) / 1000);
  return { p50: at(50), p99: at(99), p999: at(99.9) };
}

function figure(row: string, rowan: number, unit = 'rows/s'): BenchRow {
  return { row, unit, rowan, peers: {} };
}

function secondsSince(began: number): number {
  return (performance.now() - began) / 1000;
}

function numberOf(option: string, otherwise: number): number {
  const at = process.argv.indexOf(option);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
}
