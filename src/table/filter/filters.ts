import { type BytesLike, compareBytes } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import {
  checkBytes,
  checkFamily,
  checkPositiveInteger,
  checkRow,
  checkTimestamp,
  describe,
} from '../checks.js';

// — How filters and checks compare (HBase `CompareOperator` and `filter/*Comparator`).

export type CompareOperator =
  | 'LESS'
  | 'LESS_OR_EQUAL'
  | 'EQUAL'
  | 'NOT_EQUAL'
  | 'GREATER_OR_EQUAL'
  | 'GREATER'
  | 'NO_OP';

/** The value or pattern that a cell's bytes are compared with. All but `binary`, `binaryPrefix` and `long` only support EQUAL and NOT_EQUAL. */
export type Comparator =
  | { readonly kind: 'binary'; readonly value: Uint8Array }
  | { readonly kind: 'binaryPrefix'; readonly value: Uint8Array }
  /** The bytes from `offset`, as many as `value` has (`BinaryComponentComparator`). */
  | { readonly kind: 'binaryComponent'; readonly value: Uint8Array; readonly offset: number }
  /** An 8-byte big-endian signed integer (`LongComparator`). */
  | { readonly kind: 'long'; readonly value: bigint }
  | { readonly kind: 'bit'; readonly value: Uint8Array; readonly operator: 'AND' | 'OR' | 'XOR' }
  /** Equal when the bytes are absent (`NullComparator`). */
  | { readonly kind: 'null' }
  /** Finds `pattern` anywhere in the bytes, read as UTF-8 (`RegexStringComparator`). */
  | { readonly kind: 'regex'; readonly pattern: string; readonly flags: string }
  /** Finds the text anywhere, ignoring case (`SubstringComparator`). */
  | { readonly kind: 'substring'; readonly value: string };

// — HBase's filters (`org.apache.hadoop.hbase.filter`) as frozen data; engines evaluate them or send them to servers.

interface Compare {
  readonly operator: CompareOperator;
  readonly comparator: Comparator;
}

interface ColumnCompare extends Compare {
  readonly family: string;
  readonly qualifier: Uint8Array;
}

/** A range of rows; a missing bound means no bound. */
export interface FilterRange {
  readonly startRow: Uint8Array;
  readonly startInclusive: boolean;
  readonly stopRow: Uint8Array;
  readonly stopInclusive: boolean;
}

export type Filter =
  | ({ readonly kind: 'row' } & Compare)
  | ({ readonly kind: 'family' } & Compare)
  | ({ readonly kind: 'qualifier' } & Compare)
  | ({ readonly kind: 'value' } & Compare)
  | { readonly kind: 'prefix'; readonly prefix: Uint8Array }
  | ({
      readonly kind: 'singleColumnValue';
      readonly filterIfMissing: boolean;
      readonly latestVersionOnly: boolean;
    } & ColumnCompare)
  | ({
      readonly kind: 'singleColumnValueExclude';
      readonly filterIfMissing: boolean;
      readonly latestVersionOnly: boolean;
    } & ColumnCompare)
  /** Passes the cells of one column that match; drops other columns (`ColumnValueFilter`). */
  | ({ readonly kind: 'columnValue' } & ColumnCompare)
  | {
      readonly kind: 'dependentColumn';
      readonly family: string;
      readonly qualifier: Uint8Array;
      readonly dropDependentColumn: boolean;
      /** With a comparison only those cells of the reference column that match it count. */
      readonly compare: Compare | null;
    }
  /** Null means no bound. */
  | {
      readonly kind: 'columnRange';
      readonly minColumn: Uint8Array | null;
      readonly minInclusive: boolean;
      readonly maxColumn: Uint8Array | null;
      readonly maxInclusive: boolean;
    }
  | { readonly kind: 'columnPrefix'; readonly prefix: Uint8Array }
  | { readonly kind: 'multipleColumnPrefix'; readonly prefixes: readonly Uint8Array[] }
  /** If not null, `columnOffset` is the first column, instead of `offset`. */
  | {
      readonly kind: 'columnPagination';
      readonly limit: number;
      readonly offset: number;
      readonly columnOffset: Uint8Array | null;
    }
  | { readonly kind: 'columnCount'; readonly limit: number }
  | { readonly kind: 'page'; readonly pageSize: number }
  | { readonly kind: 'keyOnly'; readonly lengthAsValue: boolean }
  | { readonly kind: 'firstKeyOnly' }
  | { readonly kind: 'inclusiveStop'; readonly stopRow: Uint8Array }
  /** In a mask 0 is a byte that must be equal and 1 one that may be any. */
  | {
      readonly kind: 'fuzzyRow';
      readonly pairs: readonly { readonly row: Uint8Array; readonly mask: Uint8Array }[];
    }
  | { readonly kind: 'multiRowRange'; readonly ranges: readonly FilterRange[] }
  | { readonly kind: 'timestamps'; readonly timestamps: readonly number[]; readonly canHint: boolean }
  /** Passes each row with this probability, 0..1. */
  | { readonly kind: 'random'; readonly chance: number }
  /** Ends the scan at the first cell or row that the inner filter drops. */
  | { readonly kind: 'while'; readonly filter: Filter }
  /** Drops the whole row when the inner filter drops a cell of it. */
  | { readonly kind: 'skip'; readonly filter: Filter }
  | {
      readonly kind: 'list';
      readonly operator: 'MUST_PASS_ALL' | 'MUST_PASS_ONE';
      readonly filters: readonly Filter[];
    };

/** The filter's discriminant. */
export type FilterKind = Filter['kind'];

// — Factories of filters and comparators: checked, frozen, with HBase's defaults.

/** Comparators by HBase's names. */
export const comparators = Object.freeze({
  binary: (value: BytesLike): Comparator =>
    Object.freeze({ kind: 'binary', value: checkBytes(value, 'value') }),
  binaryPrefix: (value: BytesLike): Comparator =>
    Object.freeze({ kind: 'binaryPrefix', value: checkBytes(value, 'value') }),
  binaryComponent: (value: BytesLike, offset: number): Comparator =>
    Object.freeze({
      kind: 'binaryComponent',
      value: checkBytes(value, 'value'),
      offset: checkCount(offset, 'offset'),
    }),
  long: (value: bigint): Comparator =>
    Object.freeze({ kind: 'long', value: BigInt.asIntN(64, checkBigint(value)) }),
  bit: (value: BytesLike, operator: 'AND' | 'OR' | 'XOR'): Comparator =>
    Object.freeze({ kind: 'bit', value: checkBytes(value, 'value'), operator }),
  null: (): Comparator => Object.freeze({ kind: 'null' }),
  /** `flags` are JavaScript's `i`, `m` and `s`; the pattern must mean the same in Java and JavaScript. */
  regex: (pattern: string, flags = ''): Comparator => {
    checkText(pattern, 'pattern');
    if (/[^ims]/.test(checkText(flags, 'text of flags')))
      throw new InvalidArgumentError(`Regex flags are i, m and s, not "${flags}".`);
    try {
      new RegExp(pattern, flags);
    } catch (cause) {
      throw new InvalidArgumentError(`Not a regular expression: ${pattern}`, { cause });
    }
    return Object.freeze({ kind: 'regex', pattern, flags });
  },
  substring: (value: string): Comparator =>
    Object.freeze({ kind: 'substring', value: checkText(value, 'part of a text').toLowerCase() }),
});

function checkText(given: string, what: string): string {
  if (typeof given === 'string') return given;
  throw new InvalidArgumentError(`A ${what} is a string, not ${describe(given)}.`);
}

function checkBigint(given: bigint): bigint {
  if (typeof given === 'bigint') return given;
  throw new InvalidArgumentError(`A long is compared with a bigint, not ${describe(given)}.`);
}

/** An array without missing items. */
function checkList<T>(given: readonly T[], what: string): readonly T[] {
  if (Array.isArray(given) && given.every((item) => item !== undefined && item !== null))
    return given as readonly T[];
  throw new InvalidArgumentError(`The ${what} of a filter are a list, not ${describe(given)}.`);
}

/** @throws InvalidArgumentError unless it is a filter. */
export function checkFilter(given: Filter): Filter {
  if (typeof given === 'object' && given !== null && typeof given.kind === 'string') return given;
  throw new InvalidArgumentError(`A filter is created by filters.…(); this is ${describe(given)}.`);
}

function checkCount(value: number, what: string): number {
  return value === 0 ? 0 : checkPositiveInteger(value, `The ${what} of a filter`);
}

function comparator(value: BytesLike | Comparator): Comparator {
  return typeof value === 'string' || value instanceof Uint8Array ? comparators.binary(value) : value;
}

/** Filters by HBase's names. A byte string instead of a comparator is compared as `binary`. */
export const filters = Object.freeze({
  row: (operator: CompareOperator, value: BytesLike | Comparator): Filter =>
    Object.freeze({ kind: 'row', operator, comparator: comparator(value) }),
  family: (operator: CompareOperator, value: BytesLike | Comparator): Filter =>
    Object.freeze({ kind: 'family', operator, comparator: comparator(value) }),
  qualifier: (operator: CompareOperator, value: BytesLike | Comparator): Filter =>
    Object.freeze({ kind: 'qualifier', operator, comparator: comparator(value) }),
  value: (operator: CompareOperator, value: BytesLike | Comparator): Filter =>
    Object.freeze({ kind: 'value', operator, comparator: comparator(value) }),
  prefix: (prefix: BytesLike): Filter =>
    Object.freeze({ kind: 'prefix', prefix: checkBytes(prefix, 'prefix') }),
  singleColumnValue: (
    family: string,
    qualifier: BytesLike,
    operator: CompareOperator,
    value: BytesLike | Comparator,
    options: { readonly filterIfMissing?: boolean; readonly latestVersionOnly?: boolean } = {},
  ): Filter =>
    Object.freeze({ kind: 'singleColumnValue', ...single(family, qualifier, operator, value, options) }),
  singleColumnValueExclude: (
    family: string,
    qualifier: BytesLike,
    operator: CompareOperator,
    value: BytesLike | Comparator,
    options: { readonly filterIfMissing?: boolean; readonly latestVersionOnly?: boolean } = {},
  ): Filter =>
    Object.freeze({
      kind: 'singleColumnValueExclude',
      ...single(family, qualifier, operator, value, options),
    }),
  columnValue: (
    family: string,
    qualifier: BytesLike,
    operator: CompareOperator,
    value: BytesLike | Comparator,
  ): Filter =>
    Object.freeze({
      kind: 'columnValue',
      family: checkFamily(family),
      qualifier: checkBytes(qualifier, 'qualifier'),
      operator,
      comparator: comparator(value),
    }),
  dependentColumn: (
    family: string,
    qualifier: BytesLike,
    options: {
      readonly dropDependentColumn?: boolean;
      readonly operator?: CompareOperator;
      readonly value?: BytesLike | Comparator;
    } = {},
  ): Filter =>
    Object.freeze({
      kind: 'dependentColumn',
      family: checkFamily(family),
      qualifier: checkBytes(qualifier, 'qualifier'),
      dropDependentColumn: options.dropDependentColumn ?? false,
      compare:
        options.value === undefined
          ? null
          : Object.freeze({ operator: options.operator ?? 'EQUAL', comparator: comparator(options.value) }),
    }),
  columnRange: (
    minColumn: BytesLike | null,
    minInclusive: boolean,
    maxColumn: BytesLike | null,
    maxInclusive: boolean,
  ): Filter =>
    Object.freeze({
      kind: 'columnRange',
      minColumn: minColumn === null ? null : checkBytes(minColumn, 'column'),
      minInclusive,
      maxColumn: maxColumn === null ? null : checkBytes(maxColumn, 'column'),
      maxInclusive,
    }),
  columnPrefix: (prefix: BytesLike): Filter =>
    Object.freeze({ kind: 'columnPrefix', prefix: checkBytes(prefix, 'prefix') }),
  multipleColumnPrefix: (prefixes: readonly BytesLike[]): Filter =>
    Object.freeze({
      kind: 'multipleColumnPrefix',
      prefixes: Object.freeze(
        checkList(prefixes, 'prefixes')
          .map((prefix) => checkBytes(prefix, 'prefix'))
          .sort(compareBytes),
      ),
    }),
  columnPagination: (limit: number, offset: number | BytesLike): Filter =>
    Object.freeze({
      kind: 'columnPagination',
      limit: checkCount(limit, 'limit'),
      offset: typeof offset === 'number' ? checkCount(offset, 'offset') : 0,
      columnOffset: typeof offset === 'number' ? null : checkBytes(offset, 'column'),
    }),
  columnCount: (limit: number): Filter =>
    Object.freeze({ kind: 'columnCount', limit: checkCount(limit, 'limit') }),
  page: (pageSize: number): Filter =>
    Object.freeze({ kind: 'page', pageSize: checkCount(pageSize, 'page size') }),
  keyOnly: (lengthAsValue = false): Filter => Object.freeze({ kind: 'keyOnly', lengthAsValue }),
  firstKeyOnly: (): Filter => Object.freeze({ kind: 'firstKeyOnly' }),
  inclusiveStop: (stopRow: BytesLike): Filter =>
    Object.freeze({ kind: 'inclusiveStop', stopRow: checkRow(stopRow) }),
  fuzzyRow: (pairs: readonly { readonly row: BytesLike; readonly mask: Uint8Array }[]): Filter =>
    Object.freeze({
      kind: 'fuzzyRow',
      pairs: Object.freeze(
        checkList(pairs, 'pairs').map((pair) => {
          const row = checkBytes(pair.row, 'fuzzy row');
          if (
            !(pair.mask instanceof Uint8Array) ||
            row.length !== pair.mask.length ||
            pair.mask.some((byte) => byte > 1)
          ) {
            throw new InvalidArgumentError(
              'A fuzzy mask has a byte 0 (equal) or 1 (any) for each byte of its row.',
            );
          }
          return Object.freeze({ row, mask: pair.mask });
        }),
      ),
    }),
  multiRowRange: (ranges: readonly FilterRange[]): Filter =>
    Object.freeze({ kind: 'multiRowRange', ranges: Object.freeze([...checkList(ranges, 'ranges')]) }),
  timestamps: (timestamps: readonly number[], canHint = false): Filter =>
    Object.freeze({
      kind: 'timestamps',
      timestamps: Object.freeze(
        [...checkList(timestamps, 'timestamps')].map(checkTimestamp).sort((a, b) => a - b),
      ),
      canHint,
    }),
  random: (chance: number): Filter => Object.freeze({ kind: 'random', chance }),
  while: (filter: Filter): Filter => Object.freeze({ kind: 'while', filter: checkFilter(filter) }),
  skip: (filter: Filter): Filter => Object.freeze({ kind: 'skip', filter: checkFilter(filter) }),
  all: (...parts: readonly Filter[]): Filter =>
    Object.freeze({
      kind: 'list',
      operator: 'MUST_PASS_ALL',
      filters: Object.freeze(parts.map(checkFilter)),
    }),
  any: (...parts: readonly Filter[]): Filter =>
    Object.freeze({
      kind: 'list',
      operator: 'MUST_PASS_ONE',
      filters: Object.freeze(parts.map(checkFilter)),
    }),
});

function single(
  family: string,
  qualifier: BytesLike,
  operator: CompareOperator,
  value: BytesLike | Comparator,
  options: { readonly filterIfMissing?: boolean; readonly latestVersionOnly?: boolean },
): {
  family: string;
  qualifier: Uint8Array;
  operator: CompareOperator;
  comparator: Comparator;
  filterIfMissing: boolean;
  latestVersionOnly: boolean;
} {
  return {
    family: checkFamily(family),
    qualifier: checkBytes(qualifier, 'qualifier'),
    operator,
    comparator: comparator(value),
    filterIfMissing: options.filterIfMissing ?? false,
    latestVersionOnly: options.latestVersionOnly ?? true,
  };
}
