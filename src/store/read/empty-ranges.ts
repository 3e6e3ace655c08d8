import { compareBytes, keyAfter } from '../../bytes/index.js';

/** More ranges would make writes slower, which look for their row in them. */
const MAX_RANGES = 32;

/** A range of rows without visible cells. */
export interface EmptyRange {
  /** Inclusive. */
  readonly start: Uint8Array;
  /** Exclusive; empty: to the last row. */
  readonly end: Uint8Array;
  /** The sequence number and the time as of which no cell was visible. Later readers find none either, because a put ends the range. */
  readonly seq: number;
  readonly time: number;
  used: number;
}

/**
 * Ranges of rows in which scans of a family found no visible cell: its rows were deleted, or have expired, and no compaction has
 * dropped their cells yet. Later scans pass over such a range at once. Without that, each look for the first task of a queue would
 * step over every task that was taken from it.
 *
 * The ranges belong to a `StoreVersion`. What can show a cell again ends them: a put to one of their rows, of which the active memstore
 * tells them, and any change of files or of the family's options, which makes a new version.
 */
export class EmptyRanges {
  /** In key order, without overlaps. */
  private readonly ranges: EmptyRange[] = [];
  private clock = 0;

  get any(): boolean {
    return this.ranges.length > 0;
  }

  /** The range that contains the row, if a reader of this read point and time may pass over it. */
  find(row: Uint8Array, readPoint: number, now: number): EmptyRange | undefined {
    const range = this.ranges[this.lastFrom(row)];
    if (range === undefined || !contains(range, row) || range.seq > readPoint || range.time > now)
      return undefined;
    range.used = ++this.clock;
    return range;
  }

  /** Adds a range, and merges it with those that it overlaps or touches. */
  add(start: Uint8Array, end: Uint8Array, seq: number, time: number): void {
    const { ranges } = this;
    let from = this.lastFrom(start);
    if (from < 0 || !reaches(ranges[from]!.end, start)) from++;
    let to = from;
    while (to < ranges.length && reaches(end, ranges[to]!.start)) to++;
    let merged: EmptyRange = { start, end, seq, time, used: ++this.clock };
    for (let i = from; i < to; i++) merged = union(merged, ranges[i]!);
    ranges.splice(from, to - from, merged);
    this.limit();
  }

  /** A put of this row, of `length` bytes at `offset`, may become visible. */
  cut(bytes: Uint8Array, offset = 0, length: number = bytes.length): void {
    if (this.ranges.length === 0) return;
    const row = bytes.subarray(offset, offset + length);
    const index = this.lastFrom(row);
    const range = this.ranges[index];
    if (range === undefined || !contains(range, row)) return;
    const parts: EmptyRange[] = [];
    const after = keyAfter(row);
    if (compareBytes(range.start, row) < 0) parts.push({ ...range, end: row.slice() });
    if (range.end.length === 0 || compareBytes(after, range.end) < 0) parts.push({ ...range, start: after });
    this.ranges.splice(index, 1, ...parts);
    this.limit();
  }

  /** Drops the range that was not used for longest, if there are too many. */
  private limit(): void {
    const { ranges } = this;
    if (ranges.length <= MAX_RANGES) return;
    let oldest = 0;
    for (let i = 1; i < ranges.length; i++) if (ranges[i]!.used < ranges[oldest]!.used) oldest = i;
    ranges.splice(oldest, 1);
  }

  /** The index of the last range that starts at or before the row; -1 if there is none. */
  private lastFrom(row: Uint8Array): number {
    const { ranges } = this;
    let low = 0;
    let high = ranges.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareBytes(ranges[middle]!.start, row) <= 0) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

function contains({ end }: EmptyRange, row: Uint8Array): boolean {
  return end.length === 0 || compareBytes(row, end) < 0;
}

/** Whether a range with this end overlaps or touches what starts at `start`. */
function reaches(end: Uint8Array, start: Uint8Array): boolean {
  return end.length === 0 || compareBytes(start, end) <= 0;
}

function union(a: EmptyRange, b: EmptyRange): EmptyRange {
  const endless = a.end.length === 0 || b.end.length === 0;
  return {
    start: compareBytes(a.start, b.start) <= 0 ? a.start : b.start,
    end: endless ? new Uint8Array(0) : compareBytes(a.end, b.end) >= 0 ? a.end : b.end,
    seq: Math.max(a.seq, b.seq),
    time: Math.max(a.time, b.time),
    used: Math.max(a.used, b.used),
  };
}
