/**
 * `npm run bench:ycsb`: YCSB's core workloads by one client, each contestant in a process of its own that loads the records and then runs
 * A, B, C, F, D and E. Rowan's table interface is held against lmdb and classic-level, its entities against better-sqlite3 and Drizzle.
 *
 * `--records N` (default 1000000), `--operations N` for each workload (default 200000; a tenth for scans), `--cache MB` (default 128; lmdb
 * uses the system's), `--sync` (writes are acknowledged by the disk; default by the operating system),
 * `--stores rowan,lmdb`, `--workloads A,C`, `--json FILE`, `--merge FILE`.
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type BenchRow, type Percentiles, report, rowLine, secondsOf } from '../harness.js';
import { peakMemory } from '../peak-memory.js';
import { projectRoot } from '../store/peers.js';
import { STORES, type YcsbStore } from './stores.js';
import {
  draw,
  FIELD_BYTES,
  FIELDS,
  keyOf,
  type Requests,
  recordOf,
  textOf,
  WORKLOADS,
  type Workload,
} from './workloads.js';

const BATCH = 1000;
const RECORD_BYTES = FIELDS * FIELD_BYTES;
/** Fields as cells against records as one value, of which the program reads all or is given each field; objects against objects. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  rowan: ['lmdb', 'lmdb-fields', 'classic-level', 'classic-level-fields'],
  'rowan-entities': ['better-sqlite3', 'drizzle'],
};

const { values: given } = parseArgs({
  options: {
    records: { type: 'string', default: '1000000' },
    operations: { type: 'string', default: '200000' },
    cache: { type: 'string', default: '128' },
    sync: { type: 'boolean', default: false },
    stores: { type: 'string', default: Object.entries(GROUPS).flat(2).join(',') },
    workloads: { type: 'string', default: WORKLOADS.map(({ name }) => name).join(',') },
    json: { type: 'string' },
    merge: { type: 'string' },
    /** Set by the process that starts those of the contestants. */
    run: { type: 'string' },
    folder: { type: 'string' },
  },
});
const records = Number(given.records);

/** What a contestant's process prints of a workload. */
interface Outcome {
  readonly workload: string;
  readonly rate: number;
  readonly processor: number;
  readonly microseconds: Percentiles;
  readonly given: Transferred;
}

interface Outcomes {
  readonly load: number;
  readonly workloads: readonly Outcome[];
  readonly peakBytes: number;
  readonly diskBytes: number;
  /** Bytes of fields that the program wrote, and was given. */
  readonly given: Transferred;
  /** Bytes that went to the disk and came from it, as the system counts them: pages that are changed again before they are written count once. */
  readonly transferred: Transferred;
}

interface Transferred {
  readonly read: number;
  readonly written: number;
}

/** What this process has read from disks and written to them, in bytes; 0 where the system does not say. */
function transferred(): Transferred {
  try {
    const text = readFileSync('/proc/self/io', 'latin1');
    const of = (name: string): number => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
    return { read: of('read_bytes'), written: of('write_bytes') };
  } catch {
    return { read: 0, written: 0 };
  }
}

async function load(store: YcsbStore): Promise<number> {
  const begun = secondsOf('wall');
  for (let at = 0; at < records; at += BATCH) {
    const some = Math.min(BATCH, records - at);
    await store.load(
      Array.from({ length: some }, (_, i) => ({ key: keyOf(at + i), fields: recordOf(at + i) })),
    );
  }
  return records / (secondsOf('wall') - begun);
}

/** One operation. Returns the bytes that it read, which it checks, or nothing where it is awaited. */
function perform(store: YcsbStore, { operations, records: chosen, lengths }: Requests, at: number): unknown {
  const index = chosen[at]!;
  const key = keyOf(index);
  switch (operations[at]!) {
    case 'read':
      return checked(store.read(key), FIELDS, key);
    case 'update':
      return store.update(key, index % FIELDS, textOf(at));
    case 'insert':
      return store.insert({ key, fields: recordOf(index) });
    case 'modify':
      return store.modify(key, index % FIELDS, textOf(at));
    case 'scan':
      return store.scan(key, lengths[at]!);
  }
}

function checked(found: number | Promise<number>, expected: number, key: string): unknown {
  if (typeof found !== 'number') return found.then((count) => checked(count, expected, key));
  if (found !== expected) throw new Error(`${key} has ${found} fields instead of ${expected}.`);
  return undefined;
}

async function runWorkload(store: YcsbStore, workload: Workload, present: number): Promise<Outcome> {
  const scans = workload.mix.scan !== undefined;
  const count = Math.ceil(Number(given.operations) / (scans ? 10 : 1));
  const { insert: _, ...mix } = workload.mix;
  const warmUp = draw({ ...workload, mix }, present, Math.ceil(count / 10), 90);
  for (let at = 0; at < warmUp.operations.length; at++) await perform(store, warmUp, at);
  const requests = draw(workload, present, count, 91);
  const times = new Float64Array(count);
  const wall = secondsOf('wall');
  const cpu = secondsOf('processor');
  for (let at = 0; at < count; at++) {
    const start = performance.now();
    const done = perform(store, requests, at);
    if (done instanceof Promise) await done;
    times[at] = (performance.now() - start) * 1000;
  }
  const seconds = secondsOf('wall') - wall;
  const processor = secondsOf('processor') - cpu;
  times.sort();
  const place = (share: number): number => Math.round(times[Math.floor(share * (count - 1))]! * 100) / 100;
  return {
    workload: workload.name,
    rate: count / seconds,
    processor: count / processor,
    microseconds: { p50: place(0.5), p99: place(0.99), p999: place(0.999) },
    given: { read: readBy(requests), written: writtenBy(requests) },
  };
}

function writtenBy({ operations }: Requests): number {
  const bytes = { insert: RECORD_BYTES, update: FIELD_BYTES, modify: FIELD_BYTES, read: 0, scan: 0 };
  return operations.reduce((sum, operation) => sum + bytes[operation], 0);
}

function readBy({ operations, lengths }: Requests): number {
  const rows = { read: 1, modify: 1, insert: 0, update: 0 };
  return operations.reduce(
    (sum, name, at) => sum + (name === 'scan' ? lengths[at]! : rows[name]) * RECORD_BYTES,
    0,
  );
}

/** In the process of a contestant. */
async function contend(name: string, folder: string): Promise<void> {
  const store = await STORES[name]!(folder, { cacheBytes: Number(given.cache) * 2 ** 20, sync: given.sync });
  const outcome = {
    load: await load(store),
    workloads: [] as Outcome[],
    peakBytes: 0,
    diskBytes: 0,
    given: { read: 0, written: records * RECORD_BYTES },
    transferred: transferred(),
  };
  let present = records;
  for (const workload of chosenWorkloads()) {
    const ran = await runWorkload(store, workload, present);
    outcome.workloads.push(ran);
    outcome.given.read += ran.given.read;
    outcome.given.written += ran.given.written;
    const insert = workload.mix.insert ?? 0;
    // Those that the workload has inserted at most: the next one's keys begin behind them.
    if (insert > 0) present += Number(given.operations);
  }
  outcome.peakBytes = peakMemory();
  await store.close();
  outcome.diskBytes = bytesIn(folder);
  outcome.transferred = transferred();
  console.log(JSON.stringify(outcome satisfies Outcomes));
}

function chosenWorkloads(): readonly Workload[] {
  const names = given.workloads.split(',');
  return WORKLOADS.filter(({ name }) => names.includes(name));
}

function bytesIn(folder: string): number {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

function outcomesOf(name: string, folder: string): Outcomes {
  mkdirSync(folder);
  const file = fileURLToPath(import.meta.url);
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [file, ...process.argv.slice(2), '--run', name, '--folder', folder],
    { encoding: 'utf8', maxBuffer: 2 ** 24 },
  );
  if (status !== 0) throw new Error(`${name} ended with ${status}: ${stderr}`);
  rmSync(folder, { recursive: true });
  return JSON.parse(stdout.trim().split('\n').at(-1)!) as Outcomes;
}

function rowsOf(own: string, all: ReadonlyMap<string, Outcomes>): BenchRow[] {
  const of = all.get(own);
  if (of === undefined) return [];
  const names = GROUPS[own]!.filter((name) => all.has(name));
  const label = `${own === 'rowan' ? 'table' : 'entities'}, ${records} records, ${given.sync ? 'synced' : 'not synced'}`;
  const each = <T>(figure: (outcomes: Outcomes) => T): Record<string, T> =>
    Object.fromEntries(
      [[own, of] as const, ...names.map((name) => [name, all.get(name)!] as const)].map(
        ([name, outcomes]) => [name === own ? 'rowan' : name, figure(outcomes)],
      ),
    );
  const row = (title: string, unit: string, figure: (outcomes: Outcomes) => number): BenchRow => {
    const { rowan, ...peers } = each(figure);
    return { row: `${title}, ${label}`, unit, rowan: rowan!, peers };
  };
  const workloads = of.workloads.map(({ workload }, at): BenchRow => {
    const { about } = WORKLOADS.find(({ name }) => name === workload)!;
    return {
      ...row(`${workload} (${about})`, 'operations/s', ({ workloads: found }) => found[at]!.rate),
      microseconds: each(({ workloads: found }) => found[at]!.microseconds),
      processor: each(({ workloads: found }) => found[at]!.processor),
    };
  });
  const amplified = (title: string, of: keyof Transferred): BenchRow[] =>
    Math.min(...Object.values(each(({ transferred: bytes }) => bytes[of]))) === 0
      ? []
      : [row(title, 'ratio', ({ given: asked, transferred: bytes }) => asked[of] / bytes[of])];
  const writes = amplified('bytes of fields written for one to the disk', 'written');
  const reads = amplified('bytes of fields read for one from the disk', 'read');
  const load = {
    ...row('load', 'records/s', (outcomes) => outcomes.load),
    megabytes: each(({ peakBytes }) => peakBytes / 1e6),
  };
  const space = row(
    'bytes of fields for one on the disk',
    'ratio',
    ({ diskBytes }) => (records * RECORD_BYTES) / diskBytes,
  );
  return [load, ...workloads, ...writes, ...reads, space];
}

function main(): void {
  const folder = mkdtempSync(join(projectRoot, '.rowan-bench-'));
  try {
    const all = new Map<string, Outcomes>();
    for (const name of given.stores.split(',')) {
      if (STORES[name] === undefined)
        throw new Error(`There is no store "${name}". One of: ${Object.keys(STORES).join(', ')}.`);
      all.set(name, outcomesOf(name, join(folder, name)));
      console.log(
        `${name}: ${all
          .get(name)!
          .workloads.map(({ workload, rate }) => `${workload} ${Math.round(rate)}/s`)
          .join(', ')}`,
      );
    }
    const rows = Object.keys(GROUPS).flatMap((own) => rowsOf(own, all));
    for (const row of rows) console.log(rowLine(row));
    report(rows);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (given.run !== undefined) await contend(given.run, given.folder!);
else main();
