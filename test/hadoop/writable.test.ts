import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteBuilder, ByteParser, vintLength } from '../../src/hadoop/writable.js';

test('numbers are read as they were written, and have the bytes of Hadoop and protocol buffers', () => {
  fc.assert(
    fc.property(fc.oneof(fc.nat({ max: 300 }), fc.maxSafeNat()), (value) => {
      const bytes = new ByteBuilder(1).vint(value).varint(value).long(value).long(-value).copy();
      const parser = new ByteParser(bytes);
      expect(vintLength(bytes[0]!)).toBeLessThanOrEqual(9);
      expect([parser.vint(), parser.varint(), parser.long(), parser.long() + value, parser.left]).toEqual([
        ...[value, value, value, 0, 0],
      ]);
    }),
  );
  // WritableUtils.writeVInt and CodedOutputStream.writeInt64 of Hadoop 3.4 and protobuf 3.25.
  expect(new ByteBuilder().vint(127).vint(128).vint(65536).copy().toString('hex')).toBe('7f8f808d010000');
  expect(new ByteParser(Buffer.from('8780', 'hex')).vint()).toBe(-129);
  expect(new ByteParser(Buffer.from('ffffffffffffffffff01', 'hex')).varint()).toBe(-1);
});

test('nothing is read past the end, and no number that is none', () => {
  const read = (hex: string, as: 'vint' | 'varint' | 'vbytes' | 'int' | 'long' | 'field') => () =>
    new ByteParser(Buffer.from(hex, 'hex'))[as]();
  for (const [hex, as] of [
    ['', 'vint'],
    ['8f', 'vint'],
    ['80', 'varint'],
    ['ffffffffffffffffffff01', 'varint'],
    ['ffffffffffffff7f', 'varint'],
    ['05aa', 'vbytes'],
    ['ff', 'vbytes'],
    ['0000', 'int'],
    ['7fffffffffffffff', 'long'],
    ['0b', 'field'],
    ['0aff01', 'field'],
  ] as const) {
    if (hex === 'ffffffffffffff7f') expect(read(hex, as)).toThrow('beyond');
    else expect(read(hex, as), `${as} of ${hex}`).toThrow();
  }
});
