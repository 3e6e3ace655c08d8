/** Decoders take only what their encoders write: any other bytes are damage, or another program's. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toHex } from '../../src/bytes/index.js';
import { counter, json, rawDecimal, type ValueCodec } from '../../src/codec/index.js';
import * as key from '../../src/key/index.js';
import { scaled } from '../proof/scale.js';

const CODECS: readonly ValueCodec<never>[] = [
  key.bigint,
  key.boolean,
  key.bytes,
  key.date,
  key.decimal(2),
  key.desc(key.int32),
  key.enumeration({ open: 1, shut: 2 }),
  key.fixedBytes(3),
  key.fixedString(4),
  key.float32,
  key.float64,
  key.int8,
  key.int16,
  key.int32,
  key.int53,
  key.int64,
  key.text,
  key.textNumber(4),
  key.uint8,
  key.uint16,
  key.uint32,
  key.uint64,
  key.ulid,
  key.uuid,
  counter,
  rawDecimal,
] as never;

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 12 }),
  fc
    .array(fc.constantFrom(0, 1, 2, 0x30, 0x31, 0x7f, 0x80, 0xfe, 0xff), { maxLength: 12 })
    .map((list) => Uint8Array.from(list)),
);

describe('only bytes that were written are read', () => {
  it.each(CODECS.map((codec) => [codec.name, codec] as const))('%s', (_, codec) => {
    fc.assert(
      fc.property(bytes, (given) => {
        let value: never;
        try {
          value = codec.decode(given);
        } catch (error) {
          expect(error).toMatchObject({ code: 'ERR_CODEC' });
          return;
        }
        // A BigDecimal of Java may have a negative scale, which texts of digits do not have.
        if ((codec as { name: string }).name === 'raw.decimal' && given[0]! >= 0x80) return;
        expect(toHex(codec.encode(value))).toBe(toHex(given));
      }),
      { numRuns: scaled(100, 1000, 100_000) },
    );
  });

  it('and so of -0, which stands as 0', () => {
    for (const [codec, given] of [
      [key.float32, '7fffffff'],
      [key.float64, '7fffffffffffffff'],
    ] as const) {
      expect(() => codec.decode(Buffer.from(given, 'hex'))).toThrow(/-0/);
    }
  });

  it('but JSON may have been written with spaces', () => {
    expect(json().decode(Buffer.from('{ "a": 1 }'))).toEqual({ a: 1 });
  });
});
