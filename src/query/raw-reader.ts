/**
 * Reads whole plans of tables that answer without leaving the thread, row by row and without an object for each cell:
 * the short way of `all()`.
 */

import { setImmediate as yieldToEvents } from 'node:timers/promises';
import { throwIfAborted } from '../errors.js';
import type { KeyRange } from '../key/types.js';
import { Get, RawRow, type SyncResultScanner, type SyncTable } from '../table/index.js';
import { RangeHeap } from './range-heap.js';
import { rangesFrom, scanOf } from './ranges.js';
import { prepareQuery, type RunnablePlan, type RunOptions } from './reader.js';

/** Rows after which other events get their turn. */
const ROWS_AT_ONCE = 8192;

/** Kept for the next reading: at most as many as readings go on at the same time. */
const spare: RawRow[] = [];
const MOST_SPARE = 64;

/** A row to read into, to be given back. */
export function takeRawRow(): RawRow {
  return spare.pop() ?? new RawRow();
}

export function giveBackRawRow(raw: RawRow): void {
  if (spare.length < MOST_SPARE) spare.push(raw);
}

/** Whether a plan can be read so: nothing of it is decided here, and the table gives raw rows. */
export function canReadRaw(plan: RunnablePlan, table: SyncTable | undefined): table is SyncTable {
  return plan.rowTest === undefined && table?.getRaw !== undefined;
}

/**
 * Calls `onRow` with every row of the plan, in order; the row is filled anew for each.
 * @returns undefined when it has read them all; a promise when there are so many that others get their turn between
 */
export function readRaw(
  plan: RunnablePlan,
  table: SyncTable,
  options: RunOptions,
  onRow: (raw: RawRow) => void,
): Promise<void> | undefined {
  throwIfAborted(options.signal);
  if (options.limit === 0) return undefined;
  const ranges = rangesFrom(plan.keyPlan, plan.reversed, options.position);
  const { kind, order } = plan.keyPlan;
  if (kind === 'point' || kind === 'points') {
    readPoints(plan, table, options, ranges, onRow);
    return undefined;
  }
  if (order === 'merge' && ranges.length > 1) return readMerged(plan, table, options, ranges, onRow);
  return readSequence(plan, table, options, ranges, onRow);
}

function readPoints(
  plan: RunnablePlan,
  table: SyncTable,
  options: RunOptions,
  ranges: readonly KeyRange[],
  onRow: (raw: RawRow) => void,
): void {
  const raw = takeRawRow();
  let left = options.limit ?? Number.POSITIVE_INFINITY;
  for (let i = 0; i < ranges.length && left > 0; i++) {
    const get = new Get(ranges[i]!.start);
    prepareQuery(get, plan);
    if (!table.getRaw!(get, raw)) continue;
    onRow(raw);
    left--;
  }
  giveBackRawRow(raw);
}

function readSequence(
  plan: RunnablePlan,
  table: SyncTable,
  options: RunOptions,
  ranges: readonly KeyRange[],
  onRow: (raw: RawRow) => void,
): Promise<void> | undefined {
  const raw = takeRawRow();
  let left = options.limit;
  for (let i = 0; i < ranges.length && left !== 0; i++) {
    const scanner = openScan(plan, table, ranges[i]!, left);
    let count: number;
    try {
      count = readSome(scanner, raw, onRow);
    } catch (error) {
      scanner.close();
      throw error;
    }
    if (left !== undefined) left -= count;
    if (count === ROWS_AT_ONCE) {
      giveBackRawRow(raw);
      return readOn(plan, table, { ...options, limit: left }, ranges.slice(i + 1), onRow, scanner);
    }
    scanner.close();
  }
  giveBackRawRow(raw);
  return undefined;
}

/** Goes on with a scan that has more rows, then with the other ranges. */
async function readOn(
  plan: RunnablePlan,
  table: SyncTable,
  options: RunOptions,
  others: readonly KeyRange[],
  onRow: (raw: RawRow) => void,
  scanner: SyncResultScanner,
): Promise<void> {
  const raw = takeRawRow();
  let left = options.limit;
  try {
    for (let count = ROWS_AT_ONCE; count === ROWS_AT_ONCE; ) {
      await pause(options);
      count = readSome(scanner, raw, onRow);
      if (left !== undefined) left -= count;
    }
  } finally {
    scanner.close();
  }
  giveBackRawRow(raw);
  await readSequence(plan, table, { ...options, limit: left }, others, onRow);
}

/** At most `ROWS_AT_ONCE` rows; answers how many. */
function readSome(scanner: SyncResultScanner, raw: RawRow, onRow: (raw: RawRow) => void): number {
  let count = 0;
  while (count < ROWS_AT_ONCE && scanner.nextRaw!(raw)) {
    onRow(raw);
    count++;
  }
  return count;
}

/** One range of a merge and the row it stands at. */
class RawSource {
  private readonly raw = takeRawRow();
  row: Uint8Array | undefined;

  constructor(private readonly scanner: SyncResultScanner) {
    this.advance();
  }

  advance(): void {
    this.row = this.scanner.nextRaw!(this.raw) ? this.raw.row : undefined;
  }

  give(onRow: (raw: RawRow) => void): void {
    onRow(this.raw);
    this.advance();
  }

  close(): void {
    this.scanner.close();
    giveBackRawRow(this.raw);
  }
}

async function readMerged(
  plan: RunnablePlan,
  table: SyncTable,
  options: RunOptions,
  ranges: readonly KeyRange[],
  onRow: (raw: RawRow) => void,
): Promise<void> {
  const sources: RawSource[] = [];
  try {
    for (const range of ranges) sources.push(new RawSource(openScan(plan, table, range, options.limit)));
    const heap = new RangeHeap(sources, plan.keyPlan.mergeOffset, plan.reversed);
    let left = options.limit ?? Number.POSITIVE_INFINITY;
    for (let count = 1; left > 0 && heap.top !== undefined; count++, left--) {
      heap.top.give(onRow);
      heap.settleTop();
      if (count % ROWS_AT_ONCE === 0) await pause(options);
    }
  } finally {
    for (const source of sources) source.close();
  }
}

function openScan(
  plan: RunnablePlan,
  table: SyncTable,
  range: KeyRange,
  limit: number | undefined,
): SyncResultScanner {
  const scan = scanOf(range, plan.reversed).setLimit(limit);
  prepareQuery(scan, plan);
  return table.scanSync(scan);
}

async function pause(options: RunOptions): Promise<void> {
  await yieldToEvents();
  throwIfAborted(options.signal);
}
