import { toStringBinary } from '../bytes/index.js';
import type { RegionInfo } from '../table/index.js';
import type { ShellContext } from './command.js';
import { CommandError, textOf } from './options.js';
import { RubyHash, type RubyObject, type RubyValue } from './ruby/index.js';

/** Commands that can be called on a table: `t.put 'row', 'f:q', 'v'`. */
const METHODS = new Set(
  (
    'put get scan count delete deleteall get_counter incr append get_splits ' +
    'enable disable flush drop describe desc snapshot'
  ).split(' '),
);

/** The result of `create` and `get_table`. */
export class TableReference implements RubyObject {
  readonly rubyClass = 'Hbase::Table';

  constructor(
    readonly name: string,
    private readonly command: (name: string, args: RubyValue[]) => Promise<RubyValue>,
  ) {}

  inspect(): string {
    return `Hbase::Table - ${this.name}`;
  }

  async call(method: string, args: RubyValue[]): Promise<RubyValue | undefined> {
    if (METHODS.has(method)) return this.command(method, [this.name, ...args]);
    if (method === 'name' && args.length === 0) return this.name;
    if (method === 'to_s' || method === 'inspect') return this.inspect();
    if (method === 'close') return null;
    if (method === 'help') return this.command('help', args.length === 0 ? ['table_help'] : args);
    return undefined;
  }
}

// — The table of regions printed by `list_regions`.

const MEBIBYTE = 1 << 20;

const COLUMNS: Readonly<Record<string, readonly [width: number, text: (region: RegionInfo) => string]>> = {
  SERVER_NAME: [12, ({ server }) => server],
  REGION_NAME: [12, ({ name }) => name],
  START_KEY: [10, ({ startKey }) => toStringBinary(startKey).trim()],
  END_KEY: [10, ({ endKey }) => toStringBinary(endKey).trim()],
  SIZE: [5, ({ storeFileSize }) => String(Math.floor(storeFileSize / MEBIBYTE))],
  REQ: [5, ({ readRequests, writeRequests }) => String(readRequests + writeRequests)],
  // The share of a region's files on its server's disk, which neither engine reports.
  LOCALITY: [10, () => '0.0'],
};

const POSSIBLE = `Possible values are ${Object.keys(COLUMNS).join(', ')}.`;

interface RegionOptions {
  readonly accepts: (region: RegionInfo) => boolean;
  readonly print: (shell: ShellContext, regions: readonly RegionInfo[]) => void;
}

/**
 * Parses options and columns.
 * @throws CommandError for unknown ones.
 */
export function regionOptions(options: RubyValue, columns: RubyValue): RegionOptions {
  const hash =
    options instanceof RubyHash ? options : RubyHash.of(options === null ? [] : [['SERVER_NAME', options]]);
  const threshold = hash.get('LOCALITY_THRESHOLD');
  if (threshold !== null && typeof threshold !== 'number') {
    throw new CommandError('LOCALITY_THRESHOLD must be a float value');
  }
  if (threshold !== null && (threshold < 0 || threshold > 1)) {
    throw new CommandError('LOCALITY_THRESHOLD must be between 0 and 1.0, inclusive');
  }
  const wanted = hash.get('SERVER_NAME');
  const names = columnsOf(columns);
  return {
    accepts: ({ server }) => wanted === null || server.startsWith(textOf(wanted)),
    print: (shell, regions) => printTable(shell, names, regions),
  };
}

function columnsOf(columns: RubyValue): string[] {
  if (columns === null) return Object.keys(COLUMNS);
  if (!Array.isArray(columns))
    throw new CommandError(`${textOf(columns)} must be an array of strings. ${POSSIBLE}`);
  return columns.map((column) => {
    const name = textOf(column).toUpperCase();
    if (Object.hasOwn(COLUMNS, name)) return name;
    throw new CommandError(`${textOf(column)} is not a valid column. ${POSSIBLE}`);
  });
}

function printTable(shell: ShellContext, names: readonly string[], regions: readonly RegionInfo[]): void {
  const rows = regions.map((region) => names.map((name) => COLUMNS[name]![1](region)));
  const widths = names.map((name, index) =>
    Math.max(COLUMNS[name]![0], ...rows.map((row) => row[index]!.length)),
  );
  const line = (cells: readonly string[]): void => {
    shell.print(cells.map((cell, index) => ` ${cell.padStart(widths[index]!)} |`).join(''));
  };
  line(names);
  line(widths.map((width) => '-'.repeat(width)));
  for (const row of rows) line(row);
  shell.print(` ${rows.length} rows`);
}
