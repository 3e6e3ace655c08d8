/** The filters that the filter language names, and their arguments. */

import { InvalidArgumentError } from '../../errors.js';
import type { Comparator, CompareOperator } from './comparator.js';
import type { Filter } from './filter.js';
import { comparators, filters } from './filters.js';

export interface FilterArgument {
  readonly bytes: Uint8Array;
  readonly quoted: boolean;
}

const OPERATORS: Readonly<Record<string, CompareOperator>> = {
  '<': 'LESS',
  '<=': 'LESS_OR_EQUAL',
  '=': 'EQUAL',
  '!=': 'NOT_EQUAL',
  '>': 'GREATER',
  '>=': 'GREATER_OR_EQUAL',
};

type Make = (args: Arguments) => Filter;

/** How many arguments each takes, and what it makes of them. In the order in which HBase lists them. */
const FILTERS: Readonly<Record<string, readonly [counts: readonly number[], make: Make]>> = {
  DependentColumnFilter: [
    [2, 3, 5],
    (args) =>
      filters.dependentColumn(args.text(0), args.bytes(1), {
        ...(args.count > 2 ? { dropDependentColumn: args.boolean(2) } : {}),
        ...(args.count > 3 ? { operator: args.operator(3), value: args.comparator(4, 3) } : {}),
      }),
  ],
  KeyOnlyFilter: [[0, 1], (args) => filters.keyOnly(args.count > 0 && args.boolean(0))],
  ColumnCountGetFilter: [[1], (args) => filters.columnCount(args.integer(0))],
  SingleColumnValueFilter: [[4, 6], (args) => filters.singleColumnValue(...args.column())],
  PrefixFilter: [[1], (args) => filters.prefix(args.bytes(0))],
  SingleColumnValueExcludeFilter: [[4, 6], (args) => filters.singleColumnValueExclude(...args.column())],
  FirstKeyOnlyFilter: [[0], () => filters.firstKeyOnly()],
  ColumnRangeFilter: [
    [4],
    (args) => filters.columnRange(args.bound(0), args.boolean(1), args.bound(2), args.boolean(3)),
  ],
  ColumnValueFilter: [
    [4],
    (args) => filters.columnValue(args.text(0), args.bytes(1), args.operator(2), args.comparator(3, 2)),
  ],
  TimestampsFilter: [[], (args) => filters.timestamps(args.integers())],
  FamilyFilter: [[2], (args) => filters.family(args.operator(0), args.comparator(1, 0))],
  QualifierFilter: [[2], (args) => filters.qualifier(args.operator(0), args.comparator(1, 0))],
  ColumnPrefixFilter: [[1], (args) => filters.columnPrefix(args.bytes(0))],
  RowFilter: [[2], (args) => filters.row(args.operator(0), args.comparator(1, 0))],
  MultipleColumnPrefixFilter: [[], (args) => filters.multipleColumnPrefix(args.allBytes())],
  InclusiveStopFilter: [[1], (args) => filters.inclusiveStop(args.bytes(0))],
  PageFilter: [[1], (args) => filters.page(args.integer(0))],
  ValueFilter: [[2], (args) => filters.value(args.operator(0), args.comparator(1, 0))],
  ColumnPaginationFilter: [[2], (args) => filters.columnPagination(args.integer(0), args.integer(1))],
};

/** The names that the filter language knows (`show_filters`). */
export const FILTER_NAMES: readonly string[] = Object.freeze(Object.keys(FILTERS));

/**
 * @param source the text of this filter, for messages.
 * @throws InvalidArgumentError for a name that is not known and arguments that do not fit it.
 */
export function filterByName(name: string, args: readonly FilterArgument[], source: string): Filter {
  const known = Object.hasOwn(FILTERS, name) ? FILTERS[name] : undefined;
  if (known === undefined) throw new InvalidArgumentError(`Filter Name ${name} not supported`);
  const [counts, make] = known;
  const given = new Arguments(args, source);
  if (counts.length > 0 && !counts.includes(args.length)) {
    throw given.wrong(`Expected ${counts.join(' or ')} but got: ${args.length}`);
  }
  try {
    return make(given);
  } catch (error) {
    if (error instanceof InvalidArgumentError && error.details?.['filter'] === undefined)
      throw given.wrong(error.message);
    throw error;
  }
}

class Arguments {
  constructor(
    private readonly args: readonly FilterArgument[],
    private readonly source: string,
  ) {}

  get count(): number {
    return this.args.length;
  }

  bytes(index: number): Uint8Array {
    return this.args[index]!.bytes;
  }

  allBytes(): Uint8Array[] {
    return this.args.map(({ bytes }) => bytes);
  }

  text(index: number): string {
    return textOf(this.bytes(index));
  }

  /** An end of a range of columns; empty is open. */
  bound(index: number): Uint8Array | null {
    const bytes = this.bytes(index);
    return bytes.length === 0 ? null : bytes;
  }

  boolean(index: number): boolean {
    const word = this.text(index).toLowerCase();
    if (word === 'true' || word === 'false') return word === 'true';
    throw this.wrong('Incorrect Boolean Expression');
  }

  integer(index: number): number {
    const text = this.text(index);
    const value = Number(text);
    if (/^-?\d+$/.test(text) && Number.isSafeInteger(value)) return value;
    throw this.wrong('Byte Array should only contain digits');
  }

  integers(): number[] {
    return this.args.map((_, index) => this.integer(index));
  }

  operator(index: number): CompareOperator {
    const operator = OPERATORS[this.text(index)];
    if (operator === undefined || this.args[index]!.quoted) throw this.wrong('Invalid compare operator');
    return operator;
  }

  /** `'type:value'`. */
  comparator(index: number, operatorIndex: number): Comparator {
    const bytes = this.bytes(index);
    const colon = bytes.indexOf(0x3a);
    if (colon < 0) throw this.wrong('Incorrect comparator');
    const value = bytes.subarray(colon + 1);
    const type = textOf(bytes.subarray(0, colon));
    if (type === 'binary') return comparators.binary(value);
    if (type === 'binaryprefix') return comparators.binaryPrefix(value);
    if (
      !['EQUAL', 'NOT_EQUAL'].includes(this.operator(operatorIndex)) &&
      /^(regexstring|substring)/.test(type)
    ) {
      throw this.wrong(
        'A regexstring comparator and substring comparator can only be used with EQUAL and NOT_EQUAL',
      );
    }
    // Java's patterns match a line end with . only when told so; HBase tells it (DOTALL).
    if (type === 'regexstring') return comparators.regex(textOf(value), 's');
    if (type === 'regexstringnocase') return comparators.regex(textOf(value), 'si');
    if (type === 'substring') return comparators.substring(textOf(value));
    throw this.wrong('Incorrect comparatorType');
  }

  /** What the filters of one column's value have in common. */
  column(): Parameters<typeof filters.singleColumnValue> {
    const options =
      this.count > 4 ? { filterIfMissing: this.boolean(4), latestVersionOnly: this.boolean(5) } : {};
    return [this.text(0), this.bytes(1), this.operator(2), this.comparator(3, 2), options];
  }

  wrong(why: string): InvalidArgumentError {
    return new InvalidArgumentError(`Incorrect filter string ${this.source}`, {
      details: { filter: this.source, why },
    });
  }
}

/** Bytes of a filter's text as UTF-8. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
}
