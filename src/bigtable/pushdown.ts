import { prefixEnd } from '../bytes/index.js';
import type { Comparator, CompareOperator, Filter } from '../table/filter/filters.js';
import { chain, column, interleave, type RowFilter } from './wire.js';

/**
 * Filters of HBase's as Bigtable's: exactly where they decide a check of a row, and in reads as a first sieve, behind which the
 * filter itself is applied. A sieve lets through no less than the filter does.
 */

type ValueRange = NonNullable<RowFilter['valueRangeFilter']>;

const EMPTY = new Uint8Array(0);
const NOTHING: RowFilter = { blockAllFilter: true };
const EVERYTHING: RowFilter = { passAllFilter: true };

/** The sieve of a read: filters to be applied one behind the other; undefined when there is none. */
export function sieveOf(
  filter: Filter,
  expires: boolean,
  families: number,
): readonly RowFilter[] | undefined {
  const parts = partsOf(filter);
  if (parts.every(({ kind }) => kind === 'firstKeyOnly' || kind === 'keyOnly')) {
    const takesFirst = parts.some(({ kind }) => kind === 'firstKeyOnly') && families === 1 && !expires;
    const dropsValues = parts.every((part) => part.kind !== 'keyOnly' || !part.lengthAsValue);
    return [
      ...(takesFirst ? [{ cellsPerRowLimitFilter: 1 }] : []),
      ...(parts.some(({ kind }) => kind === 'keyOnly') && dropsValues
        ? [{ stripValueTransformer: true } as const]
        : []),
    ];
  }
  // Others count rows, or leave them before every cell was looked at: they are to see all rows.
  if (!isOfColumns(filter)) return undefined;
  return parts.flatMap((part) => rowCondition(part, expires) ?? []);
}

function partsOf(filter: Filter): readonly Filter[] {
  return filter.kind === 'list' && filter.operator === 'MUST_PASS_ALL'
    ? filter.filters.flatMap(partsOf)
    : [filter];
}

function isOfColumns(filter: Filter): boolean {
  return filter.kind === 'list' ? filter.filters.every(isOfColumns) : filter.kind === 'singleColumnValue';
}

/**
 * A filter that lets the rows through, whole, that another one does; undefined when Bigtable cannot decide it. It looks at the
 * newest version of each column. With `expires` that may be one which has expired: what passes where there is none is not decided.
 */
export function rowCondition(filter: Filter, expires: boolean): RowFilter | undefined {
  if (filter.kind === 'singleColumnValue') {
    if (!filter.latestVersionOnly) return undefined;
    const { family, qualifier, operator, comparator, filterIfMissing } = filter;
    if (expires && !filterIfMissing) return undefined;
    const newest = chain(column(family, qualifier), { cellsPerColumnLimitFilter: 1 });
    const ranges = valuesThat(filterIfMissing ? operator : negated(operator), comparator);
    if (ranges === undefined) return undefined;
    const found = ranges.length === 0 ? NOTHING : chain(newest, interleave(ranges));
    return filterIfMissing
      ? { condition: { predicateFilter: found, trueFilter: EVERYTHING, falseFilter: NOTHING } }
      : { condition: { predicateFilter: found, trueFilter: NOTHING, falseFilter: EVERYTHING } };
  }
  if (filter.kind !== 'list' || filter.filters.length === 0) return undefined;
  const parts = filter.filters.map((part) => rowCondition(part, expires));
  if (parts.some((part) => part === undefined)) return undefined;
  const known = parts as readonly RowFilter[];
  if (filter.operator === 'MUST_PASS_ALL') return chain(...known);
  return { condition: { predicateFilter: interleave(known), trueFilter: EVERYTHING, falseFilter: NOTHING } };
}

const NEGATED: Partial<Record<CompareOperator, CompareOperator>> = {
  LESS: 'GREATER_OR_EQUAL',
  LESS_OR_EQUAL: 'GREATER',
  EQUAL: 'NOT_EQUAL',
  NOT_EQUAL: 'EQUAL',
  GREATER_OR_EQUAL: 'LESS',
  GREATER: 'LESS_OR_EQUAL',
};

function negated(operator: CompareOperator): CompareOperator {
  return NEGATED[operator] ?? operator;
}

/** The values that stand so to what a comparator has, any of several ranges; undefined: Bigtable cannot tell them. */
export function valuesThat(operator: CompareOperator, comparator: Comparator): RowFilter[] | undefined {
  const ranges =
    comparator.kind === 'binary'
      ? rangesOf(operator, comparator.value)
      : comparator.kind === 'binaryPrefix'
        ? prefixRangesOf(operator, comparator.value)
        : undefined;
  return ranges?.map((valueRangeFilter) => ({ valueRangeFilter }));
}

function rangesOf(operator: CompareOperator, value: Uint8Array): ValueRange[] | undefined {
  // No value is before the empty one.
  const below: ValueRange[] = value.length === 0 ? [] : [{ startValueClosed: EMPTY, endValueOpen: value }];
  switch (operator) {
    case 'EQUAL':
      return [{ startValueClosed: value, endValueClosed: value }];
    case 'NOT_EQUAL':
      return [...below, { startValueOpen: value }];
    case 'LESS':
      return below;
    case 'LESS_OR_EQUAL':
      return [{ startValueClosed: EMPTY, endValueClosed: value }];
    case 'GREATER':
      return [{ startValueOpen: value }];
    case 'GREATER_OR_EQUAL':
      return [{ startValueClosed: value }];
    default:
      return undefined;
  }
}

function prefixRangesOf(operator: CompareOperator, prefix: Uint8Array): ValueRange[] | undefined {
  const end = prefixEnd(prefix);
  const below: ValueRange[] = prefix.length === 0 ? [] : [{ startValueClosed: EMPTY, endValueOpen: prefix }];
  if (operator === 'EQUAL') return [{ startValueClosed: prefix, ...(end && { endValueOpen: end }) }];
  if (operator === 'NOT_EQUAL') return [...below, ...(end ? [{ startValueClosed: end }] : [])];
  return undefined;
}
