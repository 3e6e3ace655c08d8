/**
 * Codecs of tables that programs wrote with HBase's `Bytes.toBytes`: two's complement, IEEE 754, text without an end.
 * Where their byte order is not the order of values, ranges are still right: they are cut at zero, or rows checked.
 */

import { BaseCodec, badValue, type ScalarCodec, type ValueRange } from '../codecs/base.js';
import { BooleanCodec, BytesCodec } from '../codecs/binary.js';
import { float32, float64 } from '../codecs/floats.js';
import { int16, int32, RawIntegerCodec, signedPieces, wrongLength } from '../codecs/integers.js';
import { DateCodec, int53, RawLongCodec, readSafe, writeSafe } from '../codecs/long.js';
import { StringCodec, separatedString } from '../codecs/text.js';
import type { KeyWriter } from '../codecs/writer.js';

class RawSafeIntegerCodec extends BaseCodec<number> {
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

const view = new DataView(new ArrayBuffer(8));

/** `Bytes.toBytes(float/double)`: every number, NaN and -0 included. Negative numbers sort behind, in reverse. */
class RawFloatCodec extends BaseCodec<number> {
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

  override get order(): BaseCodec<number> {
    return (this.fixedLength === 8 ? float64 : float32) as BaseCodec<number>;
  }
}

/** Codecs of `Bytes.toBytes`. `string` and `bytes` have no end, so they go last in a key. */
export const raw = Object.freeze({
  /** `Bytes.toBytes(String)`. */
  string: new StringCodec('raw.string', 'rest') as ScalarCodec<string>,
  bytes: new BytesCodec('raw.bytes', 'rest') as ScalarCodec<Uint8Array>,
  int16: new RawIntegerCodec('raw.int16', 2, int16 as BaseCodec<number>) as ScalarCodec<number>,
  int32: new RawIntegerCodec('raw.int32', 4, int32 as BaseCodec<number>) as ScalarCodec<number>,
  /** `Bytes.toBytes(long)` as a bigint. */
  int64: new RawLongCodec('raw.int64') as ScalarCodec<bigint>,
  /** `Bytes.toBytes(long)` as a number, which must be a safe integer. */
  int53: new RawSafeIntegerCodec() as ScalarCodec<number>,
  /** `Bytes.toBytes(date.getTime())`. */
  date: new DateCodec('raw.date', 0) as ScalarCodec<Date>,
  /** FF for true, 00 for false. */
  boolean: new BooleanCodec('raw.boolean', 0xff) as ScalarCodec<boolean>,
  float32: new RawFloatCodec('raw.float32', 4) as ScalarCodec<number>,
  float64: new RawFloatCodec('raw.float64', 8) as ScalarCodec<number>,
  /** Text that one ASCII character ends (`a#b`), which it must not hold. Nothing ends it at the end of a key. */
  joined: (separator: string): ScalarCodec<string> =>
    separatedString(`raw.joined(${JSON.stringify(separator)})`, separator),
});
