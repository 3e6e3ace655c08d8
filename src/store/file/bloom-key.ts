/**
 * What bloom filters hash. A point read hashes its row, and its column, once for all files.
 *
 * The hash has two lanes of 32 bits that go through the same words: the first is MurmurHash3_x86_32, the second has
 * other constants. A column is hashed on top of its row, so that the columns of one row cost only themselves.
 */

import { SeekKey } from '../cursor.js';

const ROW_SEED_1 = 0x9747b28c | 0;
const ROW_SEED_2 = 0x1b873593;

/** The row, and maybe the column, of a point read. Reused: `setRow` forgets the column. */
export class BloomKey {
  /** The start of the row. */
  readonly target = new SeekKey();
  row1 = 0;
  row2 = 0;
  hasColumn = false;
  column1 = 0;
  column2 = 0;

  constructor() {
    this.target.timestamp = Number.MAX_SAFE_INTEGER;
  }

  /** `row` must stay as it is while the key is used. */
  setRow(row: Uint8Array, offset = 0, length = row.length): this {
    const target = this.target;
    target.row = row;
    target.rowOffset = offset;
    target.rowLength = length;
    hash(row, offset, length, ROW_SEED_1, ROW_SEED_2);
    this.row1 = lane1;
    this.row2 = lane2;
    this.hasColumn = false;
    return this;
  }

  /** The column of the row that was set before. */
  setColumn(qualifier: Uint8Array, offset = 0, length = qualifier.length): this {
    hash(qualifier, offset, length, this.row1, this.row2);
    this.column1 = lane1;
    this.column2 = lane2;
    this.hasColumn = true;
    return this;
  }
}

/** The two lanes of the last `hash`. */
let lane1 = 0;
let lane2 = 0;

function hash(bytes: Uint8Array, offset: number, length: number, seed1: number, seed2: number): void {
  let h1 = seed1;
  let h2 = seed2;
  const end = offset + length;
  const wordsEnd = end - 3;
  let at = offset;
  while (at < wordsEnd) {
    let word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    word = Math.imul(word, 0xcc9e2d51);
    word = (word << 15) | (word >>> 17);
    word = Math.imul(word, 0x1b873593);
    h1 ^= word;
    h1 = (h1 << 13) | (h1 >>> 19);
    h1 = (Math.imul(h1, 5) + 0xe6546b64) | 0;
    h2 = Math.imul(h2 ^ word, 0x85ebca6b);
    h2 = (h2 << 17) | (h2 >>> 15);
    at += 4;
  }
  let rest = 0;
  for (let i = end - 1; i >= at; i--) rest = (rest << 8) | bytes[i]!;
  if (at < end) {
    rest = Math.imul(rest, 0xcc9e2d51);
    rest = (rest << 15) | (rest >>> 17);
    rest = Math.imul(rest, 0x1b873593);
    h1 ^= rest;
    h2 = Math.imul(h2 ^ rest, 0x85ebca6b);
  }
  lane1 = mixed(h1 ^ length);
  lane2 = mixed(h2 ^ length ^ 0x5bd1e995);
}

function mixed(hash: number): number {
  let h = hash;
  h ^= h >>> 16;
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return h ^ (h >>> 16);
}
