/**
 * The scalars of columns. All are the codecs of row keys, so a value has the same bytes in a key and in a column, and
 * byte order is logical order; but for counters, which are HBase's own.
 */

import { RawLongCodec } from '../key/codecs/raw-long.js';
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
  text,
  textNumber,
  uint8,
  uint16,
  uint32,
  uint64,
  ulid,
  uuid,
} from '../key/codecs/index.js';

/** What increments add to: 8 bytes of two's complement, as HBase's `Increment` keeps them. */
export const counter: ValueCodec<bigint> = new RawLongCodec('counter');
