/** The model's filters: HBase's, in the plainest form. */

import type { Filter } from '../../src/table/index.js';
import { latin1, nameBytes, type StoredCell } from './cells.js';
import { holds } from './compare.js';
import { ListFilter } from './filter-list.js';
import { Around, make } from './plain-filter.js';
import { type RowFilter, rowFilter } from './row-filters.js';
import {
  ANY_TIME,
  DROP,
  type ModelFilter,
  NEXT_COLUMN,
  NEXT_ROW,
  PASS,
  PASS_COLUMN,
  type Verdict,
} from './verdict.js';

type Of<K extends Filter['kind']> = Extract<Filter, { kind: K }>;
type CellFilter = Exclude<Filter, RowFilter | { kind: 'while' | 'skip' | 'list' }>;

export function modelFilter(filter: Filter, reversed: boolean, random: () => number): ModelFilter {
  switch (filter.kind) {
    case 'while':
    case 'skip':
      // HBase does not tell the inner filter that the scan is reversed.
      return new Around(filter.kind, modelFilter(filter.filter, false, random));
    case 'list':
      return new ListFilter(
        filter.operator,
        filter.filters.map((part) => modelFilter(part, reversed, random)),
        reversed,
      );
    case 'row':
    case 'random':
    case 'prefix':
    case 'inclusiveStop':
    case 'page':
    case 'fuzzyRow':
    case 'multiRowRange':
      return rowFilter(filter, { reversed, random });
    default:
      return cellFilter(filter);
  }
}

function cellFilter(filter: CellFilter): ModelFilter {
  const build = CELL_FILTERS[filter.kind] as (filter: CellFilter) => ModelFilter;
  return build(filter);
}

/** A filter that says the same of a cell whatever it has seen before. */
function plain(see: (cell: StoredCell) => Verdict): ModelFilter {
  return make(() => 0, { see });
}

function at(cell: StoredCell, qualifier: string, timestamp = ANY_TIME): Verdict {
  return { pass: false, next: { row: cell.row, family: cell.family, qualifier, timestamp } };
}

const CELL_FILTERS: { readonly [K in CellFilter['kind']]: (filter: Of<K>) => ModelFilter } = {
  family: ({ operator, comparator }) =>
    plain((cell) => (holds(nameBytes(cell.family), operator, comparator) ? PASS : NEXT_ROW)),
  qualifier: ({ operator, comparator }) =>
    plain((cell) => (holds(cell.qualifier, operator, comparator) ? PASS : DROP)),
  value: ({ operator, comparator }) =>
    plain((cell) => (holds(cell.value, operator, comparator) ? PASS : DROP)),
  singleColumnValue,
  singleColumnValueExclude: singleColumnValue,
  columnValue: (filter) =>
    make(() => ({ found: false }), {
      see: (cell, state) => {
        if (!isColumn(filter, cell)) return state.found ? NEXT_ROW : NEXT_COLUMN;
        state.found = true;
        return holds(cell.value, filter.operator, filter.comparator) ? PASS : DROP;
      },
    }),
  dependentColumn: (filter) =>
    make(() => new Set<number>(), {
      see: (cell, times) => {
        if (!isColumn(filter, cell)) return PASS;
        const { compare } = filter;
        if (compare && !holds(cell.value, compare.operator, compare.comparator)) return DROP;
        times.add(cell.timestamp);
        return filter.dropDependentColumn ? DROP : PASS;
      },
      keep: (cells, times) => cells.filter((cell) => times.has(cell.timestamp)),
      wholeRows: true,
    }),
  columnRange: (filter) =>
    plain((cell) => {
      const min = filter.minColumn && latin1(filter.minColumn);
      const max = filter.maxColumn && latin1(filter.maxColumn);
      if (min !== null && cell.qualifier < min) return at(cell, min);
      if (min !== null && cell.qualifier === min && !filter.minInclusive) return NEXT_COLUMN;
      if (max === null || cell.qualifier < max) return PASS;
      return cell.qualifier === max && filter.maxInclusive ? PASS : NEXT_ROW;
    }),
  columnPrefix: (filter) => {
    const prefix = latin1(filter.prefix);
    return plain((cell) => {
      if (cell.qualifier.startsWith(prefix)) return PASS;
      return cell.qualifier < prefix ? at(cell, prefix) : NEXT_ROW;
    });
  },
  multipleColumnPrefix: (filter) => {
    const prefixes = filter.prefixes.map(latin1);
    return plain((cell) => {
      if (prefixes.length === 0) return PASS;
      const last = prefixes.filter((prefix) => prefix <= cell.qualifier).at(-1);
      if (last !== undefined && cell.qualifier.startsWith(last)) return PASS;
      const next = prefixes.find((prefix) => prefix > cell.qualifier);
      return next === undefined ? NEXT_ROW : at(cell, next);
    });
  },
  columnPagination: ({ limit, offset, columnOffset }) =>
    make(() => ({ count: 0 }), {
      see: (cell, state) => {
        if (columnOffset === null) {
          if (state.count >= offset + limit) return NEXT_ROW;
          return state.count++ < offset ? NEXT_COLUMN : PASS_COLUMN;
        }
        if (state.count >= limit) return NEXT_ROW;
        const first = latin1(columnOffset);
        if (state.count === 0 && cell.qualifier < first) return at(cell, first);
        state.count++;
        return PASS_COLUMN;
      },
    }),
  columnCount: ({ limit }) =>
    make(() => ({ count: 0 }), {
      see: (_cell, state) => (++state.count > limit ? NEXT_COLUMN : PASS_COLUMN),
      isDone: (state) => state.count > limit,
    }),
  keyOnly: ({ lengthAsValue }) =>
    make(() => 0, {
      value: (value) => {
        const length = Buffer.alloc(4);
        length.writeInt32BE(value.length);
        return lengthAsValue ? length.toString('latin1') : '';
      },
    }),
  firstKeyOnly: () =>
    make(() => ({ found: false }), {
      see: (_cell, state) => {
        if (state.found) return NEXT_ROW;
        state.found = true;
        return PASS;
      },
    }),
  timestamps: ({ timestamps, canHint }) =>
    plain((cell) => {
      if (timestamps.includes(cell.timestamp)) return PASS;
      const older = timestamps.filter((timestamp) => timestamp < cell.timestamp);
      if (older.length === 0) return NEXT_COLUMN;
      return canHint ? at(cell, cell.qualifier, Math.max(...older)) : DROP;
    }),
};

function isColumn(
  column: { readonly family: string; readonly qualifier: Uint8Array },
  cell: StoredCell,
): boolean {
  return cell.family === column.family && cell.qualifier === latin1(column.qualifier);
}

function singleColumnValue(filter: Of<'singleColumnValue' | 'singleColumnValueExclude'>): ModelFilter {
  return make(() => ({ found: false, matched: false }), {
    see: (cell, state) => {
      if (state.matched) return PASS;
      if (state.found && filter.latestVersionOnly) return NEXT_ROW;
      if (!isColumn(filter, cell)) return PASS;
      state.found = true;
      state.matched = holds(cell.value, filter.operator, filter.comparator);
      return state.matched || !filter.latestVersionOnly ? PASS : NEXT_ROW;
    },
    keep: (cells) =>
      filter.kind === 'singleColumnValue' ? cells : cells.filter((cell) => !isColumn(filter, cell)),
    row: (state) => (state.found ? !state.matched : filter.filterIfMissing),
    wholeRows: true,
  });
}
