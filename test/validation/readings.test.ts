/** Texts as values: the reading that is tried first for a codec of one type finds what trying all of them finds. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  boolean,
  counter,
  date,
  decimal,
  enumeration,
  float32,
  float64,
  int8,
  int32,
  int53,
  int64,
  text,
  uint32,
  uint64,
  uuid,
} from '../../src/codec/index.js';
import { bytes, desc, raw } from '../../src/key/index.js';
import { type AnyCodec, readValue } from '../../src/validation/values.js';
import { scaled } from '../proof/scale.js';

const CODECS = [
  ...[boolean, counter, date, decimal(2), enumeration({ open: 1, '12': 2 }), float32, float64, int8, int32],
  ...[
    int53,
    int64,
    raw.int32,
    raw.int64,
    raw.date,
    text,
    uint32,
    uint64,
    uuid,
    bytes,
    desc(date),
    desc(int64),
  ],
] as readonly AnyCodec[];

/** The same codec, of which nothing is known. */
const unknownOf = (codec: AnyCodec): AnyCodec => ({
  name: 'of a program',
  encode: (value) => codec.encode(value),
});

const given = fc.oneof(
  fc.constantFrom(
    '',
    '0',
    '-0',
    '12',
    '-1',
    '1e3',
    '1.5',
    '01',
    'true',
    'false',
    'open',
    'AAAA',
    'Infinity',
    ' 5',
  ),
  fc.constantFrom('2026-01-02', '2026-02-30', '2026-01-02T03:04:05Z', '+275760-09-13T00:00:00.001Z'),
  fc.constantFrom(
    '0198c2b2-7d3e-7c3a-9c1f-2f6c0a7b1c11',
    '99999999999',
    '9223372036854775808',
    '18446744073709551615',
  ),
  fc.integer().map(String),
  fc.bigInt().map(String),
  fc.double().map(String),
  fc.string(),
  fc.integer(),
  fc.constantFrom(true, null, 1n, new Date(5), Uint8Array.of(1)),
);

const outcome = (read: () => unknown): unknown => {
  try {
    return { value: read() };
  } catch (error) {
    return { refused: (error as Error).message };
  }
};

it('is the same for every codec and every text', () => {
  fc.assert(
    fc.property(fc.constantFrom(...CODECS), given, fc.boolean(), (codec, value, coerce) => {
      const all = outcome(() => readValue(unknownOf(codec), value, coerce));
      expect(outcome(() => readValue(codec, value, coerce))).toEqual(all);
    }),
    { numRuns: scaled(1500, 20_000, 200_000) },
  );
});
