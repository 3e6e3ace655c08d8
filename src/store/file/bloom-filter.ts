import { hashBytes, hashRow, lane1, lane2 } from '../../bytes/bytes.js';
import { CacheEntry } from '../cache.js';
import { SeekKey } from '../cursor.js';

/**
 * Blocked bloom filters: all bits of a key are in one line of 64 bytes, so that a look-up costs one cache miss. A chunk holds up to
 * {@link CHUNK_KEYS} keys; a file has as many chunks as it needs, each for a range of rows.
 */

/** The most keys of a chunk. At ten bits each, about one absent key in a hundred is reported as present. */
export const CHUNK_KEYS = 1 << 20;
const LINE_BYTES = 64;
const LINE_BITS = 512;
const BITS_PER_KEY = 10;
/** A power of two times 5, so that it can be halved. */
const CHUNK_LINES = (CHUNK_KEYS * BITS_PER_KEY) / LINE_BITS;
const PROBES = 6;
const TWO_32 = 0x100000000;

/** The bits of a chunk's keys, in whole lines. */
export class BloomChunk extends CacheEntry {
  private readonly lines: number;

  constructor(private readonly bytes: Uint8Array) {
    super(bytes.length);
    this.lines = bytes.length / LINE_BYTES;
  }

  /** False: the key was never added. */
  mayContain(hash1: number, hash2: number): boolean {
    const bytes = this.bytes;
    const line = lineOf(hash1, this.lines) * LINE_BYTES;
    let bit = hash2 & (LINE_BITS - 1);
    let step = (hash2 >>> 9) | 1;
    for (let i = 0; i < PROBES; i++) {
      if ((bytes[line + (bit >>> 3)]! & (1 << (bit & 7))) === 0) return false;
      bit = (bit + step) & (LINE_BITS - 1);
      step += i + (hash2 >>> 20);
    }
    return true;
  }
}

/** The number of keys that are first kept as hashes, so that a small file needs no filter of full size. */
const BUFFERED_KEYS = 1 << 13;
/** How many hashes the first buffer for them has room for; it grows up to those of {@link BUFFERED_KEYS}. */
const FIRST_ROOM = 1 << 8;

/** Collects the keys of one chunk after another. */
export class BloomBuilder {
  /** The hashes of the first keys, two each. */
  private buffered = new Int32Array(FIRST_ROOM);
  /** The lines of a full chunk; allocated when there are more keys. */
  private bits: Uint8Array | undefined;
  /** Keys in the chunk. */
  keys = 0;

  add(hash1: number, hash2: number): void {
    const keys = this.keys++;
    if (keys < BUFFERED_KEYS) {
      if (2 * keys === this.buffered.length) this.enlarge();
      this.buffered[2 * keys] = hash1;
      this.buffered[2 * keys + 1] = hash2;
      return;
    }
    if (keys === BUFFERED_KEYS) {
      this.bits ??= new Uint8Array(CHUNK_LINES * LINE_BYTES);
      this.bits.fill(0);
      this.setBuffered(this.bits, BUFFERED_KEYS);
    }
    setBits(this.bits!, CHUNK_LINES, hash1, hash2);
  }

  /** Returns the chunk's bits, no longer than its keys need, valid until the next key; and begins the next chunk. */
  finish(): Uint8Array {
    const { keys } = this;
    const needed = (keys * BITS_PER_KEY) / LINE_BITS;
    let lines = CHUNK_LINES;
    while (lines % 2 === 0 && lines / 2 >= needed) lines /= 2;
    this.keys = 0;
    if (keys <= BUFFERED_KEYS) {
      const bits = new Uint8Array(lines * LINE_BYTES);
      this.setBuffered(bits, keys);
      return bits;
    }
    const bits = this.bits!;
    for (let present = CHUNK_LINES; present > lines; present /= 2) halve(bits, present / 2);
    return bits.subarray(0, lines * LINE_BYTES);
  }

  private enlarge(): void {
    const { buffered } = this;
    this.buffered = new Int32Array(2 * buffered.length);
    this.buffered.set(buffered);
  }

  private setBuffered(bits: Uint8Array, count: number): void {
    const { buffered } = this;
    const lines = bits.length / LINE_BYTES;
    for (let i = 0; i < count; i++) setBits(bits, lines, buffered[2 * i]!, buffered[2 * i + 1]!);
  }
}

function setBits(bits: Uint8Array, lines: number, hash1: number, hash2: number): void {
  const line = lineOf(hash1, lines) * LINE_BYTES;
  let bit = hash2 & (LINE_BITS - 1);
  let step = (hash2 >>> 9) | 1;
  for (let i = 0; i < PROBES; i++) {
    const at = line + (bit >>> 3);
    bits[at] = bits[at]! | (1 << (bit & 7));
    bit = (bit + step) & (LINE_BITS - 1);
    step += i + (hash2 >>> 20);
  }
}

/** Combines each two adjacent lines into one: `lineOf` with half as many lines finds both there. */
function halve(bits: Uint8Array, half: number): void {
  for (let line = 0; line < half; line++) {
    const to = line * LINE_BYTES;
    const from = 2 * to;
    for (let i = 0; i < LINE_BYTES; i++) bits[to + i] = bits[from + i]! | bits[from + LINE_BYTES + i]!;
  }
}

/** Whether a chunk may have this length. */
export function isChunkLength(length: number): boolean {
  return length > 0 && length % LINE_BYTES === 0 && length <= CHUNK_LINES * LINE_BYTES;
}

function lineOf(hash1: number, lines: number): number {
  return Math.floor(((hash1 >>> 0) * lines) / TWO_32);
}

/**
 * The hashes of a row, and optionally of a column, that bloom filters and row tables of blocks use. A point read hashes
 * them once for all files. The hash of a column continues that of its row, so that further columns of a row cost only
 * themselves. Reusable: `setRow` clears the column.
 */
export class BloomKey {
  /** The start of the row. */
  readonly target = new SeekKey();
  row1 = 0;
  row2 = 0;
  hasColumn = false;
  column1 = 0;
  column2 = 0;

  /** `row` must not change while the key is used. */
  setRow(row: Uint8Array, offset = 0, length = row.length): this {
    this.target.setRow(row, offset, length);
    hashRow(row, offset, length);
    this.row1 = lane1;
    this.row2 = lane2;
    this.hasColumn = false;
    return this;
  }

  /** Sets the column of the present row. */
  setColumn(qualifier: Uint8Array, offset = 0, length = qualifier.length): this {
    hashBytes(qualifier, offset, length, this.row1, this.row2);
    this.column1 = lane1;
    this.column2 = lane2;
    this.hasColumn = true;
    return this;
  }
}
