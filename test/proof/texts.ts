import fc from 'fast-check';

/**
 * Generates any code point. fast-check's unit `binary` does the same, but first builds a map of all 1,112,064 code
 * points, which costs a second in each process.
 */
export const codePoint: fc.Arbitrary<string> = fc
  .oneof(fc.nat(0xd7ff), fc.integer({ min: 0xe000, max: 0x10ffff }), fc.nat(0x7f))
  .map((point) => String.fromCodePoint(point));

export const anyText: fc.Arbitrary<string> = fc.string({ unit: codePoint });
