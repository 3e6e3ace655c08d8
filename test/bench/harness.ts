/** What every bench shares: rounds and medians, one table, one JSON file. Higher is better in every row. */

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import Table from 'cli-table3';
import { writeTables } from './tables.js';

/** One line of a bench's JSON. */
export interface BenchRow {
  readonly row: string;
  readonly unit: string;
  readonly rowan: number;
  readonly peers: Readonly<Record<string, number>>;
  /** Of single steps of each contestant, in microseconds, where they were timed. */
  readonly microseconds?: Readonly<Record<string, Percentiles>>;
  /** Operations of each contestant for a second of CPU time, where that was counted beside the clock's. */
  readonly processor?: Readonly<Record<string, number>>;
  /** The most memory that each contestant's process had, where each ran in one of its own: 10^6 bytes. */
  readonly megabytes?: Readonly<Record<string, number>>;
  /** Of rows that `--merge` recorded. */
  readonly measured?: Measurement;
}

export interface Measurement {
  readonly date: string;
  readonly commit: string;
  /** What else the machine did, as its load behind the run. */
  readonly machine?: string;
}

export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
}

/** One measured thing of one contestant: runs once and says how many operations that were. */
export type Measured = () => number | Promise<number>;

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >>> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/**
 * What a second is: `wall` as it passes, for what waits for a disk; `processor` of this process's threads, for what does
 * not wait: on a busy machine the figures are then still those of a quiet one, but for its caches.
 */
export type Seconds = (typeof SECONDS)[number];
const SECONDS = ['wall', 'processor'] as const;

/** Seconds from some moment on. */
export function secondsOf(kind: Seconds): number {
  if (kind === 'wall') return Number(process.hrtime.bigint()) / 1e9;
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Milliseconds of the processor that the ended children of this process took; to 10 ms, and only on Linux. */
export function childTime(): number {
  // The fields after the name; those of children that were waited for are in ticks of 10 ms.
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').pop()!.split(' ');
  return 10 * (Number(fields[13]) + Number(fields[14]));
}

/** Operations a second of each contestant, by the clock and by CPU time. */
type Rates = Readonly<Record<Seconds, Readonly<Record<string, number>>>>;

/**
 * Runs every contestant once to warm up and then `rounds` times, taking turns, so that a noisy moment of the machine
 * meets all of them. Gives the median operations a second of each.
 */
export async function compare(
  contestants: Readonly<Record<string, Measured>>,
  rounds: number,
  seconds: Seconds = 'wall',
): Promise<Readonly<Record<string, number>>> {
  return (await compareRates(contestants, rounds))[seconds];
}

/**
 * As `compare`, by both kinds of seconds: what a contestant's own threads do beside a round counts as its CPU time. `before` runs before
 * each round of each contestant, and does not count.
 */
export async function compareRates(
  contestants: Readonly<Record<string, Measured>>,
  rounds: number,
  before?: () => Promise<unknown>,
): Promise<Rates> {
  const rates: Record<Seconds, Record<string, number[]>> = { wall: {}, processor: {} };
  for (let round = -1; round < rounds; round++) {
    for (const [name, run] of Object.entries(contestants)) {
      await before?.();
      const wall = secondsOf('wall');
      const processor = secondsOf('processor');
      const operations = await run();
      const taken = { wall: secondsOf('wall') - wall, processor: secondsOf('processor') - processor };
      for (const kind of SECONDS) {
        if (round < 0) rates[kind][name] = [];
        else rates[kind][name]!.push(operations / taken[kind]);
      }
    }
  }
  return { wall: medians(rates.wall), processor: medians(rates.processor) };
}

function medians(rates: Readonly<Record<string, readonly number[]>>): Record<string, number> {
  return Object.fromEntries(Object.entries(rates).map(([name, list]) => [name, median(list)]));
}

/** A row of the contestants' figures; the one named "rowan" is ours. */
export function toRow(row: string, unit: string, figures: Readonly<Record<string, number>>): BenchRow {
  const { rowan, ...peers } = figures;
  return { row, unit, rowan: rowan ?? Number.NaN, peers };
}

/**
 * A row in one line, for those who wait for the table: our rate, and for each peer how many times ours it is by rates,
 * and by what a busy machine disturbs less: the medians of single steps, and CPU time.
 */
export function rowLine(row: BenchRow): string {
  const { unit, rowan, peers, microseconds, megabytes } = row;
  const ratios = Object.entries(peers).map(([name, figure]) => {
    const steady = steadyRatios(row, name);
    return `${(rowan / figure).toFixed(2)}x${steady === '' ? '' : ` (${steady})`} ${name}${memoryOf(megabytes, name)}`;
  });
  const own = microseconds?.['rowan']?.p50;
  const p50 = own === undefined ? '' : ` (p50 ${own} us)`;
  return `${row.row}: ${[`${show(rowan)} ${unit}${p50}${memoryOf(megabytes, 'rowan')}`, ...ratios].join(', ')}`;
}

/** How many times a peer's speed ours is by medians of single steps and by CPU time, where they were taken. */
function steadyRatios({ microseconds, processor }: BenchRow, name: string): string {
  const ratios: string[] = [];
  const [own, p50] = [microseconds?.['rowan']?.p50, microseconds?.[name]?.p50];
  if (own !== undefined && p50 !== undefined) ratios.push(`p50 ${(p50 / own).toFixed(2)}x`);
  const [ours, theirs] = [processor?.['rowan'], processor?.[name]];
  if (ours !== undefined && theirs !== undefined) ratios.push(`CPU ${(ours / theirs).toFixed(2)}x`);
  return ratios.join(', ');
}

function memoryOf(megabytes: BenchRow['megabytes'], name: string): string {
  const own = megabytes?.[name];
  return own === undefined ? '' : ` in ${Math.round(own)} MB`;
}

/** Prints the rows, each peer with our ratio to it. */
function printRows(rows: readonly BenchRow[]): void {
  const table = new Table({ head: ['row', 'unit', 'rowan', 'peers'], style: { head: [], border: [] } });
  const times = (row: BenchRow, name: string): string => {
    const own = row.microseconds?.[name];
    const rate = row.processor?.[name];
    const ofProcessor = rate === undefined ? '' : ` CPU ${show(rate)}/s`;
    return (own ? ` p50 ${own.p50} p99 ${own.p99} us` : '') + ofProcessor + memoryOf(row.megabytes, name);
  };
  for (const row of rows) {
    const peers = Object.entries(row.peers).map(
      ([name, figure]) => `${(row.rowan / figure).toFixed(2)}x ${name} (${show(figure)}${times(row, name)})`,
    );
    table.push([row.row, row.unit, `${show(row.rowan)}${times(row, 'rowan')}`, peers.join('\n')]);
  }
  console.log(table.toString());
}

/**
 * Prints the table, and writes the JSON where `--json FILE` says; with `--merge FILE` figures that the file has already are
 * replaced, and all others stay, so that a long record can be made in slices. The rows get date, commit and load, and the tables
 * of the pages are made anew (tables.ts).
 */
export function report(rows: readonly BenchRow[]): void {
  printRows(rows);
  console.log(`Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown processor'}`);
  const json = argument('--json');
  if (json !== undefined) writeRows(json, rows);
  const record = argument('--merge');
  if (record === undefined) return;
  const measured = measurement();
  writeRows(
    record,
    merged(
      readRows(record),
      rows.map((row) => ({ ...row, measured })),
    ),
  );
  writeTables();
}

/** A commit with `+` has changes that are not committed. */
function measurement(): Measurement {
  const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim();
  const changed = git('status', '--porcelain', '--', 'src', 'decorators') === '' ? '' : '+';
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: `${git('rev-parse', '--short', 'HEAD')}${changed}`,
    machine: `load ${loadavg()[0]!.toFixed(1)}`,
  };
}

/** The word behind an option of the command; undefined without the option. */
export function argument(option: string): string | undefined {
  const at = process.argv.indexOf(option);
  return at < 0 ? undefined : process.argv[at + 1];
}

function readRows(file: string): BenchRow[] {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as BenchRow[]) : [];
}

function writeRows(file: string, rows: readonly BenchRow[]): void {
  writeFileSync(file, `${JSON.stringify(rows, null, 2)}\n`);
}

/** The rows of before, each with the newer figures of the row of its title, and behind them those that are new. */
function merged(before: readonly BenchRow[], rows: readonly BenchRow[]): BenchRow[] {
  const newer = new Map(rows.map((row) => [row.row, row]));
  const kept = before.map((row) => {
    const found = newer.get(row.row);
    newer.delete(row.row);
    return found === undefined ? row : withOthersOf(found, row);
  });
  return [...kept, ...newer.values()];
}

/** A row, and of those contestants that were not in it the figures of before: some loads are too long for one run. */
function withOthersOf(row: BenchRow, before: BenchRow): BenchRow {
  const microseconds = { ...before.microseconds, ...row.microseconds };
  const processor = { ...before.processor, ...row.processor };
  return {
    ...row,
    rowan: row.rowan > 0 ? row.rowan : before.rowan,
    peers: { ...before.peers, ...row.peers },
    ...(Object.keys(microseconds).length > 0 ? { microseconds } : {}),
    ...(Object.keys(processor).length > 0 ? { processor } : {}),
  };
}

function show(figure: number): string {
  return figure >= 1000 ? Math.round(figure).toLocaleString('en-US') : figure.toPrecision(3);
}
