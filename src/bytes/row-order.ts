/**
 * Sorts many rows at once. Comparing two rows anywhere in memory costs more than comparing numbers, so each row is first mapped to one
 * number of 64 bits, and the numbers are sorted:
 *
 *     group 8 | 5 bytes of the row after the common prefix of its group 40 | index 16
 *
 * A group is the rows with the same first four bytes; if the rows are index entries, each index is a group. Rows whose numbers do not
 * distinguish them are compared.
 */

import { compareBytes } from './bytes.js';

/** Up to this many rows comparing them is as fast. */
const FEW = 16;
/** As many as the index in a number can address. */
const MAX_ROWS = 2 ** 16;
const MAX_GROUPS = 2 ** 8;
const HEAD_BYTES = 4;

/** Rows with the same first bytes. */
interface Group {
  readonly head: number;
  readonly first: Uint8Array;
  /** The length of the prefix that they share. */
  shared: number;
  /** The position among the groups, ordered by first bytes. */
  rank: number;
}

/** The indexes of `rows`, starting at `from`, sorted by row; equal rows in the order of their indexes. */
export function orderOfRows(rows: readonly Uint8Array[], from = 0): Uint32Array {
  const count = rows.length - from;
  if (isInOrder(rows, from)) return places(from, count);
  const groups = count > FEW && count <= MAX_ROWS ? groupsOf(rows, from) : undefined;
  if (groups === undefined) {
    return places(from, count).sort((a, b) => compareBytes(rows[a]!, rows[b]!) || a - b);
  }
  const numbers = new BigUint64Array(count);
  const words = new Uint32Array(numbers.buffer);
  let group: Group | undefined;
  for (let i = 0; i < count; i++) {
    const row = rows[from + i]!;
    const head = headOf(row);
    if (group?.head !== head) group = groups.get(head)!;
    const { rank, shared: at } = group;
    words[2 * i + HIGH] =
      (rank << 24) | (byteAt(row, at) << 16) | (byteAt(row, at + 1) << 8) | byteAt(row, at + 2);
    words[2 * i + LOW] = (byteAt(row, at + 3) << 24) | (byteAt(row, at + 4) << 16) | i;
  }
  numbers.sort();
  return indexesOf(rows, from, words);
}

function places(from: number, count: number): Uint32Array {
  const out = new Uint32Array(count);
  for (let i = 0; i < count; i++) out[i] = from + i;
  return out;
}

/** Whether the rows are sorted already. */
function isInOrder(rows: readonly Uint8Array[], from: number): boolean {
  for (let i = from + 1; i < rows.length; i++) if (compareBytes(rows[i - 1]!, rows[i]!) > 0) return false;
  return true;
}

/** The index of the low word of a number on this machine. */
const LOW = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1 ? 0 : 1;
const HIGH = 1 - LOW;

/** The indexes in sorted numbers; rows with otherwise equal numbers are compared. */
function indexesOf(rows: readonly Uint8Array[], from: number, words: Uint32Array): Uint32Array {
  const count = words.length / 2;
  const order = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[i] = from + (words[2 * i + LOW]! & 0xffff);
  for (let start = 0; start < count; ) {
    let end = start + 1;
    while (
      end < count &&
      words[2 * end + HIGH] === words[2 * start + HIGH] &&
      words[2 * end + LOW]! >>> 16 === words[2 * start + LOW]! >>> 16
    )
      end++;
    if (end - start > 1) order.subarray(start, end).sort((a, b) => compareBytes(rows[a]!, rows[b]!) || a - b);
    start = end;
  }
  return order;
}

/** The groups by first bytes; undefined when there are too many. */
function groupsOf(rows: readonly Uint8Array[], from: number): ReadonlyMap<number, Group> | undefined {
  const groups = new Map<number, Group>();
  let group: Group | undefined;
  for (let i = from; i < rows.length; i++) {
    const row = rows[i]!;
    const head = headOf(row);
    if (group?.head !== head) group = groups.get(head);
    if (group === undefined) {
      if (groups.size === MAX_GROUPS) return undefined;
      group = { head, first: row, shared: row.length, rank: 0 };
      groups.set(head, group);
      continue;
    }
    const { first } = group;
    const limit = Math.min(group.shared, row.length);
    let same = 0;
    while (same < limit && first[same] === row[same]) same++;
    group.shared = same;
  }
  const inOrder = [...groups.values()].sort((a, b) => a.head - b.head);
  for (let rank = 0; rank < inOrder.length; rank++) inOrder[rank]!.rank = rank;
  return groups;
}

/** The first four bytes, padded with zeros. */
function headOf(row: Uint8Array): number {
  let head = 0;
  for (let i = 0; i < HEAD_BYTES; i++) head = (head << 8) | byteAt(row, i);
  return head >>> 0;
}

function byteAt(row: Uint8Array, at: number): number {
  return at < row.length ? row[at]! : 0;
}
