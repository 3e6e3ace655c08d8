/** Commands on namespaces. */

import { parseTableName } from '../../table/index.js';
import type { ShellCommand } from '../command.js';
import { CommandError, textOf } from '../options.js';
import { fromText, RubyHash, type RubyValue } from '../ruby/index.js';
import { patternOf } from './ddl.js';

/** Properties from arguments: every hash of strings. */
function propertiesOf(args: readonly RubyValue[]): Record<string, string> {
  const properties: Record<string, string> = {};
  for (const arg of args) {
    if (!(arg instanceof RubyHash)) throw new CommandError('Properties of a namespace must be a hash.');
    for (const [key, value] of arg.pairs()) properties[textOf(key)] = textOf(value);
  }
  return properties;
}

const create: ShellCommand = {
  name: 'create_namespace',
  group: 'namespace',
  minArguments: 1,
  maxArguments: Number.POSITIVE_INFINITY,
  summary: 'Creates a namespace.',
  examples: ["create_namespace 'ns1'", "create_namespace 'ns1', {'PROPERTY_NAME' => 'PROPERTY_VALUE'}"],
  async run(shell, [namespace, ...args]) {
    const properties = propertiesOf(args);
    const name = textOf(namespace!);
    await shell.admin.createNamespace(name, properties);
    return null;
  },
};

const alter: ShellCommand = {
  name: 'alter_namespace',
  group: 'namespace',
  minArguments: 2,
  maxArguments: Number.POSITIVE_INFINITY,
  summary: 'Sets or removes properties of a namespace.',
  examples: [
    "alter_namespace 'ns1', {METHOD => 'set', 'PROPERTY_NAME' => 'PROPERTY_VALUE'}",
    "alter_namespace 'ns1', {METHOD => 'unset', NAME => 'PROPERTY_NAME'}",
  ],
  async run(shell, [namespace, ...args]) {
    const name = textOf(namespace!);
    const { admin } = shell;
    const properties: Record<string, string> = { ...(await admin.getNamespace(name)) };
    for (const arg of args) {
      if (!(arg instanceof RubyHash)) throw new CommandError('Properties of a namespace must be a hash.');
      const hash = arg.copy();
      const method = hash.delete('METHOD');
      if (method === 'set') Object.assign(properties, propertiesOf([hash]));
      else if (method === 'unset') delete properties[textOf(hash.get('NAME'))];
      else throw new CommandError(`Unknown method ${textOf(method)}: write set or unset`);
    }
    await admin.modifyNamespace(name, properties);
    return null;
  },
};

const describe: ShellCommand = {
  name: 'describe_namespace',
  group: 'namespace',
  minArguments: 1,
  maxArguments: 1,
  summary: 'Prints a namespace and its properties.',
  examples: ["describe_namespace 'ns1'"],
  async run(shell, [namespace]) {
    const name = textOf(namespace!);
    const properties = await shell.admin.getNamespace(name);
    const parts = [
      `NAME => '${name}'`,
      ...Object.entries(properties).map(([key, value]) => `${key} => '${value}'`),
    ];
    shell.formatter.header('DESCRIPTION');
    shell.formatter.row(`{${parts.join(', ')}}`);
    shell.print('Quota is disabled');
    return null;
  },
};

const drop: ShellCommand = {
  name: 'drop_namespace',
  group: 'namespace',
  minArguments: 1,
  maxArguments: 1,
  summary: 'Deletes a namespace that has no tables.',
  examples: ["drop_namespace 'ns1'"],
  async run(shell, [namespace]) {
    const name = textOf(namespace!);
    const tables = (await shell.admin.listTables()).filter(
      (table) => parseTableName(table.name).namespace === name,
    );
    if (tables.length > 0) {
      throw new CommandError(
        'org.apache.hadoop.hbase.constraint.ConstraintException: Only empty namespaces can be removed. ' +
          `Namespace ${name} has ${tables.length} tables`,
      );
    }
    await shell.admin.deleteNamespace(name);
    return null;
  },
};

const list: ShellCommand = {
  name: 'list_namespace',
  group: 'namespace',
  minArguments: 0,
  maxArguments: 1,
  summary: 'Prints the namespaces, or those whose name matches a pattern.',
  examples: ['list_namespace', "list_namespace 'abc.*'"],
  async run(shell, [pattern = '.*']) {
    const regex = patternOf(textOf(pattern));
    shell.formatter.header('NAMESPACE');
    const names = (await shell.admin.listNamespaces()).filter((name) => regex.test(name));
    for (const name of names) shell.formatter.row(name);
    shell.formatter.footer(names.length);
    return null;
  },
};

const listTables: ShellCommand = {
  name: 'list_namespace_tables',
  group: 'namespace',
  minArguments: 1,
  maxArguments: 1,
  summary: 'Prints the tables of a namespace, without its name.',
  examples: ["list_namespace_tables 'ns1'"],
  async run(shell, [namespace]) {
    const name = textOf(namespace!);
    shell.formatter.header('TABLE');
    if (!(await shell.admin.listNamespaces()).includes(name))
      throw new CommandError(`Unknown namespace ${name}!`);
    const tables = (await shell.admin.listTables())
      .map((table) => parseTableName(table.name))
      .filter((parts) => parts.namespace === name)
      .map(({ qualifier }) => qualifier);
    for (const table of tables) shell.formatter.row(table);
    shell.formatter.footer(tables.length);
    return tables.map(fromText);
  },
};

export const NAMESPACES: readonly ShellCommand[] = [create, drop, alter, describe, list, listTables];
