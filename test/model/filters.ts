/** The model's filters: HBase's, in the plainest form. */

import { prefixEnd } from '../../src/bytes/index.js';
import type { Filter } from '../../src/table/index.js';
import { compareText, latin1, nameBytes, type StoredCell } from './cells.js';
import { holds } from './compare.js';
import { ListFilter } from './filter-list.js';
import { Around, PlainFilter } from './plain-filter.js';
import { RangesFilter } from './ranges-filter.js';
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

const at = (cell: StoredCell, qualifier: string, timestamp = ANY_TIME): Verdict => ({
  pass: false,
  next: { row: cell.row, family: cell.family, qualifier, timestamp },
});

const atRow = (row: string): Verdict => ({
  pass: false,
  next: { row, family: undefined, qualifier: '', timestamp: ANY_TIME },
});

export function modelFilter(filter: Filter, reversed: boolean, random: () => number): ModelFilter {
  const make = <S>(...given: ConstructorParameters<typeof PlainFilter<S>>): ModelFilter =>
    new PlainFilter(...given);
  const dropped = (
    decide: (row: string) => boolean,
    rest: { wholeRows?: boolean; isDone?: () => boolean } = {},
  ): ModelFilter =>
    make(() => ({ drop: false }), {
      key: (row, state) => {
        state.drop = decide(row);
        return state.drop;
      },
      see: (_cell, state) => (state.drop ? NEXT_ROW : PASS),
      row: (state) => state.drop,
      ...rest,
    });
  switch (filter.kind) {
    case 'row':
      return dropped((row) => !holds(row, filter.operator, filter.comparator));
    case 'random':
      return dropped((_row) => filter.chance < 0 || (filter.chance <= 1 && random() >= filter.chance), {
        wholeRows: true,
      });
    case 'family':
      return make(() => 0, {
        see: (cell) => (holds(nameBytes(cell.family), filter.operator, filter.comparator) ? PASS : NEXT_ROW),
      });
    case 'qualifier':
      return make(() => 0, {
        see: (cell) => (holds(cell.qualifier, filter.operator, filter.comparator) ? PASS : DROP),
      });
    case 'value':
      return make(() => 0, {
        see: (cell) => (holds(cell.value, filter.operator, filter.comparator) ? PASS : DROP),
      });
    case 'prefix': {
      const prefix = latin1(filter.prefix);
      let passed = false;
      let order = 0;
      const after = prefixEnd(filter.prefix);
      const start = reversed ? after && latin1(after) : prefix;
      return make(() => ({ drop: true }), {
        key: (row, state) => {
          if (passed) return true;
          order = compareText(row.slice(0, prefix.length), prefix) * (reversed ? -1 : 1);
          passed = order > 0;
          state.drop = order !== 0;
          return passed;
        },
        see: (_cell, state) =>
          order < 0 && start !== undefined ? atRow(start) : state.drop ? NEXT_ROW : PASS,
        row: (state) => state.drop,
        isDone: () => passed,
      });
    }
    case 'inclusiveStop': {
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
    case 'page': {
      let rows = 0;
      return make(() => 0, {
        row: () => ++rows > filter.pageSize,
        isDone: () => rows >= filter.pageSize,
        wholeRows: true,
      });
    }
    case 'singleColumnValue':
    case 'singleColumnValueExclude': {
      const qualifier = latin1(filter.qualifier);
      const isColumn = (cell: StoredCell): boolean =>
        cell.family === filter.family && cell.qualifier === qualifier;
      return make(() => ({ found: false, matched: false }), {
        see: (cell, state) => {
          if (state.matched) return PASS;
          if (state.found && filter.latestVersionOnly) return NEXT_ROW;
          if (!isColumn(cell)) return PASS;
          state.found = true;
          state.matched = holds(cell.value, filter.operator, filter.comparator);
          return state.matched || !filter.latestVersionOnly ? PASS : NEXT_ROW;
        },
        keep: (cells) =>
          filter.kind === 'singleColumnValue' ? cells : cells.filter((cell) => !isColumn(cell)),
        row: (state) => (state.found ? !state.matched : filter.filterIfMissing),
        wholeRows: true,
      });
    }
    case 'columnValue':
      return make(() => ({ found: false }), {
        see: (cell, state) => {
          if (cell.family !== filter.family || cell.qualifier !== latin1(filter.qualifier)) {
            return state.found ? NEXT_ROW : NEXT_COLUMN;
          }
          state.found = true;
          return holds(cell.value, filter.operator, filter.comparator) ? PASS : DROP;
        },
      });
    case 'dependentColumn':
      return make(() => new Set<number>(), {
        see: (cell, times) => {
          if (cell.family !== filter.family || cell.qualifier !== latin1(filter.qualifier)) return PASS;
          const { compare } = filter;
          if (compare && !holds(cell.value, compare.operator, compare.comparator)) return DROP;
          times.add(cell.timestamp);
          return filter.dropDependentColumn ? DROP : PASS;
        },
        keep: (cells, times) => cells.filter((cell) => times.has(cell.timestamp)),
        wholeRows: true,
      });
    case 'columnRange':
      return make(() => 0, {
        see: (cell) => {
          const min = filter.minColumn && latin1(filter.minColumn);
          const max = filter.maxColumn && latin1(filter.maxColumn);
          if (min !== null && cell.qualifier < min) return at(cell, min);
          if (min !== null && cell.qualifier === min && !filter.minInclusive) return NEXT_COLUMN;
          if (max === null || cell.qualifier < max) return PASS;
          return cell.qualifier === max && filter.maxInclusive ? PASS : NEXT_ROW;
        },
      });
    case 'columnPrefix': {
      const prefix = latin1(filter.prefix);
      return make(() => 0, {
        see: (cell) => {
          if (cell.qualifier.startsWith(prefix)) return PASS;
          return cell.qualifier < prefix ? at(cell, prefix) : NEXT_ROW;
        },
      });
    }
    case 'multipleColumnPrefix': {
      const prefixes = filter.prefixes.map(latin1);
      return make(() => 0, {
        see: (cell) => {
          if (prefixes.length === 0) return PASS;
          const last = prefixes.filter((prefix) => prefix <= cell.qualifier).at(-1);
          if (last !== undefined && cell.qualifier.startsWith(last)) return PASS;
          const next = prefixes.find((prefix) => prefix > cell.qualifier);
          return next === undefined ? NEXT_ROW : at(cell, next);
        },
      });
    }
    case 'columnPagination':
      return make(() => ({ count: 0 }), {
        see: (cell, state) => {
          const { limit, offset } = filter;
          if (filter.columnOffset !== null) {
            if (state.count >= limit) return NEXT_ROW;
            const first = latin1(filter.columnOffset);
            if (state.count === 0 && cell.qualifier < first) return at(cell, first);
            state.count++;
            return PASS_COLUMN;
          }
          if (state.count >= offset + limit) return NEXT_ROW;
          return state.count++ < offset ? NEXT_COLUMN : PASS_COLUMN;
        },
      });
    case 'columnCount':
      return make(() => ({ count: 0 }), {
        see: (_cell, state) => (++state.count > filter.limit ? NEXT_COLUMN : PASS_COLUMN),
        isDone: (state) => state.count > filter.limit,
      });
    case 'keyOnly':
      return make(() => 0, {
        value: (value) => {
          const length = Buffer.alloc(4);
          length.writeInt32BE(value.length);
          return filter.lengthAsValue ? length.toString('latin1') : '';
        },
      });
    case 'firstKeyOnly':
      return make(() => ({ found: false }), {
        see: (_cell, state) => {
          if (state.found) return NEXT_ROW;
          state.found = true;
          return PASS;
        },
      });
    case 'fuzzyRow': {
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
    case 'multiRowRange':
      return new RangesFilter(filter.ranges, reversed);
    case 'timestamps': {
      const { timestamps } = filter;
      return make(() => 0, {
        see: (cell) => {
          if (timestamps.includes(cell.timestamp)) return PASS;
          const older = timestamps.filter((timestamp) => timestamp < cell.timestamp);
          if (older.length === 0) return NEXT_COLUMN;
          return filter.canHint ? at(cell, cell.qualifier, Math.max(...older)) : DROP;
        },
      });
    }
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
  }
}
