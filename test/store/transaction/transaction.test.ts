/** Transactions on the tables of a store: what they see, when they commit, and what they leave behind. */

import { describe, expect, test, vi } from 'vitest';
import { SerializationError } from '../../../src/errors.js';
import type { EmbeddedEngine } from '../../../src/store/engine.js';
import {
  Cell,
  CellType,
  CheckAndMutate,
  Delete,
  Get,
  Increment,
  Put,
  Scan,
  type SyncTable,
  type Table,
  type TableTransaction,
  tableDescriptor,
} from '../../../src/table/index.js';
import { contents, createTable, memoryStore, put, readValue } from '../engine/support.js';

async function opened(): Promise<{
  engine: EmbeddedEngine;
  table: SyncTable;
  store: Awaited<ReturnType<typeof memoryStore>>;
}> {
  const store = await memoryStore();
  const table = (await createTable(store.engine)) as SyncTable;
  return { engine: store.engine, table, store };
}

const once = { attempts: 1 };
const rowsOf = (table: SyncTable, scan = new Scan()): string[] =>
  [...table.scanSync(scan)].map(({ row }) => Buffer.from(row).toString());

/** Runs `inside` in a transaction that reads by `read` and writes row "own", and `beside` behind the read. */
async function met(
  engine: EmbeddedEngine,
  read: (table: SyncTable) => unknown,
  beside: (table: Table) => Promise<unknown>,
): Promise<'committed' | 'overtaken'> {
  try {
    await engine.transaction(async (tx) => {
      await read(tx.table('t'));
      await beside(engine.table('t'));
      await tx.table('t').put(put('own', '1'));
    }, once);
    return 'committed';
  } catch (error) {
    expect(error).toBeInstanceOf(SerializationError);
    return 'overtaken';
  }
}

describe('a transaction', () => {
  test('sees the moment it began and its own writes; nobody sees those before the end', async () => {
    const { engine, table } = await opened();
    await table.put(put('a', '1'));
    const overtaken = engine.transaction(async (tx) => {
      const own = tx.table('t');
      await table.put(put('b', 'later'));
      await own.put(put('c', 'own'));
      await own.delete(new Delete('a'));
      expect(rowsOf(own)).toEqual(['c']);
      expect(await readValue(own, 'c')).toBe('own');
      expect(await readValue(own, 'b')).toBeUndefined();
      await own.put(put('a', 'again'));
      expect(await contents(own)).toEqual(['a f:q=again', 'c f:q=own']);
      expect(rowsOf(own, new Scan().setReversed(true))).toEqual(['c', 'a']);
      expect(rowsOf(table)).toEqual(['a', 'b']);
    }, once);
    await expect(overtaken).rejects.toBeInstanceOf(SerializationError);
    await engine.transaction(async (tx) => {
      await tx.table('t').put(put('c', 'own'));
      await tx.table('t').delete(new Delete('a'));
      await tx.table('t').put(put('a', 'again'));
    });
    expect(await contents(table)).toEqual(['a f:q=again', 'b f:q=later', 'c f:q=own']);
    await engine.close();
  });

  test('an open scan does not see what is written behind its beginning', async () => {
    const { engine, table } = await opened();
    for (const row of ['a', 'c', 'e']) await table.put(put(row, '1'));
    await engine.transaction(async (tx) => {
      const own = tx.table('t');
      const seen: string[] = [];
      for (const { row } of own.scanSync(new Scan())) {
        const name = Buffer.from(row).toString();
        seen.push(name);
        await own.put(put(`${name}x`, 'new'));
        await own.delete(new Delete(row));
      }
      expect(seen).toEqual(['a', 'c', 'e']);
      expect(rowsOf(own)).toEqual(['ax', 'cx', 'ex']);
    });
    expect(rowsOf(table)).toEqual(['ax', 'cx', 'ex']);
    await engine.close();
  });

  describe('is overtaken when another has changed', () => {
    const reads: Readonly<Record<string, (table: SyncTable) => unknown>> = {
      'a row that it read': (table) => table.getSync(new Get('m')),
      'a row that it checked': (table) =>
        table
          .checkAndMutate(CheckAndMutate.ifNotExists('f', Buffer.from('none'), put('own', '2')))
          .then(() =>
            table.checkAndMutate(CheckAndMutate.ifNotExists('f', Buffer.from('none'), put('m', '2'))),
          ),
      'a row that it counted up': (table) => table.increment(new Increment('m').addColumn('f', 'n', 1n)),
      'a range that it read': (table) => rowsOf(table, new Scan().withStartRow('l').withStopRow('n')),
      'a range that it read backwards': (table) =>
        rowsOf(table, new Scan().setReversed(true).withStartRow('n').withStopRow('l')),
      'the whole table': (table) => rowsOf(table),
    };
    const writes: Readonly<Record<string, (table: Table, engine: EmbeddedEngine) => Promise<unknown>>> = {
      'by a put': (table) => table.put(put('m', 'other')),
      'by a delete': (table) => table.delete(new Delete('m')),
      'by a put that is in a file by now': async (table, engine) => {
        await table.put(put('m', 'other'));
        await engine.admin.flush('t');
      },
      'by a delete that is compacted by now': async (table, engine) => {
        await table.delete(new Delete('m'));
        await engine.admin.flush('t');
        await engine.admin.majorCompact('t');
      },
      'in a region that was split': async (table, engine) => {
        await table.put(put('m', 'other'));
        await engine.admin.split('t', Buffer.from('m'));
      },
      'by a bulk load': async (table, engine) => {
        await table.put(put('z', 'x'));
        await engine.bulkLoad('t', [
          new Cell(
            Buffer.from('m'),
            'f',
            Buffer.from('q'),
            1_800_000_000_000,
            CellType.Put,
            Buffer.from('l'),
          ),
        ]);
      },
    };
    for (const [what, read] of Object.entries(reads)) {
      test.each(Object.entries(writes))(`${what}, %s`, async (_, write) => {
        const { engine, table } = await opened();
        await table.put(put('m', '1'));
        await table.put(put('x', '1'));
        expect(await met(engine, read, (beside) => write(beside, engine))).toBe('overtaken');
        expect(rowsOf(table)).not.toContain('own');
        await engine.close();
      });
    }

    test.each(Object.entries(reads).filter(([name]) => name !== 'the whole table'))(
      'but not outside of it: %s',
      async (_, read) => {
        const { engine, table } = await opened();
        await table.put(put('m', '1'));
        const beside = async (other: Table): Promise<void> => {
          await other.put(put('k', '1'));
          await other.put(put('o', '1'));
          const loaded = ['j', 'p'].map(
            (row) => new Cell(Buffer.from(row), 'f', Buffer.from('q'), 7, CellType.Put, Buffer.from('l')),
          );
          await engine.bulkLoad('t', loaded);
        };
        expect(await met(engine, read, beside)).toBe('committed');
        expect(rowsOf(table)).toContain('own');
        await engine.close();
      },
    );

    test('also when nothing was there: phantoms', async () => {
      const { engine } = await opened();
      const empty = (table: SyncTable) => rowsOf(table, new Scan().withStartRow('l').withStopRow('n'));
      expect(await met(engine, empty, (other) => other.put(put('m', '1')))).toBe('overtaken');
      const none = (table: SyncTable) => table.getSync(new Get('p'));
      expect(await met(engine, none, (other) => other.put(put('p', '1')))).toBe('overtaken');
      await engine.close();
    });

    test('any of the rows that it has read, however many these are, and no other', async () => {
      const { engine } = await opened();
      const names = Array.from({ length: 12 }, (_, i) => `r${i}`);
      for (const count of [1, 7, 8, 9, 12]) {
        const read = (own: SyncTable): void => {
          // Twice: a row that is known is found again.
          for (const name of [...names.slice(0, count), ...names.slice(0, count)]) own.getSync(new Get(name));
        };
        for (const [i, name] of names.entries()) {
          const outcome = await met(engine, read, (other) => other.put(put(name, String(count))));
          expect(outcome, `${name} of ${count}`).toBe(i < count ? 'overtaken' : 'committed');
        }
      }
      await engine.close();
    });

    test('another family of a row than the one that it has read first', async () => {
      const { engine } = await memoryStore();
      await engine.admin.createTable(tableDescriptor('t', { f: {}, g: {}, h: {} }));
      const column = (family: string) => new Get('m').addColumn(family, 'q');
      const read = (own: SyncTable): void => {
        own.getSync(column('f'));
        own.getSync(column('g'));
      };
      const write = (family: string) => (other: Table) =>
        other.put(new Put('m').addColumn(family, 'q', Buffer.from('1')));
      expect(await met(engine, read, write('f'))).toBe('overtaken');
      expect(await met(engine, read, write('g'))).toBe('overtaken');
      expect(await met(engine, read, write('h'))).toBe('committed');
      await engine.close();
    });

    test.each([1, 4, 5, 6, 40])('a column with %i versions, by whatever timestamp', async (versions) => {
      const column = (timestamp: number, qualifier = 'q') =>
        new Put('m', timestamp).addColumn('f', qualifier, Buffer.from(`${timestamp}`));
      const changes: Record<string, (other: Table) => Promise<unknown>> = {
        'a put of now': (other) => other.put(put('m', 'new')),
        'a put behind all': (other) => other.put(column(1)),
        'a put between them': (other) => other.put(column(versions * 10 + 5)),
        'a put of the newest timestamp': (other) => other.put(column((versions + 9) * 10)),
        'a delete of the oldest version': (other) => other.delete(new Delete('m').addColumn('f', 'q', 100)),
        'a delete of the row': (other) => other.delete(new Delete('m')),
        'another column': (other) => other.put(column(7, 'a')),
        'a column behind it': (other) => other.put(column(7, 'z')),
        'a column behind it, of now': (other) =>
          other.put(new Put('m').addColumn('f', 'z', Buffer.from('1'))),
      };
      for (const [name, change] of Object.entries(changes)) {
        const { engine } = await memoryStore();
        await engine.admin.createTable(tableDescriptor('t', { f: { versions: 100 } }));
        const table = engine.table('t');
        for (let i = 0; i < versions; i++) await table.put(column((10 + i) * 10));
        await table.put(new Put('l').addColumn('f', 'q', Buffer.from('1')));
        await table.put(new Put('n').addColumn('f', 'q', Buffer.from('1')));
        const read = (own: SyncTable) => own.getSync(new Get('m'));
        expect(await met(engine, read, (other) => other.put(put('l', '2')))).toBe('committed');
        expect(await met(engine, read, (other) => other.put(put('n', '2')))).toBe('committed');
        expect(await met(engine, read, change), name).toBe('overtaken');
        const all = (own: SyncTable) => rowsOf(own);
        expect(await met(engine, all, (other) => other.put(put('n', '3')))).toBe('overtaken');
        await engine.close();
      }
    });

    test('a column whose versions have few timestamps, before one with an earlier timestamp', async () => {
      const { engine } = await memoryStore();
      await engine.admin.createTable(tableDescriptor('t', { f: { versions: 100 } }));
      const table = engine.table('t');
      const column = (qualifier: string, timestamp: number) =>
        new Put('m', timestamp).addColumn('f', qualifier, Buffer.from('1'));
      for (const timestamp of [10, 10, 20, 20, 20, 30, 30, 30, 30, 30, 30, 30, 30])
        await table.put(column('z', timestamp));
      for (let i = 0; i < 20; i++) await table.put(column('q', 40 + (i >> 3)));
      const read = (own: SyncTable) => own.getSync(new Get('m'));
      const other = (row: string) => (beside: Table) =>
        beside.put(new Put(row, 50).addColumn('f', 'q', Buffer.from('1')));
      expect(await met(engine, read, other('l'))).toBe('committed');
      expect(await met(engine, read, (beside) => beside.put(column('z', 50)))).toBe('overtaken');
      expect(await met(engine, read, (beside) => beside.put(column('z', 50)))).toBe('overtaken');
      expect(await met(engine, read, (beside) => beside.put(column('q', 50)))).toBe('overtaken');
      await engine.close();
    });

    test('a column with many delete markers of the timestamp of the change', async () => {
      const { engine } = await opened();
      const table = engine.table('t');
      for (let i = 0; i < 8; i++) await table.delete(new Delete('m').addColumn('f', 'q', 50));
      const read = (own: SyncTable) => own.getSync(new Get('m'));
      const change = (other: Table) => other.put(new Put('m', 50).addColumn('f', 'q', Buffer.from('1')));
      expect(await met(engine, read, change)).toBe('overtaken');
      await engine.close();
    });

    test('a row of another table with the key of one that it has read before', async () => {
      const { engine } = await opened();
      await engine.admin.createTable(tableDescriptor('u', { f: {} }));
      await engine
        .transaction(async (tx) => {
          const tables = ['t', 'u'].map((name) => tx.table(name) as SyncTable);
          for (const table of tables) table.getSync(new Get('m'));
          await engine.table('u').put(put('m', '1'));
          await tables[0]!.put(put('own', '1'));
        }, once)
        .then(
          () => expect.fail('It was committed.'),
          (error: unknown) => expect(error).toBeInstanceOf(SerializationError),
        );
      await engine.close();
    });

    test('but not behind the last row of a scan that was to give no more', async () => {
      const { engine, table } = await opened();
      for (const row of ['a', 'b', 'c']) await table.put(put(row, '1'));
      const two = (own: SyncTable) => expect(rowsOf(own, new Scan().setLimit(2))).toEqual(['a', 'b']);
      expect(await met(engine, two, (other) => other.put(put('c', '2')))).toBe('committed');
      expect(await met(engine, two, (other) => other.put(put('aa', '2')))).toBe('overtaken');
      await engine.close();
    });

    test('by a write that is not acknowledged yet, and by a table made anew', async () => {
      const { engine, table } = await opened();
      await table.put(put('m', '1'));
      let pending: Promise<void> | undefined;
      const outcome = met(
        engine,
        (own) => own.getSync(new Get('m')),
        async (other) => {
          pending = other.put(put('m', '2'));
        },
      );
      expect(await outcome).toBe('overtaken');
      await pending;
      const anew = async (): Promise<void> => {
        await engine.admin.disableTable('t');
        await engine.admin.truncateTable('t', false);
      };
      expect(await met(engine, (own) => own.getSync(new Get('none')), anew)).toBe('overtaken');
      await engine.close();
    });
  });

  test('is tried again until nobody is in the way, and gives up in the end with the cause', async () => {
    const { engine, table } = await opened();
    await table.increment(new Increment('n').addColumn('f', 'n', 0n));
    await Promise.all(
      Array.from({ length: 20 }, () =>
        engine.transaction(
          async (tx) => {
            const own = tx.table('t');
            const value = Buffer.from((await own.get(new Get('n'))).getValue('f', 'n')!).readBigInt64BE();
            const next = Buffer.alloc(8);
            next.writeBigInt64BE(value + 1n);
            await own.put(new Put('n').addColumn('f', 'n', next));
          },
          { attempts: 100 },
        ),
      ),
    );
    expect(Buffer.from(table.getSync(new Get('n')).getValue('f', 'n')!).readBigInt64BE()).toBe(20n);
    let tries = 0;
    const lost = engine.transaction(
      async (tx) => {
        tries++;
        tx.table('t').getSync(new Get('n'));
        await table.put(put('n', `${tries}`));
        await tx.table('t').put(put('own', '1'));
      },
      { attempts: 3 },
    );
    await expect(lost).rejects.toMatchObject({
      code: 'ERR_SERIALIZATION',
      retryable: true,
      details: { attempts: 3, table: 't' },
      cause: { code: 'ERR_SERIALIZATION' },
    });
    expect(tries).toBe(3);
    // What its function makes of the conflict changes nothing.
    await expect(
      engine.transaction(async (tx) => {
        await engine.admin.disableTable('t');
        await engine.admin.enableTable('t');
        tx.table('t');
        throw new Error('own');
      }),
    ).rejects.toThrow('own');
    expect(rowsOf(table)).toEqual(['n']);
    await engine.close();
  });

  test('leaves nothing when it throws, is aborted or takes too long, and is of no use behind its end', async () => {
    const { engine, table } = await opened();
    const write = async (tx: TableTransaction): Promise<void> => tx.table('t').put(put('a', '1'));
    await expect(
      engine.transaction(async (tx) => {
        await write(tx);
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    const controller = new AbortController();
    let aborted: TableTransaction | undefined;
    await expect(
      engine.transaction(
        async (tx) => {
          aborted = tx;
          await write(tx);
          controller.abort();
          await new Promise(() => undefined);
        },
        { signal: controller.signal },
      ),
    ).rejects.toMatchObject({ code: 'ERR_ABORTED' });
    // What its function calls later fails for the reason that has ended it.
    expect(() => aborted!.table('t')).toThrow(expect.objectContaining({ code: 'ERR_ABORTED' }));
    await expect(
      engine.transaction(
        async (tx) => {
          await write(tx);
          await new Promise(() => undefined);
        },
        { timeout: 1 },
      ),
    ).rejects.toMatchObject({ code: 'ERR_TIMEOUT' });
    let kept: TableTransaction | undefined;
    let scan: ReturnType<SyncTable['scanSync']> | undefined;
    await table.put(put('x', '1'));
    await engine.transaction(async (tx) => {
      kept = tx;
      scan = tx.table('t').scanSync(new Scan());
    });
    expect(() => kept!.table('t')).toThrow(/has ended/);
    expect(() => scan!.next()).toThrow(/has ended/);
    expect(rowsOf(table)).toEqual(['x']);
    expect(engine.stats().openScanners).toBe(0);
    for (const wrong of [undefined, 1, {}]) {
      await expect(engine.transaction(wrong as never)).rejects.toMatchObject({
        code: 'ERR_INVALID_ARGUMENT',
      });
    }
    await expect(engine.transaction(write, { attempts: 0 })).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
    });
    await expect(engine.transaction(write, { attempt: 1 } as never)).rejects.toThrow(
      'transaction has no option "attempt". Its options are attempts, signal, timeout, attributes.',
    );
    // Only servers have a use for attributes; each engine takes them.
    await engine.transaction(write, { attributes: { id: 'a' } });
    await engine.close();
  });

  test('is ended when the store closes', async () => {
    const { engine } = await opened();
    let begun!: () => void;
    const inside = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const outcome = engine.transaction(async (tx) => {
      await tx.table('t').put(put('a', '1'));
      begun();
      await new Promise(() => undefined);
    });
    outcome.catch(() => undefined);
    await inside;
    await engine.close();
    await expect(outcome).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  });

  test('writes several tables, and a part that fails leaves the rest of it', async () => {
    const { engine, table } = await opened();
    await engine.admin.createTable(tableDescriptor('u', { f: {} }));
    await engine.transaction(async (tx) => {
      await tx.table('t').put(put('a', '1'));
      await expect(
        tx.table('t').batch([put('a', '2'), new Increment('a').addColumn('f', 'q', 1n)], { atomic: true }),
      ).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
      expect(await readValue(tx.table('t'), 'a')).toBe('1');
      const outcomes = await tx.table('u').batch([put('b', '1'), put('c', '1', 'none')]);
      expect(outcomes.map(({ ok }) => ok)).toEqual([true, false]);
    });
    expect(await contents(table)).toEqual(['a f:q=1']);
    expect(await contents(engine.table('u'))).toEqual(['b f:q=1']);
    await engine.close();
  });
});

describe('the timeout', () => {
  test.each([2 ** 31 - 1, 2 ** 31, Number.MAX_SAFE_INTEGER])(
    'of %i ms asks for no timer that would end at once',
    async (timeout) => {
      const { engine, store } = await opened();
      const timers = vi.spyOn(globalThis, 'setTimeout');
      try {
        await engine.transaction(async (tx) => tx.table('t').put(put('x', '1')), { timeout });
        const delays = timers.mock.calls.map(([, delay]) => delay ?? 0);
        expect(Math.max(...delays)).toBe(2 ** 31 - 1);
      } finally {
        timers.mockRestore();
      }
      await store.engine.close();
    },
  );
});
