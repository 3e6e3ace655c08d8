/** Observers of writes: what they see, add and refuse, on the embedded engine and on one whose calls stand alone. */

import { beforeEach, describe, expect, test } from 'vitest';
import { type BytesLike, toBytes } from '../../src/bytes/index.js';
import { asRowanError, InvalidArgumentError } from '../../src/errors.js';
import {
  type BatchAction,
  CheckAndMutate,
  Delete,
  type Engine,
  Get,
  Increment,
  Put,
  type Result,
  RowMutations,
  Scan,
  type Table,
  tableDescriptor,
  type WriteObserver,
} from '../../src/table/index.js';
import { ModelEngine } from '../model/engine.js';
import { memoryStore } from '../store/engine/support.js';

const engines: Readonly<Record<string, () => Promise<Engine>>> = {
  embedded: async () => (await memoryStore()).engine,
  'one of single calls': async () => new ModelEngine({ now: () => 1_700_000_000_000, random: Math.random }),
};

const text = (bytes: BytesLike): string => Buffer.from(toBytes(bytes)).toString();
const putOf = (row: string, value = 'v'): Put => new Put(row).addColumn('f', 'q', value);

async function rows(table: Table): Promise<string[]> {
  const found: string[] = [];
  for await (const { row } of table.scan(new Scan())) found.push(text(row));
  return found;
}

/** Keeps a row of table "log" for every row that is written. */
const logging: WriteObserver = {
  before: ({ table, change }) => {
    if (text(change.row) === 'refused') throw new InvalidArgumentError('This row is not to be written.');
    return [{ table: 'log', change: new Put(`${table}/${text(change.row)}`).addColumn('f', 'q', 'x') }];
  },
};

/** Every way of writing the row. */
const ways: Readonly<Record<string, (table: Table, row: string) => Promise<unknown>>> = {
  put: (table, row) => table.put(putOf(row)),
  putAll: (table, row) => table.putAll([putOf(row)]),
  delete: (table, row) => table.delete(new Delete(row)),
  increment: (table, row) => table.increment(new Increment(row).addColumn('f', 'n', 1n)),
  mutateRow: (table, row) => table.mutateRow(new RowMutations(row).add(putOf(row))),
  checkAndMutate: (table, row) =>
    table.checkAndMutate(CheckAndMutate.ifNotExists('f', toBytes('none'), putOf(row))),
  batch: async (table, row) => {
    const [outcome] = await table.batch([putOf(row)]);
    if (!outcome!.ok) throw outcome!.error;
  },
};

for (const [name, open] of Object.entries(engines)) {
  describe(`observers on the engine: ${name}`, () => {
    let engine: Engine;
    let table: Table;
    let log: Table;
    beforeEach(async () => {
      engine = await open();
      await engine.admin.createTable(tableDescriptor('t', { f: {} }));
      await engine.admin.createTable(tableDescriptor('log', { f: {} }));
      // The handle is older than the observer.
      table = engine.table('t');
      log = engine.table('log');
    });

    test.each(Object.entries(ways))('see %s, add to it and refuse it', async (_, write) => {
      const end = engine.observe('t', logging);
      await write(table, 'a');
      expect(await rows(log)).toEqual(['t/a']);
      await expect(write(table, 'refused')).rejects.toThrow('not to be written');
      expect(await rows(table)).not.toContain('refused');
      expect(await rows(log)).toEqual(['t/a']);
      end();
      await write(table, 'b');
      expect(await rows(log)).toEqual(['t/a']);
    });

    test.each(Object.entries(ways))('are not told of %s of a row that they ignore', async (_, write) => {
      const told: string[] = [];
      const tell = ({ change }: { change: { row: Uint8Array } }): undefined =>
        void told.push(text(change.row));
      engine.observe('t', { ignores: ({ row }) => text(row) === 'dull', before: tell, after: tell });
      engine.observe('t', logging);
      await write(table, 'dull');
      expect(told).toEqual([]);
      await write(table, 'a');
      expect(told).toEqual(['a', 'a']);
      expect(await rows(log)).toEqual(['t/a', 't/dull']);
    });

    test('see the row as it is before and behind the change', async () => {
      const seen: (string | undefined)[] = [];
      const look = async (read: Promise<Result>) => {
        const value = (await read).getValue('f', 'q');
        seen.push(value && text(value));
      };
      const reads: Promise<void>[] = [];
      engine.observe('t', {
        before: ({ read, change }) => {
          reads.push(look(Promise.resolve(read(new Get(change.row)))));
          return undefined;
        },
        after: ({ read, change }) => {
          reads.push(look(Promise.resolve(read(new Get(change.row)))));
          return undefined;
        },
      });
      await table.put(putOf('a', '1'));
      await table.put(putOf('a', '2'));
      await Promise.all(reads);
      if (engine.name === 'embedded') expect(seen).toEqual([undefined, '1', '1', '2']);
      else expect(seen).toHaveLength(4);
    });

    test('in a batch what is refused is an outcome, and what does not hold is not told behind it', async () => {
      const after: string[] = [];
      engine.observe('t', logging);
      engine.observe('t', {
        after: ({ change }) => {
          after.push(text(change.row));
          return undefined;
        },
      });
      const actions: BatchAction[] = [
        putOf('a'),
        putOf('refused'),
        CheckAndMutate.ifNotExists('f', toBytes('q'), new Delete('a')),
        new Get('a'),
      ];
      const outcomes = await table.batch(actions);
      expect(outcomes.map(({ ok }) => ok)).toEqual([true, false, true, true]);
      expect(after).toEqual(['a']);
      expect(await rows(table)).toEqual(['a']);
    });

    test('an observer that is none is refused', () => {
      for (const wrong of [null, {}, { before: 1 }, 'x']) {
        expect(() => engine.observe('t', wrong as never)).toThrow(InvalidArgumentError);
      }
    });
  });
}

describe('observers on the embedded engine', () => {
  test('are one step with the write: what comes behind the refusal is taken back with it', async () => {
    const { engine } = await memoryStore();
    await engine.admin.createTable(tableDescriptor('t', { f: {} }));
    await engine.admin.createTable(tableDescriptor('log', { f: {} }));
    engine.observe('t', logging);
    engine.observe('t', {
      after: ({ change }) => {
        if (text(change.row) === 'late') throw new Error('late');
        return undefined;
      },
    });
    const table = engine.table('t');
    await expect(table.put(putOf('late'))).rejects.toThrow('late');
    expect(await rows(engine.table('log'))).toEqual([]);
    await expect(
      table.batch([putOf('a'), putOf('late')], { atomic: true }).catch((error) => {
        throw asRowanError(error);
      }),
    ).rejects.toThrow('late');
    expect(await rows(table)).toEqual([]);
    const outcomes = await table.batch([putOf('a'), putOf('late'), putOf('b')]);
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, false, true]);
    expect(await rows(engine.table('log'))).toEqual(['t/a', 't/b']);
    await engine.close();
  });

  test('that wait, write by themselves or answer each other for ever are refused', async () => {
    const { engine } = await memoryStore();
    await engine.admin.createTable(tableDescriptor('t', { f: {} }));
    const table = engine.table('t');
    const refused = { code: 'ERR_INVALID_ARGUMENT' };
    let end = engine.observe('t', { before: async () => undefined });
    await expect(table.put(putOf('a'))).rejects.toMatchObject(refused);
    end();
    let own: Promise<void> | undefined;
    end = engine.observe('t', {
      before: () => {
        own = table.put(putOf('b'));
        own.catch(() => undefined);
        return undefined;
      },
    });
    await table.put(putOf('a'));
    await expect(own).rejects.toMatchObject(refused);
    end();
    engine.observe('t', { before: () => [{ table: 't', change: putOf('c') }] });
    await expect(table.put(putOf('c'))).rejects.toMatchObject(refused);
    expect(await rows(table)).toEqual(['a']);
    await engine.close();
  });
});
