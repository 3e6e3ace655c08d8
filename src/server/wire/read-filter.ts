/** Decodes filters and comparators, as written by `hbase/wire/filter-codec` and by HBase's own clients. */

import { EMPTY_BYTES } from '../../bytes/index.js';
import { COMPARE_TYPES } from '../../hbase/wire/filter-codec.js';
import * as messages from '../../hbase/wire/messages-filter.js';
import { decodeMessage, type MessageCodec, type TypeOf } from '../../hbase/wire/schema.js';
import {
  type Comparator,
  type CompareOperator,
  comparators,
  type Filter,
  filters,
} from '../../table/index.js';
import { refused } from '../errors.js';

type Named = TypeOf<typeof messages.Named>;

const PACKAGE = 'org.apache.hadoop.hbase.filter.';
/** The largest nesting depth of filters; deeper ones would exhaust the stack. */
const DEEPEST = 64;

const OPERATORS = new Map(
  Object.entries(COMPARE_TYPES).map(([operator, code]) => [code, operator as CompareOperator]),
);

function operatorOf(code: number): CompareOperator {
  const operator = OPERATORS.get(code);
  if (operator === undefined) throw refused(`A filter has the unknown operator ${code}.`);
  return operator;
}

/** The operator of a `Condition`. */
export { operatorOf };

/** Decodes a comparator. @throws ServerException for one that the store lacks, naming its class. */
function readComparator(named: Named): Comparator {
  const read = COMPARATORS[simpleName(named.name)];
  if (read === undefined) throw unknownClass('comparator', named.name);
  return read(named.serialized ?? EMPTY_BYTES);
}

/** Decodes a filter. @throws ServerException for one that the store lacks, naming its class. */
export function readFilter(named: Named, depth = 0): Filter {
  if (depth > DEEPEST) throw refused(`A filter has more than ${DEEPEST} filters within each other.`);
  const read = FILTERS[simpleName(named.name)];
  if (read === undefined) throw unknownClass('filter', named.name);
  return read(named.serialized ?? EMPTY_BYTES, depth + 1);
}

/** The class name without HBase's package. Classes of other packages keep theirs, and are unknown. */
function simpleName(name: string): string {
  return name.startsWith(PACKAGE) ? name.slice(PACKAGE.length) : '';
}

function unknownClass(what: string, name: string): Error {
  return refused(
    `The ${what} ${name.slice(0, 200)} is not supported by this server, which cannot run Java classes. Filter in the client instead.`,
  );
}

function plain(bytes: Uint8Array | undefined): Uint8Array {
  return bytes === undefined || bytes.length === 0 ? EMPTY_BYTES : Uint8Array.from(bytes);
}

function text(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? EMPTY_BYTES).toString('utf8');
}

function comparableOf(bytes: Uint8Array): Uint8Array {
  return plain(decodeMessage(messages.BinaryComparator, bytes).comparable.value);
}

const BITWISE: Readonly<Record<number, 'AND' | 'OR' | 'XOR'>> = { 1: 'AND', 2: 'OR', 3: 'XOR' };

const COMPARATORS: Readonly<Record<string, (bytes: Uint8Array) => Comparator>> = {
  BinaryComparator: (bytes) => comparators.binary(comparableOf(bytes)),
  BinaryPrefixComparator: (bytes) => comparators.binaryPrefix(comparableOf(bytes)),
  BinaryComponentComparator: (bytes) => {
    const { value, offset } = decodeMessage(messages.BinaryComponentComparator, bytes);
    return comparators.binaryComponent(plain(value), offset);
  },
  LongComparator: (bytes) => {
    const value = comparableOf(bytes);
    if (value.length !== 8) throw refused(`A LongComparator has ${value.length} bytes; a long has 8.`);
    return comparators.long(Buffer.from(value).readBigInt64BE());
  },
  BitComparator: (bytes) => {
    const { comparable, bitwiseOp } = decodeMessage(messages.BitComparator, bytes);
    const operator = BITWISE[bitwiseOp];
    if (operator === undefined) throw refused(`A BitComparator has the operation ${bitwiseOp}.`);
    return comparators.bit(plain(comparable.value), operator);
  },
  NullComparator: () => comparators.null(),
  SubstringComparator: (bytes) =>
    comparators.substring(decodeMessage(messages.SubstringComparator, bytes).substr),
  RegexStringComparator: (bytes) => readRegex(decodeMessage(messages.RegexStringComparator, bytes)),
};

/** Flags of `java.util.regex.Pattern` that JavaScript supports too. */
const CASE_INSENSITIVE = 2;
const MULTILINE = 8;
const DOTALL = 32;
const UNICODE_CASE = 64;
const LETTERS: readonly (readonly [number, string])[] = [
  [CASE_INSENSITIVE, 'i'],
  [MULTILINE, 'm'],
  [DOTALL, 's'],
];
/**
 * The form in which the client sends a comparison of bytes at an offset: `rowComparatorMessage` of the filter codec.
 */
const BYTES_AT = /^\^\.\{(\d{1,5})\}((?:\\x[0-9a-f]{2})+)$/;

function readRegex({
  pattern,
  patternFlags,
  charset,
}: TypeOf<typeof messages.RegexStringComparator>): Comparator {
  const bytesAt = charset === 'ISO-8859-1' ? BYTES_AT.exec(pattern) : null;
  if (bytesAt !== null) {
    const value = Buffer.from(bytesAt[2]!.replaceAll('\\x', ''), 'hex');
    return comparators.binaryComponent(Uint8Array.from(value), Number(bytesAt[1]));
  }
  if (!/^utf-?8$/i.test(charset))
    throw refused(`A RegexStringComparator reads bytes as ${charset.slice(0, 40)}; this server reads UTF-8.`);
  let flags = '';
  for (const [bit, letter] of LETTERS) if ((patternFlags & bit) !== 0) flags += letter;
  const rest = patternFlags & ~(CASE_INSENSITIVE | MULTILINE | DOTALL | UNICODE_CASE);
  if (rest !== 0)
    throw refused(`A RegexStringComparator has the flags ${patternFlags}, which are not supported.`);
  // Java also allows flags within the pattern.
  const inline = /^\(\?([ims]+)\)/.exec(pattern);
  if (inline === null) return comparators.regex(pattern, flags);
  const all = new Set([...flags, ...inline[1]!]);
  return comparators.regex(pattern.slice(inline[0].length), [...all].join(''));
}

interface Compare {
  readonly operator: CompareOperator;
  readonly comparator: Comparator;
}

function compareOf(message: {
  readonly compareOp: number;
  readonly comparator?: Named | undefined;
}): Compare {
  const operator = operatorOf(message.compareOp);
  if (message.comparator === undefined) throw refused('A filter has no comparator.');
  return { operator, comparator: readComparator(message.comparator) };
}

type ReadFilter = (bytes: Uint8Array, depth: number) => Filter;

function comparing(
  make: (operator: CompareOperator, comparator: Comparator) => Filter,
): (bytes: Uint8Array) => Filter {
  return (bytes) => {
    const { operator, comparator } = compareOf(decodeMessage(messages.ComparingFilter, bytes).compareFilter);
    return make(operator, comparator);
  };
}

function singleColumn(
  message: TypeOf<typeof messages.SingleColumnValueFilter>,
  make: typeof filters.singleColumnValue,
): Filter {
  const { operator, comparator } = compareOf(message);
  return make(text(message.family), plain(message.qualifier), operator, comparator, {
    filterIfMissing: message.filterIfMissing ?? false,
    latestVersionOnly: message.latestVersionOnly ?? true,
  });
}

function reader<T>(codec: MessageCodec<T>, make: (value: T, depth: number) => Filter): ReadFilter {
  return (bytes, depth) => make(decodeMessage(codec, bytes), depth);
}

function optional(bytes: Uint8Array | undefined): Uint8Array | null {
  return bytes === undefined ? null : plain(bytes);
}

const FILTERS: Readonly<Record<string, ReadFilter>> = {
  RowFilter: comparing(filters.row),
  FamilyFilter: comparing(filters.family),
  QualifierFilter: comparing(filters.qualifier),
  ValueFilter: comparing(filters.value),
  PrefixFilter: reader(messages.PrefixFilter, ({ prefix }) => filters.prefix(plain(prefix))),
  ColumnPrefixFilter: reader(messages.PrefixFilter, ({ prefix }) => filters.columnPrefix(plain(prefix))),
  SingleColumnValueFilter: reader(messages.SingleColumnValueFilter, (message) =>
    singleColumn(message, filters.singleColumnValue),
  ),
  SingleColumnValueExcludeFilter: reader(messages.SingleColumnValueExcludeFilter, ({ filter }) =>
    singleColumn(filter, filters.singleColumnValueExclude),
  ),
  ColumnValueFilter: reader(messages.ColumnValueFilter, (message) => {
    const { operator, comparator } = compareOf(message);
    return filters.columnValue(text(message.family), plain(message.qualifier), operator, comparator);
  }),
  DependentColumnFilter: reader(messages.DependentColumnFilter, (message) => {
    const { compareFilter, dropDependentColumn = false } = message;
    const compared = compareFilter.comparator === undefined ? undefined : compareOf(compareFilter);
    return filters.dependentColumn(text(message.family), plain(message.qualifier), {
      dropDependentColumn,
      ...(compared === undefined ? {} : { operator: compared.operator, value: compared.comparator }),
    });
  }),
  ColumnRangeFilter: reader(messages.ColumnRangeFilter, (message) =>
    filters.columnRange(
      optional(message.minColumn),
      message.minInclusive ?? false,
      optional(message.maxColumn),
      message.maxInclusive ?? false,
    ),
  ),
  MultipleColumnPrefixFilter: reader(messages.MultipleColumnPrefixFilter, ({ prefixes = [] }) =>
    filters.multipleColumnPrefix(prefixes.map(plain)),
  ),
  ColumnPaginationFilter: reader(messages.ColumnPaginationFilter, ({ limit, offset, columnOffset }) =>
    filters.columnPagination(limit, columnOffset === undefined ? (offset ?? 0) : plain(columnOffset)),
  ),
  ColumnCountGetFilter: reader(messages.ColumnCountGetFilter, ({ limit }) => filters.columnCount(limit)),
  PageFilter: reader(messages.PageFilter, ({ pageSize }) => filters.page(pageSize)),
  KeyOnlyFilter: reader(messages.KeyOnlyFilter, ({ lengthAsValue }) => filters.keyOnly(lengthAsValue)),
  FirstKeyOnlyFilter: () => filters.firstKeyOnly(),
  // HBase's clients may send an empty stop row, after which every row is.
  InclusiveStopFilter: reader(messages.InclusiveStopFilter, ({ stopRow }) =>
    Object.freeze({ kind: 'inclusiveStop', stopRow: plain(stopRow) }),
  ),
  FuzzyRowFilter: reader(messages.FuzzyRowFilter, ({ pairs = [], isMaskV2 = false }) =>
    filters.fuzzyRow(
      pairs.map(({ first, second }) => ({ row: plain(first), mask: fuzzyMask(second, isMaskV2) })),
    ),
  ),
  MultiRowRangeFilter: reader(messages.MultiRowRangeFilter, ({ ranges = [] }) =>
    filters.multiRowRange(
      ranges.map((range) => ({
        startRow: plain(range.startRow),
        startInclusive: range.startInclusive ?? true,
        stopRow: plain(range.stopRow),
        stopInclusive: range.stopInclusive ?? false,
      })),
    ),
  ),
  TimestampsFilter: reader(messages.TimestampsFilter, ({ timestamps = [], canHint = false }) =>
    filters.timestamps(timestamps, canHint),
  ),
  RandomRowFilter: reader(messages.RandomRowFilter, ({ chance }) => filters.random(chance)),
  SkipFilter: reader(messages.WrappingFilter, ({ filter }, depth) => filters.skip(readFilter(filter, depth))),
  WhileMatchFilter: reader(messages.WrappingFilter, ({ filter }, depth) =>
    filters.while(readFilter(filter, depth)),
  ),
  FilterList: reader(messages.FilterListMessage, ({ operator, filters: parts = [] }, depth) => {
    const inner = parts.map((part) => readFilter(part, depth));
    return operator === 2 ? filters.any(...inner) : filters.all(...inner);
  }),
};

const FIXED = 0xff;

/**
 * The mask of a fuzzy row: 0 for a byte that must match, 1 for any byte. HBase's class sends its internal form: -1 for
 * bytes that must match, and for others 2, or 0 in the older form (`FuzzyRowFilter.preprocessMask`).
 */
function fuzzyMask(mask: Uint8Array, isMaskV2: boolean): Uint8Array {
  const any = isMaskV2 ? 2 : 0;
  const prepared = mask.every((byte) => byte === FIXED || byte === any);
  return prepared ? Uint8Array.from(mask, (byte) => (byte === FIXED ? 0 : 1)) : plain(mask);
}
