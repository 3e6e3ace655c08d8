/** disable, enable, drop, exists, list, and commands that show tables and their regions. */

import { toStringBinary } from '../../bytes/index.js';
import { FILTER_NAMES, type RegionInfo } from '../../table/index.js';
import { regionHolding, type ShellCommand, type ShellContext } from '../command.js';
import { bytesOf, CommandError, textOf } from '../options.js';
import { fromText, type RubyValue } from '../ruby/index.js';
import { regionOptions } from '../table-reference.js';
import { requireTable } from './tables.js';

const disable: ShellCommand = {
  name: 'disable',
  group: 'ddl',
  minArguments: 1,
  maxArguments: 1,
  summary: 'Takes a table out of service.',
  examples: ["disable 't1'"],
  async run(shell, [table]) {
    const name = textOf(table!);
    await requireTable(shell, name);
    if (await shell.admin.isTableEnabled(name)) await shell.admin.disableTable(name);
    return null;
  },
};

const enable: ShellCommand = {
  name: 'enable',
  group: 'ddl',
  minArguments: 1,
  maxArguments: 1,
  summary: 'Puts a disabled table back into service.',
  examples: ["enable 't1'"],
  async run(shell, [table]) {
    const name = textOf(table!);
    await requireTable(shell, name);
    if (!(await shell.admin.isTableEnabled(name))) await shell.admin.enableTable(name);
    return null;
  },
};

const drop: ShellCommand = {
  name: 'drop',
  group: 'ddl',
  minArguments: 1,
  maxArguments: 1,
  summary: 'Deletes a disabled table and its data.',
  examples: ["drop 't1'"],
  async run(shell, [table]) {
    const name = textOf(table!);
    await requireTable(shell, name);
    if (await shell.admin.isTableEnabled(name)) {
      throw new CommandError(`Table ${name} is enabled. Disable it first.`);
    }
    await shell.admin.deleteTable(name);
    return null;
  },
};

/** A command on every table whose whole name matches a pattern, after confirmation. */
function forAll(
  name: string,
  verb: string,
  done: string,
  change: (shell: ShellContext, table: string) => Promise<void>,
): ShellCommand {
  return {
    name: `${name}_all`,
    group: 'ddl',
    minArguments: 1,
    maxArguments: 1,
    summary: `${verb}s every table whose name matches a pattern, after confirmation.`,
    examples: [`${name}_all 't.*'`],
    async run(shell, [pattern]) {
      const tables = await matchingTables(shell, textOf(pattern!));
      for (const table of tables) shell.formatter.row(table);
      if (tables.length === 0) {
        shell.print(`No tables matched the regex ${textOf(pattern!)}`);
        return null;
      }
      if (!(await shell.confirmed(`${verb} the above ${tables.length} tables`))) return null;
      const failed: string[] = [];
      for (const table of tables) {
        try {
          await change(shell, table);
        } catch (error) {
          shell.print(`table:${table}, error:${(error as Error).message}`);
          failed.push(table);
        }
      }
      shell.print(`${tables.length - failed.length} tables successfully ${done}`);
      if (failed.length > 0) {
        shell.print(`${failed.length} tables not ${done} due to an exception: ${failed.join(',')}`);
      }
      return null;
    },
  };
}

/**
 * Parses a regular expression.
 * @throws CommandError for an invalid one.
 */
export function patternOf(text: string): RegExp {
  try {
    return new RegExp(`^(?:${text})$`, 'u');
  } catch {
    throw new CommandError(`Not a regular expression: ${text}`);
  }
}

async function matchingTables(shell: ShellContext, pattern: string): Promise<string[]> {
  const regex = patternOf(pattern);
  const tables = await shell.admin.listTables();
  return tables.map(({ name }) => name).filter((name) => regex.test(name));
}

function asking(name: string, wanted: boolean, summary: string): ShellCommand {
  return {
    name,
    group: 'ddl',
    minArguments: 1,
    maxArguments: 1,
    summary,
    examples: [`${name} 't1'`],
    async run(shell, [table]) {
      const answer = (await shell.admin.isTableEnabled(textOf(table!))) === wanted;
      shell.formatter.row(String(answer));
      return answer;
    },
  };
}

const exists: ShellCommand = {
  name: 'exists',
  group: 'ddl',
  minArguments: 1,
  maxArguments: 1,
  summary: 'Prints whether a table exists.',
  examples: ["exists 't1'"],
  async run(shell, [table]) {
    const name = textOf(table!);
    const answer = await shell.admin.tableExists(name);
    shell.formatter.row(`Table ${name} ${answer ? 'does exist' : 'does not exist'}`);
    return answer;
  },
};

const list: ShellCommand = {
  name: 'list',
  group: 'ddl',
  minArguments: 0,
  maxArguments: 1,
  summary: 'Prints the tables, or those whose name matches a pattern.',
  examples: ['list', "list 'ns:abc.*'"],
  async run(shell, [pattern = '.*']) {
    shell.formatter.header('TABLE');
    const tables = await matchingTables(shell, textOf(pattern));
    for (const table of tables) shell.formatter.row(table);
    shell.formatter.footer(tables.length);
    return tables.map(fromText);
  },
};

const showFilters: ShellCommand = {
  name: 'show_filters',
  group: 'ddl',
  minArguments: 0,
  maxArguments: 0,
  summary: 'Prints the filters that FILTER accepts.',
  examples: ['show_filters'],
  async run(shell) {
    for (const name of FILTER_NAMES) shell.formatter.row(name);
    return null;
  },
};

const getTable: ShellCommand = {
  name: 'get_table',
  group: 'ddl',
  minArguments: 1,
  maxArguments: Number.POSITIVE_INFINITY,
  summary: 'Returns a table object, on which commands can be called.',
  examples: ["t = get_table 't1'", "t.put 'r1', 'f:q', 'v'"],
  run: async (shell, [table]) => shell.reference(textOf(table!)),
};

const locateRegion: ShellCommand = {
  name: 'locate_region',
  group: 'ddl',
  minArguments: 2,
  maxArguments: 2,
  summary: 'Prints the region that holds a row, and its server.',
  examples: ["locate_region 't1', 'row'"],
  async run(shell, [table, row]) {
    const region = regionHolding(await shell.admin.getRegions(textOf(table!)), bytesOf(row!))!;
    shell.formatter.header('HOST', 'REGION');
    shell.formatter.row(hostOf(region), regionText(region));
    shell.formatter.footer(1);
    return null;
  },
};

/** `host:port` of a server's name `host,port,startcode`. */
function hostOf({ server }: RegionInfo): string {
  return server.split(',').slice(0, 2).join(':');
}

export const META_TABLE = 'hbase:meta';
/** The encoded name of meta's region: a fixed number in place of a digest. */
export const META_ENCODED_NAME = '1588230740';

function encodedNameOf({ table, name }: RegionInfo): string {
  if (table === META_TABLE) return META_ENCODED_NAME;
  return /\.([0-9a-f]{32})\.$/.exec(name)?.[1] ?? name.slice(name.lastIndexOf(',') + 1);
}

/** Formats a region like HBase's `RegionInfo.toString`. */
export function regionText(region: RegionInfo): string {
  const { name, startKey, endKey } = region;
  const ends = `STARTKEY => '${toStringBinary(startKey)}', ENDKEY => '${toStringBinary(endKey)}'`;
  return `{ENCODED => ${encodedNameOf(region)}, NAME => '${name}', ${ends}}`;
}

const listRegions: ShellCommand = {
  name: 'list_regions',
  group: 'ddl',
  minArguments: 1,
  maxArguments: 3,
  summary: 'Prints the regions of a table: server, name, ends, megabytes, requests.',
  examples: [
    "list_regions 't1'",
    "list_regions 't1', 'server1'",
    "list_regions 't1', {}, ['SERVER_NAME', 'START_KEY']",
  ],
  async run(shell, [table, options = null, columns = null]) {
    const name = textOf(table!);
    if (!(await shell.admin.isTableEnabled(name))) throw new CommandError(`Table ${name} must be enabled.`);
    const { print, accepts } = regionOptions(options, columns as RubyValue);
    print(shell, (await shell.admin.getRegions(name)).filter(accepts));
    return null;
  },
};

export const DDL: readonly ShellCommand[] = [
  disable,
  forAll('disable', 'Disable', 'disabled', (shell, table) => shell.admin.disableTable(table)),
  asking('is_disabled', false, 'Prints whether a table is disabled.'),
  drop,
  forAll('drop', 'Drop', 'dropped', (shell, table) => shell.admin.deleteTable(table)),
  enable,
  forAll('enable', 'Enable', 'enabled', (shell, table) => shell.admin.enableTable(table)),
  asking('is_enabled', true, 'Prints whether a table is enabled.'),
  exists,
  list,
  showFilters,
  getTable,
  locateRegion,
  listRegions,
];
