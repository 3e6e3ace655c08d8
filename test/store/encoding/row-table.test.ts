import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ByteRanges, PrefixIndex, type RowNumbersMaker } from '../../../src/store/encoding/row-lookup.js';
import { ByteSets } from '../../../src/store/file/block-index.js';
import { scaled } from '../../proof/scale.js';

const HEAD = Buffer.from('user');

/** Of blocks, and of indexes. */
const NUMBERS: Readonly<Record<string, (skip: number) => RowNumbersMaker>> = {
  ranges: (skip) => new ByteRanges(skip),
  ranks: (skip) => new ByteSets(skip),
};

function tableOf(rows: readonly Buffer[], head: Buffer = HEAD, numbers = NUMBERS['ranges']!): PrefixIndex {
  return new PrefixIndex(
    rows.length,
    head,
    (i, row) => {
      // Not at the beginning of its bytes, as in a block.
      row.bytes = Buffer.concat([Buffer.from('--'), rows[i]!, Buffer.from('--')]);
      row.offset = 2;
      row.length = rows[i]!.length;
      row.place = i * 10;
    },
    numbers(head.length),
    new Int32Array(rows.length << shiftOf(rows)),
    shiftOf(rows),
  );
}

/** Tables whose records have other numbers behind the two of the table, too. */
function shiftOf({ length }: readonly Buffer[]): number {
  return 1 + (length % 2);
}

function codeOf(table: PrefixIndex, row: Buffer): number {
  return table.codeOf(Buffer.concat([Buffer.of(7), row, Buffer.of(9)]), 1, row.length);
}

/** What follows the head: digits that count up, any bytes, few different bytes, and long rows that differ late. */
const tail = fc.oneof(
  fc.nat(2000).map((n) => Buffer.from(String(n).padStart(9, '0'))),
  fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
  fc.uint8Array({ min: 0, max: 2, maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
  fc.nat(300).map((n) => Buffer.from(`a long beginning that is the same ${n}`)),
);
const row = tail.map((bytes) => Buffer.concat([HEAD, bytes]));
const rows = fc
  .oneof(
    fc.array(row, { minLength: 1, maxLength: 200 }),
    fc.array(
      tail.filter((bytes) => bytes.length === 9).map((bytes) => Buffer.concat([HEAD, bytes])),
      { minLength: 1, maxLength: 200 },
    ),
  )
  .map((unordered) => unordered.sort(Buffer.compare));

describe.each(Object.entries(NUMBERS))('a row table by %s', (_, numbers) => {
  test('bounds where any row may stand, from any entry on', () => {
    fc.assert(
      fc.property(rows, row, fc.nat(), fc.nat(), (present, stranger, which, where) => {
        const table = tableOf(present, HEAD, numbers);
        const from = where % present.length;
        for (const wanted of [stranger, present[which % present.length]!]) {
          const code = codeOf(table, wanted);
          const low = table.lowerBound(code, from);
          const high = table.has(low, code) ? table.upperBound(code, low) : low;
          const first = present.findIndex((each, i) => i >= from && Buffer.compare(each, wanted) >= 0);
          const expected = first < 0 ? present.length : first;
          expect(low).toBeLessThanOrEqual(expected);
          expect(high).toBeGreaterThanOrEqual(expected);
          if (low < present.length) expect(table.place(low)).toBe(low * 10);
        }
      }),
      { numRuns: scaled(50, 1000, 10_000) },
    );
  });

  test('gives rows codes in their order', () => {
    fc.assert(
      fc.property(rows, row, row, (present, a, b) => {
        const table = tableOf(present, HEAD, numbers);
        const difference = codeOf(table, a) - codeOf(table, b);
        // Of rows of the run, and any row against one of them.
        if (difference !== 0 && present.some((each) => each.equals(a)))
          expect(Math.sign(difference)).toBe(Math.sign(Buffer.compare(a, b)));
        const codes = present.map((each) => codeOf(table, each));
        expect(codes).toEqual([...codes].sort((x, y) => x - y));
        expect(codes.every((code) => Number.isInteger(code) && code >= 0 && code < 2 ** 31)).toBe(true);
      }),
      { numRuns: scaled(30, 500, 5000) },
    );
  });
});

describe('a row table', () => {
  test('tells rows of nine digits apart, and rows that count up by where they stand', () => {
    const counting = Array.from({ length: 400 }, (_, i) =>
      Buffer.from(`user${String(123456100 + i).padStart(9, '0')}`),
    );
    const table = tableOf(counting, Buffer.from('user123456'));
    const first = codeOf(table, counting[0]!);
    expect(counting.map((each) => codeOf(table, each) - first)).toEqual(counting.map((_, i) => i));
    const apart = tableOf([Buffer.from('user000000000'), Buffer.from('user999999999')]);
    expect(codeOf(apart, Buffer.from('user123456789'))).toBe(123456789);
  });

  test('tells addresses apart in an index, of whose first letters there are few', () => {
    const addresses = ['com', 'de', 'io', 'net', 'org']
      .flatMap((domain) => Array.from({ length: 200 }, (_, i) => `${domain}.site${1000 + 7 * i}.www/news`))
      .map((address) => Buffer.from(address))
      .sort(Buffer.compare);
    const codes = (of: PrefixIndex): Set<number> => new Set(addresses.map((each) => codeOf(of, each)));
    const empty = Buffer.alloc(0);
    expect(codes(tableOf(addresses, empty, NUMBERS['ranks'])).size).toBe(addresses.length);
    expect(codes(tableOf(addresses, empty, NUMBERS['ranges'])).size).toBeLessThan(20);
  });

  test('tells where rows stand that do not begin with its head', () => {
    const table = tableOf([HEAD]);
    const order = (text: string): number =>
      Math.sign(table.compareHead(Buffer.from(`--${text}`), 2, text.length));
    expect(['user', 'user9', 'used', 'usf', 'use', ''].map(order)).toEqual([0, 0, 1, -1, 1, 1]);
  });
});
