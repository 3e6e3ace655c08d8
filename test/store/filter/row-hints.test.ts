import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fromLatin1, toLatin1 } from '../../../src/bytes/index.js';
import { InvalidArgumentError } from '../../../src/errors.js';
import { FilterHint } from '../../../src/store/filter/filter-evaluator.js';
import { type Filter, filters } from '../../../src/table/index.js';
import { scaled } from '../../proof/scale.js';
import { cursorAt, evaluator, family } from './run-filter.js';

/** Goes through rows as a scanner does, seeking where the filter says; the rows that pass. */
function pass(filter: Filter, rows: readonly string[], reversed: boolean): string[] {
  const running = evaluator(filter, { reversed });
  const order = [...rows].sort();
  if (reversed) order.reverse();
  const out: string[] = [];
  let from: string | undefined;
  for (const row of order) {
    if (from !== undefined && (reversed ? row > from : row < from)) continue;
    from = undefined;
    if (running.done) break;
    if (!running.filterRowKey(fromLatin1(row), 0, row.length)) {
      const cursor = cursorAt({ row });
      const code = running.filterCell(cursor, family());
      if (code === 0) out.push(row);
      const hint = new FilterHint();
      if (code === 7 && running.hint(cursor, family(), hint) && hint.row) from = toLatin1(hint.row);
    }
    running.reset();
  }
  return out;
}

const letters = fc.constantFrom('\x00', 'a', 'b', '\xfe', '\xff');
const rowArbitrary = fc.array(letters, { minLength: 1, maxLength: 4 }).map((each) => each.join(''));
const rowsArbitrary = fc.uniqueArray(rowArbitrary, { maxLength: 40 });

describe('filters that seek from row to row', () => {
  test('a fuzzy filter passes every row that fits, whatever its hints skip', () => {
    const pair = fc
      .tuple(rowArbitrary, fc.array(fc.integer({ min: 0, max: 1 }), { minLength: 4, maxLength: 4 }))
      .map(([row, mask]) => ({ row: fromLatin1(row), mask: Uint8Array.from(mask.slice(0, row.length)) }));
    fc.assert(
      fc.property(
        fc.array(pair, { minLength: 1, maxLength: 3 }),
        rowsArbitrary,
        fc.boolean(),
        (pairs, rows, reversed) => {
          const fits = (row: string): boolean =>
            pairs.some(({ row: wanted, mask }) =>
              [...row].every((c, i) => i >= wanted.length || mask[i] === 1 || c.charCodeAt(0) === wanted[i]),
            );
          const expected = rows.filter(fits).sort();
          if (reversed) expected.reverse();
          expect(pass(filters.fuzzyRow(pairs), rows, reversed)).toEqual(expected);
        },
      ),
      { numRuns: scaled(80, 1000, 10_000) },
    );
  });

  test('a range filter passes the rows of its ranges, overlapping or not', () => {
    const range = fc
      .tuple(fc.option(rowArbitrary), fc.option(rowArbitrary), fc.boolean(), fc.boolean())
      .map(([a, b, startInclusive, stopInclusive]) => {
        const [start, stop] = a !== null && b !== null && a > b ? [b, a] : [a, b];
        return {
          startRow: fromLatin1(start ?? ''),
          startInclusive,
          stopRow: fromLatin1(stop ?? ''),
          stopInclusive: stopInclusive || start === stop,
        };
      })
      .filter((each) => each.startRow.length === 0 || toLatin1(each.startRow) !== toLatin1(each.stopRow));
    fc.assert(
      fc.property(
        fc.array(range, { minLength: 1, maxLength: 4 }),
        rowsArbitrary,
        fc.boolean(),
        (ranges, rows, reversed) => {
          const isIn = (row: string): boolean =>
            ranges.some(({ startRow, stopRow, startInclusive, stopInclusive }) => {
              const start = toLatin1(startRow);
              const stop = toLatin1(stopRow);
              const above = start === '' || row > start || (startInclusive && row === start);
              return above && (stop === '' || row < stop || (stopInclusive && row === stop));
            });
          const expected = rows.filter(isIn).sort();
          if (reversed) expected.reverse();
          expect(pass(filters.multiRowRange(ranges), rows, reversed)).toEqual(expected);
        },
      ),
      { numRuns: scaled(80, 1000, 10_000) },
    );
  });

  test('a prefix filter seeks to its prefix from either side', () => {
    fc.assert(
      fc.property(rowArbitrary, rowsArbitrary, fc.boolean(), (prefix, rows, reversed) => {
        const expected = rows.filter((row) => row.startsWith(prefix)).sort();
        if (reversed) expected.reverse();
        expect(pass(filters.prefix(fromLatin1(prefix)), rows, reversed)).toEqual(expected);
      }),
    );
  });

  test('ranges that are none are refused', () => {
    const range = (start: string, stop: string, startInclusive: boolean, stopInclusive: boolean): Filter =>
      filters.multiRowRange([
        { startRow: fromLatin1(start), stopRow: fromLatin1(stop), startInclusive, stopInclusive },
      ]);
    expect(() => evaluator(filters.multiRowRange([]))).toThrow(InvalidArgumentError);
    expect(() => evaluator(range('b', 'a', true, true))).toThrow(InvalidArgumentError);
    expect(() => evaluator(range('a', 'a', true, false))).toThrow(InvalidArgumentError);
    expect(() => evaluator(range('a', 'a', true, true))).not.toThrow();
  });
});
