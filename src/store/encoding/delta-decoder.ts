import { compareSlices, EMPTY_BYTES } from '../../bytes/index.js';
import { MAX_ROW_LENGTH } from '../../table/index.js';
import type { CellCursor, SeekKey } from '../cursor.js';
import { BlockDecoder, badBlockOf, badPayload, DataBlock } from './data-block.js';
import { DeltaFlag, RESTART_INTERVAL, TAIL_BYTES } from './delta-encoder.js';
import { PrefixIndex } from './row-lookup.js';

const FIRST_ROW_CAPACITY = 128;
const FIRST_CAPACITY = 512;

/** The key of the present cell, built from the prefix it shares with the previous key and the remaining bytes. */
class DeltaKey {
  /** The row is at 0, the qualifier at `qualifierAt`. */
  bytes: Uint8Array = EMPTY_BYTES;
  rowLength = 0;
  qualifierAt = 0;
  qualifierLength = 0;
  /** The length of the prefix that the row shares with the previous row. */
  private shared = 0;
  /** The length of the prefix that the row compared last shares with the row it was compared with. */
  private matched = 0;

  /** Resets to an empty key. */
  clear(): void {
    this.rowLength = 0;
    this.qualifierLength = 0;
    this.shared = 0;
  }

  /** The next cell has the same row. */
  keepRow(): void {
    this.shared = this.rowLength;
  }

  /** False when the previous row is shorter than `shared`, or the rest extends beyond `limit`. */
  setRow(shared: number, source: Uint8Array, from: number, rest: number, limit: number): boolean {
    if (shared > this.rowLength || from + rest > limit) return false;
    const length = shared + rest;
    if (length > this.qualifierAt) this.grow(length, this.qualifierLength);
    const { bytes } = this;
    if (rest < 24) for (let i = 0; i < rest; i++) bytes[shared + i] = source[from + i]!;
    else bytes.set(source.subarray(from, from + rest), shared);
    this.rowLength = length;
    this.shared = shared;
    return true;
  }

  /** As `setRow`. */
  setQualifier(shared: number, source: Uint8Array, from: number, rest: number, limit: number): boolean {
    if (shared > this.qualifierLength || from + rest > limit) return false;
    const length = shared + rest;
    if (this.qualifierAt + length > this.bytes.length) this.grow(this.rowLength, length);
    const { bytes } = this;
    const at = this.qualifierAt + shared;
    if (rest < 24) for (let i = 0; i < rest; i++) bytes[at + i] = source[from + i]!;
    else bytes.set(source.subarray(from, from + rest), at);
    this.qualifierLength = length;
    return true;
  }

  /** A copy of the row. */
  row(): Uint8Array {
    return this.bytes.slice(0, this.rowLength);
  }

  compareRow(row: Uint8Array, offset: number, length: number): number {
    const { bytes, rowLength } = this;
    const shorter = rowLength < length ? rowLength : length;
    let i = 0;
    while (i < shorter && bytes[i] === row[offset + i]) i++;
    this.matched = i;
    return i < shorter ? bytes[i]! - row[offset + i]! : rowLength - length;
  }

  /**
   * Called after `compareRow` has found the previous row less than another. True if this row is less too, because it shares the byte
   * that made the difference.
   */
  isStillLess(): boolean {
    return this.shared > this.matched;
  }

  private grow(rowLength: number, qualifierLength: number): void {
    const rowCapacity = Math.max(
      FIRST_ROW_CAPACITY,
      this.qualifierAt,
      rowLength > this.qualifierAt ? 2 * rowLength : 0,
    );
    const larger = new Uint8Array(Math.max(FIRST_CAPACITY, rowCapacity + 2 * qualifierLength));
    larger.set(this.bytes.subarray(0, this.rowLength));
    larger.set(this.bytes.subarray(this.qualifierAt, this.qualifierAt + this.qualifierLength), rowCapacity);
    this.bytes = larger;
    this.qualifierAt = rowCapacity;
  }
}

// — The common part of the decoders of PREFIX, DIFF and FAST_DIFF; the format is described in delta-encoder.ts.

/** Verifies the table of a payload. Cells are verified when they are decoded. */
export function parseDelta(bytes: Uint8Array, start: number, end: number): DataBlock {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const count = end - start >= TAIL_BYTES ? view.getUint32(end - TAIL_BYTES, true) : 0;
  const restarts = Math.ceil(count / RESTART_INTERVAL);
  const cellsEnd = end - TAIL_BYTES - 4 * restarts;
  if (count === 0 || cellsEnd <= start) throw badPayload(`it has no room for ${count} cells`, end - start);
  let before = -1;
  for (let i = 0; i < restarts; i++) {
    const restart = view.getUint32(cellsEnd + 4 * i, true);
    if (restart <= before || restart >= cellsEnd - start || (i === 0 && restart !== 0))
      throw badPayload(`restart ${i} is out of place`, cellsEnd + 4 * i - start);
    before = restart;
  }
  return new DataBlock(bytes, view, start, cellsEnd, count, restarts, 0);
}

abstract class DeltaDecoder extends BlockDecoder {
  protected bytes: Uint8Array = EMPTY_BYTES;
  /** The offset of the next number, and the end of the cells. */
  protected at = 0;
  protected end = 0;
  /** The present cell; while it is decoded, the previous one. */
  protected timestamp = 0;
  protected seq = 0;
  protected type = 0;
  protected ttl = 0;
  protected valueAt = 0;
  protected valueLength = 0;
  protected readonly key = new DeltaKey();
  private block: DataBlock | null = null;
  private count = 0;
  private restarts = 0;
  private index = 0;

  /** Decodes the cell at `at` up to its value, the value's length included, and sets `key`. */
  protected abstract decodeKey(): void;

  override open(_cursor: CellCursor, block: DataBlock): void {
    if (this.block === block) return;
    this.block = block;
    this.bytes = block.bytes;
    this.end = block.cellsEnd;
    this.count = block.count;
    this.restarts = block.groups;
  }

  override close(): void {
    this.block = null;
    this.bytes = EMPTY_BYTES;
  }

  override first(cursor: CellCursor): void {
    this.restart(0);
    this.publish(cursor);
  }

  override last(cursor: CellCursor): void {
    this.restart(this.restarts - 1);
    while (this.index + 1 < this.count) this.step();
    this.publish(cursor);
  }

  override next(cursor: CellCursor): boolean {
    if (this.index + 1 >= this.count) return false;
    this.step();
    this.publish(cursor);
    return true;
  }

  override seek(cursor: CellCursor, target: SeekKey): boolean {
    this.restart(this.runOf(target, 0));
    return this.walk(cursor, target);
  }

  override forward(cursor: CellCursor, target: SeekKey): boolean {
    const present = Math.floor(this.index / RESTART_INTERVAL);
    const index = this.index;
    const run = present + 1 < this.restarts ? this.runOf(target, present) : present;
    // The search of restarts may have moved the position.
    if (run !== present || this.index !== index) this.restart(run);
    return this.walk(cursor, target);
  }

  override isFirst(): boolean {
    return this.index === 0;
  }

  override lastBefore(cursor: CellCursor, row: Uint8Array): boolean {
    let low = 0;
    let high = this.restarts;
    while (low < high) {
      const middle = (low + high) >>> 1;
      this.restart(middle);
      if (this.key.compareRow(row, 0, row.length) < 0) low = middle + 1;
      else high = middle;
    }
    if (low === 0) return false;
    this.restart(low - 1);
    const end = Math.min(this.count, low * RESTART_INTERVAL);
    let found = this.index;
    while (this.index + 1 < end) {
      this.step();
      if (this.key.compareRow(row, 0, row.length) >= 0) break;
      found = this.index;
    }
    if (found !== this.index) {
      this.restart(low - 1);
      while (this.index < found) this.step();
    }
    this.publish(cursor);
    return true;
  }

  /** Steps to the first cell at or after `target`; false when the block has none. */
  private walk(cursor: CellCursor, target: SeekKey): boolean {
    const { key } = this;
    let order = this.compare(target);
    while (order < 0) {
      if (this.index + 1 >= this.count) return false;
      this.step();
      order = key.isStillLess() ? -1 : this.compare(target);
    }
    this.publish(cursor);
    return true;
  }

  /** The restart at which a search for `target` begins: the last one whose cell is before it, or `from`. */
  private runOf(target: SeekKey, from: number): number {
    const block = this.block!;
    const table = block.prefixIndex ?? (block.needsPrefixIndex() ? this.buildPrefixIndex() : null);
    let low = from;
    let high = this.restarts;
    if (table !== null) {
      const { row, rowOffset, rowLength } = target;
      const order = table.compareHead(row, rowOffset, rowLength);
      if (order !== 0) return order < 0 ? this.restarts - 1 : from;
      const code = table.codeOf(row, rowOffset, rowLength);
      low = table.lowerBound(code, from);
      high = table.has(low, code) ? table.upperBound(code, low) : low;
    }
    while (low < high) {
      const middle = (low + high) >>> 1;
      this.restart(middle);
      if (this.compare(target) < 0) low = middle + 1;
      else high = middle;
    }
    return low > from ? low - 1 : from;
  }

  private buildPrefixIndex(): PrefixIndex {
    const { restarts, key } = this;
    this.restart(restarts - 1);
    const lastRow = key.row();
    this.restart(0);
    let shared = 0;
    while (shared < key.rowLength && shared < lastRow.length && key.bytes[shared] === lastRow[shared])
      shared++;
    const table = new PrefixIndex(restarts, lastRow.subarray(0, shared), (i, row) => {
      this.restart(i);
      row.bytes = key.bytes;
      row.length = key.rowLength;
      row.place = i;
    });
    this.block!.prefixIndex = table;
    return table;
  }

  /** Compares the present cell with `target`; remembers how far their rows are equal. */
  private compare(target: SeekKey): number {
    const { key } = this;
    let difference = key.compareRow(target.row, target.rowOffset, target.rowLength);
    if (difference !== 0) return difference;
    difference = compareSlices(
      key.bytes,
      key.qualifierAt,
      key.qualifierLength,
      target.qualifier,
      target.qualifierOffset,
      target.qualifierLength,
    );
    if (difference !== 0) return difference;
    if (this.timestamp !== target.timestamp) return this.timestamp > target.timestamp ? -1 : 1;
    return target.type - this.type;
  }

  /** Moves to the first cell of a restart interval. */
  private restart(run: number): void {
    const block = this.block!;
    this.index = run * RESTART_INTERVAL;
    this.at = block.start + block.view.getUint32(block.cellsEnd + 4 * run, true);
    this.decodeFirst();
  }

  private step(): void {
    this.index++;
    if (this.index % RESTART_INTERVAL === 0) {
      const run = this.index / RESTART_INTERVAL;
      const block = this.block!;
      if (this.at !== block.start + block.view.getUint32(block.cellsEnd + 4 * run, true))
        throw this.bad('it does not begin where the table says');
      this.decodeFirst();
    } else {
      this.decode();
    }
  }

  /** Decodes a cell after a restart, which differs from an empty cell. */
  private decodeFirst(): void {
    this.timestamp = 0;
    this.seq = 0;
    this.type = 0;
    this.valueLength = 0;
    this.valueAt = this.at;
    this.key.clear();
    this.decode();
  }

  private decode(): void {
    this.decodeKey();
    const { rowLength } = this.key;
    if (this.at > this.end || this.valueAt + this.valueLength > this.end)
      throw this.bad('bytes extend beyond the end');
    if (rowLength === 0 || rowLength > MAX_ROW_LENGTH) throw this.bad(`a row has ${rowLength} bytes`);
  }

  private publish(cursor: CellCursor): void {
    const { key } = this;
    cursor.key = key.bytes;
    cursor.rowOffset = 0;
    cursor.rowLength = key.rowLength;
    cursor.qualifierOffset = key.qualifierAt;
    cursor.qualifierLength = key.qualifierLength;
    cursor.timestamp = this.timestamp;
    cursor.type = this.type;
    cursor.seq = this.seq;
    cursor.value = this.bytes;
    cursor.valueOffset = this.valueAt;
    cursor.valueLength = this.valueLength;
    cursor.ttl = this.ttl;
  }

  /** Sets the key from the shared prefix and the bytes at `rowAt` and `qualifierAt`. */
  protected setRow(shared: number, rowAt: number, rest: number): void {
    if (!this.key.setRow(shared, this.bytes, rowAt, rest, this.end)) throw this.bad('a row is invalid');
  }

  protected setQualifier(shared: number, qualifierAt: number, rest: number): void {
    if (!this.key.setQualifier(shared, this.bytes, qualifierAt, rest, this.end))
      throw this.bad('a qualifier is invalid');
  }

  /** Reads a varint at `at`. */
  protected number(): number {
    const { bytes, end } = this;
    let at = this.at;
    let byte = at < end ? bytes[at++]! : 0x100;
    if (byte < 0x80) {
      this.at = at;
      return byte;
    }
    let value = 0;
    let scale = 1;
    while (byte >= 0x80 && byte < 0x100 && scale < 2 ** 49) {
      value += (byte & 0x7f) * scale;
      scale *= 0x80;
      byte = at < end ? bytes[at++]! : 0x100;
    }
    value += byte * scale;
    if (byte >= 0x80 || value > Number.MAX_SAFE_INTEGER) throw this.bad('a number is invalid');
    this.at = at;
    return value;
  }

  /** Reads the next byte. */
  protected byte(): number {
    if (this.at >= this.end) throw this.bad('it ends too early');
    return this.bytes[this.at++]!;
  }

  protected bad(why: string): Error {
    const { path, offset, start } = this.block!;
    return badBlockOf(path, offset, badPayload(`${why} in cell ${this.index}`, this.at - start));
  }
}

export class PrefixDecoder extends DeltaDecoder {
  protected override decodeKey(): void {
    const sharedRow = this.number();
    const restOfRow = this.number();
    const sharedQualifier = this.number();
    const restOfQualifier = this.number();
    this.valueLength = this.number();
    this.type = this.byte();
    this.timestamp = this.number();
    this.seq = this.number();
    this.ttl = this.number();
    const rowAt = this.at;
    const qualifierAt = rowAt + restOfRow;
    this.setRow(sharedRow, rowAt, restOfRow);
    this.setQualifier(sharedQualifier, qualifierAt, restOfQualifier);
    this.valueAt = qualifierAt + restOfQualifier;
    this.at = this.valueAt + this.valueLength;
  }
}

/** DIFF and FAST_DIFF, which differ in how they store timestamp and seq. */
abstract class FlaggedDecoder extends DeltaDecoder {
  protected override decodeKey(): void {
    const flags = this.byte();
    const sameRow = (flags & DeltaFlag.SameRow) !== 0;
    const sameQualifier = (flags & DeltaFlag.SameQualifier) !== 0;
    const sharedRow = sameRow ? 0 : this.number();
    const restOfRow = sameRow ? 0 : this.number();
    const sharedQualifier = sameQualifier ? 0 : this.number();
    const restOfQualifier = sameQualifier ? 0 : this.number();
    if ((flags & DeltaFlag.SameValueLength) === 0) this.valueLength = this.number();
    if ((flags & DeltaFlag.SameType) === 0) this.type = this.byte();
    this.decodeNumbers(flags);
    this.ttl = (flags & DeltaFlag.Ttl) === 0 ? 0 : this.number();
    const rowAt = this.at;
    const qualifierAt = rowAt + restOfRow;
    if (sameRow) this.key.keepRow();
    else this.setRow(sharedRow, rowAt, restOfRow);
    if (!sameQualifier) this.setQualifier(sharedQualifier, qualifierAt, restOfQualifier);
    this.at = qualifierAt + restOfQualifier;
    if ((flags & DeltaFlag.SameValue) !== 0) return;
    this.valueAt = this.at;
    this.at += this.valueLength;
  }

  protected abstract decodeNumbers(flags: number): void;
}

export class DiffDecoder extends FlaggedDecoder {
  protected override decodeNumbers(flags: number): void {
    if ((flags & DeltaFlag.SameValue) !== 0) throw this.bad('there is an unknown flag');
    const time = this.number();
    const seq = this.number();
    this.timestamp += (flags & DeltaFlag.EarlierTimestamp) === 0 ? time : -time;
    this.seq += (flags & DeltaFlag.LowerSeq) === 0 ? seq : -seq;
    if (!isNumber(this.timestamp) || !isNumber(this.seq)) throw this.bad('a distance is too large');
  }
}

export class FastDiffDecoder extends FlaggedDecoder {
  protected override decodeNumbers(flags: number): void {
    if ((flags & (DeltaFlag.EarlierTimestamp | DeltaFlag.LowerSeq)) !== 0)
      throw this.bad('there is an unknown flag');
    const counts = this.byte();
    this.timestamp = this.withLowBytes(this.timestamp, counts & 15);
    this.seq = this.withLowBytes(this.seq, counts >>> 4);
  }

  /** `value` with its `count` low bytes replaced by the following bytes. */
  private withLowBytes(value: number, count: number): number {
    if (count === 0) return value;
    if (count > 7 || this.at + count > this.end) throw this.bad('a number has too many bytes');
    const { bytes, at } = this;
    let low = 0;
    let scale = 1;
    for (let i = 0; i < count; i++) {
      low += bytes[at + i]! * scale;
      scale *= 256;
    }
    this.at = at + count;
    const whole = value - (value % scale) + low;
    if (!isNumber(whole)) throw this.bad('a number is too large');
    return whole;
  }
}

function isNumber(value: number): boolean {
  return value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}
