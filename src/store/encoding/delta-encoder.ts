import { MAX_VARINT_LENGTH, writeVarint } from '../../bytes/index.js';
import type { CellCursor } from '../cursor.js';
import { BlockEncoder } from './data-block.js';

/**
 * The encodings PREFIX, DIFF and FAST_DIFF: each cell is stored as its difference from the one before. FROZEN, see docs/formats-sorted-files.md. A
 * payload is the cells, then the table of restarts (u32 each: the offsets of cells 0, 16, 32, …), then the number of cells, u32.
 * The first cell after a restart is stored as its difference from a cell in which everything is empty or 0.
 *
 * Numbers are varints. [x] is omitted when the flags say that it is unchanged.
 *
 *     PREFIX     shared row, rest of row, shared qualifier, rest of qualifier, value length, type u8,
 *                timestamp, seq, ttl; row bytes, qualifier bytes, value
 *     DIFF       flags u8, [shared row, rest of row], [shared qualifier, rest of qualifier], [value length],
 *                [type u8], distance of timestamp, distance of seq, ttl if there is one; row bytes, qualifier bytes, value
 *     FAST_DIFF  as DIFF, but instead of the distances: u8 with the numbers of low bytes in which the timestamp (low
 *                half) and the seq (high half) differ, then these bytes; no value bytes if the value is unchanged
 */

/** Cells from one restart to the next. */
export const RESTART_INTERVAL = 16;
/** The number of cells, at the end of the payload. */
export const TAIL_BYTES = 4;

export const DeltaFlag = {
  SameRow: 1,
  SameQualifier: 2,
  SameValueLength: 4,
  SameType: 8,
  Ttl: 16,
  /** DIFF: the timestamp is less than the previous one. */
  EarlierTimestamp: 32,
  /** DIFF: the seq is less than the previous one. */
  LowerSeq: 64,
  /** FAST_DIFF: the value equals the previous one. */
  SameValue: 128,
} as const;

/** Flags, type, and up to eight varints. */
const MAX_HEADER_BYTES = 4 + 9 * MAX_VARINT_LENGTH;

/** The common part of the three encodings: restarts, and the numbers of the previous cell. */
abstract class DeltaEncoder extends BlockEncoder {
  private restarts: number[] = [];
  /** The previous cell; 0 after a restart. */
  protected timestamp = 0;
  protected seq = 0;
  protected type = 0;
  protected valueLength = 0;
  protected valueAt = 0;
  /** The parts that the present cell shares with the previous one; none after a restart. */
  protected sharedRow = 0;
  protected sharedQualifier = 0;
  protected sameRow = false;
  protected sameQualifier = false;
  private qualifierLength = 0;

  override append(cursor: CellCursor, sharedRow: number, sameRow: boolean, sharedQualifier: number): void {
    const { rowLength, qualifierLength, valueLength } = cursor;
    this.reserve(MAX_HEADER_BYTES + rowLength + qualifierLength + valueLength);
    if (this.count % RESTART_INTERVAL === 0) {
      this.restarts.push(this.length);
      this.timestamp = 0;
      this.seq = 0;
      this.type = 0;
      this.valueLength = 0;
      this.sharedRow = 0;
      this.sharedQualifier = 0;
      this.sameRow = false;
      this.sameQualifier = qualifierLength === 0;
    } else {
      this.sharedRow = sharedRow;
      this.sharedQualifier = sharedQualifier;
      this.sameRow = sameRow;
      this.sameQualifier = sharedQualifier === qualifierLength && qualifierLength === this.qualifierLength;
    }
    let at = this.header(this.length, cursor);
    if (!this.sameRow)
      at = this.putBytes(at, cursor.key, cursor.rowOffset + this.sharedRow, rowLength - this.sharedRow);
    if (!this.sameQualifier) {
      const from = cursor.qualifierOffset + this.sharedQualifier;
      at = this.putBytes(at, cursor.key, from, qualifierLength - this.sharedQualifier);
    }
    this.length = this.value(at, cursor);
    this.count++;
    this.timestamp = cursor.timestamp;
    this.seq = cursor.seq;
    this.type = cursor.type;
    this.valueLength = valueLength;
    this.qualifierLength = qualifierLength;
  }

  override finish(): void {
    this.reserve(4 * (this.restarts.length + 1));
    for (const restart of this.restarts) this.putU32(restart);
    this.putU32(this.count);
  }

  override reset(): void {
    super.reset();
    this.restarts = [];
  }

  /** Writes everything before the bytes of the row. */
  protected abstract header(at: number, cursor: CellCursor): number;

  protected value(at: number, cursor: CellCursor): number {
    this.valueAt = at;
    return this.putBytes(at, cursor.value, cursor.valueOffset, cursor.valueLength);
  }

  /** The flags that DIFF and FAST_DIFF share. */
  protected flags(cursor: CellCursor): number {
    return (
      (this.sameRow ? DeltaFlag.SameRow : 0) |
      (this.sameQualifier ? DeltaFlag.SameQualifier : 0) |
      (cursor.valueLength === this.valueLength ? DeltaFlag.SameValueLength : 0) |
      (cursor.type === this.type ? DeltaFlag.SameType : 0) |
      (cursor.ttl === 0 ? 0 : DeltaFlag.Ttl)
    );
  }

  /** Writes the lengths and the type, unless the flags say that they are unchanged. */
  protected lengths(at: number, cursor: CellCursor, flags: number): number {
    const { bytes } = this;
    let end = at;
    if ((flags & DeltaFlag.SameRow) === 0) {
      end = writeVarint(bytes, end, this.sharedRow);
      end = writeVarint(bytes, end, cursor.rowLength - this.sharedRow);
    }
    if ((flags & DeltaFlag.SameQualifier) === 0) {
      end = writeVarint(bytes, end, this.sharedQualifier);
      end = writeVarint(bytes, end, cursor.qualifierLength - this.sharedQualifier);
    }
    if ((flags & DeltaFlag.SameValueLength) === 0) end = writeVarint(bytes, end, cursor.valueLength);
    if ((flags & DeltaFlag.SameType) === 0) bytes[end++] = cursor.type;
    return end;
  }

  private putU32(value: number): void {
    this.view.setUint32(this.length, value, true);
    this.length += 4;
  }
}

export class PrefixEncoder extends DeltaEncoder {
  protected override header(at: number, cursor: CellCursor): number {
    const { bytes } = this;
    // PREFIX writes all lengths: an unchanged row has a rest of no bytes.
    this.sameRow = false;
    this.sameQualifier = false;
    let end = this.lengths(at, cursor, 0);
    end = writeVarint(bytes, end, cursor.timestamp);
    end = writeVarint(bytes, end, cursor.seq);
    return writeVarint(bytes, end, cursor.ttl);
  }
}

export class DiffEncoder extends DeltaEncoder {
  protected override header(at: number, cursor: CellCursor): number {
    const { bytes } = this;
    const time = cursor.timestamp - this.timestamp;
    const seq = cursor.seq - this.seq;
    const flags =
      this.flags(cursor) | (time < 0 ? DeltaFlag.EarlierTimestamp : 0) | (seq < 0 ? DeltaFlag.LowerSeq : 0);
    bytes[at] = flags;
    let end = this.lengths(at + 1, cursor, flags);
    end = writeVarint(bytes, end, Math.abs(time));
    end = writeVarint(bytes, end, Math.abs(seq));
    return cursor.ttl === 0 ? end : writeVarint(bytes, end, cursor.ttl);
  }
}

export class FastDiffEncoder extends DeltaEncoder {
  private sameValue = false;

  protected override header(at: number, cursor: CellCursor): number {
    const { bytes } = this;
    this.sameValue = this.isSameValue(cursor);
    const flags = this.flags(cursor) | (this.sameValue ? DeltaFlag.SameValue : 0);
    bytes[at] = flags;
    let end = this.lengths(at + 1, cursor, flags);
    const timeBytes = differingBytes(cursor.timestamp, this.timestamp);
    const seqBytes = differingBytes(cursor.seq, this.seq);
    bytes[end++] = timeBytes | (seqBytes << 4);
    end = this.putLowBytes(end, cursor.timestamp, timeBytes);
    end = this.putLowBytes(end, cursor.seq, seqBytes);
    return cursor.ttl === 0 ? end : writeVarint(bytes, end, cursor.ttl);
  }

  protected override value(at: number, cursor: CellCursor): number {
    return this.sameValue ? at : super.value(at, cursor);
  }

  private isSameValue(cursor: CellCursor): boolean {
    const { valueLength, valueOffset, value } = cursor;
    if (valueLength !== this.valueLength || this.count % RESTART_INTERVAL === 0) return false;
    const { bytes, valueAt } = this;
    for (let i = 0; i < valueLength; i++) if (bytes[valueAt + i] !== value[valueOffset + i]) return false;
    return true;
  }

  private putLowBytes(at: number, value: number, count: number): number {
    let rest = value;
    for (let i = 0; i < count; i++) {
      this.bytes[at + i] = rest % 256;
      rest = Math.floor(rest / 256);
    }
    return at + count;
  }
}

/** The number of low bytes in which two numbers differ; above them they are equal. */
function differingBytes(a: number, b: number): number {
  let count = 0;
  let x = a;
  let y = b;
  while (x !== y) {
    x = Math.floor(x / 256);
    y = Math.floor(y / 256);
    count++;
  }
  return count;
}
