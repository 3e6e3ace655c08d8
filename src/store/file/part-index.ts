/**
 * The parts of data blocks. A block is the unit of compression and of scans. A part is some of its cells, with a checksum of its
 * own, so that a read of one row reads and verifies only the part. The parts of {@link GROUP_BLOCKS} blocks are described by a group
 * block after them, which is cached.
 */

import { compareSlices, copySlice, putU64, readU64, sharedPrefix } from '../../bytes/index.js';
import { CacheEntry } from '../cache.js';
import type { SeekKey } from '../cursor.js';
import { ByteRanges, PrefixIndex, type RowPlace } from '../encoding/row-lookup.js';
import { KeyKind } from './block-frame.js';
import { type IndexKey, isKeyAtOrBefore, keyBytes, keyEnd, keyHeaderBytes, putKey } from './index-key.js';

/** Bytes of cells at which a part ends. */
export const PART_BYTES = 2048;
/** The most parts of a block: large blocks have larger parts. */
export const MAX_PARTS = 32;
/** Data blocks per group. FROZEN: see docs/formats-sorted-files.md. */
export const GROUP_BLOCKS = 64;

/** Number of blocks u32, number of parts u32, length of the common prefix of all rows of keys u16. */
const HEAD_BYTES = 10;
/** crc u32, end in the payload u32, number of cells u32, offset of the key u32. */
const PART_ENTRY_BYTES = 16;
/** An entry of the index of groups: offset u64, length u32. */
const GROUP_ENTRY_BYTES = 12;
/** What is known of a part, in numbers of 32 bits side by side: a get of a row reads one line of the CPU's cache, seldom two. */
const RECORD_SHIFT = 2;
const RECORD_BYTES = 4 << RECORD_SHIFT;
/** In a record: the number of the part's row ({@link PrefixIndex}) is the first; the others follow. */
const END = 1;
const CRC = 2;
/** Twice the number of cells, plus 1 if the part begins with the first cell of a row. */
const CELLS = 3;
/** Of the object, its arrays, and the way from rows to numbers. */
const OBJECT_BYTES = 1000;
/** Searches of a group without numbers of its rows. */
const PLAIN_SEARCHES = 64;

/** The decoded parts of up to {@link GROUP_BLOCKS} blocks. */
export class PartGroup extends CacheEntry {
  /** The number of parts. */
  readonly count: number;
  /** The number of blocks. */
  readonly blocks: number;
  /** For each block the part after its last one. */
  private readonly blockEnds: Uint32Array;
  private readonly records: Int32Array;
  /** The common prefix of all rows of keys. A copy: V8 keeps short arrays beside their objects. */
  private readonly head: Uint8Array;
  private readonly keys: Uint8Array;
  private readonly view: DataView;
  /** For each part the offset of its key. */
  private readonly keyPlaces: Uint32Array;
  /** Made after some searches: it costs as much as hundreds. */
  private numbers: PrefixIndex | null = null;
  private searches = 0;

  /** @throws RangeError that describes the fault when the payload is not a group. */
  constructor(payload: Uint8Array) {
    const view = new DataView(payload.buffer, payload.byteOffset, payload.length);
    const blocks = payload.length < HEAD_BYTES ? 0 : view.getUint32(0, true);
    const count = payload.length < HEAD_BYTES ? 0 : view.getUint32(4, true);
    const partsAt = HEAD_BYTES + 4 * blocks;
    const headAt = partsAt + PART_ENTRY_BYTES * count;
    const keysAt = headAt + (payload.length < HEAD_BYTES ? 0 : view.getUint16(8, true));
    if (blocks === 0 || blocks > GROUP_BLOCKS || keysAt > payload.length)
      throw new RangeError(`a group has no room for the parts of ${blocks} blocks`);
    super(payload.length - headAt + count * (RECORD_BYTES + 4) + OBJECT_BYTES);
    this.blocks = blocks;
    this.count = count;
    this.head = new Uint8Array(payload.subarray(headAt, keysAt));
    this.blockEnds = Uint32Array.from({ length: blocks }, (_, i) => view.getUint32(HEAD_BYTES + 4 * i, true));
    this.keys = new Uint8Array(payload.subarray(keysAt));
    this.view = new DataView(this.keys.buffer);
    this.records = new Int32Array(count << RECORD_SHIFT);
    this.keyPlaces = new Uint32Array(count);
    for (let block = 0; block < blocks; block++) this.readParts(block, view, partsAt);
    if (this.endOf(blocks - 1) !== count) throw new RangeError('a group has parts of no block');
  }

  /** The first part of block `block` of the group. */
  firstOf(block: number): number {
    return block === 0 ? 0 : this.blockEnds[block - 1]!;
  }

  /** The part after the last one of block `block`. */
  endOf(block: number): number {
    return this.blockEnds[block]!;
  }

  crc(part: number): number {
    return this.records[(part << RECORD_SHIFT) + CRC]! >>> 0;
  }

  /** The end of the part in its block's payload, where the next one begins. */
  end(part: number): number {
    return this.records[(part << RECORD_SHIFT) + END]! >>> 0;
  }

  cells(part: number): number {
    return this.records[(part << RECORD_SHIFT) + CELLS]! >>> 1;
  }

  /** Whether the part begins with the first cell of a row, in the file. */
  startsRow(part: number): boolean {
    return (this.records[(part << RECORD_SHIFT) + CELLS]! & 1) === 1;
  }

  /** The part of the block that contains `target`, or after which it would be. */
  find(block: number, target: SeekKey): number {
    const first = this.firstOf(block);
    const end = this.endOf(block);
    const order = this.compareHead(target);
    if (order > 0) return first;
    if (order < 0) return end - 1;
    let low = first + 1;
    let high = end;
    if (this.numbers !== null || ++this.searches > PLAIN_SEARCHES) {
      const { row, rowOffset, rowLength } = target;
      this.numbers ??= this.makeNumbers();
      const { numbers } = this;
      const code = numbers.codeOf(row, rowOffset, rowLength);
      low = numbers.lowerBound(code, 0);
      high = numbers.has(low, code) ? numbers.upperBound(code, low) : low;
      if (low <= first) low = first + 1;
      if (high > end) high = end;
    }
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.isRestAtOrBefore(middle, target)) low = middle + 1;
      else high = middle;
    }
    return low > end ? end - 1 : low - 1;
  }

  /** Numbers of the parts' rows, which begin with the common prefix. */
  private makeNumbers(): PrefixIndex {
    const { keys, view, head, keyPlaces, records } = this;
    const rest = (part: number, row: RowPlace): void => {
      const key = keyPlaces[part]!;
      const length = view.getUint16(key + 1, true);
      if (row.bytes.length < head.length + length) {
        row.bytes = new Uint8Array(2 * (head.length + length));
        row.bytes.set(head);
      }
      copySlice(keys, key + keyHeaderBytes(keys[key]!), length, row.bytes, head.length);
      row.length = head.length + length;
      row.place = this.end(part);
    };
    const numbers = new ByteRanges(head.length);
    return new PrefixIndex(this.count, head, rest, numbers, records, RECORD_SHIFT);
  }

  /** Whether the key of the part is at or before `target`; see `BlockIndex.isAtOrBefore`. */
  isAtOrBefore(part: number, target: SeekKey): boolean {
    const order = this.compareHead(target);
    return order < 0 || (order === 0 && this.isRestAtOrBefore(part, target));
  }

  /** For a target whose row has the common prefix. */
  private isRestAtOrBefore(part: number, target: SeekKey): boolean {
    const { keys, view, head } = this;
    const key = this.keyPlaces[part]!;
    const rowAt = key + keyHeaderBytes(keys[key]!);
    return isKeyAtOrBefore(keys, view, key, rowAt, view.getUint16(key + 1, true), head.length, target);
  }

  /** Compares the common prefix with the target's row; 0 when that begins with it. */
  private compareHead({ row, rowOffset, rowLength }: SeekKey): number {
    const { head } = this;
    const { length } = head;
    return compareSlices(head, 0, length, row, rowOffset, rowLength < length ? rowLength : length);
  }

  /** Reads and checks the entries of a block's parts, which begin at `partsAt` of the payload. */
  private readParts(block: number, payload: DataView, partsAt: number): void {
    const first = this.firstOf(block);
    const behind = this.endOf(block);
    if (first >= behind || behind > this.count) throw new RangeError(`block ${block} of a group has no part`);
    const { records, keys, view } = this;
    let end = 0;
    for (let part = first; part < behind; part++) {
      const entry = partsAt + PART_ENTRY_BYTES * part;
      const cells = payload.getUint32(entry + 8, true);
      const key = payload.getUint32(entry + 12, true);
      if (payload.getUint32(entry + 4, true) <= end || cells === 0)
        throw new RangeError(`part ${part} of a group is empty`);
      end = payload.getUint32(entry + 4, true);
      if (keyEnd(keys, view, key) > keys.length) throw new RangeError(`part ${part} of a group has no key`);
      const record = part << RECORD_SHIFT;
      records[record + END] = end;
      records[record + CRC] = payload.getUint32(entry, true);
      records[record + CELLS] = 2 * cells + (keys[key] === KeyKind.Row ? 1 : 0);
      this.keyPlaces[part] = key;
    }
  }
}

/** The positions of a file's groups. */
export class PartGroupOffsets {
  readonly offsets: Float64Array;
  readonly lengths: Uint32Array;

  /** @throws RangeError that describes the fault of the payload. */
  constructor(bytes: Uint8Array, groups: number) {
    if (bytes.length !== groups * GROUP_ENTRY_BYTES)
      throw new RangeError(`an index of groups has ${bytes.length} bytes instead of ${groups} entries`);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.offsets = Float64Array.from({ length: groups }, (_, i) => readU64(view, i * GROUP_ENTRY_BYTES));
    this.lengths = Uint32Array.from({ length: groups }, (_, i) =>
      view.getUint32(i * GROUP_ENTRY_BYTES + 8, true),
    );
  }

  static groupsOf(dataBlocks: number): number {
    return Math.ceil(dataBlocks / GROUP_BLOCKS);
  }

  static payload(places: readonly { readonly offset: number; readonly length: number }[]): Uint8Array {
    const bytes = new Uint8Array(places.length * GROUP_ENTRY_BYTES);
    const view = new DataView(bytes.buffer);
    for (const [i, { offset, length }] of places.entries()) {
      putU64(view, i * GROUP_ENTRY_BYTES, offset);
      view.setUint32(i * GROUP_ENTRY_BYTES + 8, length, true);
    }
    return bytes;
  }
}

/** A part of the block that is being written. */
interface WrittenPart {
  readonly key: IndexKey;
  /** Its end in the payload. */
  readonly end: number;
  readonly cells: number;
  readonly crc: number;
}

/** Builds one group after another. */
export class PartGroupBuilder {
  private readonly ends: number[] = [];
  private readonly parts: WrittenPart[] = [];

  get blocks(): number {
    return this.ends.length;
  }

  addBlock(parts: readonly WrittenPart[]): void {
    this.parts.push(...parts);
    this.ends.push(this.parts.length);
  }

  /** Returns the payload of the group, and begins the next one. */
  finish(): Uint8Array {
    const { ends, parts } = this;
    const partsAt = HEAD_BYTES + 4 * ends.length;
    const headAt = partsAt + PART_ENTRY_BYTES * parts.length;
    const first = parts[0]!.key.row;
    // Keys are sorted, so the prefix shared by the first and the last is shared by all.
    const last = parts.at(-1)!.key.row;
    const head = sharedPrefix(first, 0, first.length, last, 0, last.length);
    const keysAt = headAt + head;
    const bytes = new Uint8Array(parts.reduce((length, { key }) => length + keyBytes(key, head), keysAt));
    const view = new DataView(bytes.buffer);
    view.setUint16(8, head, true);
    bytes.set(first.subarray(0, head), headAt);
    view.setUint32(0, ends.length, true);
    view.setUint32(4, parts.length, true);
    for (const [i, end] of ends.entries()) view.setUint32(HEAD_BYTES + 4 * i, end, true);
    let keyAt = keysAt;
    for (const [i, { key, end, cells, crc }] of parts.entries()) {
      const at = partsAt + PART_ENTRY_BYTES * i;
      view.setUint32(at, crc, true);
      view.setUint32(at + 4, end, true);
      view.setUint32(at + 8, cells, true);
      view.setUint32(at + 12, keyAt - keysAt, true);
      keyAt = putKey(bytes, view, keyAt, key, head);
    }
    ends.length = 0;
    parts.length = 0;
    return bytes;
  }
}
