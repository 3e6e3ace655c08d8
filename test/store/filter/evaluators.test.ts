import { describe, expect, test } from 'vitest';
import { fromLatin1, toLatin1 } from '../../../src/bytes/index.js';
import { InvalidArgumentError } from '../../../src/errors.js';
import { FilterHint } from '../../../src/store/filter/filter-evaluator.js';
import { Cell, CellType, type Filter, filters } from '../../../src/table/index.js';
import type { RunCell } from '../scan/array-cursor.js';
import { cursorAt, dropsRow, evaluator, family, seen } from './run-filter.js';

const at = (qualifier: string, value = 'v', timestamp = 1): Partial<RunCell> => ({
  qualifier,
  value,
  timestamp,
});

function hintOf(filter: Filter, cell: Partial<RunCell>): string {
  const running = evaluator(filter);
  const cursor = cursorAt(cell);
  running.filterCell(cursor, family());
  const hint = new FilterHint();
  expect(running.hint(cursor, family(), hint)).toBe(true);
  const row = hint.row === null ? 'this row' : toLatin1(hint.row);
  return `${row} ${toLatin1(hint.qualifier)} ${hint.timestamp === Number.MAX_SAFE_INTEGER ? '' : hint.timestamp}`.trim();
}

describe('filters of columns and values', () => {
  test.each<[string, Filter, Partial<RunCell>, string]>([
    ['qualifier', filters.qualifier('LESS', 'm'), at('a'), 'include'],
    ['qualifier', filters.qualifier('LESS', 'm'), at('z'), 'skip'],
    ['value', filters.value('EQUAL', 'v'), at('q'), 'include'],
    ['value', filters.value('EQUAL', 'w'), at('q'), 'skip'],
    ['family', filters.family('EQUAL', 'f'), at('q'), 'include'],
    ['family', filters.family('EQUAL', 'g'), at('q'), 'next row'],
    ['column prefix', filters.columnPrefix('ab'), at('abc'), 'include'],
    ['column prefix', filters.columnPrefix('ab'), at('aa'), 'hint'],
    ['column prefix', filters.columnPrefix('ab'), at('a'), 'hint'],
    ['column prefix', filters.columnPrefix('ab'), at('ac'), 'next row'],
    ['column prefixes', filters.multipleColumnPrefix(['a', 'c']), at('b'), 'hint'],
    ['column prefixes', filters.multipleColumnPrefix(['a', 'c']), at('d'), 'next row'],
    ['column prefixes', filters.multipleColumnPrefix(['a', 'c']), at('ab'), 'include'],
    // HBase looks at the last prefix that is not above only.
    ['column prefixes within each other', filters.multipleColumnPrefix(['a', 'ab']), at('ac'), 'next row'],
    ['column range', filters.columnRange('b', false, 'd', true), at('a'), 'hint'],
    ['column range', filters.columnRange('b', false, 'd', true), at('b'), 'next column'],
    ['column range', filters.columnRange('b', true, 'd', true), at('b'), 'include'],
    ['column range', filters.columnRange('b', true, 'd', true), at('d'), 'include'],
    ['column range', filters.columnRange('b', true, 'd', false), at('d'), 'next row'],
    ['open column range', filters.columnRange(null, false, null, false), at(''), 'include'],
    ['timestamps', filters.timestamps([3, 5]), at('q', 'v', 5), 'include'],
    ['timestamps', filters.timestamps([3, 5]), at('q', 'v', 4), 'skip'],
    ['timestamps', filters.timestamps([3, 5], true), at('q', 'v', 4), 'hint'],
    ['timestamps', filters.timestamps([3, 5]), at('q', 'v', 2), 'next column'],
    ['column value', filters.columnValue('f', 'q', 'EQUAL', 'v'), at('q'), 'include'],
    ['column value', filters.columnValue('f', 'q', 'EQUAL', 'w'), at('q'), 'skip'],
    ['column value', filters.columnValue('f', 'q', 'EQUAL', 'v'), at('p'), 'next column'],
    ['key only', filters.keyOnly(), at('q'), 'include'],
  ])('%s %#', (_title, filter, cell, expected) => {
    expect(seen(evaluator(filter), cell)).toBe(expected);
  });

  test.each<[string, Filter, Partial<RunCell>, string]>([
    ['column prefix', filters.columnPrefix('ab'), at('a'), 'this row ab'],
    ['column prefixes', filters.multipleColumnPrefix(['a', 'c', 'e']), at('b'), 'this row c'],
    ['column range', filters.columnRange('b', false, null, true), at('a'), 'this row b'],
    ['column pagination', filters.columnPagination(2, fromLatin1('m')), at('a'), 'this row m'],
    ['timestamps', filters.timestamps([2, 3, 5], true), at('q', 'v', 4), 'this row q 3'],
  ])('hint of %s', (_title, filter, cell, expected) => {
    expect(hintOf(filter, cell)).toBe(expected);
  });

  test('the first key, and the first columns, of each row', () => {
    const first = evaluator(filters.firstKeyOnly());
    expect([seen(first, at('a')), seen(first, at('b'))]).toEqual(['include', 'next row']);
    first.reset();
    expect(seen(first, at('a'))).toBe('include');
    const count = evaluator(filters.columnCount(1));
    expect([seen(count, at('a')), count.done, seen(count, at('b')), count.done]).toEqual([
      'include, next column',
      false,
      'next column',
      true,
    ]);
    count.reset();
    expect(count.done).toBe(false);
    const page = evaluator(filters.columnPagination(1, 1));
    expect(['a', 'b', 'c'].map((q) => seen(page, at(q)))).toEqual([
      'next column',
      'include, next column',
      'next row',
    ]);
  });

  test('a column value filter leaves the row behind its column', () => {
    const filter = evaluator(filters.columnValue('f', 'b', 'EQUAL', 'v'));
    expect(['a', 'b', 'c'].map((q) => seen(filter, at(q)))).toEqual(['next column', 'include', 'next row']);
  });

  test('key only gives nothing, or the length, in the place of the value', () => {
    const value = fromLatin1('four');
    expect(evaluator(filters.keyOnly()).transform(value)).toEqual(new Uint8Array(0));
    expect(evaluator(filters.keyOnly(true)).transform(value)).toEqual(Uint8Array.of(0, 0, 0, 4));
  });

  test('single column value: the row by its newest version, or by any', () => {
    const make = (options: { filterIfMissing?: boolean; latestVersionOnly?: boolean }) =>
      evaluator(filters.singleColumnValue('f', 'q', 'EQUAL', 'v', options));
    const latest = make({});
    expect([seen(latest, at('q', 'other')), seen(latest, at('q'))]).toEqual(['next row', 'next row']);
    expect(latest.filterRow()).toBe(true);
    latest.reset();
    expect([seen(latest, at('a')), latest.filterRow()]).toEqual(['include', false]);
    const any = make({ latestVersionOnly: false });
    expect([seen(any, at('q', 'other')), seen(any, at('q'))]).toEqual(['include', 'include']);
    expect(any.filterRow()).toBe(false);
    const missing = make({ filterIfMissing: true });
    expect([seen(missing, at('a')), missing.filterRow()]).toEqual(['include', true]);
    expect(() => evaluator(filters.singleColumnValue('f', 'q', 'NO_OP', 'v'))).toThrow(InvalidArgumentError);
  });

  test('the exclude form and the dependent column filter take cells out of the gathered row', () => {
    const cell = (qualifier: string, timestamp: number): Cell =>
      new Cell(fromLatin1('r'), 'f', fromLatin1(qualifier), timestamp, CellType.Put, new Uint8Array(0));
    const left = (filter: ReturnType<typeof evaluator>): string[] => {
      const cells = [cell('a', 1), cell('q', 1), cell('z', 2)];
      filter.filterRowCells(cells);
      return cells.map((each) => toLatin1(each.qualifier));
    };
    expect(left(evaluator(filters.singleColumnValueExclude('f', 'q', 'EQUAL', 'v')))).toEqual(['a', 'z']);
    const dependent = evaluator(filters.dependentColumn('f', 'q'));
    seen(dependent, at('q', 'v', 1));
    expect(left(dependent)).toEqual(['a', 'q']);
    const dropping = evaluator(filters.dependentColumn('f', 'q', { dropDependentColumn: true }));
    expect(seen(dropping, at('q'))).toBe('skip');
    const comparing = evaluator(filters.dependentColumn('f', 'q', { operator: 'EQUAL', value: 'w' }));
    expect(seen(comparing, at('q'))).toBe('skip');
    expect(left(comparing)).toEqual([]);
  });
});

describe('filters of rows', () => {
  test('row, prefix, inclusive stop and page', () => {
    const row = evaluator(filters.row('EQUAL', 'b'));
    expect([dropsRow(row, 'a'), seen(row, {}), row.filterRow()]).toEqual([true, 'next row', true]);
    row.reset();
    expect([dropsRow(row, 'b'), seen(row, {}), row.filterRow()]).toEqual([false, 'include', false]);

    const prefix = evaluator(filters.prefix('b'));
    expect([dropsRow(prefix, 'a'), seen(prefix, {}), prefix.done]).toEqual([false, 'hint', false]);
    prefix.reset();
    expect([dropsRow(prefix, 'ba'), seen(prefix, {})]).toEqual([false, 'include']);
    prefix.reset();
    expect([dropsRow(prefix, 'c'), prefix.done]).toEqual([true, true]);
    const backwards = evaluator(filters.prefix('bb'), { reversed: true });
    // A row shorter than the prefix is compared as it is; HBase 2.6.4 fails on it.
    expect([dropsRow(backwards, 'b'), backwards.done]).toEqual([true, true]);

    const stop = evaluator(filters.inclusiveStop('b'));
    expect([dropsRow(stop, 'b'), stop.done, dropsRow(stop, 'c'), stop.done]).toEqual([
      false,
      false,
      true,
      true,
    ]);

    const page = evaluator(filters.page(2));
    expect([page.filterRow(), page.done, page.filterRow(), page.done, page.filterRow()]).toEqual([
      false,
      false,
      false,
      true,
      true,
    ]);
  });

  test('the random filter passes rows by its chance', () => {
    const numbers = [0.1, 0.6];
    const filter = evaluator(filters.random(0.5), { random: () => numbers.shift()! });
    expect([dropsRow(filter, 'a'), dropsRow(filter, 'b')]).toEqual([false, true]);
    expect(dropsRow(evaluator(filters.random(-1)), 'a')).toBe(true);
    expect(dropsRow(evaluator(filters.random(2)), 'a')).toBe(false);
  });

  test('while ends the scan at the first failure; skip drops the row of one', () => {
    const until = evaluator(filters.while(filters.qualifier('LESS', 'm')));
    expect([seen(until, at('a')), until.done, seen(until, at('z')), until.done]).toEqual([
      'include',
      false,
      'skip',
      true,
    ]);
    const skip = evaluator(filters.skip(filters.value('EQUAL', 'v')));
    seen(skip, at('a'));
    expect(skip.filterRow()).toBe(false);
    seen(skip, at('b', 'w'));
    expect(skip.filterRow()).toBe(true);
    skip.reset();
    expect(skip.filterRow()).toBe(false);
    // HBase does not tell the inner filter that the scan is reversed.
    const reversed = evaluator(filters.while(filters.inclusiveStop('c')), { reversed: true });
    expect([dropsRow(reversed, 'b'), reversed.done]).toEqual([false, false]);
  });
});
