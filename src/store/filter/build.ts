import { InvalidArgumentError } from '../../errors.js';
import type { CompareOperator, Filter } from '../../table/index.js';
import {
  ColumnCountEvaluator,
  ColumnPaginationEvaluator,
  ColumnPrefixEvaluator,
  ColumnRangeEvaluator,
  FamilyEvaluator,
  FirstKeyOnlyEvaluator,
  MultipleColumnPrefixEvaluator,
  QualifierEvaluator,
} from './column-filters.js';
import { Comparison, FilterColumn } from './compare.js';
import type { FilterEvaluator } from './filter-evaluator.js';
import { AllEvaluator, AnyEvaluator, SkipEvaluator, WhileEvaluator } from './filter-list.js';
import {
  FuzzyRowEvaluator,
  InclusiveStopEvaluator,
  MultiRowRangeEvaluator,
  PageEvaluator,
  PrefixEvaluator,
  RandomEvaluator,
  RowEvaluator,
} from './row-filters.js';
import {
  ColumnValueEvaluator,
  DependentColumnEvaluator,
  KeyOnlyEvaluator,
  SingleColumnValueEvaluator,
  SingleColumnValueExcludeEvaluator,
  TimestampsEvaluator,
  ValueEvaluator,
} from './value-filters.js';

/** The conditions of a scan that concern its filter. */
export interface FilterContext {
  readonly reversed: boolean;
  /** 0 <= random() < 1. */
  readonly random: () => number;
}

type RowFilter = Extract<
  Filter,
  { kind: 'row' | 'prefix' | 'inclusiveStop' | 'random' | 'page' | 'fuzzyRow' | 'multiRowRange' }
>;
type CompositeFilter = Extract<Filter, { kind: 'while' | 'skip' | 'list' }>;

/**
 * Creates the evaluator of a filter for one scan.
 * @throws InvalidArgumentError for what HBase's server refuses: no ranges, inverted ranges, a NO_OP comparison of a column's value.
 */
export function buildFilter(filter: Filter, context: FilterContext): FilterEvaluator {
  switch (filter.kind) {
    case 'row':
    case 'prefix':
    case 'inclusiveStop':
    case 'random':
    case 'page':
    case 'fuzzyRow':
    case 'multiRowRange':
      return buildRowFilter(filter, context);
    case 'while':
    case 'skip':
    case 'list':
      return buildComposite(filter, context);
    default:
      return buildCellFilter(filter);
  }
}

function buildRowFilter(filter: RowFilter, context: FilterContext): FilterEvaluator {
  const { reversed } = context;
  switch (filter.kind) {
    case 'row':
      return new RowEvaluator(new Comparison(filter.operator, filter.comparator));
    case 'prefix':
      return new PrefixEvaluator(filter.prefix, reversed);
    case 'inclusiveStop':
      return new InclusiveStopEvaluator(filter.stopRow, reversed);
    case 'random':
      return new RandomEvaluator(filter.chance, context.random);
    case 'page':
      return new PageEvaluator(filter.pageSize);
    case 'fuzzyRow':
      return new FuzzyRowEvaluator(filter.pairs, reversed);
    case 'multiRowRange':
      return new MultiRowRangeEvaluator(filter.ranges, reversed);
  }
}

function buildCellFilter(filter: Exclude<Filter, RowFilter | CompositeFilter>): FilterEvaluator {
  switch (filter.kind) {
    case 'family':
      return new FamilyEvaluator(new Comparison(filter.operator, filter.comparator));
    case 'qualifier':
      return new QualifierEvaluator(new Comparison(filter.operator, filter.comparator));
    case 'value':
      return new ValueEvaluator(new Comparison(filter.operator, filter.comparator));
    case 'singleColumnValue':
    case 'singleColumnValueExclude':
      return buildSingleColumnValue(filter);
    case 'columnValue':
      return new ColumnValueEvaluator(
        new FilterColumn(filter.family, filter.qualifier),
        new Comparison(filter.operator, filter.comparator),
      );
    case 'dependentColumn':
      return new DependentColumnEvaluator(
        new FilterColumn(filter.family, filter.qualifier),
        filter.dropDependentColumn,
        filter.compare && new Comparison(filter.compare.operator, filter.compare.comparator),
      );
    case 'columnRange':
      return new ColumnRangeEvaluator(
        filter.minColumn,
        filter.minInclusive,
        filter.maxColumn,
        filter.maxInclusive,
      );
    case 'columnPrefix':
      return new ColumnPrefixEvaluator(filter.prefix);
    case 'multipleColumnPrefix':
      return new MultipleColumnPrefixEvaluator(filter.prefixes);
    case 'columnPagination':
      return new ColumnPaginationEvaluator(filter.limit, filter.offset, filter.columnOffset);
    case 'columnCount':
      return new ColumnCountEvaluator(filter.limit);
    case 'keyOnly':
      return new KeyOnlyEvaluator(filter.lengthAsValue);
    case 'firstKeyOnly':
      return new FirstKeyOnlyEvaluator();
    case 'timestamps':
      return new TimestampsEvaluator(filter.timestamps, filter.canHint);
  }
}

function buildComposite(filter: CompositeFilter, context: FilterContext): FilterEvaluator {
  if (filter.kind === 'while') return new WhileEvaluator(buildFilter(filter.filter, wrapped(context)));
  if (filter.kind === 'skip') return new SkipEvaluator(buildFilter(filter.filter, wrapped(context)));
  const filters = filter.filters.map((each) => buildFilter(each, context));
  return filter.operator === 'MUST_PASS_ALL'
    ? new AllEvaluator(filters)
    : new AnyEvaluator(filters, context.reversed);
}

/** Like HBase, which does not tell filters inside `while` and `skip` that the scan is reversed. */
function wrapped(context: FilterContext): FilterContext {
  return { reversed: false, random: context.random };
}

function buildSingleColumnValue(
  filter: Extract<Filter, { kind: 'singleColumnValue' | 'singleColumnValueExclude' }>,
): FilterEvaluator {
  checkOperator(filter.operator, filter.kind);
  const column = new FilterColumn(filter.family, filter.qualifier);
  const comparison = new Comparison(filter.operator, filter.comparator);
  const Evaluator =
    filter.kind === 'singleColumnValue' ? SingleColumnValueEvaluator : SingleColumnValueExcludeEvaluator;
  return new Evaluator(column, comparison, filter.filterIfMissing, filter.latestVersionOnly);
}

function checkOperator(operator: CompareOperator, kind: string): void {
  if (operator === 'NO_OP') {
    throw new InvalidArgumentError(`A ${kind} filter cannot compare with NO_OP. Use another operator.`);
  }
}
