import { compareBytes, EMPTY_BYTES, keyAfter, sharedPrefix } from '../bytes/index.js';
import { type Admin, filters, type RegionInfo, Scan, type Table } from '../table/index.js';
import type { RowRange } from './types.js';

// — Treats byte strings as numbers, to compute the position of a row between two others, and to find rows in between.

/** How many bytes after the common prefix count: as many as a number holds exactly. */
const DIGITS = 6;

/** The common prefix of `start` and `stop`; empty if an end is open. */
function commonPrefix(start: Uint8Array, stop: Uint8Array): number {
  return sharedPrefix(start, 0, start.length, stop, 0, stop.length);
}

function numberAt(row: Uint8Array, from: number): number {
  let value = 0;
  for (let i = 0; i < DIGITS; i++) value = value * 256 + (row[from + i] ?? 0);
  return value;
}

/** The number that represents an open upper end. */
const TOP = 256 ** DIGITS;

/** The position of `row` within the range, 0..1. */
export function fractionOf(row: Uint8Array, { start, stop }: RowRange): number {
  const prefix = commonPrefix(start, stop);
  const low = numberAt(start, prefix);
  const high = stop.length === 0 ? TOP : numberAt(stop, prefix);
  if (high <= low) return 0;
  return Math.min(1, Math.max(0, (numberAt(row, prefix) - low) / (high - low)));
}

/** A byte string in the middle of the range by {@link fractionOf}; undefined if the ends are too close. */
function middleOf({ start, stop }: RowRange): Uint8Array | undefined {
  const prefix = commonPrefix(start, stop);
  const low = numberAt(start, prefix);
  const high = stop.length === 0 ? TOP : numberAt(stop, prefix);
  let rest = low + Math.floor((high - low) / 2);
  if (rest <= low) return undefined;
  const middle = new Uint8Array(prefix + DIGITS);
  middle.set(start.subarray(0, prefix));
  for (let i = DIGITS - 1; i >= 0; i--) {
    middle[prefix + i] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  return middle;
}

/** All rows. */
const WHOLE_TABLE: RowRange = Object.freeze({ start: EMPTY_BYTES, stop: EMPTY_BYTES });

/** The largest number of splits in a region. */
const MAX_PIECES = 256;

/**
 * Divides a pass into splits: one for each region, like MapReduce's `TableInputFormat`, and several for a region larger
 * than the split size. They are in the order of `ranges` and of the keys within each.
 */
export async function planSplits(
  admin: Admin,
  table: Table,
  ranges: readonly RowRange[],
  splitBytes: number,
): Promise<RowRange[]> {
  const regions = await admin.getRegions(table.name);
  const splits: RowRange[] = [];
  for (const range of ranges.length === 0 ? [WHOLE_TABLE] : ranges) {
    for (const region of regions) {
      const part = intersection(range, { start: region.startKey, stop: region.endKey });
      if (part === undefined) continue;
      const pieces = piecesOf(region, splitBytes);
      if (pieces === 1) splits.push(part);
      else splits.push(...(await cut(table, part, pieces)));
    }
  }
  return splits;
}

function piecesOf({ storeFileSize, memstoreSize }: RegionInfo, splitBytes: number): number {
  return Math.min(MAX_PIECES, Math.max(1, Math.ceil((storeFileSize + memstoreSize) / splitBytes)));
}

/** The intersection of two ranges; undefined if it is empty. */
function intersection(a: RowRange, b: RowRange): RowRange | undefined {
  const start = compareBytes(a.start, b.start) >= 0 ? a.start : b.start;
  const stop =
    a.stop.length === 0 || (b.stop.length > 0 && compareBytes(b.stop, a.stop) < 0) ? b.stop : a.stop;
  return stop.length > 0 && compareBytes(start, stop) >= 0 ? undefined : { start, stop };
}

/** Cuts at existing rows, so that only the last split can be empty. */
async function cut(table: Table, range: RowRange, pieces: number): Promise<RowRange[]> {
  const first = await nearestRow(table, range, false);
  const last = first && (await nearestRow(table, range, true));
  if (first === undefined || last === undefined) return [range];
  const bounds: Uint8Array[] = [];
  await halve(table, first, last, pieces, bounds);
  return [range.start, ...bounds].map((start, index) => ({ start, stop: bounds[index] ?? range.stop }));
}

/**
 * Halves the rows from `first` to `last` at the row after their middle, recursively. Each middle is computed after the
 * common prefix, so that digits and texts are divided as evenly as bytes.
 */
async function halve(
  table: Table,
  first: Uint8Array,
  last: Uint8Array,
  pieces: number,
  bounds: Uint8Array[],
): Promise<void> {
  const stop = keyAfter(last);
  const middle = pieces < 2 ? undefined : middleOf({ start: first, stop });
  const bound = middle && (await nearestRow(table, { start: middle, stop }, false));
  const before = bound && (await nearestRow(table, { start: first, stop: bound }, true));
  if (bound === undefined || before === undefined) return;
  const half = Math.floor(pieces / 2);
  await halve(table, first, before, half, bounds);
  bounds.push(bound);
  await halve(table, bound, last, pieces - half, bounds);
}

async function nearestRow(
  table: Table,
  { start, stop }: RowRange,
  reversed: boolean,
): Promise<Uint8Array | undefined> {
  const scan = new Scan().setLimit(1).setCacheBlocks(false).setFilter(filters.keyOnly());
  if (reversed)
    scan
      .setReversed(true)
      .withStartRow(stop, stop.length === 0)
      .withStopRow(start, true);
  else scan.withStartRow(start).withStopRow(stop);
  const scanner = table.scan(scan);
  try {
    return (await scanner.next())?.row;
  } finally {
    await scanner.close();
  }
}
