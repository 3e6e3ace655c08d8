/**
 * Codecs of the types of Apache Phoenix (`org.apache.phoenix.schema.types`), for tables that Phoenix wrote or reads.
 * `desc(...)` is Phoenix's DESC; `salt(n, { algorithm: 'phoenix' })` its SALT_BUCKETS. A null VARCHAR is the empty text.
 */

import type { ScalarCodec } from '../codecs/base.js';
import { BigIntegerCodec, int64 } from '../codecs/big-integer.js';
import { boolean } from '../codecs/boolean.js';
import { BytesCodec, bytes } from '../codecs/bytes.js';
import { date } from '../codecs/date.js';
import { fixedBytes } from '../codecs/fixed-bytes.js';
import { fixedString } from '../codecs/fixed-string.js';
import { float32, float64 } from '../codecs/floats.js';
import { IntegerCodec, int8, int16, int32 } from '../codecs/integers.js';
import { StringCodec } from '../codecs/text.js';
import { PhoenixFloatCodec } from './phoenix-float.js';
import { PhoenixTimestampCodec } from './phoenix-timestamp.js';
import { UnsignedDateCodec } from './unsigned-date.js';

/** Phoenix's type names, in lower camel case. */
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
  /** Ends with 00 (FF when descending) where it is not last, so it holds no NUL. */
  varchar: new StringCodec('phoenix.varchar', 'separated') as ScalarCodec<string>,
  /** `width` ASCII characters, filled up with spaces. */
  char: (width: number): ScalarCodec<string> => fixedString(width),
  /** `width` bytes, filled up with zeros. */
  binary: (width: number): ScalarCodec<Uint8Array> => fixedBytes(width, 0),
  /** Any bytes, last in the key and ascending. */
  varbinary: new BytesCodec('phoenix.varbinary', 'rest') as ScalarCodec<Uint8Array>,
  /** Any bytes anywhere: escaped as Rowan's own `bytes`. */
  varbinaryEncoded: bytes,
  date,
  time: date,
  timestamp: new PhoenixTimestampCodec() as ScalarCodec<Date>,
  unsignedDate: new UnsignedDateCodec('phoenix.unsignedDate', 0) as ScalarCodec<Date>,
  unsignedTime: new UnsignedDateCodec('phoenix.unsignedTime', 0) as ScalarCodec<Date>,
});
