import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromHex, toHex, VarintReader, varintLength, writeVarint } from '../../src/bytes/index.js';
import { CorruptionError } from '../../src/errors.js';

function encode(value: number): Uint8Array {
  const out = new Uint8Array(16);
  return out.subarray(0, writeVarint(out, 0, value));
}

function decode(bytes: Uint8Array): number {
  const reader = new VarintReader();
  reader.reset(bytes, 0, bytes.length);
  const value = reader.read();
  expect(reader.position).toBe(bytes.length);
  return value;
}

describe('varint', () => {
  it.each([
    [0, '00'],
    [127, '7f'],
    [128, '8001'],
    [300, 'ac02'],
    [2 ** 31 - 1, 'ffffffff07'],
    [2 ** 31, '8080808008'],
    [2 ** 32, '8080808010'],
    [Number.MAX_SAFE_INTEGER, 'ffffffffffffff0f'],
  ])('writes %d as %s', (value, hex) => {
    expect(toHex(encode(value))).toBe(hex);
    expect(varintLength(value)).toBe(hex.length / 2);
    expect(decode(fromHex(hex))).toBe(value);
  });

  it('gives back what was written', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (value) => {
        const bytes = encode(value);
        expect(bytes.length).toBe(varintLength(value));
        expect(decode(bytes)).toBe(value);
      }),
    );
  });

  it.each([
    ['nothing', ''],
    ['an end inside the number', '80'],
    ['a longer form than needed', '8000'],
    ['2^53', '8080808080808010'],
    ['more than eight bytes', '808080808080808001'],
  ])('refuses %s', (_, hex) => {
    expect(() => decode(fromHex(hex))).toThrow(CorruptionError);
  });

  it('never reads past its limit', () => {
    const reader = new VarintReader();
    reader.reset(fromHex('8001'), 0, 1);
    expect(() => reader.read()).toThrow(CorruptionError);
  });
});
