import fc from 'fast-check';

/**
 * Any code point. fast-check's unit `binary` is the same, and makes a map of all 1,112,064 of them first, a second of each
 * process.
 */
export const codePoint: fc.Arbitrary<string> = fc
  .oneof(fc.nat(0xd7ff), fc.integer({ min: 0xe000, max: 0x10ffff }), fc.nat(0x7f))
  .map((point) => String.fromCodePoint(point));

export const anyText: fc.Arbitrary<string> = fc.string({ unit: codePoint });
