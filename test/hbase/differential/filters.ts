import {
  type Comparator,
  type CompareOperator,
  comparators,
  type Filter,
  filters,
} from '../../../src/table/index.js';
import { FAMILIES, type Group, type RowSpace, VALUES } from './model.js';
import type { Random } from './random.js';

const OPERATORS: readonly CompareOperator[] = [
  'LESS',
  'LESS_OR_EQUAL',
  'EQUAL',
  'NOT_EQUAL',
  'GREATER_OR_EQUAL',
  'GREATER',
];

/** What a filter stands in: HBase 2.6.4 fails on some filters in some scans, and those are not asked for. */
export interface FilterContext {
  readonly group: Group;
  readonly rows: RowSpace;
  readonly query: 'get' | 'scan' | 'reversed scan';
  /** Whether filters may tell where to look next. */
  readonly hints: boolean;
  /**
   * Whether filters may end the scan. Where single columns are read from files, HBase 2.6.4 shows a filter the start row
   * of the scan although it has no cell there, so that `while` may end the scan; where they are in memory it does not.
   */
  readonly ends: boolean;
}

export function latin1(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

/** A random filter; lists and wrappers nest at most twice. */
export function randomFilter(random: Random, context: FilterContext, depth = 0): Filter {
  const nested = depth < 2 && random.chance(0.25);
  if (nested) {
    const kind = random.weighted({ all: 3, any: 3, skip: 1, while: context.ends ? 1 : 0 });
    // In a reversed scan `FilterListWithOR` takes the hint of one part, which leads forward in the row, for one that has
    // been passed, and does not ask that part again.
    const hints = context.hints && !(kind === 'any' && context.query === 'reversed scan');
    const inner = () => randomFilter(random, { ...context, hints }, depth + 1);
    if (kind === 'all' || kind === 'any') {
      return filters[kind](...Array.from({ length: 1 + random.below(3) }, inner));
    }
    return filters[kind](inner());
  }
  return random.chance(0.5) ? cellFilter(random, context) : rowFilter(random, context);
}

/** Filters that look at a cell. */
function cellFilter(random: Random, { group, hints }: FilterContext): Filter {
  const qualifier = () => latin1(random.pick(group.qualifiers));
  switch (random.below(hints ? 10 : 6)) {
    case 0:
      return filters.family(random.pick(OPERATORS), random.pick(FAMILIES));
    case 1:
      return filters.qualifier(...comparison(random, () => random.pick(group.qualifiers)));
    case 2:
      return filters.value(...comparison(random, () => random.pick(VALUES)));
    case 3:
      return filters.timestamps(Array.from({ length: 1 + random.below(4) }, () => group.time(random)));
    case 4:
      return filters.keyOnly(random.chance(0.5));
    case 5:
      return filters.columnValue(
        random.pick(FAMILIES),
        qualifier(),
        ...comparison(random, () => random.pick(VALUES)),
      );
    // From here on: filters with hints.
    case 6: {
      const bound = () => (random.chance(0.2) ? null : qualifier());
      return filters.columnRange(bound(), random.chance(0.5), bound(), random.chance(0.5));
    }
    case 7:
      return filters.columnPrefix(qualifier());
    case 8:
      return filters.multipleColumnPrefix(random.chance(0.5) ? [qualifier()] : [latin1('x'), latin1('y')]);
    default:
      return filters.columnPagination(
        1 + random.below(3),
        random.chance(0.7) ? random.below(3) : qualifier(),
      );
  }
}

/** Filters that decide about rows, or count. */
function rowFilter(random: Random, { group, rows, query, hints }: FilterContext): Filter {
  switch (random.below(10)) {
    case 0:
      return filters.row(random.pick(OPERATORS), latin1(rows.bound(random)));
    case 1:
      // HBase 2.6.4 reads past the end of rows, and of start rows, that are shorter than the prefix.
      return filters.prefix(latin1(random.pick([rows.prefix, rows.prefix.slice(0, 2), 'other'])));
    case 2:
    case 3:
      return singleColumn(random, group, random.chance(0.5));
    case 4:
      // Made for gets: a scan may end where a row has more columns.
      return query === 'get' ? filters.columnCount(1 + random.below(4)) : filters.firstKeyOnly();
    case 5:
      return filters.page(1 + random.below(4));
    case 6:
      return filters.firstKeyOnly();
    case 7:
      return filters.inclusiveStop(latin1(rows.row(random)));
    case 8: {
      // A reversed scan with it never returns: the hint is the row it stands on (HBASE-30226, mended after 2.6.4).
      if (!hints || query === 'reversed scan') return filters.firstKeyOnly();
      // As long as the shortest start row, for the same reason.
      const row = latin1(rows.prefix);
      const mask = Buffer.alloc(row.length, 0);
      mask[random.below(row.length)] = 1;
      return filters.fuzzyRow([{ row, mask }]);
    }
    default:
      return filters.dependentColumn(random.pick(FAMILIES), latin1(random.pick(group.qualifiers)), {
        dropDependentColumn: random.chance(0.5),
        ...(random.chance(0.5)
          ? { operator: random.pick(OPERATORS), value: latin1(random.pick(VALUES)) }
          : {}),
      });
  }
}

function singleColumn(random: Random, group: Group, exclude: boolean): Filter {
  const make = exclude ? filters.singleColumnValueExclude : filters.singleColumnValue;
  return make(
    random.pick(FAMILIES),
    latin1(random.pick(group.qualifiers)),
    ...comparison(random, () => random.pick(VALUES)),
    { filterIfMissing: random.chance(0.5), latestVersionOnly: random.chance(0.5) },
  );
}

function comparison(random: Random, value: () => string): [CompareOperator, Comparator] {
  switch (random.below(8)) {
    case 0:
      return [random.pick(OPERATORS), comparators.binaryPrefix(latin1(value()))];
    case 1:
      return [
        random.pick(['EQUAL', 'NOT_EQUAL'] as const),
        comparators.substring(random.pick(['v', 'x', 'W', ''])),
      ];
    case 2:
      return [
        random.pick(['EQUAL', 'NOT_EQUAL'] as const),
        comparators.regex(random.pick(['^v', 'w$', 'x.', '^$'])),
      ];
    default:
      return [random.pick(OPERATORS), comparators.binary(latin1(value()))];
  }
}
