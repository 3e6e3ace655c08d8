import { putU64, readU64, sharedPrefix } from '../../bytes/index.js';
import { CacheEntry } from '../cache.js';
import type { SeekKey } from '../cursor.js';
import {
  ABSENT,
  LIMIT,
  MAX_POSITIONS,
  PrefixIndex,
  type RowNumbers,
  type RowNumbersMaker,
  type RowPlace,
} from '../encoding/row-lookup.js';
import { type IndexKey, isKeyAtOrBefore, keyBytes, keyEnd, keyHeaderBytes, putKey } from './index-key.js';

/** Values of a position: no byte, and every byte. */
const VALUES = 257;

/** Collects which bytes the rows of a run have at each position after their common prefix. */
export class ByteSets implements RowNumbersMaker {
  private readonly present = new Uint8Array(MAX_POSITIONS * VALUES);

  constructor(private readonly skip: number) {}

  add(bytes: Uint8Array, offset: number, length: number): void {
    const { present, skip } = this;
    for (let i = 0; i < MAX_POSITIONS; i++) {
      const at = skip + i;
      present[i * VALUES + (at < length ? bytes[offset + at]! : ABSENT) - ABSENT] = 1;
    }
  }

  make(): RankKey {
    return new RankKey(this.skip, this.present);
  }
}

/**
 * Numbers for a few rows that are far apart, like the keys of an index. Unlike in {@link InterpolationKey}, each position of the row
 * counts as many values as the rows have different bytes there, not the whole range between the least and the greatest. For
 * page addresses with domains under `com`, `de` and `org`, four letters are thirty values instead of a million, so the bytes
 * that distinguish the rows fit into the number.
 */
class RankKey implements RowNumbers {
  private positions = 0;
  /** For each position and value: twice the number of lower values that occur, plus one if the value itself occurs. */
  private readonly ranks: Uint16Array;
  /** The number of digits of each position. */
  private readonly radix = new Int32Array(MAX_POSITIONS);
  /** The number of low bits of the last position that are left out. */
  private shift = 0;

  /**
   * @param skip the length of the common prefix, which is not part of the number
   * @param present whether a row has the value, for each position and value
   */
  constructor(
    private readonly skip: number,
    present: Uint8Array,
  ) {
    const ranks = new Uint16Array(MAX_POSITIONS * VALUES);
    let product = 1;
    while (this.positions < MAX_POSITIONS && this.shift === 0) {
      const start = this.positions * VALUES;
      let count = 0;
      for (let value = 0; value < VALUES; value++) {
        const has = present[start + value]!;
        ranks[start + value] = (count << 1) | has;
        count += has;
      }
      // After the last byte of the longest row there is nothing to distinguish.
      if (count === 1 && present[start] === 1) break;
      let shift = 0;
      while (product * (((count - 1) >> shift) + 1) > LIMIT) shift++;
      const digits = ((count - 1) >> shift) + 1;
      if (shift > 0 && digits === 1) break;
      this.shift = shift;
      this.radix[this.positions++] = digits;
      product *= digits;
    }
    this.ranks = ranks.slice(0, this.positions * VALUES);
  }

  of(bytes: Uint8Array, offset: number, length: number): number {
    const { ranks, radix, skip, positions, shift } = this;
    const last = positions - 1;
    let code = 0;
    for (let i = 0; i < positions; i++) {
      const at = skip + i;
      const rank = ranks[i * VALUES + (at < length ? bytes[offset + at]! : ABSENT) - ABSENT]!;
      const digits = radix[i]!;
      const digit = i === last ? rank >> (1 + shift) : rank >> 1;
      if (digit >= digits) return this.fill(code, i, 1);
      code = code * digits + digit;
      // Between two values that occur: before all rows that have the greater.
      if ((rank & 1) === 0) return this.fill(code, i + 1, 0);
    }
    return code;
  }

  /** The least (0) or greatest (1) number whose first `count` digits are those of `code`. */
  private fill(code: number, count: number, greatest: 0 | 1): number {
    let filled = code;
    for (let i = count; i < this.positions; i++) {
      const digits = this.radix[i]!;
      filled = filled * digits + greatest * (digits - 1);
    }
    return filled;
  }
}

/** count u32, then entries, then keys. */
const HEAD_BYTES = 4;
/** offset u64, length u32, first data block u32, key offset u32. */
const ENTRY_BYTES = 20;
/** Memory of the object and its row numbers: about 8 KiB. */
const OBJECT_BYTES = 9000;

/**
 * A decoded leaf or root index block: where blocks begin. The key of an entry is greater than every cell of the block before, and
 * not greater than the first cell of its own block.
 */
export class BlockIndex extends CacheEntry {
  readonly count: number;
  /** For each block: its offset, its length with header, and the number of the first data block in it. */
  readonly offsets: Float64Array;
  readonly lengths: Uint32Array;
  readonly firstBlocks: Uint32Array;
  /** For each key: its offset, and the offset of its row. */
  private readonly keys: Uint32Array;
  private readonly rows: Uint32Array;
  private readonly rowLengths: Uint16Array;
  private readonly table: PrefixIndex;
  private readonly view: DataView;

  /** @throws RangeError that describes the fault when the payload is not an index. */
  constructor(private readonly bytes: Uint8Array) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const count = bytes.length < HEAD_BYTES ? 0 : view.getUint32(0, true);
    const keysStart = HEAD_BYTES + count * ENTRY_BYTES;
    if (count === 0 || keysStart > bytes.length)
      throw new RangeError(`an index has no room for ${count} entries`);
    super(bytes.length + count * 38 + OBJECT_BYTES);
    this.view = view;
    this.count = count;
    this.offsets = new Float64Array(count);
    this.lengths = new Uint32Array(count);
    this.firstBlocks = new Uint32Array(count);
    this.keys = new Uint32Array(count);
    this.rows = new Uint32Array(count);
    this.rowLengths = new Uint16Array(count);
    for (let i = 0; i < count; i++) this.readEntry(i, keysStart);
    const first = this.rows[0]!;
    const shared = sharedPrefix(
      bytes,
      first,
      this.rowLengths[0]!,
      bytes,
      this.rows[count - 1]!,
      this.rowLengths[count - 1]!,
    );
    const entry = (i: number, row: RowPlace): void => {
      row.bytes = bytes;
      row.offset = this.rows[i]!;
      row.length = this.rowLengths[i]!;
    };
    this.table = new PrefixIndex(count, bytes.subarray(first, first + shared), entry, new ByteSets(shared));
  }

  private readEntry(i: number, keysStart: number): void {
    const { view, bytes } = this;
    const at = HEAD_BYTES + i * ENTRY_BYTES;
    this.offsets[i] = readU64(view, at);
    this.lengths[i] = view.getUint32(at + 8, true);
    this.firstBlocks[i] = view.getUint32(at + 12, true);
    const key = keysStart + view.getUint32(at + 16, true);
    this.keys[i] = key;
    if (keyEnd(bytes, view, key) > bytes.length) throw new RangeError(`entry ${i} of an index has no key`);
    this.rows[i] = key + keyHeaderBytes(bytes[key]!);
    this.rowLengths[i] = view.getUint16(key + 1, true);
  }

  /** The last entry whose key is at or before `target`, -1 when there is none. */
  find(target: SeekKey): number {
    const { table } = this;
    const { row, rowOffset, rowLength } = target;
    const order = table.compareHead(row, rowOffset, rowLength);
    if (order !== 0) return order > 0 ? -1 : this.count - 1;
    const code = table.codeOf(row, rowOffset, rowLength);
    let low = table.lowerBound(code, 0);
    let high = table.has(low, code) ? table.upperBound(code, low) : low;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.isAtOrBefore(middle, target)) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /**
   * Whether the key of entry `i` is at or before `target`. A cell key that equals the target counts as after it, because cells that
   * differ only in seq may be at the end of the block before.
   */
  isAtOrBefore(i: number, target: SeekKey): boolean {
    return isKeyAtOrBefore(
      this.bytes,
      this.view,
      this.keys[i]!,
      this.rows[i]!,
      this.rowLengths[i]!,
      0,
      target,
    );
  }

  /** The row in the key of entry `i`, which may be only a prefix of a row. */
  keyRow(i: number): Uint8Array {
    return this.bytes.subarray(this.rows[i]!, this.rows[i]! + this.rowLengths[i]!);
  }
}

/** Builds index blocks: leaves and the root. */
export class IndexBuilder {
  private readonly keys: IndexKey[] = [];
  private readonly offsets: number[] = [];
  private readonly lengths: number[] = [];
  private readonly firstBlocks: number[] = [];

  get count(): number {
    return this.keys.length;
  }

  get firstKey(): IndexKey {
    return this.keys[0]!;
  }

  get firstBlock(): number {
    return this.firstBlocks[0]!;
  }

  add(key: IndexKey, offset: number, length: number, firstBlock: number): void {
    this.keys.push(key);
    this.offsets.push(offset);
    this.lengths.push(length);
    this.firstBlocks.push(firstBlock);
  }

  /** Returns the payload of the index block, and begins the next one. */
  finish(): Uint8Array {
    const entriesEnd = 4 + this.keys.length * ENTRY_BYTES;
    let length = entriesEnd;
    for (const key of this.keys) length += keyBytes(key);
    const bytes = new Uint8Array(length);
    const view = new DataView(bytes.buffer);
    view.setUint32(0, this.keys.length, true);
    let keyAt = entriesEnd;
    for (let i = 0; i < this.keys.length; i++) {
      const at = 4 + i * ENTRY_BYTES;
      putU64(view, at, this.offsets[i]!);
      view.setUint32(at + 8, this.lengths[i]!, true);
      view.setUint32(at + 12, this.firstBlocks[i]!, true);
      view.setUint32(at + 16, keyAt - entriesEnd, true);
      keyAt = putKey(bytes, view, keyAt, this.keys[i]!);
    }
    this.keys.length = 0;
    this.offsets.length = 0;
    this.lengths.length = 0;
    this.firstBlocks.length = 0;
    return bytes;
  }
}
