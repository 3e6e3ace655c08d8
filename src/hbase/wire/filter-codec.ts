/** Filters and comparators in HBase's encoding: the name of the Java class and its message. */

import { EMPTY_BYTES } from '../../bytes/index.js';
import type { Comparator, CompareOperator, Filter } from '../../table/filter/filters.js';
import * as messages from './messages-filter.js';
import { type ProtoWriter, tagOf, utf8Name, WireType } from './proto-writer.js';
import { Empty, encodeMessage, type MessageCodec, type TypeOf } from './schema.js';

type Named = TypeOf<typeof messages.Named>;

/** `HBaseProtos.CompareType`. */
export const COMPARE_TYPES: Readonly<Record<CompareOperator, number>> = {
  LESS: 0,
  LESS_OR_EQUAL: 1,
  EQUAL: 2,
  NOT_EQUAL: 3,
  GREATER_OR_EQUAL: 4,
  GREATER: 5,
  NO_OP: 6,
};

const PACKAGE = 'org.apache.hadoop.hbase.filter.';
const BITWISE = { AND: 1, OR: 2, XOR: 3 } as const;
/** `java.util.regex.Pattern`: CASE_INSENSITIVE, MULTILINE, DOTALL. */
const REGEX_FLAGS: Readonly<Record<string, number>> = { i: 2, m: 8, s: 32 };

function named<T>(javaClass: string, codec: MessageCodec<T>, value: T): Named {
  return { name: PACKAGE + javaClass, serialized: encodeMessage(codec, value) };
}

function comparable(value: Uint8Array): { comparable: { value: Uint8Array } } {
  return { comparable: { value } };
}

/** Encodes a comparator. */
function comparatorMessage(comparator: Comparator): Named {
  switch (comparator.kind) {
    case 'binary':
      return named('BinaryComparator', messages.BinaryComparator, comparable(comparator.value));
    case 'binaryPrefix':
      return named('BinaryPrefixComparator', messages.BinaryComparator, comparable(comparator.value));
    case 'binaryComponent':
      return named('BinaryComponentComparator', messages.BinaryComponentComparator, comparator);
    case 'long': {
      const eight = Buffer.alloc(8);
      eight.writeBigInt64BE(comparator.value);
      return named('LongComparator', messages.BinaryComparator, comparable(eight));
    }
    case 'bit': {
      const bitwiseOp = BITWISE[comparator.operator];
      return named('BitComparator', messages.BitComparator, { ...comparable(comparator.value), bitwiseOp });
    }
    case 'null':
      return named('NullComparator', Empty, {});
    case 'substring':
      return named('SubstringComparator', messages.SubstringComparator, { substr: comparator.value });
    case 'regex': {
      let patternFlags = 0;
      for (const flag of comparator.flags) patternFlags |= REGEX_FLAGS[flag] ?? 0;
      const { pattern } = comparator;
      return javaRegex(pattern, patternFlags, 'UTF-8');
    }
  }
}

function javaRegex(pattern: string, patternFlags: number, charset: 'UTF-8' | 'ISO-8859-1'): Named {
  return named('RegexStringComparator', messages.RegexStringComparator, {
    pattern,
    patternFlags,
    charset,
    engine: 'JAVA',
  });
}

/**
 * The comparator of a row filter. HBase's `BinaryComponentComparator` fails the whole scan (index out of bounds) on a row that ends
 * before the component. For equality a regular expression over the bytes is sent instead, with the same result, and that of the embedded
 * engine for short rows.
 */
function rowComparatorMessage(operator: CompareOperator, comparator: Comparator): Named {
  const matchable = operator === 'EQUAL' || operator === 'NOT_EQUAL';
  if (comparator.kind !== 'binaryComponent' || !matchable || comparator.value.length === 0)
    return comparatorMessage(comparator);
  const { value, offset } = comparator;
  const bytes = Array.from(value, (byte) => `\\x${byte.toString(16).padStart(2, '0')}`);
  return javaRegex(`^.{${offset}}${bytes.join('')}`, REGEX_FLAGS['s']!, 'ISO-8859-1');
}

function compareFilter(compare: {
  readonly operator: CompareOperator;
  readonly comparator: Comparator;
}): TypeOf<typeof messages.CompareFilter> {
  return { compareOp: COMPARE_TYPES[compare.operator], comparator: comparatorMessage(compare.comparator) };
}

function familyBytes(family: string): Uint8Array {
  return Buffer.from(family, 'utf8');
}

const COMPARING = {
  family: 'FamilyFilter',
  qualifier: 'QualifierFilter',
  value: 'ValueFilter',
} as const;

/** Encodes a filter. */
export function filterMessage(filter: Filter): Named {
  switch (filter.kind) {
    case 'row': {
      const { operator, comparator } = filter;
      return named('RowFilter', messages.ComparingFilter, {
        compareFilter: {
          compareOp: COMPARE_TYPES[operator],
          comparator: rowComparatorMessage(operator, comparator),
        },
      });
    }
    case 'family':
    case 'qualifier':
    case 'value':
      return named(COMPARING[filter.kind], messages.ComparingFilter, {
        compareFilter: compareFilter(filter),
      });
    case 'singleColumnValue':
      return named('SingleColumnValueFilter', messages.SingleColumnValueFilter, singleColumn(filter));
    case 'singleColumnValueExclude':
      return named('SingleColumnValueExcludeFilter', messages.SingleColumnValueExcludeFilter, {
        filter: singleColumn(filter),
      });
    case 'columnValue':
      return named('ColumnValueFilter', messages.ColumnValueFilter, {
        family: familyBytes(filter.family),
        qualifier: filter.qualifier,
        compareOp: COMPARE_TYPES[filter.operator],
        comparator: comparatorMessage(filter.comparator),
      });
    case 'dependentColumn':
      return named('DependentColumnFilter', messages.DependentColumnFilter, {
        compareFilter:
          filter.compare === null ? { compareOp: COMPARE_TYPES.NO_OP } : compareFilter(filter.compare),
        family: familyBytes(filter.family),
        qualifier: filter.qualifier,
        dropDependentColumn: filter.dropDependentColumn,
      });
    case 'while':
    case 'skip':
      return named(filter.kind === 'while' ? 'WhileMatchFilter' : 'SkipFilter', messages.WrappingFilter, {
        filter: filterMessage(filter.filter),
      });
    case 'list':
      return named('FilterList', messages.FilterListMessage, {
        operator: filter.operator === 'MUST_PASS_ALL' ? 1 : 2,
        filters: filter.filters.map(filterMessage),
      });
    default:
      return plainFilterMessage(filter);
  }
}

type ComparingKind =
  | keyof typeof COMPARING
  | 'row'
  | 'singleColumnValue'
  | 'singleColumnValueExclude'
  | 'columnValue';
type PlainFilter = Exclude<Filter, { kind: ComparingKind | 'dependentColumn' | 'while' | 'skip' | 'list' }>;

/** The filters without a comparator. */
function plainFilterMessage(filter: PlainFilter): Named {
  switch (filter.kind) {
    case 'prefix':
      return named('PrefixFilter', messages.PrefixFilter, filter);
    case 'columnPrefix':
      return named('ColumnPrefixFilter', messages.PrefixFilter, filter);
    case 'columnRange':
      return named('ColumnRangeFilter', messages.ColumnRangeFilter, {
        minColumn: filter.minColumn ?? undefined,
        minInclusive: filter.minInclusive,
        maxColumn: filter.maxColumn ?? undefined,
        maxInclusive: filter.maxInclusive,
      });
    case 'multipleColumnPrefix':
      return named('MultipleColumnPrefixFilter', messages.MultipleColumnPrefixFilter, filter);
    case 'columnPagination':
      return named('ColumnPaginationFilter', messages.ColumnPaginationFilter, {
        limit: filter.limit,
        offset: filter.columnOffset === null ? filter.offset : undefined,
        columnOffset: filter.columnOffset ?? undefined,
      });
    case 'columnCount':
      return named('ColumnCountGetFilter', messages.ColumnCountGetFilter, filter);
    case 'page':
      return named('PageFilter', messages.PageFilter, filter);
    case 'keyOnly':
      return named('KeyOnlyFilter', messages.KeyOnlyFilter, filter);
    case 'firstKeyOnly':
      return named('FirstKeyOnlyFilter', Empty, {});
    case 'inclusiveStop':
      return named('InclusiveStopFilter', messages.InclusiveStopFilter, filter);
    case 'fuzzyRow':
      return named('FuzzyRowFilter', messages.FuzzyRowFilter, {
        pairs: filter.pairs.map(({ row, mask }) => ({ first: row, second: mask })),
        isMaskV2: true,
      });
    case 'multiRowRange':
      return named('MultiRowRangeFilter', messages.MultiRowRangeFilter, filter);
    case 'timestamps':
      return named('TimestampsFilter', messages.TimestampsFilter, filter);
    case 'random':
      return named('RandomRowFilter', messages.RandomRowFilter, filter);
  }
}

function singleColumn(
  filter: Extract<Filter, { kind: 'singleColumnValue' | 'singleColumnValueExclude' }>,
): TypeOf<typeof messages.SingleColumnValueFilter> {
  return {
    family: familyBytes(filter.family),
    qualifier: filter.qualifier,
    compareOp: COMPARE_TYPES[filter.operator],
    comparator: comparatorMessage(filter.comparator),
    filterIfMissing: filter.filterIfMissing,
    latestVersionOnly: filter.latestVersionOnly,
  };
}

const encoded = new WeakMap<Filter, Uint8Array>();

/** The encoded filter. Filters are immutable, so each is encoded once. */
export function encodeFilter(filter: Filter): Uint8Array {
  let known = encoded.get(filter);
  if (known === undefined) {
    known = encodeMessage(messages.Named, filterMessage(filter));
    encoded.set(filter, known);
  }
  return known;
}

// The first field of a comparator is its class, the second its message, and the value is the first field of the first field of that.
const FIRST = tagOf(1, WireType.Bytes);
const SECOND = tagOf(2, WireType.Bytes);

/** Writes a field with a `BinaryComparator`, the comparator of conditions, without a message of its own: each row of a batch has one. */
export function writeBinaryComparator(writer: ProtoWriter, tag: number, value: Uint8Array | null): void {
  const mark = writer.mark();
  writer.bytesField(FIRST, value ?? EMPTY_BYTES);
  writer.endMessage(FIRST, mark);
  writer.endMessage(SECOND, mark);
  writer.bytesField(FIRST, utf8Name(`${PACKAGE}BinaryComparator`));
  writer.endMessage(tag, mark);
}
