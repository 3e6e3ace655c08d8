/** Commands on snapshots of tables. */

import { type SnapshotFacts, snapshotsOf } from '../cluster.js';
import type { ShellCommand, ShellContext } from '../command.js';
import { CommandError, requireText, textOf } from '../options.js';
import { fromText, RubyHash, type RubyValue } from '../ruby/index.js';
import { patternOf } from './ddl.js';

const TITLES = ['SNAPSHOT', 'TABLE + CREATION TIME'] as const;

const snapshot: ShellCommand = {
  name: 'snapshot',
  group: 'snapshots',
  minArguments: 2,
  maxArguments: Number.POSITIVE_INFINITY,
  summary: 'Takes a snapshot of a table.',
  examples: ["snapshot 't1', 'snapshot1'", "snapshot 't1', 'snapshot1', {SKIP_FLUSH => true}"],
  async run(shell, [table, name, options = null]) {
    const of = requireText(table!, 'Table name must be of type String');
    const named = requireText(name!, 'Snapshot name must be of type String');
    if (!(await shell.admin.tableExists(of))) {
      throw new CommandError(
        `org.apache.hadoop.hbase.snapshot.SnapshotCreationException: Table '${of}' doesn't exist, can't take snapshot.`,
      );
    }
    const skip = options instanceof RubyHash && options.get('SKIP_FLUSH') === true;
    await snapshotsOf(shell.admin, 'snapshot').snapshot(named, of, skip ? 'SKIPFLUSH' : 'FLUSH');
    return options === null ? null : [options];
  },
};

const clone: ShellCommand = {
  name: 'clone_snapshot',
  group: 'snapshots',
  minArguments: 2,
  maxArguments: 3,
  summary: 'Creates a new table from a snapshot.',
  examples: ["clone_snapshot 'snapshot1', 't2'"],
  async run(shell, [name, table]) {
    const admin = snapshotsOf(shell.admin, 'clone_snapshot');
    await requireSnapshot(shell, textOf(name!));
    await admin.cloneSnapshot(textOf(name!), textOf(table!));
    return null;
  },
};

const restore: ShellCommand = {
  name: 'restore_snapshot',
  group: 'snapshots',
  minArguments: 1,
  maxArguments: 2,
  summary: "Restores a snapshot's disabled table to the state of the snapshot.",
  examples: ["restore_snapshot 'snapshot1'"],
  async run(shell, [name]) {
    const admin = snapshotsOf(shell.admin, 'restore_snapshot');
    const found = (await admin.listSnapshots()).find((each) => each.name === textOf(name!));
    if (found === undefined)
      throw new CommandError(`Unable to find the table name for snapshot=${textOf(name!)}`);
    const { table } = found;
    if ((await admin.tableExists(table)) && (await admin.isTableEnabled(table))) {
      throw new CommandError(`Table ${table} should be disabled!`);
    }
    await admin.restoreSnapshot(textOf(name!));
    return null;
  },
};

const remove: ShellCommand = {
  name: 'delete_snapshot',
  group: 'snapshots',
  minArguments: 1,
  maxArguments: 1,
  summary: 'Deletes a snapshot.',
  examples: ["delete_snapshot 'snapshot1'"],
  async run(shell, [name]) {
    const admin = snapshotsOf(shell.admin, 'delete_snapshot');
    await requireSnapshot(shell, textOf(name!));
    await admin.deleteSnapshot(textOf(name!));
    return null;
  },
};

async function requireSnapshot(shell: ShellContext, name: string): Promise<SnapshotFacts> {
  const all = await snapshotsOf(shell.admin, 'Snapshots').listSnapshots();
  const found = all.find((each) => each.name === name);
  if (found === undefined) throw new CommandError(`Unknown snapshot ${name}!`);
  return found;
}

async function matching(shell: ShellContext, names: RubyValue, tables: RubyValue): Promise<SnapshotFacts[]> {
  const name = patternOf(textOf(names));
  const table = patternOf(textOf(tables));
  const all = await snapshotsOf(shell.admin, 'Snapshots').listSnapshots();
  return all.filter((each) => name.test(each.name) && table.test(each.table));
}

function print(shell: ShellContext, snapshots: readonly SnapshotFacts[]): void {
  for (const { name, table, creationTime } of snapshots) {
    shell.formatter.row(name, `${table} (${rubyTime(creationTime)})`);
  }
}

/** `2026-11-21 20:33:40 +0000`, in this process's time zone. */
function rubyTime(milliseconds: number): string {
  const offset = -new Date(milliseconds).getTimezoneOffset();
  const local = new Date(milliseconds + offset * 60_000).toISOString();
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  const zone = `${offset < 0 ? '-' : '+'}${two(Math.abs(offset) / 60)}${two(Math.abs(offset) % 60)}`;
  return `${local.slice(0, 10)} ${local.slice(11, 19)} ${zone}`;
}

const list: ShellCommand = {
  name: 'list_snapshots',
  group: 'snapshots',
  minArguments: 0,
  maxArguments: 1,
  summary: 'Prints the snapshots, or those whose name matches a pattern.',
  examples: ['list_snapshots', "list_snapshots 'abc.*'"],
  async run(shell, [pattern = '.*']) {
    shell.formatter.header(...TITLES);
    const found = await matching(shell, pattern, '.*');
    print(shell, found);
    shell.formatter.footer(found.length);
    return found.map(({ name }) => fromText(name));
  },
};

const listOfTable: ShellCommand = {
  name: 'list_table_snapshots',
  group: 'snapshots',
  minArguments: 1,
  maxArguments: 2,
  summary: 'Prints the snapshots of the tables whose name matches a pattern.',
  examples: ["list_table_snapshots 't1'", "list_table_snapshots 't.*', 'abc.*'"],
  async run(shell, [table, pattern = '.*']) {
    shell.formatter.header(...TITLES);
    const found = await matching(shell, pattern, table!);
    print(shell, found);
    shell.formatter.footer(found.length);
    return found.map(({ name }) => fromText(name));
  },
};

const deleteAll: ShellCommand = {
  name: 'delete_all_snapshot',
  group: 'snapshots',
  minArguments: 1,
  maxArguments: 1,
  summary: 'Deletes every snapshot whose name matches a pattern, after confirmation.',
  examples: ["delete_all_snapshot 's.*'"],
  async run(shell, [pattern]) {
    shell.formatter.header(...TITLES);
    const found = await matching(shell, pattern!, '.*');
    print(shell, found);
    if (found.length === 0) {
      shell.print(`No snapshots matched the regex ${textOf(pattern!)}`);
      return null;
    }
    if (!(await shell.confirmed(`Delete the above ${found.length} snapshots`))) return null;
    for (const { name } of found) await snapshotsOf(shell.admin, 'delete_snapshot').deleteSnapshot(name);
    shell.print(`${found.length} snapshots successfully deleted.`);
    return null;
  },
};

const deleteOfTables: ShellCommand = {
  name: 'delete_table_snapshots',
  group: 'snapshots',
  minArguments: 1,
  maxArguments: 2,
  summary: 'Deletes the snapshots of the tables whose name matches a pattern, after confirmation.',
  examples: ["delete_table_snapshots 't1'", "delete_table_snapshots 't.*', 'abc.*'"],
  async run(shell, [table, pattern = '.*']) {
    shell.formatter.header(...TITLES);
    const found = await matching(shell, pattern, table!);
    print(shell, found);
    if (found.length === 0) {
      shell.print(
        `No snapshots matched the table name regular expression ${textOf(table!)} and the snapshot name regular ` +
          `expression ${textOf(pattern)}`,
      );
      return null;
    }
    if (!(await shell.confirmed(`Delete the above ${found.length} snapshots`))) return null;
    for (const { name } of found) {
      await snapshotsOf(shell.admin, 'delete_snapshot').deleteSnapshot(name);
      shell.print(`Successfully deleted snapshot: ${name}\n`);
    }
    return null;
  },
};

export const SNAPSHOTS: readonly ShellCommand[] = [
  snapshot,
  clone,
  restore,
  remove,
  deleteAll,
  deleteOfTables,
  list,
  listOfTable,
];
