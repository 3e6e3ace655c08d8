// — get, scan, count, get_counter, get_splits.

import { equalBytes, toStringBinary } from '../../bytes/index.js';
import { type Filter, filters, Get, parseFilter, type Result, Scan } from '../../table/index.js';
import type { RowInterval, ShellCommand, ShellContext } from '../command.js';
import { Columns, type Converter, cellText, converterOf, plainConverter } from '../formatter.js';
import {
  bytesOf,
  CommandError,
  failedParse,
  integerOf,
  Options,
  textOf,
  textsOf,
  timeRangeOf,
} from '../options.js';
import { fromText, inspect, RubyHash, type RubyValue, rubyClass, toBinary, toS } from '../ruby/index.js';

/** The row of an argument: a string, or with `--entities` the parts of a key. */
export function rowOf(shell: ShellContext, table: string, row: RubyValue): Uint8Array {
  if (row instanceof RubyHash && shell.entities !== undefined) return shell.entities.rowOf(table, row);
  const bytes = bytesOf(row);
  if (bytes.length === 0) throw new CommandError('Row length is 0');
  return bytes;
}

const get: ShellCommand = {
  name: 'get',
  group: 'dml',
  minArguments: 2,
  maxArguments: Number.POSITIVE_INFINITY,
  summary: 'Prints a row, or some of its columns, versions and timestamps.',
  examples: [
    "get 't1', 'r1'",
    "get 't1', 'r1', 'f:q1', 'f:q2'",
    "get 't1', 'r1', {COLUMN => ['f:q1', 'f:q2'], TIMERANGE => [ts1, ts2], VERSIONS => 4}",
    `get 't1', 'r1', {FILTER => "ValueFilter(=, 'binary:abc')"}`,
    "get 't1', 'r1', {COLUMN => 'f:counter:toLong'}",
  ],
  async run(shell, [table, row, ...rest]) {
    const { formatter } = shell;
    formatter.header('COLUMN', 'CELL');
    const name = textOf(table!);
    const columns = new Columns();
    const first = rest[0];
    const whole =
      first instanceof RubyHash
        ? first.copy()
        : RubyHash.of(rest.length === 0 ? [] : [['COLUMNS', listOf(rest)]]);
    const options = new Options(whole);
    const query = new Get(rowOf(shell, name, row!));
    const print = printing(options);
    buildGet(query, options, columns);
    const result = await shell.table(name).get(query);
    for (const [column, text] of cellsOf(result, columns, print)) formatter.row(column, text);
    if (!result.isEmpty) describeEntity(shell, name, result);
    formatter.footer(result.isEmpty ? 0 : 1);
    return null;
  },
};

function listOf(values: readonly RubyValue[]): RubyValue {
  return values
    .flatMap((value) => (Array.isArray(value) ? value : [value]))
    .filter((value) => value !== null);
}

interface Printing {
  readonly converter: Converter;
  readonly maxLength: number | undefined;
}

function printing(options: Options): Printing {
  const print = { converter: formatterOf(options), maxLength: maxLengthOf(options) };
  for (const option of ['MAXLENGTH', 'FORMATTER', 'FORMATTER_CLASS']) options.take(option);
  return print;
}

function buildGet(get: Get, options: Options, columns: Columns): void {
  const filter = options.take('FILTER');
  const consistency = options.take('CONSISTENCY');
  options.take('REGION_REPLICA_ID');
  if (options.hash.size > 0) {
    const wanted = options.get('COLUMN') ?? options.get('COLUMNS');
    const dated = options.get('TIMESTAMP') !== null || options.get('TIMERANGE') !== null;
    if (wanted === null && !dated && !options.has('ATTRIBUTES') && !options.has('AUTHORIZATIONS')) {
      throw failedParse(options.hash);
    }
    for (const column of wanted === null ? [] : getColumns(wanted, options.hash)) {
      const { family, qualifier } = columns.parse(column);
      if (qualifier === undefined) get.addFamily(family);
      else get.addColumn(family, qualifier);
    }
    get.readVersions(options.integer('VERSIONS') ?? 1);
    const timestamp = options.integer('TIMESTAMP');
    if (timestamp !== undefined) get.setTimestamp(timestamp);
    if (options.get('TIMERANGE') !== null) get.setTimeRange(...timeRangeOf(options.get('TIMERANGE')));
  }
  if (filter !== null) get.setFilter(filterOf(filter));
  if (consistency !== null) get.setConsistency(consistencyOf(textOf(consistency)));
}

/** Yields columns and cells as they are printed. */
function* cellsOf(result: Result, columns: Columns, print: Printing): Generator<readonly [string, string]> {
  const { converter, maxLength } = print;
  for (const cell of result.cells) {
    const ofValue = columns.converterOf(cell.family, cell.qualifier, converter);
    const column = `${converter(Buffer.from(cell.family, 'utf8'))}:${converter(cell.qualifier)}`;
    yield [column, cellText(cell, ofValue, maxLength)];
  }
}

function describeEntity(shell: ShellContext, table: string, result: Result): void {
  const text = shell.entities?.describe(table, result);
  if (text !== undefined) shell.print(`   # ${text}`);
}

const scan: ShellCommand = {
  name: 'scan',
  group: 'dml',
  minArguments: 1,
  maxArguments: 2,
  summary: 'Prints the rows of a table, or of a range of it.',
  examples: [
    "scan 't1'",
    "scan 't1', {COLUMNS => ['f:q1', 'f2'], LIMIT => 10, STARTROW => 'xyz'}",
    "scan 't1', {TIMERANGE => [1303668804, 1303668904], REVERSED => true}",
    `scan 't1', {ROWPREFIXFILTER => 'row2', FILTER => "QualifierFilter(>=, 'binary:xyz') AND TimestampsFilter(123, 456)"}`,
    "scan 't1', {RAW => true, VERSIONS => 10}",
  ],
  async run(shell, [table, given = new RubyHash()]) {
    const { formatter } = shell;
    formatter.header('ROW', 'COLUMN+CELL');
    const name = textOf(table!);
    const columns = new Columns();
    const query = scanOf(given, columns);
    const print = printing(new Options((given as RubyHash).copy()));
    let rows = 0;
    for await (const result of rowsOf(shell, name, given, query)) {
      const row = print.converter(result.row);
      for (const [column, text] of cellsOf(result, columns, print))
        formatter.row(row, `column=${column}, ${text}`);
      describeEntity(shell, name, result);
      // With BATCH, each part of a row counts, as in HBase's shell.
      rows++;
    }
    formatter.footer(rows);
    return null;
  },
};

/** The rows of a scan, or of one scan for each range of KEY. */
async function* rowsOf(
  shell: ShellContext,
  table: string,
  given: RubyValue,
  scan: Scan,
): AsyncGenerator<Result> {
  const ranges = keyRanges(shell, table, given);
  if (ranges === undefined) {
    yield* shell.table(table).scan(scan);
    return;
  }
  let left = scan.limit ?? Number.POSITIVE_INFINITY;
  for (const { startRow, stopRow } of scan.reversed ? [...ranges].reverse() : ranges) {
    if (left <= 0) return;
    scan.setLimit(left === Number.POSITIVE_INFINITY ? undefined : left);
    if (scan.reversed) scan.withStartRow(stopRow, false).withStopRow(startRow, true);
    else scan.withStartRow(startRow).withStopRow(stopRow);
    for await (const result of shell.table(table).scan(scan)) {
      if (!result.partial) left--;
      yield result;
    }
  }
}

const count: ShellCommand = {
  name: 'count',
  group: 'dml',
  minArguments: 1,
  maxArguments: 2,
  summary: 'Counts the rows of a table; every INTERVAL rows (1000) it prints its progress.',
  examples: [
    "count 't1'",
    "count 't1', INTERVAL => 10, CACHE => 1000",
    `count 't1', FILTER => "PrefixFilter('a')"`,
  ],
  async run(shell, [table, given = new RubyHash()]) {
    const { formatter } = shell;
    const name = textOf(table!);
    const options = typeof given === 'bigint' ? RubyHash.of([['INTERVAL', given]]) : given;
    const query = scanOf(countOptions(options), new Columns());
    const interval = options instanceof RubyHash ? (options.get('INTERVAL') ?? 1000n) : 1000n;
    const every = integerOf(interval, 'INTERVAL');
    const first = filters.firstKeyOnly();
    query.setFilter(query.filter === undefined ? first : filters.all(query.filter, first));
    formatter.header();
    let rows = 0;
    for await (const { row } of rowsOf(shell, name, options, query)) {
      rows++;
      if (rows % every === 0) formatter.row(`Current count: ${rows}, row: ${toStringBinary(row)}`);
    }
    formatter.footer(rows);
    return BigInt(rows);
  },
};

function countOptions(options: RubyValue): RubyValue {
  if (!(options instanceof RubyHash)) return options;
  const blocks = options.get('CACHE_BLOCKS');
  if (typeof blocks === 'string' && !/^(true|false)$/i.test(blocks)) {
    throw new CommandError("Expected CACHE_BLOCKS value to be a boolean or the string 'true' or 'false'");
  }
  const copy = options.copy();
  copy.set('CACHE_BLOCKS', blocks === true || (typeof blocks === 'string' && /^true$/i.test(blocks)));
  return copy;
}

const getCounter: ShellCommand = {
  name: 'get_counter',
  group: 'dml',
  minArguments: 3,
  maxArguments: 3,
  summary: 'Prints the value of a counter.',
  examples: ["get_counter 't1', 'r1', 'f:c1'"],
  async run(shell, [table, row, column]) {
    const name = textOf(table!);
    const { family, qualifier } = new Columns().parse(toS(column!));
    const query = new Get(rowOf(shell, name, row!)).addColumn(family, qualifier ?? Buffer.alloc(0));
    const [cell] = (await shell.table(name).get(query)).cells;
    shell.print(
      cell === undefined
        ? 'No counter found at specified coordinates'
        : `COUNTER VALUE = ${counterOf(cell.value)}`,
    );
    return null;
  },
};

/** Decodes the eight bytes of a counter. */
export function counterOf(value: Uint8Array): bigint {
  if (value.length !== 8) {
    throw new CommandError(`Wrong length: ${value.length}, expected 8`);
  }
  return Buffer.from(value).readBigInt64BE();
}

const getSplits: ShellCommand = {
  name: 'get_splits',
  group: 'dml',
  minArguments: 1,
  maxArguments: 1,
  summary: 'Prints the start keys of the regions of a table.',
  examples: ["get_splits 't1'"],
  async run(shell, [table]) {
    const regions = await shell.admin.getRegions(textOf(table!));
    const splits = regions.map(({ startKey }) => toStringBinary(startKey)).filter((key) => key !== '');
    shell.print(`Total number of splits = ${splits.length + 1}`);
    for (const split of splits) shell.print(split);
    return splits.map(fromText);
  },
};

export const READS: readonly ShellCommand[] = [count, get, getCounter, scan, getSplits];

// — The options of `scan` and `count`.

/** Builds the scan for the options. Columns with converters are remembered in `columns`. */
function scanOf(value: RubyValue, columns: Columns): Scan {
  const options = Options.of(value, `undefined method \`any?' for ${inspect(value)}:${rubyClass(value)}`);
  const scan = new Scan();
  const reversed = options.flag('REVERSED');
  scan.setReversed(reversed);
  setRange(scan, options);
  for (const column of columnsOf(options)) {
    const { family, qualifier } = columns.parse(column);
    if (qualifier === undefined) scan.addFamily(family);
    else scan.addColumn(family, qualifier);
  }
  const filter = options.get('FILTER');
  if (filter !== null) scan.setFilter(filterOf(filter));
  const timestamp = options.integer('TIMESTAMP');
  if (timestamp !== undefined) scan.setTimestamp(timestamp);
  if (options.get('TIMERANGE') !== null) scan.setTimeRange(...timeRangeOf(options.get('TIMERANGE')));
  const versions = options.integer('VERSIONS') ?? 1;
  if (versions > 1) scan.readVersions(versions);
  scan.setRaw(options.flag('RAW'));
  if (scan.raw && [...scan.families.values()].some((asked) => asked !== null)) {
    throw new CommandError(
      'org.apache.hadoop.hbase.DoNotRetryIOException: Cannot specify any column for a raw scan',
    );
  }
  scan.setLimit(positive(options, 'LIMIT'));
  scan.setBatch(positive(options, 'BATCH'));
  scan.setCaching(positive(options, 'CACHE'));
  scan.setMaxResultSize(positive(options, 'MAX_RESULT_SIZE'));
  if (options.get('CACHE_BLOCKS') === false) scan.setCacheBlocks(false);
  const consistency = options.text('CONSISTENCY');
  if (consistency !== undefined) scan.setConsistency(consistencyOf(consistency));
  return scan;
}

/** The row ranges of the option KEY (key parts); undefined without it. */
function keyRanges(shell: ShellContext, table: string, value: RubyValue): readonly RowInterval[] | undefined {
  const key = value instanceof RubyHash ? value.get('KEY') : null;
  if (!(key instanceof RubyHash)) return undefined;
  if (shell.entities === undefined) throw new CommandError('KEY requires --entities.');
  return shell.entities.rangesOf(table, key);
}

function setRange(scan: Scan, options: Options): void {
  const prefix = options.get('ROWPREFIXFILTER');
  if (prefix !== null) {
    const { reversed } = scan;
    // For a reversed scan HBase's shell takes the bounds in forward order, and so finds nothing.
    scan.setReversed(false).setStartStopRowForPrefix(bytesOf(prefix)).setReversed(reversed);
    return;
  }
  const start = bytesOf(options.get('STARTROW') ?? '');
  scan.withStartRow(start);
  if (options.get('STOPROW') === null) return;
  const stop = bytesOf(options.get('STOPROW'));
  // If start and stop are equal it is a get, as in HBase.
  scan.withStopRow(stop, stop.length > 0 && equalBytes(start, stop));
}

function columnsOf(options: Options): string[] {
  const value = options.get('COLUMNS') ?? options.get('COLUMN') ?? [];
  if (typeof value === 'string' || Array.isArray(value)) return textsOf(value);
  throw new CommandError('COLUMNS must be specified as a String or an Array');
}

/** Undefined unless the number is positive, as in HBase. */
function positive(options: Options, name: string): number | undefined {
  const value = options.get(name);
  if (value === null || (typeof value === 'bigint' && value <= 0n)) return undefined;
  if (typeof value === 'string') throw new CommandError('comparison of String with 0 failed');
  return integerOf(value, name);
}

function consistencyOf(text: string): 'STRONG' | 'TIMELINE' {
  if (text === 'STRONG' || text === 'TIMELINE') return text;
  throw new CommandError(`No enum constant org.apache.hadoop.hbase.client.Consistency.${text}`);
}

/**
 * Parses a filter.
 * @throws CommandError for an invalid filter string.
 */
function filterOf(value: RubyValue): Filter {
  if (typeof value !== 'string') {
    throw new CommandError(`FILTER takes a string of the filter language, not ${inspect(value)}.`);
  }
  return parseFilter(toBinary(value));
}

/** The converter for all values: FORMATTER and FORMATTER_CLASS. */
function formatterOf(options: Options): Converter {
  const name = options.text('FORMATTER');
  return name === undefined ? plainConverter : converterOf(name, options.text('FORMATTER_CLASS'));
}

function maxLengthOf(options: Options): number | undefined {
  return options.integer('MAXLENGTH');
}

/** The columns of `get`: a string or an array. */
function getColumns(value: RubyValue, whole: RubyValue): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return textsOf(value);
  throw new CommandError(`Failed parse column argument type ${inspect(whole)}, ${rubyClass(whole)}`);
}
