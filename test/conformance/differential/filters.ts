import { fromLatin1 } from '../../../src/bytes/index.js';
import {
  type Comparator,
  type CompareOperator,
  comparators,
  type Filter,
  filters,
} from '../../../src/table/index.js';
import type { Random } from './random.js';
import { QUALIFIERS, ROWS, VALUES, type World } from './world.js';

const OPERATORS: readonly CompareOperator[] = [
  'LESS',
  'LESS_OR_EQUAL',
  'EQUAL',
  'NOT_EQUAL',
  'GREATER_OR_EQUAL',
  'GREATER',
];

interface FilterScope {
  /** So many lists and wrappers may stand around each other. */
  readonly depth: number;
  readonly forScan: boolean;
}

/** A filter of any kind. */
export function makeFilter(random: Random, world: World, now: number, scope: FilterScope): Filter {
  const { depth } = scope;
  const inner: FilterScope = { ...scope, depth: depth - 1 };
  const kind = random.below(depth > 0 ? 26 : 21);
  const qualifier = random.pick(QUALIFIERS);
  const family = random.pick(world.names);
  switch (kind) {
    case 0:
      return filters.row(operator(random), comparator(random, ROWS));
    case 1:
      return filters.family(operator(random), fromLatin1(random.pick(['f', 'g'])));
    case 2:
      return filters.qualifier(operator(random), comparator(random, QUALIFIERS));
    case 3:
      return filters.value(operator(random), comparator(random, VALUES));
    case 4:
      return filters.prefix(random.pick(ROWS));
    case 5:
    case 6: {
      const options = { filterIfMissing: random.chance(0.5), latestVersionOnly: random.chance(0.5) };
      const make = kind === 5 ? filters.singleColumnValue : filters.singleColumnValueExclude;
      return make(family, qualifier, operator(random), comparator(random, VALUES), options);
    }
    case 7:
      return filters.columnValue(family, qualifier, operator(random), comparator(random, VALUES));
    case 8:
      return filters.dependentColumn(family, qualifier, {
        dropDependentColumn: random.chance(0.5),
        ...(random.chance(0.5) ? { operator: operator(random), value: comparator(random, VALUES) } : {}),
      });
    case 9:
      return filters.columnRange(
        random.chance(0.2) ? null : random.pick(QUALIFIERS),
        random.chance(0.5),
        random.chance(0.2) ? null : random.pick(QUALIFIERS),
        random.chance(0.5),
      );
    case 10:
      return filters.columnPrefix(qualifier);
    case 11:
      return filters.multipleColumnPrefix(random.some(QUALIFIERS));
    case 12:
      return filters.columnPagination(
        random.between(0, 3),
        random.chance(0.5) ? random.between(0, 2) : qualifier,
      );
    case 13:
      // It ends a family for the rest of the region, so in scans it shows where regions end.
      if (scope.forScan && world.canSplit) return filters.firstKeyOnly();
      return filters.columnCount(random.between(1, 4));
    case 14:
      return filters.page(random.between(1, 3));
    case 15:
      return filters.keyOnly(random.chance(0.5));
    case 16:
      return filters.firstKeyOnly();
    case 17:
      return filters.inclusiveStop(random.pick(ROWS));
    case 18:
      return multiRowRange(random);
    case 19:
      return filters.timestamps(
        Array.from({ length: random.between(1, 3) }, () => world.time(random, now)),
        random.chance(0.3),
      );
    case 20:
      // Its hints show only by the speed, unless filters beside it remember the rows they were shown.
      return depth === 2 ? fuzzyRow(random) : filters.firstKeyOnly();
    case 21:
      return world.canEndScans
        ? filters.while(makeFilter(random, world, now, inner))
        : filters.skip(makeFilter(random, world, now, inner));
    case 22:
      return filters.skip(makeFilter(random, world, now, inner));
    default: {
      const parts = Array.from({ length: random.between(1, 3) }, () => makeFilter(random, world, now, inner));
      return random.chance(0.5) ? filters.all(...parts) : filters.any(...parts);
    }
  }
}

function operator(random: Random): CompareOperator {
  return random.pick(OPERATORS);
}

function comparator(random: Random, values: readonly Uint8Array[]): Comparator {
  const value = random.pick(values);
  switch (random.below(10)) {
    case 0:
      return comparators.binaryPrefix(value);
    case 1:
      return comparators.binaryComponent(value, random.below(2));
    case 2:
      return comparators.substring('v');
    case 3:
      return comparators.regex('^v+$', random.chance(0.5) ? 'i' : '');
    case 4:
      return comparators.bit(value, random.pick(['AND', 'OR', 'XOR']));
    case 5:
      return comparators.null();
    default:
      return comparators.binary(value);
  }
}

function multiRowRange(random: Random): Filter {
  const ranges = Array.from({ length: random.between(1, 2) }, () => {
    const low = random.below(ROWS.length - 1);
    const high = random.between(low + 1, ROWS.length - 1);
    return {
      startRow: random.chance(0.15) ? new Uint8Array(0) : ROWS[low]!,
      startInclusive: random.chance(0.5),
      stopRow: random.chance(0.15) ? new Uint8Array(0) : ROWS[high]!,
      stopInclusive: random.chance(0.5),
    };
  });
  return filters.multiRowRange(ranges);
}

function fuzzyRow(random: Random): Filter {
  return filters.fuzzyRow(
    Array.from({ length: random.between(1, 2) }, () => {
      const row = random.pick(ROWS);
      return { row, mask: Uint8Array.from(row, () => random.below(2)) };
    }),
  );
}
