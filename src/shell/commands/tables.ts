/** create, alter, describe, and other commands on whole tables. */

import { existsSync, readFileSync } from 'node:fs';
import {
  type FamilyDescriptor,
  familyDescriptor,
  parseTableName,
  type SplitAlgorithm,
  splitKeys,
  type TableDescriptor,
  tableDescriptor,
} from '../../table/index.js';
import type { ShellCommand, ShellContext } from '../command.js';
import { familyText, tableAttributesText } from '../describe.js';
import {
  familyOf,
  setTableOptions,
  type TableDraft,
  unsetAttribute,
  unsetConfiguration,
} from '../family-options.js';
import { bytesOfBinary } from '../formatter.js';
import { CommandError, Options, requireText, textOf, textsOf } from '../options.js';
import { inspect, RubyHash, type RubyValue, rubyClass, toText } from '../ruby/index.js';

/** An unknown option is not an error, as in HBase, but is reported. */
const create: ShellCommand = {
  name: 'create',
  group: 'ddl',
  minArguments: 1,
  maxArguments: Number.POSITIVE_INFINITY,
  summary: 'Creates a table with column families and options, split into regions if requested.',
  examples: [
    "create 'ns1:t1', {NAME => 'f1', VERSIONS => 5}, {NAME => 'f2', TTL => 2592000}",
    "create 't1', 'f1', 'f2'",
    "create 't1', 'f1', SPLITS => ['10', '20', '30']",
    "create 't1', 'f1', {NUMREGIONS => 15, SPLITALGO => 'HexStringSplit'}",
    "create 't1', 'f1', {MAX_FILESIZE => '134217728', METADATA => {'mykey' => 'myvalue'}}",
  ],
  async run(shell, [table, ...given]) {
    const name = requireText(table!, 'Table name must be of type String');
    checkTableName(name);
    const families = new Map<string, FamilyDescriptor>();
    const draft: TableDraft = { ...tableDescriptor(name, [familyDescriptor('f')]), families: [] };
    let splits: readonly Uint8Array[] = [];
    for (const arg of flatten(given)) {
      if (typeof arg !== 'string' && !(arg instanceof RubyHash)) {
        throw new CommandError(`${rubyClass(arg)} of ${inspect(arg)} is not of Hash or String type`);
      }
      if (typeof arg === 'string' || arg.has('NAME')) {
        const family = familyOf(arg, (known) => families.get(known), ignoredOfFamily(shell));
        if (families.has(family.name)) {
          shell.print(`Family '${family.name}' already exists, the old one will be replaced`);
        }
        families.set(family.name, family);
        continue;
      }
      const options = new Options(arg.copy());
      const method = options.take('METHOD');
      if (method !== null && method !== 'table_att') {
        throw new CommandError('table_att is currently the only supported method');
      }
      splits = takeSplits(options) ?? splits;
      setTableOptions(draft, options);
      for (const option of options.left()) {
        shell.print(`An argument ignored (unknown or overridden): ${option}`);
      }
    }
    if (families.size === 0) throw new CommandError('Table must have at least one column family');
    await shell.admin.createTable(finished(draft, [...families.values()]), splits);
    shell.print(`Created table ${name}`);
    return shell.reference(name);
  },
};

function ignoredOfFamily(shell: ShellContext): (family: string, option: string) => void {
  return (family, option) => shell.print(`Unknown argument ignored for column family ${family}: ${option}`);
}

function flatten(values: readonly RubyValue[]): RubyValue[] {
  return values
    .flatMap((value) => (Array.isArray(value) ? flatten(value) : [value]))
    .filter((value) => value !== null);
}

function finished(draft: TableDraft, families: readonly FamilyDescriptor[]): TableDescriptor {
  const { name, families: _, ...options } = draft;
  return tableDescriptor(name, families, options);
}

/** Checks a table name, with HBase's messages. */
function checkTableName(name: string): void {
  const qualifier = name.slice(name.indexOf(':') + 1);
  const bad = /[^-_.\p{Alphabetic}0-9]/u.exec(qualifier);
  if (bad !== null) {
    throw new CommandError(
      `Illegal character code:${bad[0].codePointAt(0)}, <${bad[0]}> at ${bad.index}. User-space table qualifiers may ` +
        `only contain 'alphanumeric characters' and digits: ${qualifier}`,
    );
  }
  parseTableName(name);
}

/** Parses SPLITS, SPLITS_FILE, or NUMREGIONS with SPLITALGO; undefined if there is none of them. */
function takeSplits(options: Options): readonly Uint8Array[] | undefined {
  const file = options.take('SPLITS_FILE');
  const given = options.take('SPLITS');
  if (file !== null || given !== null) {
    const lines = file === null ? textsOf(given) : splitsFile(textOf(file));
    // Sorted, as HBase's client does.
    return lines.map(bytesOfBinary).sort(Buffer.compare);
  }
  if (!options.has('NUMREGIONS') && !options.has('SPLITALGO')) return undefined;
  if (!options.has('NUMREGIONS')) throw new CommandError('Number of regions must be specified');
  if (!options.has('SPLITALGO')) throw new CommandError('Split algorithm must be specified');
  const regions = options.integer('NUMREGIONS')!;
  if (regions <= 1) throw new CommandError('Number of regions must be greater than 1');
  options.take('NUMREGIONS');
  return splitKeys(textOf(options.take('SPLITALGO')) as SplitAlgorithm, regions);
}

function splitsFile(path: string): string[] {
  if (!existsSync(path)) throw new CommandError(`Splits file ${path} doesn't exist`);
  const lines = readFileSync(path, 'latin1').split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => line.replace(/\r$/, ''));
}

async function alterTable(
  shell: ShellContext,
  given: readonly RubyValue[],
  wait: boolean,
): Promise<RubyValue> {
  const [table, ...args] = given;
  const name = requireText(table!, 'Table name must be of type String');
  if (!(await shell.admin.tableExists(name))) throw new CommandError(`Can't find a table: ${name}`);
  if (args.length === 0) throw new CommandError('There should be at least one argument but the table name');
  const draft: TableDraft = { ...(await shell.admin.getDescriptor(name)) };
  const families = new Map(draft.families.map((family) => [family.name, family]));
  for (const arg of args) alterOne(shell, draft, families, arg);
  if (families.size === 0) throw new CommandError('Table must have at least one column family');
  await shell.admin.modifyTable(finished(draft, [...families.values()]));
  if (!wait) return null;
  shell.print('Updating all regions with the new schema...');
  return alterStatus.run(shell, [table!]);
}

function alterOne(
  shell: ShellContext,
  draft: TableDraft,
  families: Map<string, FamilyDescriptor>,
  arg: RubyValue,
): void {
  const options =
    typeof arg === 'string'
      ? new Options(RubyHash.of([['NAME', arg]]))
      : Options.of(arg, `${inspect(arg)} is not of Hash or String type`);
  const short = options.take('delete');
  const method = short === null ? options.take('METHOD') : 'delete';
  if (short !== null) options.hash.set('NAME', short);
  if (method === null && options.has('NAME')) {
    const family = familyOf(options.hash, (known) => families.get(known), ignoredOfFamily(shell));
    families.set(family.name, family);
    return;
  }
  if (method === null || method === 'table_att') {
    options.take('NAME');
    setTableOptions(draft, options);
  } else alterByMethod(draft, families, textOf(method), options.take('NAME'));
  for (const option of options.left()) shell.print(`Unknown argument ignored: ${option}`);
}

function alterByMethod(
  draft: TableDraft,
  families: Map<string, FamilyDescriptor>,
  method: string,
  name: RubyValue,
): void {
  const names = (): string[] => {
    if (name === null) throw new CommandError(`NAME parameter missing for ${method} method`);
    return textsOf(name).map(toText);
  };
  if (method === 'delete') for (const each of names()) families.delete(each);
  else if (method === 'table_att_unset') for (const each of names()) unsetAttribute(draft, each);
  else if (method === 'table_conf_unset') for (const each of names()) unsetConfiguration(draft, each);
  else throw new CommandError(`Unknown method: ${method}`);
}

const alter: ShellCommand = {
  name: 'alter',
  group: 'ddl',
  minArguments: 1,
  maxArguments: Number.POSITIVE_INFINITY,
  summary: 'Changes, adds or deletes column families, or the options of a table.',
  examples: [
    "alter 't1', NAME => 'f1', VERSIONS => 5",
    "alter 't1', 'f1', {NAME => 'f2', IN_MEMORY => true}",
    "alter 't1', 'delete' => 'f1'",
    "alter 't1', MAX_FILESIZE => '134217728'",
    "alter 't1', METHOD => 'table_att_unset', NAME => 'MAX_FILESIZE'",
  ],
  run: (shell, args) => alterTable(shell, args, true),
};

const alterAsync: ShellCommand = {
  ...alter,
  name: 'alter_async',
  summary: 'Like alter, without printing its progress.',
  examples: ["alter_async 't1', NAME => 'f1', VERSIONS => 5"],
  run: (shell, args) => alterTable(shell, args, false),
};

const alterStatus: ShellCommand = {
  name: 'alter_status',
  group: 'ddl',
  minArguments: 1,
  maxArguments: 1,
  summary: 'Prints how many regions of a table have its newest schema.',
  examples: ["alter_status 't1'"],
  async run(shell, [table]) {
    const name = requireText(table!, 'Table name must be of type String');
    if (!(await shell.admin.tableExists(name))) throw new CommandError(`Can't find a table: ${name}`);
    const { length } = await shell.admin.getRegions(name);
    // Changes of a table return only when every region has the new schema.
    shell.print(`${length}/${length} regions updated.`);
    shell.print('Done.');
    return null;
  },
};

const describe: ShellCommand = {
  name: 'describe',
  aliases: ['desc'],
  group: 'ddl',
  minArguments: 1,
  maxArguments: 1,
  summary: 'Prints the options of a table and of its column families.',
  examples: ["describe 't1'", "desc 'ns1:t1'"],
  async run(shell, [table]) {
    const { formatter } = shell;
    const name = textOf(table!);
    await requireTable(shell, name);
    const descriptor = await shell.admin.getDescriptor(name);
    const enabled = await shell.admin.isTableEnabled(name);
    formatter.header(`Table ${name} is ${enabled ? 'ENABLED' : 'DISABLED'}`);
    formatter.row(`${name}${tableAttributesText(descriptor)}`);
    formatter.header('COLUMN FAMILIES DESCRIPTION');
    for (const family of descriptor.families) {
      formatter.row(familyText(family));
      shell.print('');
    }
    formatter.footer();
    shell.print('Quota is disabled');
    return null;
  },
};

const cloneSchema: ShellCommand = {
  name: 'clone_table_schema',
  group: 'ddl',
  minArguments: 2,
  maxArguments: 3,
  summary:
    'Makes an empty table with the families, options and regions of another; without the regions if told false.',
  examples: ["clone_table_schema 't1', 't2'", "clone_table_schema 't1', 't2', false"],
  async run(shell, [from, to, preserve = true]) {
    const descriptor = await shell.admin.getDescriptor(textOf(from!));
    const regions = preserve === false ? [] : await shell.admin.getRegions(descriptor.name);
    const splits = regions.map(({ startKey }) => startKey).filter((key) => key.length > 0);
    if (await shell.admin.tableExists(textOf(to!)))
      throw new CommandError(`Table already exists: ${textOf(to!)}!`);
    const { name: _, families, ...options } = descriptor;
    await shell.admin.createTable(tableDescriptor(textOf(to!), families, options), splits);
    return null;
  },
};

/** @throws CommandError in HBase's words. */
export async function requireTable(shell: ShellContext, name: string): Promise<void> {
  checkTableName(name);
  if (!(await shell.admin.tableExists(name))) throw new CommandError(`Table ${name} does not exist.`);
}

export const TABLES: readonly ShellCommand[] = [
  alter,
  create,
  describe,
  alterStatus,
  alterAsync,
  cloneSchema,
];
