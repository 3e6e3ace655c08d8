/** The bytes of entries (docs/formats.md), and that they are read as they were written. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toHex } from '../../src/bytes/index.js';
import { RowanError } from '../../src/errors.js';
import { decodeEntry, encodeEntry } from '../../src/features/changes/entry.js';
import { addEntry, commitRow, entriesOf } from '../../src/features/changes/table.js';
import { Cell, CellType, Put, Result } from '../../src/table/index.js';

const row = Buffer.from('r');

function image(...cells: readonly (readonly [string, string, number, string])[]): Result {
  const made = cells.map(
    ([family, qualifier, timestamp, value]) =>
      new Cell(row, family, Buffer.from(qualifier), timestamp, CellType.Put, Buffer.from(value)),
  );
  return made.length === 0 ? Result.EMPTY : new Result(row, made);
}

test('an entry has the bytes that docs/formats.md says', () => {
  const before = image(['d', 'a', 5, 'x'], ['d', 'b', 6, 'y']);
  const after = image(['d', 'a', 7, 'x'], ['d', 'b', 6, 'y'], ['e', '', 300, '']);
  expect(toHex(encodeEntry({ row, before, after }))).toBe(
    '01' +
      '0172' +
      '02' +
      '016401610501780164016206' +
      '0179' +
      '03' +
      '0164016107' +
      '0178' +
      '0001' +
      '016500ac0200',
  );
  expect(toHex(commitRow(258))).toBe('0000000000000102');
  const put = new Put(commitRow(1));
  addEntry(put, { table: 'ns:t', row, before: Result.EMPTY, after }, 2);
  expect(put.cells.map(({ family, qualifier }) => `${family}:${toHex(qualifier)}`)).toEqual([
    `c:${toHex(Buffer.from('ns:t'))}00${'00000002'}${'0000'}`,
  ]);
});

test('what is written is read', () => {
  const cell = fc.tuple(
    fc.constantFrom('d', 'e', 'fä'),
    fc.constantFrom('', 'a', 'b', 'c', 'dd'),
    fc.integer({ min: 0, max: 2 ** 52 }),
    fc.string({ maxLength: 4 }),
  );
  const images = fc
    .uniqueArray(cell, { maxLength: 8, selector: ([family, qualifier]) => `${family}:${qualifier}` })
    .map((cells) => image(...cells));
  fc.assert(
    fc.property(images, images, fc.boolean(), (before, other, isSame) => {
      const after = isSame ? before : other;
      const read = decodeEntry(encodeEntry({ row, before, after }));
      expect(shown(read.before)).toEqual(shown(before));
      expect(shown(read.after)).toEqual(shown(after));
      expect(Buffer.compare(read.row, row)).toBe(0);
    }),
    { numRuns: 200 },
  );
});

function shown({ cells }: Result): unknown[] {
  return cells.map(({ family, qualifier, timestamp, value }) => [
    family,
    toHex(qualifier),
    timestamp,
    toHex(value),
  ]);
}

test('the name of a family does not depend on what becomes of the bytes that it was read from', () => {
  const after = image(['d', 'a', 5, 'x']);
  const bytes = encodeEntry({ row, before: Result.EMPTY, after });
  const other = encodeEntry({ row, before: Result.EMPTY, after: image(['e', 'a', 5, 'x']) });
  expect(decodeEntry(bytes).after.cells[0]?.family).toBe('d');
  bytes.set(other);
  expect(decodeEntry(other).after.cells[0]?.family).toBe('e');
});

test('entries of several parts come together again, in the order of the commit', () => {
  const put = new Put(commitRow(9));
  const large = image(['d', 'a', 1, 'x'.repeat(1_500_000)]);
  const small = image(['d', 'a', 1, 'y']);
  addEntry(put, { table: 'b', row, before: large, after: small }, 0);
  addEntry(put, { table: 'a', row, before: small, after: large }, 1);
  expect(put.cells.length).toBe(6);
  const cells = put.cells
    .map(({ family, qualifier, value }) => new Cell(put.row, family, qualifier, 1, CellType.Put, value))
    .sort((a, b) => Buffer.compare(a.qualifier, b.qualifier));
  const found = entriesOf(new Result(put.row, cells));
  expect(found.map(({ table }) => table)).toEqual(['b', 'a']);
  expect(found.map(({ before }) => before.cells[0]!.value.length)).toEqual([1_500_000, 1]);
});

test('damaged entries are corruption, those of later versions are said to be such', () => {
  const whole = encodeEntry({ row, before: image(['d', 'a', 5, 'x']), after: image(['d', 'a', 5, 'x']) });
  for (let length = 0; length < whole.length; length++)
    expect(() => decodeEntry(whole.subarray(0, length))).toThrow(RowanError);
  for (let at = 0; at < whole.length; at++) {
    const bytes = Buffer.from(whole);
    bytes[at] = 0xff;
    try {
      decodeEntry(bytes);
    } catch (error) {
      expect(error).toBeInstanceOf(RowanError);
    }
  }
  expect(() => decodeEntry(Uint8Array.of(2))).toThrow(/newer/);
});
