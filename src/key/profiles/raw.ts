/**
 * Codecs of tables that programs wrote with HBase's `Bytes.toBytes`: two's complement, IEEE 754, text without an end.
 * Where their byte order is not the order of values, ranges are still right: they are cut at zero, or rows checked.
 */

import type { BaseCodec, ScalarCodec } from '../codecs/base.js';
import { DateCodec } from '../codecs/desc.js';
import { BooleanCodec, BytesCodec } from '../codecs/fixed.js';
import { int16, int32 } from '../codecs/integers.js';
import { RawFloatCodec, RawIntegerCodec, RawLongCodec, RawSafeIntegerCodec } from '../codecs/raw-numbers.js';
import { StringCodec, separatedString } from '../codecs/text.js';

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
