/** Rows are sorted by numbers that stand for them: as if each pair were compared. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareBytes, orderOfParts, orderOfRows } from '../../src/bytes/index.js';
import { scaled } from '../proof/scale.js';

/** Of few bytes, so that rows are equal, begin alike, and end where others go on. */
const byte = fc.constantFrom(0, 1, 0x7f, 0x80, 0xff);
const head = fc.array(byte, { maxLength: 5 });
const rows = fc
  .tuple(fc.array(head, { minLength: 1, maxLength: 4 }), fc.array(byte, { maxLength: 6 }))
  .chain(([heads, middle]) =>
    fc.array(
      fc
        .tuple(fc.constantFrom(...heads), fc.array(byte, { maxLength: 9 }))
        .map(([first, last]) => Uint8Array.from([...first, ...middle, ...last])),
      { maxLength: 60 },
    ),
  );

function expectOrder(list: readonly Uint8Array[], from: number): void {
  const places = Array.from({ length: list.length - from }, (_, i) => from + i);
  const expected = places.sort((a, b) => compareBytes(list[a]!, list[b]!) || a - b);
  expect([...orderOfRows(list, from)]).toEqual(expected);
  // The same rows as parts of one array, which others stand before and between.
  const bytes = Buffer.concat([
    Uint8Array.of(1),
    ...list.slice(from).flatMap((row) => [row, Uint8Array.of(0, 9)]),
  ]);
  const starts: number[] = [];
  let at = 1;
  for (const { length } of list.slice(from)) {
    starts.push(at);
    at += length + 2;
  }
  const ends = starts.map((start, i) => start + list[from + i]!.length);
  expect(Array.from(orderOfParts(bytes, starts, ends), (part) => part + from)).toEqual(expected);
}

test('rows of any bytes, from any place on', () => {
  fc.assert(
    fc.property(rows, fc.nat(60), (list, from) => expectOrder(list, Math.min(from, list.length))),
    { numRuns: scaled(100, 400, 20_000) },
  );
});

test('more kinds of rows, and more rows, than numbers tell apart', () => {
  const kinds = Array.from({ length: 700 }, (_, i) => Uint8Array.of(i % 11, (i * 7) >>> 8, i * 7, 5, i % 3));
  expectOrder(kinds, 0);
  const many = Array.from({ length: 2 ** 16 + 1 }, (_, i) =>
    Uint8Array.of(9, 9, 9, 9, i * 31, (i * 31) >>> 8),
  );
  expectOrder(many, 0);
});
