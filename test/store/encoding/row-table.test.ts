import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RowTable, rowPrefix } from '../../../src/store/encoding/row-table.js';

const ascending = fc
  .array(fc.oneof(fc.nat(5), fc.nat(0x7fffffff), fc.integer({ min: 1000, max: 1100 })), {
    minLength: 1,
    maxLength: 300,
  })
  .map((numbers) => numbers.sort((a, b) => a - b));

describe('a row table', () => {
  test('finds the bounds of any prefix, from any entry on', () => {
    fc.assert(
      fc.property(ascending, fc.nat(0x7fffffff), fc.nat(), fc.nat(), (prefixes, stranger, which, where) => {
        const table = new RowTable(prefixes.length, new Uint8Array(0));
        prefixes.forEach((prefix, i) => {
          table.set(i, prefix, i * 10);
        });
        const present = prefixes[which % prefixes.length]!;
        const from = where % prefixes.length;
        for (const prefix of [stranger, present, present + 1, Math.max(0, present - 1), 0, 0x7fffffff]) {
          const expected = prefixes.findIndex((each, i) => i >= from && each >= prefix);
          const low = expected < 0 ? prefixes.length : expected;
          expect(table.lowerBound(prefix, from)).toBe(low);
          expect(table.has(low, prefix)).toBe(prefixes[low] === prefix);
          if (prefixes[low] !== prefix) continue;
          const next = prefixes.findIndex((each) => each > prefix);
          expect(table.upperBound(prefix, low)).toBe(next < 0 ? prefixes.length : next);
          expect(table.place(low)).toBe(low * 10);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('takes prefixes that are in the order of their rows', () => {
    const row = fc.uint8Array({ minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3 }), row, row, (head, a, b) => {
        const [x, y] = [Buffer.concat([head, a]), Buffer.concat([head, b])];
        const difference = rowPrefix(x, 0, x.length, head.length) - rowPrefix(y, 0, y.length, head.length);
        if (difference !== 0) expect(Math.sign(difference)).toBe(Math.sign(Buffer.compare(x, y)));
      }),
      { numRuns: 500 },
    );
  });

  test('tells where rows stand that do not begin with its head', () => {
    const table = new RowTable(1, Buffer.from('user'));
    const order = (row: string): number =>
      Math.sign(table.compareHead(Buffer.from(`--${row}`), 2, row.length));
    expect(['user', 'user9', 'used', 'usf', 'use', ''].map(order)).toEqual([0, 0, 1, -1, 1, 1]);
  });
});
