import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crc32, toBytes } from '../../src/bytes/index.js';

function bitByBit(bytes: Uint8Array, seed = 0): number {
  let crc = ~seed;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) !== 0 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
}

describe('crc32', () => {
  it('has the published check value', () => {
    expect(crc32(toBytes('123456789'), 0, 9)).toBe(0xcbf43926);
  });

  it('is the bitwise definition at every length around the switch to zlib', () => {
    const bytes = Uint8Array.from({ length: 400 }, (_, i) => (i * 167 + 13) & 0xff);
    for (let length = 0; length < 390; length++) {
      expect(crc32(bytes, 3, length)).toBe(bitByBit(bytes.subarray(3, 3 + length)));
    }
  });

  it('continues from the crc of what came before', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.uint8Array({ maxLength: 300 }), (a, b) => {
        const whole = new Uint8Array([...a, ...b]);
        const first = crc32(a, 0, a.length);
        expect(crc32(b, 0, b.length, first)).toBe(crc32(whole, 0, whole.length));
        expect(crc32(b, 0, b.length, first)).toBe(bitByBit(b, first));
      }),
    );
  });
});
