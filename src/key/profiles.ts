import { copyBytes } from '../bytes/index.js';
import {
  BaseCodec,
  badBytes,
  badValue,
  type KeyWriter,
  type ScalarCodec,
  wrongLength,
} from './codecs/base.js';
import { DateCodec, date } from './codecs/desc.js';
import { BooleanCodec, BytesCodec, boolean, bytes, fixedBytes, fixedString } from './codecs/fixed.js';
import { BigIntegerCodec, IntegerCodec, int8, int16, int32, int64 } from './codecs/integers.js';
import { float32, float64 } from './codecs/numbers.js';
import { RawFloatCodec, RawIntegerCodec, RawLongCodec, RawSafeIntegerCodec } from './codecs/raw-numbers.js';
import { StringCodec, separatedString } from './codecs/text.js';

/** FLOAT and DOUBLE: Rowan's bytes plus one, since Phoenix reserves 00.. for null. */
class PhoenixFloatCodec extends BaseCodec<number> {
  readonly fixedLength: number;
  private readonly inner: BaseCodec<number>;

  constructor(
    readonly name: string,
    inner: ScalarCodec<number>,
  ) {
    super();
    this.inner = inner as BaseCodec<number>;
    this.fixedLength = this.inner.fixedLength!;
  }

  write(value: number, out: KeyWriter): void {
    this.inner.write(value, out);
    addOne(out.buffer, out.length - this.fixedLength, out.length, 1);
  }

  read(bytes: Uint8Array, start: number, end: number): number {
    if (end - start !== this.fixedLength) throw wrongLength(this, bytes, start, end);
    const own = copyBytes(bytes, start, end);
    addOne(own, 0, own.length, -1);
    return this.inner.read(own, 0, own.length);
  }
}

/** Adds 1 or -1 to a big-endian number in place. */
function addOne(bytes: Uint8Array, start: number, end: number, delta: 1 | -1): void {
  const carry = delta === 1 ? 0 : 0xff;
  for (let i = end - 1; i >= start; i--) {
    bytes[i] = bytes[i]! + delta;
    if (bytes[i] !== carry) return;
  }
}

/** TIMESTAMP: ms as in DATE, then 4 bytes for the nanoseconds below the millisecond, always zero for a Date. */
class PhoenixTimestampCodec extends BaseCodec<Date> {
  readonly name = 'phoenix.timestamp';
  readonly fixedLength = 12;

  write(value: Date, out: KeyWriter): void {
    (date as BaseCodec<Date>).write(value, out);
    for (let i = 0; i < 4; i++) out.push(0);
  }

  read(bytes: Uint8Array, start: number, end: number): Date {
    if (end - start !== 12) throw wrongLength(this, bytes, start, end);
    if (bytes.subarray(start + 8, end).some((byte) => byte !== 0)) {
      throw badBytes(
        this.name,
        bytes,
        start,
        end,
        'it has nanoseconds, which a Date cannot hold; read it as fixedBytes(12)',
      );
    }
    return (date as BaseCodec<Date>).read(bytes, start, start + 8);
  }
}

/** UNSIGNED_DATE and UNSIGNED_TIME: `Bytes.toBytes(ms)` from 1970 on. */
class UnsignedDateCodec extends DateCodec {
  override readonly ordered = true;

  override write(value: Date, out: KeyWriter): void {
    if (value instanceof Date && value.getTime() < 0)
      throw badValue(this.name, value, 'a time not before 1970');
    super.write(value, out);
  }

  override read(bytes: Uint8Array, start: number, end: number): Date {
    const value = super.read(bytes, start, end);
    if (value.getTime() < 0) throw badBytes(this.name, bytes, start, end, 'it is before 1970');
    return value;
  }

  override get order(): BaseCodec<Date> {
    return this;
  }
}

/**
 * Codecs of the types of Apache Phoenix (`org.apache.phoenix.schema.types`), for tables shared with Phoenix.
 * `desc(...)` is Phoenix's DESC; `salt(n, { algorithm: 'phoenix' })` is its SALT_BUCKETS. A null VARCHAR is the empty
 * string. Phoenix's type names, in lower camel case.
 */
export const phoenix = Object.freeze({
  tinyint: int8,
  smallint: int16,
  integer: int32,
  bigint: int64,
  unsignedTinyint: new IntegerCodec('phoenix.unsignedTinyint', 1, 0, 127) as ScalarCodec<number>,
  unsignedSmallint: new IntegerCodec('phoenix.unsignedSmallint', 2, 0, 32767) as ScalarCodec<number>,
  unsignedInt: new IntegerCodec('phoenix.unsignedInt', 4, 0, 2147483647) as ScalarCodec<number>,
  unsignedLong: new BigIntegerCodec('phoenix.unsignedLong', 0n, 2n ** 63n - 1n) as ScalarCodec<bigint>,
  float: new PhoenixFloatCodec('phoenix.float', float32) as ScalarCodec<number>,
  double: new PhoenixFloatCodec('phoenix.double', float64) as ScalarCodec<number>,
  boolean,
  /** Ended by 00 (FF if descending) unless it is last, so the text may not contain NUL. */
  varchar: new StringCodec('phoenix.varchar', 'separated') as ScalarCodec<string>,
  /** `width` ASCII characters, padded with spaces. */
  char: (width: number): ScalarCodec<string> => fixedString(width),
  /** `width` bytes, padded with zeros. */
  binary: (width: number): ScalarCodec<Uint8Array> => fixedBytes(width, 0),
  /** Arbitrary bytes; only last in the key and ascending. */
  varbinary: new BytesCodec('phoenix.varbinary', 'rest') as ScalarCodec<Uint8Array>,
  /** Arbitrary bytes at any position, escaped like Rowan's own `bytes`. */
  varbinaryEncoded: bytes,
  date,
  time: date,
  timestamp: new PhoenixTimestampCodec() as ScalarCodec<Date>,
  unsignedDate: new UnsignedDateCodec('phoenix.unsignedDate', 0) as ScalarCodec<Date>,
  unsignedTime: new UnsignedDateCodec('phoenix.unsignedTime', 0) as ScalarCodec<Date>,
});

/**
 * Codecs of KijiSchema's FORMATTED row keys (`FormattedEntityId`). Text always ends with 00 and contains no NUL;
 * numbers are big-endian with the sign bit flipped. The hash before them is `hash([...], { bytes: hashSize })` over the
 * leading parts; HASH PREFIXED and SUPPRESS FIELDS correspond to its `keep`. Null components are not supported: every
 * part needs a value. Kiji's component types.
 */
export const kiji = Object.freeze({
  string: new StringCodec('kiji.string', 'separated', 0, true) as ScalarCodec<string>,
  int: int32,
  long: int64,
});

/**
 * Codecs of tables written with HBase's `Bytes.toBytes`: two's complement, IEEE 754, text without a terminator. If byte
 * order is not the order of values, ranges still give correct results: they are split at zero, or each row is tested.
 * Codecs of `Bytes.toBytes`. `string` and `bytes` have no terminator, so they must be last in a key.
 */
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
  /** Text ended by one ASCII character (`a#b`), which it may not contain. The last part of a key has no terminator. */
  joined: (separator: string): ScalarCodec<string> =>
    separatedString(`raw.joined(${JSON.stringify(separator)})`, separator),
});
