import { InvalidArgumentError } from '../../errors.js';
import { type Comparator, type CompareOperator, comparators, type Filter, filters } from './filters.js';

// — The filters of the filter language, and their arguments.

interface FilterArgument {
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

/** The number of arguments of each filter, and its factory. In the order in which HBase lists them. */
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

/** The names of the filter language (`show_filters`). */
export const FILTER_NAMES: readonly string[] = Object.freeze(Object.keys(FILTERS));

/**
 * @param source the text of this filter, for messages.
 * @throws InvalidArgumentError for an unknown name, and for invalid arguments.
 */
function filterByName(name: string, args: readonly FilterArgument[], source: string): Filter {
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

  /** A bound of a range of columns; empty means none. */
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
    // HBase sets DOTALL, so that `.` also matches line ends.
    if (type === 'regexstring') return comparators.regex(textOf(value), 's');
    if (type === 'regexstringnocase') return comparators.regex(textOf(value), 'si');
    if (type === 'substring') return comparators.substring(textOf(value));
    throw this.wrong('Incorrect comparatorType');
  }

  /** The common arguments of the filters on one column's value. */
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
function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
}

// — The filter language of the HBase shell, Thrift and REST (`filter/ParseFilter`).

const SPACE = 0x20;
const QUOTE = 0x27;
const COMMA = 0x2c;
const OPEN = 0x28;
const CLOSE = 0x29;

/** The greatest nesting: more than anyone writes, and less than the stack allows. */
const MAX_DEPTH = 500;

/**
 * Parses a filter: `PrefixFilter('a') AND (PageFilter(10) OR SKIP ValueFilter(=, 'binary:x'))`. `SKIP` and `WHILE` bind tighter than
 * `AND`, which binds tighter than `OR`. A quote in a quoted argument is doubled.
 * @param text the text, or its bytes if arguments are not UTF-8.
 * @throws InvalidArgumentError naming the position of the fault, with HBase's message where it has one.
 */
export function parseFilter(text: string | Uint8Array): Filter {
  return new FilterReader(typeof text === 'string' ? Buffer.from(text, 'utf8') : text).filter();
}

class FilterReader {
  private at = 0;
  private depth = 0;

  constructor(private readonly bytes: Uint8Array) {}

  filter(): Filter {
    const filter = this.any();
    this.blank();
    if (this.at < this.bytes.length) throw this.behindTheEnd();
    return filter;
  }

  private any(): Filter {
    const parts = [this.all()];
    while (this.takeWord('OR')) {
      this.checkOperand('OR');
      parts.push(this.all());
    }
    return parts.length === 1 ? parts[0]! : filters.any(...parts);
  }

  private all(): Filter {
    const parts = [this.one()];
    while (this.takeWord('AND')) {
      this.checkOperand('AND');
      parts.push(this.one());
    }
    return parts.length === 1 ? parts[0]! : filters.all(...parts);
  }

  private one(): Filter {
    if (++this.depth > MAX_DEPTH) throw this.incorrect(`It is nested more than ${MAX_DEPTH} deep.`);
    try {
      if (this.takeWord('SKIP')) return filters.skip(this.one());
      if (this.takeWord('WHILE')) return filters.while(this.one());
      if (!this.takeByte(OPEN)) return this.simple();
      const inner = this.any();
      // HBase accepts a text that ends before its parentheses are closed.
      if (!this.takeByte(CLOSE) && this.at < this.bytes.length) throw this.incorrect();
      return inner;
    } finally {
      this.depth--;
    }
  }

  private simple(): Filter {
    this.blank();
    const start = this.at;
    while (isNameByte(this.bytes[this.at])) this.at++;
    const name = textOf(this.bytes.subarray(start, this.at));
    if (name === 'AND' || name === 'OR') filterByName(name, [], name);
    if (name === '' || !this.takeByte(OPEN)) throw this.incorrect();
    const args: FilterArgument[] = [];
    while (!this.takeByte(CLOSE)) {
      if (args.length > 0 && !this.takeByte(COMMA)) throw this.incorrect();
      args.push(this.argument());
    }
    const source = textOf(this.bytes.subarray(start, this.at));
    return filterByName(name, args, source);
  }

  private argument(): FilterArgument {
    this.blank();
    const start = this.at;
    if (this.bytes[start] === QUOTE) return this.quoted();
    while (this.at < this.bytes.length && !isEnd(this.bytes[this.at]!)) this.at++;
    if (this.at === start) throw this.incorrect();
    return { bytes: this.bytes.subarray(start, this.at), quoted: false };
  }

  private quoted(): FilterArgument {
    const value: number[] = [];
    for (this.at++; ; this.at++) {
      const byte = this.bytes[this.at];
      if (byte === undefined) throw this.incorrect('A quote is not closed.');
      if (byte === QUOTE) {
        if (this.bytes[this.at + 1] !== QUOTE) break;
        this.at++;
      }
      value.push(byte);
    }
    this.at++;
    return { bytes: Uint8Array.from(value), quoted: true };
  }

  private takeByte(byte: number): boolean {
    this.blank();
    if (this.bytes[this.at] !== byte) return false;
    this.at++;
    return true;
  }

  private takeWord(word: string): boolean {
    this.blank();
    const end = this.at + word.length;
    if (textOf(this.bytes.subarray(this.at, end)) !== word || isNameByte(this.bytes[end])) return false;
    this.at = end;
    return true;
  }

  private blank(): void {
    for (
      let byte = this.bytes[this.at];
      byte === SPACE || (byte! >= 9 && byte! <= 13);
      byte = this.bytes[this.at]
    ) {
      this.at++;
    }
  }

  /** Checks that another operand follows an operator. */
  private checkOperand(operator: 'AND' | 'OR'): void {
    const { at } = this;
    const isOperator = this.takeWord('AND') || this.takeWord('OR');
    this.at = at;
    if (isOperator) throw this.incorrect('', `Incorrect input string - an ${operator} needs two filters`);
  }

  /** The error for text after the end of a filter. */
  private behindTheEnd(): InvalidArgumentError {
    if (this.bytes[this.at] === CLOSE) return this.incorrect('', 'Mismatched parenthesis');
    const start = this.at;
    while (isNameByte(this.bytes[this.at])) this.at++;
    const name = textOf(this.bytes.subarray(start, this.at));
    this.blank();
    if (name !== '' && this.bytes[this.at] !== OPEN) filterByName(name, [], name);
    return this.incorrect();
  }

  private incorrect(why = '', message = 'Incorrect Filter String'): InvalidArgumentError {
    return new InvalidArgumentError(message, {
      details: { filter: textOf(this.bytes), offset: this.at, ...(why === '' ? {} : { why }) },
    });
  }
}

function isNameByte(byte: number | undefined): boolean {
  return byte !== undefined && /[A-Za-z0-9_]/.test(String.fromCharCode(byte));
}

function isEnd(byte: number): boolean {
  return byte === COMMA || byte === CLOSE || byte === OPEN || byte === SPACE || byte === QUOTE;
}
