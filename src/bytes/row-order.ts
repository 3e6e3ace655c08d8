/**
 * The order of many rows at once. A comparison of two rows that stand anywhere in memory costs more than one of numbers, so
 * each row is first told by one number of 64 bits, and the numbers are sorted:
 *
 *     group 8 | 5 bytes of the row, behind what all of its group begin with, 40 | place 16
 *
 * A group are the rows of the same first four bytes, which is an index each where rows are entries of indexes. Rows that the
 * numbers do not tell apart are compared.
 */

import { compareBytes } from './bytes.js';

/** Below this comparing is as fast. */
const FEW = 16;
/** As many as the places of a number can tell. */
const MOST_ROWS = 2 ** 16;
const MOST_GROUPS = 2 ** 8;
const HEAD_BYTES = 4;

/** Rows of the same first bytes. */
interface Group {
  readonly head: number;
  readonly first: Uint8Array;
  /** Bytes that all of them begin with. */
  shared: number;
  /** Among the groups, in the order of their first bytes. */
  rank: number;
}

/** The places of `rows` from the `from`th on in the order of the rows; equal rows in that of their places. */
export function orderOfRows(rows: readonly Uint8Array[], from = 0): Uint32Array {
  const count = rows.length - from;
  if (isInOrder(rows, from)) return places(from, count);
  const groups = count > FEW && count <= MOST_ROWS ? groupsOf(rows, from) : undefined;
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
  return settled(rows, from, words);
}

function places(from: number, count: number): Uint32Array {
  const out = new Uint32Array(count);
  for (let i = 0; i < count; i++) out[i] = from + i;
  return out;
}

/** Rows that are sorted already, as those of a part of a sorted run are. */
function isInOrder(rows: readonly Uint8Array[], from: number): boolean {
  for (let i = from + 1; i < rows.length; i++) if (compareBytes(rows[i - 1]!, rows[i]!) > 0) return false;
  return true;
}

/** Which of the two words of a number stands first is the machine's to say. */
const LOW = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1 ? 0 : 1;
const HIGH = 1 - LOW;

/** The places of sorted numbers, those that are equal but for them compared by their rows. */
function settled(rows: readonly Uint8Array[], from: number, words: Uint32Array): Uint32Array {
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

/** By their first bytes; undefined when there are too many. */
function groupsOf(rows: readonly Uint8Array[], from: number): ReadonlyMap<number, Group> | undefined {
  const groups = new Map<number, Group>();
  let group: Group | undefined;
  for (let i = from; i < rows.length; i++) {
    const row = rows[i]!;
    const head = headOf(row);
    if (group?.head !== head) group = groups.get(head);
    if (group === undefined) {
      if (groups.size === MOST_GROUPS) return undefined;
      group = { head, first: row, shared: row.length, rank: 0 };
      groups.set(head, group);
      continue;
    }
    const { first } = group;
    const most = Math.min(group.shared, row.length);
    let same = 0;
    while (same < most && first[same] === row[same]) same++;
    group.shared = same;
  }
  const inOrder = [...groups.values()].sort((a, b) => a.head - b.head);
  for (let rank = 0; rank < inOrder.length; rank++) inOrder[rank]!.rank = rank;
  return groups;
}

/** The first four bytes; what is missing counts as zeros. */
function headOf(row: Uint8Array): number {
  let head = 0;
  for (let i = 0; i < HEAD_BYTES; i++) head = (head << 8) | byteAt(row, i);
  return head >>> 0;
}

function byteAt(row: Uint8Array, at: number): number {
  return at < row.length ? row[at]! : 0;
}
