/** The options of `scan` and `count`. */

import { equalBytes } from '../bytes/index.js';
import { type Filter, parseFilter, Scan } from '../table/index.js';
import type { RowInterval, ShellContext } from './command.js';
import { type Columns, type Converter, converterOf, plainConverter } from './formatter.js';
import { bytesOf, CommandError, integerOf, Options, textsOf, timeRangeOf } from './options.js';
import { inspect, RubyHash, type RubyValue, rubyClass, toBinary } from './ruby/index.js';

/** Builds the scan for the options. Columns with converters are remembered in `columns`. */
export function scanOf(value: RubyValue, columns: Columns): Scan {
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
export function keyRanges(
  shell: ShellContext,
  table: string,
  value: RubyValue,
): readonly RowInterval[] | undefined {
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

export function consistencyOf(text: string): 'STRONG' | 'TIMELINE' {
  if (text === 'STRONG' || text === 'TIMELINE') return text;
  throw new CommandError(`No enum constant org.apache.hadoop.hbase.client.Consistency.${text}`);
}

/**
 * Parses a filter.
 * @throws CommandError for an invalid filter string.
 */
export function filterOf(value: RubyValue): Filter {
  if (typeof value !== 'string') {
    throw new CommandError(`FILTER takes a string of the filter language, not ${inspect(value)}.`);
  }
  return parseFilter(toBinary(value));
}

/** The converter for all values: FORMATTER and FORMATTER_CLASS. */
export function formatterOf(options: Options): Converter {
  const name = options.text('FORMATTER');
  return name === undefined ? plainConverter : converterOf(name, options.text('FORMATTER_CLASS'));
}

export function maxLengthOf(options: Options): number | undefined {
  return options.integer('MAXLENGTH');
}

/** The columns of `get`: a string or an array. */
export function getColumns(value: RubyValue, whole: RubyValue): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return textsOf(value);
  throw new CommandError(`Failed parse column argument type ${inspect(whole)}, ${rubyClass(whole)}`);
}
