import {
  BaseCodec,
  badValue,
  getInteger,
  type KeyWriter,
  putInteger,
  type ValueRange,
  wrongLength,
} from './base.js';
import {
  int53,
  int64,
  MAX,
  MIN,
  readSafe,
  signedPieces,
  viewLong,
  writeBigInt,
  writeSafe,
} from './integers.js';
import { float32OrNaN, float64OrNaN } from './numbers.js';

/** Two's complement, as HBase's `Bytes.toBytes(short/int)` writes it. Negative numbers sort after the others. */
export class RawIntegerCodec extends BaseCodec<number> {
  override readonly ordered = false;
  private readonly limit: number;

  constructor(
    readonly name: string,
    readonly fixedLength: number,
    private readonly ascending: BaseCodec<number>,
  ) {
    super();
    this.limit = 2 ** (8 * fixedLength - 1);
  }

  write(value: number, out: KeyWriter): void {
    if (!Number.isInteger(value) || value < -this.limit || value >= this.limit) {
      throw badValue(this.name, value, `a whole number from ${-this.limit} to ${this.limit - 1}`);
    }
    const size = this.fixedLength;
    out.ensure(size);
    putInteger(out.buffer, out.length, size, value < 0 ? value + 2 * this.limit : value);
    out.length += size;
  }

  read(bytes: Uint8Array, start: number, end: number): number {
    if (end - start !== this.fixedLength) throw wrongLength(this, bytes, start, end);
    const value = getInteger(bytes, start, this.fixedLength);
    return value < this.limit ? value : value - 2 * this.limit;
  }

  override get order(): BaseCodec<number> {
    return this.ascending;
  }

  override pieces(range: ValueRange): readonly ValueRange[] {
    return signedPieces(range, -this.limit, 0, -1, this.limit - 1);
  }
}

/** HBase's `Bytes.toBytes(long)`: two's complement. Negative numbers sort after the others. */
export class RawLongCodec extends BaseCodec<bigint> {
  readonly fixedLength = 8;
  override readonly valueType = 'bigint';
  override readonly ordered = false;

  constructor(readonly name: string) {
    super();
  }

  write(value: bigint, out: KeyWriter): void {
    if (typeof value !== 'bigint' || value < MIN || value > MAX) {
      throw badValue(this.name, value, `a bigint from ${MIN}n to ${MAX}n`);
    }
    writeBigInt(value, 0, out);
  }

  read(bytes: Uint8Array, start: number, end: number): bigint {
    if (end - start !== 8) throw wrongLength(this, bytes, start, end);
    return viewLong(bytes, start, 0).getBigInt64(0);
  }

  override get order(): BaseCodec<bigint> {
    return int64 as BaseCodec<bigint>;
  }

  override pieces(range: ValueRange): readonly ValueRange[] {
    return signedPieces(range, MIN, 0n, -1n, MAX);
  }
}

const view = new DataView(new ArrayBuffer(8));

/**
 * HBase's `Bytes.toBytes(float/double)`: any number, including NaN and -0. Negative numbers sort after the others, in
 * reverse.
 */
export class RawFloatCodec extends BaseCodec<number> {
  override readonly ordered = false;

  constructor(
    readonly name: string,
    readonly fixedLength: 4 | 8,
  ) {
    super();
  }

  write(value: number, out: KeyWriter): void {
    if (typeof value !== 'number') throw badValue(this.name, value, 'a number');
    const size = this.fixedLength;
    if (size === 8) view.setFloat64(0, value);
    else {
      if (!Object.is(Math.fround(value), value)) {
        throw badValue(this.name, value, 'a number that 32 bits hold exactly (Math.fround)');
      }
      view.setFloat32(0, value);
    }
    for (let i = 0; i < size; i++) out.push(view.getUint8(i));
  }

  read(bytes: Uint8Array, start: number, end: number): number {
    const size = this.fixedLength;
    if (end - start !== size) throw wrongLength(this, bytes, start, end);
    for (let i = 0; i < size; i++) view.setUint8(i, bytes[start + i]!);
    return size === 8 ? view.getFloat64(0) : view.getFloat32(0);
  }

  override alike(value: number): readonly number[] {
    return value === 0 ? [0, -0] : [value];
  }

  override get order(): BaseCodec<number> {
    return this.fixedLength === 8 ? float64OrNaN : float32OrNaN;
  }
}

export class RawSafeIntegerCodec extends BaseCodec<number> {
  readonly name = 'raw.int53';
  readonly fixedLength = 8;
  override readonly ordered = false;

  write(value: number, out: KeyWriter): void {
    if (!Number.isSafeInteger(value))
      throw badValue(this.name, value, 'a whole number from -(2^53-1) to 2^53-1');
    writeSafe(value, 0, out);
  }

  read(bytes: Uint8Array, start: number, end: number): number {
    if (end - start !== 8) throw wrongLength(this, bytes, start, end);
    const value = readSafe(bytes, start, 0);
    if (!Number.isSafeInteger(value)) throw badValue(this.name, value, 'within 2^53-1; use raw.int64');
    return value;
  }

  override get order(): BaseCodec<number> {
    return int53 as BaseCodec<number>;
  }

  override pieces(range: ValueRange): readonly ValueRange[] {
    return signedPieces(range, Number.MIN_SAFE_INTEGER, 0, -1, Number.MAX_SAFE_INTEGER);
  }
}
