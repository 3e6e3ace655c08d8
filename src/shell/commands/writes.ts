/** put, delete, deleteall, incr, append, truncate. */

import { toStringBinary } from '../../bytes/index.js';
import { Append, Delete, Increment, LATEST_TIMESTAMP, type Mutation, Put, Scan } from '../../table/index.js';
import type { ShellCommand, ShellContext } from '../command.js';
import { Columns } from '../formatter.js';
import { bytesOf, CommandError, integerOf, Options, textOf } from '../options.js';
import { describeValue, RubyHash, RubySymbol, type RubyValue, toS } from '../ruby/index.js';
import { counterOf, rowOf } from './reads.js';

const EMPTY = new Uint8Array();

/** The column of an argument. */
function columnOf(value: RubyValue): { family: string; qualifier: Uint8Array | undefined } {
  if (value instanceof RubySymbol || value === null) {
    throw new CommandError(`undefined method \`to_java_bytes' for ${describeValue(value)}`);
  }
  return new Columns().parse(toS(value));
}

/** Parses an optional timestamp and optional options after it. */
function timestampAndOptions(given: readonly RubyValue[]): {
  timestamp: number | undefined;
  options: Options;
} {
  const [first = null, second = null] = given;
  const hash = first instanceof RubyHash ? first : second instanceof RubyHash ? second : new RubyHash();
  const timestamp = first === null || first instanceof RubyHash ? undefined : timestampOf(first);
  return { timestamp, options: new Options(hash) };
}

function timestampOf(value: RubyValue): number {
  if (typeof value === 'bigint' && value < 0n)
    throw new CommandError(`Timestamp cannot be negative. ts=${value}`);
  return integerOf(value, 'A timestamp');
}

function applyOptions(mutation: Mutation, options: Options): void {
  const ttl = options.integer('TTL');
  if (ttl !== undefined) mutation.setTtl(ttl);
  for (const option of ['VISIBILITY']) {
    if (options.has(option))
      throw new CommandError(`${option} is not supported: Rowan writes no cell labels.`);
  }
}

const put: ShellCommand = {
  name: 'put',
  group: 'dml',
  minArguments: 4,
  maxArguments: 6,
  summary: 'Writes a value, at a timestamp if one is given.',
  examples: ["put 't1', 'r1', 'f:q', 'value'", "put 't1', 'r1', 'f:q', 'value', ts1, {TTL => 1000}"],
  async run(shell, [table, row, column, value, ...rest]) {
    const name = textOf(table!);
    const key = rowOf(shell, name, row!);
    const { family, qualifier } = columnOf(column!);
    const { timestamp, options } = timestampAndOptions(rest);
    const mutation = new Put(key, timestamp ?? LATEST_TIMESTAMP).addColumn(
      family,
      qualifier ?? EMPTY,
      bytesOf(value!),
    );
    applyOptions(mutation, options);
    await shell.table(name).put(mutation);
    return null;
  },
};

/** The delete of a row, a family or a column; of all versions or of one. */
function deletion(row: Uint8Array, column: RubyValue, given: readonly RubyValue[], all: boolean): Delete {
  const { timestamp = LATEST_TIMESTAMP } = timestampAndOptions(given);
  const mutation = new Delete(row, timestamp);
  if (column === null || column === '') return mutation;
  const { family, qualifier } = columnOf(column);
  if (qualifier === undefined) return all ? mutation.addFamily(family) : mutation.addFamilyVersion(family);
  return all ? mutation.addColumns(family, qualifier) : mutation.addColumn(family, qualifier);
}

const del: ShellCommand = {
  name: 'delete',
  group: 'dml',
  minArguments: 3,
  maxArguments: 5,
  summary: "Deletes one version of a column: the newest, or a timestamp's.",
  examples: ["delete 't1', 'r1', 'f:q'", "delete 't1', 'r1', 'f:q', ts1"],
  async run(shell, [table, row, column, ...rest]) {
    const name = textOf(table!);
    await shell.table(name).delete(deletion(rowOf(shell, name, row!), column!, rest, false));
    return null;
  },
};

const deleteAll: ShellCommand = {
  name: 'deleteall',
  group: 'dml',
  minArguments: 2,
  maxArguments: 5,
  summary: 'Deletes a row, all versions of a column, or every row of a prefix.',
  examples: [
    "deleteall 't1', 'r1'",
    "deleteall 't1', 'r1', 'f:q', ts1",
    "deleteall 't1', {ROWPREFIXFILTER => 'prefix', CACHE => 100}",
  ],
  async run(shell, [table, row, column = null, ...rest]) {
    const name = textOf(table!);
    const prefix = row instanceof RubyHash ? row.get('ROWPREFIXFILTER') : null;
    if (row instanceof RubyHash && prefix !== null) {
      const size = new Options(row).integer('CACHE') ?? 100;
      await deletePrefix(shell, name, bytesOf(prefix), size, (key) => deletion(key, column, rest, true));
      return null;
    }
    await shell.table(name).delete(deletion(rowOf(shell, name, row!), column, rest, true));
    return null;
  },
};

async function deletePrefix(
  shell: ShellContext,
  name: string,
  prefix: Uint8Array,
  size: number,
  make: (row: Uint8Array) => Delete,
): Promise<void> {
  const table = shell.table(name);
  let deletes: Delete[] = [];
  const send = async (): Promise<void> => {
    for (const outcome of await table.batch(deletes)) if (!outcome.ok) throw outcome.error;
    deletes = [];
  };
  for await (const { row } of table.scan(new Scan().setStartStopRowForPrefix(prefix))) {
    deletes.push(make(Uint8Array.from(row)));
    if (deletes.length >= Math.max(size, 1)) await send();
  }
  if (deletes.length > 0) await send();
}

const incr: ShellCommand = {
  name: 'incr',
  group: 'dml',
  minArguments: 3,
  maxArguments: 5,
  summary: 'Adds to a counter (default 1) and prints its new value.',
  examples: ["incr 't1', 'r1', 'f:c1'", "incr 't1', 'r1', 'f:c1', 10"],
  async run(shell, [table, row, column, ...rest]) {
    const name = textOf(table!);
    const [amount, options] =
      rest[0] instanceof RubyHash ? [1n, rest[0]] : [rest[0] ?? 1n, rest[1] ?? new RubyHash()];
    if (typeof amount !== 'bigint') {
      const kind = typeof amount === 'string' ? 'String' : 'Object';
      throw new CommandError(`cannot convert instance of class org.jruby.Ruby${kind} to long`);
    }
    const { family, qualifier } = columnOf(column!);
    const mutation = new Increment(rowOf(shell, name, row!)).addColumn(family, qualifier ?? EMPTY, amount);
    applyOptions(mutation, Options.of(options, 'Options must be a hash.'));
    const [cell] = (await shell.table(name).increment(mutation)).cells;
    if (cell !== undefined) shell.print(`COUNTER VALUE = ${counterOf(cell.value)}`);
    else shell.print('No counter found at specified coordinates');
    return null;
  },
};

const append: ShellCommand = {
  name: 'append',
  group: 'dml',
  minArguments: 4,
  maxArguments: 5,
  summary: 'Appends to a value and prints the new value.',
  examples: ["append 't1', 'r1', 'f:q', 'more'"],
  async run(shell, [table, row, column, value, options = new RubyHash()]) {
    const name = textOf(table!);
    const { family, qualifier } = columnOf(column!);
    const mutation = new Append(rowOf(shell, name, row!)).addColumn(
      family,
      qualifier ?? EMPTY,
      bytesOf(value!),
    );
    applyOptions(mutation, Options.of(options, 'Options must be a hash.'));
    const [cell] = (await shell.table(name).append(mutation)).cells;
    if (cell !== undefined) shell.print(`CURRENT VALUE = ${toStringBinary(cell.value)}`);
    return null;
  },
};

function truncating(name: string, summary: string, preserveSplits: boolean): ShellCommand {
  return {
    name,
    group: 'dml',
    minArguments: 1,
    maxArguments: 1,
    summary,
    examples: [`${name} 't1'`],
    async run(shell, [given]) {
      const table = textOf(given!);
      shell.print(`Truncating '${table}' table (it may take a while):`);
      if (await shell.admin.isTableEnabled(table)) {
        shell.print('Disabling table...');
        await shell.admin.disableTable(table);
      }
      shell.print('Truncating table...');
      await shell.admin.truncateTable(table, preserveSplits);
      return null;
    },
  };
}

export const WRITES: readonly ShellCommand[] = [
  del,
  deleteAll,
  incr,
  put,
  truncating('truncate', 'Empties a table; it becomes one region.', false),
  truncating('truncate_preserve', 'Empties a table and keeps its regions.', true),
  append,
];
