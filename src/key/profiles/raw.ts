/**
 * Codecs of tables written with HBase's `Bytes.toBytes`: two's complement, IEEE 754, text without a terminator. If byte
 * order is not the order of values, ranges still give correct results: they are split at zero, or each row is tested.
 */

import type { BaseCodec, ScalarCodec } from '../codecs/base.js';
import { DateCodec } from '../codecs/desc.js';
import { BooleanCodec, BytesCodec } from '../codecs/fixed.js';
import { int16, int32 } from '../codecs/integers.js';
import { RawFloatCodec, RawIntegerCodec, RawLongCodec, RawSafeIntegerCodec } from '../codecs/raw-numbers.js';
import { StringCodec, separatedString } from '../codecs/text.js';

/** Codecs of `Bytes.toBytes`. `string` and `bytes` have no terminator, so they must be last in a key. */
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
