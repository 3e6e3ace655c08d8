import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as codes from '../../../src/store/filter/filter-evaluator.js';
import { filters } from '../../../src/table/index.js';
import type { RunCell } from '../scan/array-cursor.js';
import { dropsRow, evaluator, family, seen } from './run-filter.js';

const I = codes.FILTER_INCLUDE;
const IC = codes.FILTER_INCLUDE_NEXT_COLUMN;
const IR = codes.FILTER_INCLUDE_NEXT_ROW;
const S = codes.FILTER_SKIP;
const NC = codes.FILTER_NEXT_COLUMN;
const NR = codes.FILTER_NEXT_ROW;
const H = codes.FILTER_SEEK_HINT;
const ORDER = [I, IC, IR, S, NC, NR, H] as const;

describe('merged answers', () => {
  // The tables stand in the comments of FilterListWithAND and FilterListWithOR.
  test('with all: the maximal step', () => {
    const table = [
      [I, IC, IR, S, NC, NR, H],
      [IC, IC, IR, NC, NC, NR, H],
      [IR, IR, IR, NR, NR, NR, H],
      [S, NC, NR, S, NC, NR, H],
      [NC, NC, NR, NC, NC, NR, H],
      [NR, NR, NR, NR, NR, NR, H],
      [H, H, H, H, H, H, H],
    ];
    const merged = ORDER.map((own) => ORDER.map((before) => codes.mergeAnd(before, own)));
    expect(merged).toEqual(table);
  });

  test('with one: the minimal step', () => {
    const table = [
      [I, I, I, I, I, I, I],
      [I, IC, IC, I, IC, IC, I],
      [I, IC, IR, I, IC, IR, I],
      [I, I, I, S, S, S, S],
      [I, IC, IC, S, NC, NC, S],
      [I, IC, IR, S, NC, NR, S],
      [I, I, I, S, S, S, H],
    ];
    const merged = ORDER.map((own) => ORDER.map((before) => codes.mergeOr(before, own)));
    expect(merged).toEqual(table);
  });

  test('do not depend on how they are grouped', () => {
    const code = fc.constantFrom(...ORDER);
    fc.assert(
      fc.property(code, code, code, (a, b, c) => {
        expect(codes.mergeAnd(codes.mergeAnd(a, b), c)).toBe(codes.mergeAnd(a, codes.mergeAnd(b, c)));
      }),
    );
  });
});

const at = (qualifier: string, timestamp = 1, value = 'v'): Partial<RunCell> => ({
  qualifier,
  timestamp,
  value,
});

describe('lists of filters', () => {
  test('an empty list lets everything pass', () => {
    for (const list of [evaluator(filters.all()), evaluator(filters.any())]) {
      expect([seen(list, {}), list.done, dropsRow(list, 'r'), list.filterRow()]).toEqual([
        'include',
        false,
        false,
        false,
      ]);
    }
  });

  test('with all, a filter behind one that dropped the cell does not count it', () => {
    const list = evaluator(filters.all(filters.qualifier('GREATER', 'b'), filters.columnCount(1)));
    expect(['a', 'b', 'c', 'd'].map((q) => seen(list, at(q)))).toEqual([
      'skip',
      'skip',
      'include, next column',
      'next column',
    ]);
    expect(list.done).toBe(true);
  });

  test('with one, a filter is not shown what lies before where it wants to go on', () => {
    const list = evaluator(filters.any(filters.columnPagination(2, 0), filters.qualifier('EQUAL', 'none')));
    // Two versions of a column are one column to the pagination, though the list goes on cell by cell.
    expect([
      seen(list, at('a', 5)),
      seen(list, at('a', 4)),
      seen(list, at('b')),
      seen(list, at('c')),
    ]).toEqual(['include', 'skip', 'include', 'skip']);
    // The next row of a list is the next family's too.
    expect(seen(list, at('a'), family('g'))).toBe('skip');
  });

  test('with one, hints count only when every filter has one, and the nearest is taken', () => {
    const hints = evaluator(filters.any(filters.columnPrefix('m'), filters.columnPrefix('c')));
    expect([seen(hints, at('a')), seen(hints, at('c')), seen(hints, at('d'))]).toEqual([
      'hint',
      'include',
      'skip',
    ]);
    const mixed = evaluator(filters.any(filters.columnPrefix('m'), filters.qualifier('EQUAL', 'b')));
    expect([seen(mixed, at('a')), seen(mixed, at('b'))]).toEqual(['skip', 'include']);
  });

  test('values are changed by the filters that let the cell pass', () => {
    const value = Uint8Array.of(1, 2, 3);
    const both = evaluator(filters.all(filters.keyOnly(true), filters.keyOnly(true)));
    expect(both.transforms).toBe(true);
    expect(both.transform(value)).toEqual(Uint8Array.of(0, 0, 0, 4));
    const one = evaluator(
      filters.any(
        filters.all(filters.qualifier('EQUAL', 'x'), filters.keyOnly()),
        filters.qualifier('EQUAL', 'a'),
      ),
    );
    seen(one, at('a'));
    expect(one.transform(value)).toBe(value);
  });

  test('rows are dropped by any filter of all, and by every filter of one', () => {
    const rows = (list: ReturnType<typeof evaluator>): boolean[] =>
      ['a', 'b'].map((row) => dropsRow(list, row));
    const isA = filters.row('EQUAL', 'a');
    const isB = filters.row('EQUAL', 'b');
    expect(rows(evaluator(filters.all(isA, isA)))).toEqual([false, true]);
    expect(rows(evaluator(filters.any(isA, isB)))).toEqual([false, true]);
    const page = evaluator(filters.any(filters.page(1), filters.singleColumnValue('f', 'q', 'EQUAL', 'x')));
    expect(page.hasFilterRow).toBe(true);
    expect(page.filterRow()).toBe(false);
  });
});
