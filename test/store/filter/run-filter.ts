/** Shows cells to a filter one by one, as a scanner does. */

import { fromLatin1 } from '../../../src/bytes/index.js';
import { buildFilter } from '../../../src/store/filter/build.js';
import type { FilterEvaluator, FilterFamily } from '../../../src/store/filter/filter-evaluator.js';
import * as codes from '../../../src/store/filter/filter-evaluator.js';
import type { Filter } from '../../../src/table/index.js';
import { ArrayCursor, type RunCell } from '../scan/array-cursor.js';

const NAMES: Readonly<Record<number, string>> = {
  [codes.FILTER_INCLUDE]: 'include',
  [codes.FILTER_SKIP]: 'skip',
  [codes.FILTER_INCLUDE_NEXT_COLUMN]: 'include, next column',
  [codes.FILTER_NEXT_COLUMN]: 'next column',
  [codes.FILTER_INCLUDE_NEXT_ROW]: 'include, next row',
  [codes.FILTER_NEXT_ROW]: 'next row',
  [codes.FILTER_SEEK_HINT]: 'hint',
};

export function evaluator(
  filter: Filter,
  options: { reversed?: boolean; random?: () => number } = {},
): FilterEvaluator {
  return buildFilter(filter, {
    reversed: options.reversed ?? false,
    random: options.random ?? ((): number => 0.5),
  });
}

/** Families by name: a scan has one object for each. */
const families = new Map<string, FilterFamily>();

export function family(name = 'f'): FilterFamily {
  const found = families.get(name) ?? { name, bytes: fromLatin1(name) };
  families.set(name, found);
  return found;
}

export function cursorAt(cell: Partial<RunCell>): ArrayCursor {
  const cursor = new ArrayCursor([{ row: 'r', qualifier: 'q', timestamp: 1, type: 4, seq: 1, ...cell }]);
  cursor.seekToFirst();
  return cursor;
}

/** The filter's word on a cell. */
export function seen(filter: FilterEvaluator, cell: Partial<RunCell>, of = family()): string {
  return NAMES[filter.filterCell(cursorAt(cell), of)]!;
}

/** Whether the filter drops the row by its key. */
export function dropsRow(filter: FilterEvaluator, row: string): boolean {
  return filter.filterRowKey(fromLatin1(row), 0, row.length);
}
