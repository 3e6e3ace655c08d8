/**
 * Where blocks begin, in memory: what a leaf or root index block decodes to. An entry's key is greater than everything
 * in the block before and not greater than the first cell of its own block.
 */

import { compareSlices } from '../../bytes/index.js';
import { CacheEntry } from '../cache/cache-entry.js';
import type { SeekKey } from '../cursor.js';
import { readU64 } from '../encoding/block-decoder.js';
import { sharedPrefix } from '../encoding/data-block.js';
import { ByteSets } from '../encoding/rank-code.js';
import { type RowPlace, RowTable } from '../encoding/row-table.js';
import { KeyKind } from './file-format.js';

/** count u32, then entries, then keys. */
const HEAD_BYTES = 4;
/** offset u64, length u32, first data block u32, key offset u32. */
export const ENTRY_BYTES = 20;
/** kind u8, row length u16, and by kind: qualifier length u32, timestamp u64, type u8; then row and qualifier. */
const ROW_KEY_BYTES = 3;
const COLUMN_KEY_BYTES = 7;
const CELL_KEY_BYTES = 16;
/** With what numbers its rows: some 8 KiB. */
const OBJECT_BYTES = 9000;

export function keyHeaderBytes(kind: number): number {
  return kind === KeyKind.Row ? ROW_KEY_BYTES : kind === KeyKind.Column ? COLUMN_KEY_BYTES : CELL_KEY_BYTES;
}

export class BlockIndex extends CacheEntry {
  readonly count: number;
  /** Of each block: where it begins, its length with header, and the number of the first data block in it. */
  readonly offsets: Float64Array;
  readonly lengths: Uint32Array;
  readonly firstBlocks: Uint32Array;
  /** Of each key: where it begins, and its row. */
  private readonly keys: Uint32Array;
  private readonly rows: Uint32Array;
  private readonly rowLengths: Uint16Array;
  private readonly table: RowTable;
  private readonly view: DataView;

  /** Throws a text that says what is wrong with the payload when it is no index. */
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
    this.table = new RowTable(count, bytes.subarray(first, first + shared), entry, new ByteSets(shared));
  }

  private readEntry(i: number, keysStart: number): void {
    const { view, bytes } = this;
    const at = HEAD_BYTES + i * ENTRY_BYTES;
    this.offsets[i] = readU64(view, at);
    this.lengths[i] = view.getUint32(at + 8, true);
    this.firstBlocks[i] = view.getUint32(at + 12, true);
    const key = keysStart + view.getUint32(at + 16, true);
    this.keys[i] = key;
    const kind = key < bytes.length ? bytes[key]! : -1;
    const header = keyHeaderBytes(kind);
    if (kind < 0 || kind > KeyKind.Cell || key + header > bytes.length)
      throw new RangeError(`entry ${i} of an index has no key`);
    const rowLength = view.getUint16(key + 1, true);
    const qualifierLength = kind === KeyKind.Row ? 0 : view.getUint32(key + 3, true);
    if (key + header + rowLength + qualifierLength > bytes.length)
      throw new RangeError(`the key of entry ${i} of an index runs over its end`);
    this.rows[i] = key + header;
    this.rowLengths[i] = rowLength;
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
   * Whether the key of entry `i` is at or before `target`. A whole cell's key that equals the target counts as behind
   * it: cells that differ in nothing but their seq may end the block before.
   */
  isAtOrBefore(i: number, target: SeekKey): boolean {
    const { view, bytes } = this;
    const rowAt = this.rows[i]!;
    const rowLength = this.rowLengths[i]!;
    let difference = compareSlices(bytes, rowAt, rowLength, target.row, target.rowOffset, target.rowLength);
    if (difference !== 0) return difference < 0;
    const key = this.keys[i]!;
    const kind = bytes[key]!;
    if (kind === KeyKind.Row) return true;
    difference = compareSlices(
      bytes,
      rowAt + rowLength,
      view.getUint32(key + 3, true),
      target.qualifier,
      target.qualifierOffset,
      target.qualifierLength,
    );
    if (difference !== 0) return difference < 0;
    if (kind === KeyKind.Column) return true;
    const timestamp = readU64(view, key + 7);
    if (timestamp !== target.timestamp) return timestamp > target.timestamp;
    return view.getUint8(key + 15) > target.type;
  }

  /** The row of the key of entry `i`, which may be only the beginning of a row. */
  keyRow(i: number): Uint8Array {
    return this.bytes.subarray(this.rows[i]!, this.rows[i]! + this.rowLengths[i]!);
  }
}
