/**
 * The scalars of columns. All are the codecs of row keys, so a value has the same bytes in a key and in a column, and
 * byte order is logical order; but for those that a column needs otherwise: text, counters and HBase's own.
 */

import { float64, type ScalarCodec } from '../key/codecs/index.js';
import { RawLongCodec } from '../key/codecs/long.js';
import { StringCodec } from '../key/codecs/text.js';
import type { ValueCodec } from './types.js';

export {
  bigint,
  boolean,
  bytes,
  date,
  decimal,
  enumeration,
  fixedBytes,
  fixedString,
  float,
  float32,
  float64,
  int8,
  int16,
  int32,
  int53,
  int64,
  textNumber,
  uint8,
  uint16,
  uint32,
  uint64,
  ulid,
  uuid,
} from '../key/codecs/index.js';

/** Well-formed text as UTF-8. */
export const text: ValueCodec<string> = new StringCodec('text');

/** Any number but NaN, in 8 ordered bytes; -0 becomes 0. The same as `float64`. */
export const double: ScalarCodec<number> = float64;

/** What increments add to: 8 bytes of two's complement, as HBase's `Increment` keeps them. */
export const counter: ValueCodec<bigint> = new RawLongCodec('counter');
