/**
 * Sorts many rows at once. Comparing two rows anywhere in memory costs more than comparing numbers, so each row is first mapped to one
 * number of 64 bits, and the numbers are sorted:
 *
 *     group 8 | 5 bytes of the row after the common prefix of its group 40 | index 16
 *
 * A group is the rows with the same first four bytes; if the rows are index entries, each index is a group. Rows whose numbers do not
 * distinguish them are compared.
 */

import { compareSlices } from './bytes.js';

/** Up to this many rows comparing them is as fast. */
const FEW = 16;
/** As many as the index in a number can address. */
const MAX_ROWS = 2 ** 16;
const MAX_GROUPS = 2 ** 8;
const HEAD_BYTES = 4;

/** The rows that are sorted, each some bytes of an array. */
interface Rows {
  readonly count: number;
  arrayOf(row: number): Uint8Array;
  startOf(row: number): number;
  endOf(row: number): number;
}

/** Rows that are arrays themselves. */
class OwnRows implements Rows {
  readonly count: number;

  constructor(
    private readonly rows: readonly Uint8Array[],
    private readonly from: number,
  ) {
    this.count = rows.length - from;
  }

  arrayOf(row: number): Uint8Array {
    return this.rows[this.from + row]!;
  }

  startOf(): number {
    return 0;
  }

  endOf(row: number): number {
    return this.rows[this.from + row]!.length;
  }
}

/** Rows that are parts of one array. */
class PartRows implements Rows {
  constructor(
    private readonly bytes: Uint8Array,
    private readonly starts: readonly number[],
    private readonly ends: readonly number[],
  ) {}

  get count(): number {
    return this.starts.length;
  }

  arrayOf(): Uint8Array {
    return this.bytes;
  }

  startOf(row: number): number {
    return this.starts[row]!;
  }

  endOf(row: number): number {
    return this.ends[row]!;
  }
}

/** Rows with the same first bytes. */
interface Group {
  readonly head: number;
  readonly first: number;
  /** The length of the prefix that they share. */
  shared: number;
  /** The position among the groups, ordered by first bytes. */
  rank: number;
}

/** The indexes of `rows`, starting at `from`, sorted by row; equal rows in the order of their indexes. */
export function orderOfRows(rows: readonly Uint8Array[], from = 0): Uint32Array {
  const order = orderOf(new OwnRows(rows, from));
  if (from > 0) for (let i = 0; i < order.length; i++) order[i]! += from;
  return order;
}

/** As {@link orderOfRows}, of the rows bytes[starts[i]..ends[i]). */
export function orderOfParts(
  bytes: Uint8Array,
  starts: readonly number[],
  ends: readonly number[],
): Uint32Array {
  return orderOf(new PartRows(bytes, starts, ends));
}

function orderOf(rows: Rows): Uint32Array {
  const { count } = rows;
  if (isInOrder(rows)) return places(count);
  const groups = count > FEW && count <= MAX_ROWS ? groupsOf(rows) : undefined;
  if (groups === undefined) return places(count).sort((a, b) => compare(rows, a, b) || a - b);
  const numbers = new BigUint64Array(count);
  const words = new Uint32Array(numbers.buffer);
  let group: Group | undefined;
  for (let i = 0; i < count; i++) {
    const array = rows.arrayOf(i);
    const end = rows.endOf(i);
    const head = headOf(array, rows.startOf(i), end);
    if (group?.head !== head) group = groups.get(head)!;
    const at = rows.startOf(i) + group.shared;
    words[2 * i + HIGH] =
      (group.rank << 24) |
      (byteAt(array, at, end) << 16) |
      (byteAt(array, at + 1, end) << 8) |
      byteAt(array, at + 2, end);
    words[2 * i + LOW] = (byteAt(array, at + 3, end) << 24) | (byteAt(array, at + 4, end) << 16) | i;
  }
  numbers.sort();
  return indexesOf(rows, words);
}

function places(count: number): Uint32Array {
  const out = new Uint32Array(count);
  for (let i = 0; i < count; i++) out[i] = i;
  return out;
}

/** Whether the rows are sorted already. */
function isInOrder(rows: Rows): boolean {
  for (let i = 1; i < rows.count; i++) if (compare(rows, i - 1, i) > 0) return false;
  return true;
}

function compare(rows: Rows, a: number, b: number): number {
  const aStart = rows.startOf(a);
  const bStart = rows.startOf(b);
  return compareSlices(
    rows.arrayOf(a),
    aStart,
    rows.endOf(a) - aStart,
    rows.arrayOf(b),
    bStart,
    rows.endOf(b) - bStart,
  );
}

/** The index of the low word of a number on this machine. */
const LOW = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1 ? 0 : 1;
const HIGH = 1 - LOW;

/** The indexes in sorted numbers; rows with otherwise equal numbers are compared. */
function indexesOf(rows: Rows, words: Uint32Array): Uint32Array {
  const count = words.length / 2;
  const order = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[i] = words[2 * i + LOW]! & 0xffff;
  for (let start = 0; start < count; ) {
    let end = start + 1;
    while (
      end < count &&
      words[2 * end + HIGH] === words[2 * start + HIGH] &&
      words[2 * end + LOW]! >>> 16 === words[2 * start + LOW]! >>> 16
    )
      end++;
    if (end - start > 1) order.subarray(start, end).sort((a, b) => compare(rows, a, b) || a - b);
    start = end;
  }
  return order;
}

/** The groups by first bytes; undefined when there are too many. */
function groupsOf(rows: Rows): ReadonlyMap<number, Group> | undefined {
  const groups = new Map<number, Group>();
  let group: Group | undefined;
  for (let i = 0; i < rows.count; i++) {
    const array = rows.arrayOf(i);
    const start = rows.startOf(i);
    const length = rows.endOf(i) - start;
    const head = headOf(array, start, start + length);
    if (group?.head !== head) group = groups.get(head);
    if (group === undefined) {
      if (groups.size === MAX_GROUPS) return undefined;
      group = { head, first: i, shared: length, rank: 0 };
      groups.set(head, group);
      continue;
    }
    const first = rows.arrayOf(group.first);
    const firstStart = rows.startOf(group.first);
    const limit = Math.min(group.shared, length);
    let same = 0;
    while (same < limit && first[firstStart + same] === array[start + same]) same++;
    group.shared = same;
  }
  const inOrder = [...groups.values()].sort((a, b) => a.head - b.head);
  for (let rank = 0; rank < inOrder.length; rank++) inOrder[rank]!.rank = rank;
  return groups;
}

/** The first four bytes, padded with zeros. */
function headOf(array: Uint8Array, start: number, end: number): number {
  let head = 0;
  for (let i = 0; i < HEAD_BYTES; i++) head = (head << 8) | byteAt(array, start + i, end);
  return head >>> 0;
}

function byteAt(array: Uint8Array, at: number, end: number): number {
  return at < end ? array[at]! : 0;
}
