/**
 * Codecs of KijiSchema's FORMATTED row keys (`FormattedEntityId`). Text always ends with 00 and contains no NUL;
 * numbers are big-endian with the sign bit flipped. The hash before them is `hash([...], { bytes: hashSize })` over the
 * leading parts; HASH PREFIXED and SUPPRESS FIELDS correspond to its `keep`. Null components are not supported: every
 * part needs a value.
 */

import type { ScalarCodec } from '../codecs/base.js';
import { int32, int64 } from '../codecs/index.js';
import { StringCodec } from '../codecs/text.js';

/** Kiji's component types. */
export const kiji = Object.freeze({
  string: new StringCodec('kiji.string', 'separated', 0, true) as ScalarCodec<string>,
  int: int32,
  long: int64,
});
