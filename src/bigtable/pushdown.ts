import { EMPTY_BYTES, prefixEnd } from '../bytes/index.js';
import type { Comparator, CompareOperator, Filter } from '../table/filter/filters.js';
import { chain, column, interleave, type RowFilter } from './wire.js';

/**
 * Converts HBase's filters to Bigtable's. A check needs an exact equivalent. A read needs one that passes at least
 * what the filter passes; the filter itself is applied to the result.
 */

type ValueRange = NonNullable<RowFilter['valueRangeFilter']>;
const NOTHING: RowFilter = { blockAllFilter: true };
const EVERYTHING: RowFilter = { passAllFilter: true };

/** The filters that the service applies to a read, in sequence; undefined if there is none. */
export function serviceFilterOf(
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
  // Other filters count rows, or end a row early: they must see all rows.
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
 * A filter that passes the same rows, each as a whole; undefined if Bigtable cannot evaluate it. It compares the newest version
 * of each column. With `expires` that version may have expired, so a filter that passes rows without the column is not converted.
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

/** The ranges of values that a comparator accepts; undefined if Bigtable cannot express them. */
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
  // No value sorts before the empty one.
  const below: ValueRange[] =
    value.length === 0 ? [] : [{ startValueClosed: EMPTY_BYTES, endValueOpen: value }];
  switch (operator) {
    case 'EQUAL':
      return [{ startValueClosed: value, endValueClosed: value }];
    case 'NOT_EQUAL':
      return [...below, { startValueOpen: value }];
    case 'LESS':
      return below;
    case 'LESS_OR_EQUAL':
      return [{ startValueClosed: EMPTY_BYTES, endValueClosed: value }];
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
  const below: ValueRange[] =
    prefix.length === 0 ? [] : [{ startValueClosed: EMPTY_BYTES, endValueOpen: prefix }];
  if (operator === 'EQUAL') return [{ startValueClosed: prefix, ...(end && { endValueOpen: end }) }];
  if (operator === 'NOT_EQUAL') return [...below, ...(end ? [{ startValueClosed: end }] : [])];
  return undefined;
}
