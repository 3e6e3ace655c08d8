/** The model's filters that decide by the row. */

import { prefixEnd } from '../../src/bytes/index.js';
import type { Filter } from '../../src/table/index.js';
import { compareText, latin1 } from './cells.js';
import { holds } from './compare.js';
import { make } from './plain-filter.js';
import { RangesFilter } from './ranges-filter.js';
import { ANY_TIME, type ModelFilter, NEXT_ROW, PASS, type Verdict } from './verdict.js';

type Of<K extends Filter['kind']> = Extract<Filter, { kind: K }>;
export type RowFilter = Of<
  'row' | 'random' | 'prefix' | 'inclusiveStop' | 'page' | 'fuzzyRow' | 'multiRowRange'
>;

interface RowFilterContext {
  readonly reversed: boolean;
  readonly random: () => number;
}

export function rowFilter(filter: RowFilter, { reversed, random }: RowFilterContext): ModelFilter {
  switch (filter.kind) {
    case 'row':
      return dropping((row) => !holds(row, filter.operator, filter.comparator));
    case 'random':
      return dropping(() => filter.chance < 0 || (filter.chance <= 1 && random() >= filter.chance), true);
    case 'prefix':
      return prefixFilter(filter, reversed);
    case 'inclusiveStop':
      return inclusiveStop(filter, reversed);
    case 'page':
      return page(filter);
    case 'fuzzyRow':
      return fuzzyRow(filter);
    case 'multiRowRange':
      return new RangesFilter(filter.ranges, reversed);
  }
}

/** Drops rows by their key, and their cells if they are shown all the same. */
function dropping(decide: (row: string) => boolean, wholeRows = false): ModelFilter {
  return make(() => ({ drop: false }), {
    key: (row, state) => {
      state.drop = decide(row);
      return state.drop;
    },
    see: (_cell, state) => (state.drop ? NEXT_ROW : PASS),
    row: (state) => state.drop,
    wholeRows,
  });
}

function prefixFilter(filter: Of<'prefix'>, reversed: boolean): ModelFilter {
  const prefix = latin1(filter.prefix);
  const after = prefixEnd(filter.prefix);
  const start = reversed ? after && latin1(after) : prefix;
  let passed = false;
  let order = 0;
  return make(() => ({ drop: true }), {
    key: (row, state) => {
      if (passed) return true;
      order = compareText(row.slice(0, prefix.length), prefix) * (reversed ? -1 : 1);
      passed = order > 0;
      state.drop = order !== 0;
      return passed;
    },
    see: (_cell, state) => (order < 0 && start !== undefined ? atRow(start) : state.drop ? NEXT_ROW : PASS),
    row: (state) => state.drop,
    isDone: () => passed,
  });
}

function atRow(row: string): Verdict {
  return { pass: false, next: { row, family: undefined, qualifier: '', timestamp: ANY_TIME } };
}

function inclusiveStop(filter: Of<'inclusiveStop'>, reversed: boolean): ModelFilter {
  let passed = false;
  return make(() => 0, {
    key: (row) => {
      passed ||= compareText(row, latin1(filter.stopRow)) * (reversed ? -1 : 1) > 0;
      return passed;
    },
    see: () => (passed ? NEXT_ROW : PASS),
    isDone: () => passed,
  });
}

function page(filter: Of<'page'>): ModelFilter {
  let rows = 0;
  return make(() => 0, {
    row: () => ++rows > filter.pageSize,
    isDone: () => rows >= filter.pageSize,
    wholeRows: true,
  });
}

function fuzzyRow(filter: Of<'fuzzyRow'>): ModelFilter {
  const fits = (row: string): boolean =>
    filter.pairs.some(({ row: wanted, mask }) =>
      [...row.slice(0, wanted.length)].every((c, i) => mask[i] === 1 || c.charCodeAt(0) === wanted[i]),
    );
  return make(() => ({ drop: false }), {
    see: (cell, state) => {
      if (fits(cell.row)) return PASS;
      state.drop = true;
      return NEXT_ROW;
    },
    row: (state) => state.drop,
  });
}
