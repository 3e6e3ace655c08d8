import { FOREVER } from '../table/descriptor.js';
import { type CompareOperator, comparators } from '../table/filter/filters.js';
import { ALL_VERSIONS, TimeRange } from '../table/get-and-scan.js';
import type { CheckCondition } from '../table/row-mutations.js';
import type { KnownTable } from './descriptors.js';
import { MAX_FILTER } from './names.js';
import { rowCondition, valuesThat } from './pushdown.js';
import { chain, column, interleave, type RowFilter, timesOf } from './wire.js';

export interface Predicate {
  readonly filter: RowFilter;
  /** Whether the condition is met if the filter returns a cell, or if it returns none. */
  readonly satisfiedBy: 'something' | 'nothing';
}

/** The operator with its sides swapped: conditions read "value operator stored", filters "stored operator value". */
const OF_THE_STORED: Readonly<Record<CompareOperator, CompareOperator>> = {
  LESS: 'GREATER',
  LESS_OR_EQUAL: 'GREATER_OR_EQUAL',
  EQUAL: 'EQUAL',
  NOT_EQUAL: 'NOT_EQUAL',
  GREATER_OR_EQUAL: 'LESS_OR_EQUAL',
  GREATER: 'LESS',
  NO_OP: 'NO_OP',
};

/** Converts the condition of a check to a filter of CheckAndMutateRow; undefined if Bigtable cannot evaluate it. */
export function predicateOf(
  condition: CheckCondition,
  known: KnownTable,
  now: number,
): Predicate | undefined {
  if (condition.kind === 'filter') {
    if (!condition.timeRange.isAll || known.expires) return undefined;
    const filter = rowCondition(condition.filter, false);
    return filter && { filter, satisfiedBy: 'something' };
  }
  const { family, qualifier, operator, value, timeRange } = condition;
  const newest = newestOf(known, family, qualifier, timeRange, now);
  if (newest === undefined || (value?.length ?? 0) > MAX_FILTER / 4) return undefined;
  if (value === null || value.length === 0) {
    const filter = chain(...newest, { valueRangeFilter: { startValueOpen: new Uint8Array(0) } });
    return { filter, satisfiedBy: operator === 'NOT_EQUAL' ? 'something' : 'nothing' };
  }
  const ranges = valuesThat(OF_THE_STORED[operator], comparators.binary(value));
  return ranges && { filter: chain(...newest, interleave(ranges)), satisfiedBy: 'something' };
}

/** Filters that pass the newest version of a column that has not expired; undefined if Bigtable cannot tell it. */
function newestOf(
  known: KnownTable,
  family: string,
  qualifier: Uint8Array,
  timeRange: TimeRange,
  now: number,
): RowFilter[] | undefined {
  const { versions, minVersions, ttl } = known.families.get(family)!;
  if (ttl !== FOREVER && minVersions > 0) return undefined;
  const unexpired = ttl === FOREVER ? 0 : Math.max(0, now - ttl * 1000);
  const parts: RowFilter[] = [column(family, qualifier)];
  if (!timeRange.isAll && versions !== ALL_VERSIONS) parts.push({ cellsPerColumnLimitFilter: versions });
  // A range that has expired as a whole is empty.
  const start = Math.min(timeRange.max, Math.max(timeRange.min, unexpired));
  if (start > 0 || !timeRange.isAll) {
    parts.push({ timestampRangeFilter: timesOf(new TimeRange(start, timeRange.max)) });
  }
  return [...parts, { cellsPerColumnLimitFilter: 1 }];
}
