/** Many puts in one call take a short way to the entries of rows that are new: they are those of the long way. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Database } from '../../src/database.js';
import {
  type BulkWriteOptions,
  bytes,
  Column,
  date,
  Entity,
  Index,
  int32,
  part,
  RowanError,
  RowKey,
  reverseTimestamp,
  salt,
  Table,
  text,
} from '../../src/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { openEmbedded } from '../../src/store/engine.js';
import { type Engine, PackedPuts, Put, Scan } from '../../src/table/index.js';
import { MemoryFileSystem, openMemory } from '../../src/testing/index.js';
import { scaled } from '../proof/scale.js';

@Table({ name: 'orders', families: { d: {}, e: {} } })
class Orders {}

@Entity({ table: Orders })
@RowKey(salt(2), part('shop', int32), part('id'))
@Index('byStatus', [part('status'), reverseTimestamp('placedAt')], { include: ['total', 'note'] })
@Index('byShop', [salt(3), part('shop', int32), part('total', int32)])
@Index('byNote', [part('note')], { include: ['status'] })
class Order {
  declare static readonly key: ['shop', 'id'];
  declare static readonly indexes: {
    byStatus: ['status', 'placedAt'];
    byShop: ['shop', 'total'];
    byNote: ['note'];
  };
  shop!: number;
  id!: string;
  @Column('d:s', text) status?: string | null | undefined;
  @Column('e:p', date) placedAt?: Date | null | undefined;
  @Column('d:t', int32) total?: number | null | undefined;
  @Column('e:n', text) note?: string | null | undefined;
  @Column('d:b', bytes) blob?: Uint8Array | null | undefined;
}

@Table({ name: 'accounts', families: { d: {} } })
class Accounts {}

@Entity({ table: Accounts })
@RowKey(part('id'))
@Index('byMail', [part('mail')], { unique: true, include: ['name'] })
@Index('byTag', [part('tag')], { unique: true })
@Index('byName', [part('name')])
class Account {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byMail: ['mail']; byTag: ['tag']; byName: ['name'] };
  id!: string;
  @Column('d:m', text) mail?: string | null | undefined;
  @Column('d:g', int32) tag?: number | null | undefined;
  @Column('d:n', text) name?: string | null | undefined;
}
type AccountRow = Pick<Account, 'id' | 'mail' | 'tag' | 'name'>;

type OrderRow = Pick<Order, 'shop' | 'id' | 'status' | 'placedAt' | 'total' | 'note' | 'blob'>;

async function cells({ engine }: { readonly engine: Engine }, table: string): Promise<string[]> {
  return (await stamped(engine, table)).map(([cell]) => cell);
}

/** A timeout takes no part in what is stored, and such calls do not pack. */
const UNPACKED = { timeout: 60_000 };

/** The cells with their timestamps. */
async function stamped(engine: Engine, table: string): Promise<(readonly [cell: string, time: number])[]> {
  const found: (readonly [string, number])[] = [];
  for await (const { cells } of engine.table(table).scan(new Scan())) {
    for (const { row, family, qualifier, value, timestamp } of cells) {
      const parts = [row, Buffer.from(family), qualifier, value];
      found.push([parts.map((each) => Buffer.from(each).toString('hex')).join(' '), timestamp]);
    }
  }
  return found;
}

/** `nulls`: values that are null, for which no batch takes the short way. */
const order = (nulls: boolean): fc.Arbitrary<OrderRow> => {
  const value = <T>(given: fc.Arbitrary<T>) =>
    fc.option(nulls ? fc.option(given, { nil: null }) : given, { nil: undefined });
  return fc.record({
    shop: fc.constantFrom(1, 2),
    id: fc.constantFrom('a', 'b', 'c'),
    status: value(fc.constantFrom('', 'open', 'sent\0', 'é', 'sent', 'x'.repeat(32_767))),
    placedAt: value(fc.constantFrom(new Date(0), new Date(7))),
    total: value(fc.constantFrom(-1, 0, 5)),
    note: value(fc.constantFrom('n', '\0', 'ü\0')),
    blob: value(fc.constant(Uint8Array.of(1))),
  });
};
const batch = fc
  .constantFrom(false, false, false, true)
  .chain((nulls) => fc.array(order(nulls), { maxLength: 6 }));
const options = fc.constantFrom(undefined, undefined, { durability: 'ASYNC_WAL' } as const, {
  timestamp: 1000,
});

describe('putMany of an entity with indexes', () => {
  test('writes the entries that puts one by one write, refuses what they refuse, and nothing else', async () => {
    const step = fc.record({ orders: batch, options, gone: fc.option(order(false), { freq: 1 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 4 }), async (steps) => {
        const many = await openMemory({ entities: [Order] });
        const single = await openMemory({ entities: [Order] });
        for (const { orders, options, gone } of steps) {
          const refused: unknown[] = [];
          for (const each of orders) {
            await single
              .repository(Order)
              .put(each, options)
              .catch((error: unknown) => refused.push(error));
          }
          const all = many.repository(Order).putMany(orders, options);
          if (refused.length === 0) await all;
          else {
            const error = await all.catch((thrown: unknown) => thrown);
            expect(error).toBeInstanceOf(RowanError);
            expect((error as RowanError).code).toBe((refused[0] as RowanError).code);
            expect((error as RowanError).message).toContain((refused[0] as RowanError).message);
          }
          for (const db of [many, single]) if (gone !== null) await db.repository(Order).delete(gone);
          for (const table of ['orders', 'orders_idx'])
            expect(await cells(many, table)).toEqual(await cells(single, table));
        }
        const { missing, extra, stale } = await many.index(Order, 'byStatus').verify();
        expect({ missing, extra, stale }).toEqual({ missing: 0, extra: 0, stale: 0 });
        await many.close();
        await single.close();
      }),
      { numRuns: scaled(8, 200, 3000) },
    );
  });

  test('writes packed rows and entries as others, in memory and behind a crash', async () => {
    const settings = { automatic: false, clock: () => 5000, maxCellSize: 20_000 };
    const openStore = async () => {
      const files = new MemoryFileSystem();
      const engine = await openEmbedded('/db', { ...settings, fileSystem: files });
      const schema = compileSchema([Order]);
      const db = new Database(schema, engine, 'create');
      await db.ready();
      await engine.admin.split('orders', Uint8Array.of(0, 0x80, 0, 0, 2));
      const { layout } = schema.entities[0]!.indexes.find(({ name }) => name === 'byNote')!;
      await engine.admin.split('orders_idx', layout.prefixOf({ note: { kind: 'eq', value: 'n' } })!);
      return { db, engine, files };
    };
    const kept = fc.constantFrom<BulkWriteOptions<OrderRow>>(
      {},
      { durability: 'ASYNC_WAL' },
      { durability: 'SKIP_WAL' },
    );
    const step = fc.record({
      orders: fc.array(order(false), { maxLength: 6 }),
      kept,
      gone: fc.option(order(false), { freq: 2 }),
      flushed: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 4 }), async (steps) => {
        const packed = await openStore();
        const other = await openStore();
        for (const { orders, kept, gone, flushed } of steps) {
          const put = (db: Database, options: BulkWriteOptions<OrderRow>): Promise<unknown> =>
            db
              .repository(Order)
              .putMany(orders, options)
              .catch(({ code, message }: RowanError) => ({ code, message }));
          const outcome = await put(packed.db, kept);
          expect(outcome).toEqual(await put(other.db, { ...kept, ...UNPACKED }));
          for (const { db } of [packed, other]) {
            if (gone !== null) await db.repository(Order).delete(gone);
            if (flushed) await db.engine.admin.flush('orders');
          }
          for (const table of ['orders', 'orders_idx'])
            expect(await stamped(packed.engine, table)).toEqual(await stamped(other.engine, table));
        }
        const found: unknown[] = [];
        for (const { db, files } of [packed, other]) {
          const crashed = files.crash({ keepUnsynced: 0, random: () => 0 });
          await db.close();
          const again = await openEmbedded('/db', { ...settings, fileSystem: crashed });
          found.push([await stamped(again, 'orders'), await stamped(again, 'orders_idx')]);
          await again.close();
        }
        expect(found[0]).toEqual(found[1]);
      }),
      { numRuns: scaled(5, 150, 2500) },
    );
  });

  test('refuses values of unique indexes that another row has, and writes all others, as puts one by one do', async () => {
    const account = fc.record({
      id: fc.constantFrom(...'abcdefgh'),
      mail: fc.option(fc.constantFrom('a@x', 'b@x', 'c@x', 'd@x', 'e@x', ''), { nil: undefined }),
      tag: fc.option(fc.integer({ min: 0, max: 40 }), { nil: undefined }),
      name: fc.option(fc.constantFrom('n', 'm'), { nil: undefined }),
    });
    const step = fc.record({
      accounts: fc.array(account, { maxLength: 4 }),
      inserted: fc.boolean(),
      gone: fc.option(account, { freq: 1 }),
      flushed: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), async (steps) => {
        const many = await openMemory({ entities: [Account] });
        const single = await openMemory({ entities: [Account] });
        for (const { accounts, inserted, gone, flushed } of steps) {
          const refused: (string | undefined)[] = [];
          for (const each of accounts) {
            const accountsOfSingle = single.repository(Account);
            await (inserted ? accountsOfSingle.insert(each) : accountsOfSingle.put(each)).then(
              () => refused.push(undefined),
              ({ message }: RowanError) => refused.push(message),
            );
          }
          if (inserted) {
            const outcomes = await many.repository(Account).batch((all) => {
              for (const each of accounts) all.insert(each);
              return all;
            });
            expect(outcomes.map((each) => (each.ok ? undefined : each.error.message))).toEqual(refused);
          } else {
            const error: unknown = await many
              .repository(Account)
              .putMany(accounts)
              .catch((thrown: unknown) => thrown);
            const first = refused.find((each) => each !== undefined);
            if (first === undefined) expect(error).toBeUndefined();
            else expect((error as RowanError).message).toContain(first);
          }
          for (const db of [many, single]) {
            if (gone !== null) await db.repository(Account).delete(gone);
            if (flushed) for (const table of ['accounts', 'accounts_idx']) await db.engine.admin.flush(table);
          }
          for (const table of ['accounts', 'accounts_idx'])
            expect(await cells(many, table)).toEqual(await cells(single, table));
        }
        for (const db of [many, single]) await db.close();
      }),
      { numRuns: scaled(8, 200, 3000) },
    );
  });

  test('packs new rows of unique indexes, unless one of their values is taken', async () => {
    const db = await openMemory({ entities: [Account] });
    const accounts = db.repository(Account);
    const steps: string[] = [];
    const rows = (from: number): AccountRow[] =>
      Array.from({ length: 5 }, (_, i) => ({ id: `a${from + i}`, mail: `m${from + i}@x`, tag: from + i }));
    const original = PackedPuts.prototype.toPuts;
    PackedPuts.prototype.toPuts = function unpacked(this: PackedPuts): Put[] {
      steps.push('one by one');
      return original.call(this);
    };
    try {
      await accounts.putMany(rows(0));
      expect(steps).toEqual([]);
      const clash = [...rows(10), { id: 'z', mail: 'm3@x' }];
      await expect(accounts.putMany(clash)).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
      expect(steps).toEqual(['one by one']);
    } finally {
      PackedPuts.prototype.toPuts = original;
    }
    expect((await accounts.by('byMail').find({ mail: 'm3@x' }).first())?.id).toBe('a3');
    expect((await accounts.by('byTag').find({ tag: 12 }).first())?.id).toBe('a12');
    expect(await accounts.exists({ id: 'z' })).toBe(false);
    await db.close();
  });

  test('writes more rows than one step takes, of which some exist', async () => {
    const rows = Array.from({ length: 1300 }, (_, i) => ({
      shop: 1,
      id: `o${(i * 7919) % 1300}`,
      total: i,
      note: i % 3 === 0 ? 'x'.repeat(i % 40) : undefined,
    }));
    const packed = await openMemory({ entities: [Order] });
    const other = await openMemory({ entities: [Order] });
    for (const db of [packed, other])
      await db.repository(Order).put({ shop: 1, id: rows[200]!.id, total: -1, note: 'old' });
    await packed.repository(Order).putMany(rows);
    await other.repository(Order).putMany(rows, UNPACKED);
    for (const table of ['orders', 'orders_idx'])
      expect(await cells(packed, table)).toEqual(await cells(other, table));
    await packed.close();
    await other.close();
  });

  test('in a transaction and with an observer of the entries, too', async () => {
    const db = await openMemory({ entities: [Order] });
    const orders = db.repository(Order);
    const seen: string[] = [];
    const end = db.engine.observe('orders_idx', {
      after({ change }) {
        seen.push(Buffer.from(change.row).toString('latin1'));
        return [{ table: 'orders', change: new Put('seen').addColumn('d', 'x', '1') }];
      },
    });
    await orders.putMany([
      { shop: 1, id: 'a', note: 'one' },
      { shop: 1, id: 'b', note: 'two' },
    ]);
    expect(seen.length).toBe(2);
    end();
    await db.transaction((tx) => tx.repository(Order).putMany([{ shop: 1, id: 'c', note: 'one' }]));
    const found = await orders.by('byNote').find({ note: 'one' }).all();
    expect(found.map(({ id }) => id).sort()).toEqual(['a', 'c']);
    expect(await orders.by('byNote').find({ note: 'two' }).count()).toBe(1);
    await db.close();
  });

  test('an index that is built meanwhile has them, and what follows a delete in the same millisecond', async () => {
    const db = await openMemory({ entities: [Order], clock: () => 5000 });
    const orders = db.repository(Order);
    const rows = Array.from({ length: 90 }, (_, i) => ({
      shop: i % 3,
      id: `o${i}`,
      total: i,
      note: `n${i % 7}`,
    }));
    await orders.putMany(rows);
    await orders.deleteMany(rows);
    const built = db.index(Order, 'byNote').build();
    await orders.putMany(rows);
    await built;
    expect(await orders.by('byNote').find({ note: 'n3' }).count()).toBe(
      rows.filter(({ note }) => note === 'n3').length,
    );
    for (const index of ['byShop', 'byNote'] as const) {
      const { missing, extra, stale } = await db.index(Order, index).verify();
      expect({ missing, extra, stale }).toEqual({ missing: 0, extra: 0, stale: 0 });
    }
    await db.close();
  });

  test('an index that is built over rows has the entries that their writes would have made', async () => {
    const some = fc.array(order(true), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(some, fc.integer({ min: 1, max: 5 }), async (rows, batchRows) => {
        const db = await openMemory({ entities: [Order] });
        const orders = db.repository(Order);
        for (const row of rows) await orders.put(row).catch(() => undefined);
        const kept = await cells(db, 'orders_idx');
        for (const name of ['byStatus', 'byShop', 'byNote'] as const) {
          await db.index(Order, name).drop();
          await db.index(Order, name).build({ batchRows, checkpointRows: 2 * batchRows });
        }
        expect(await cells(db, 'orders_idx')).toEqual(kept);
        await db.close();
      }),
      { numRuns: scaled(3, 60, 1000) },
    );
  });

  test('an index is not built of bytes that are no text', async () => {
    const db = await openMemory({ entities: [Order] });
    await db.repository(Order).put({ shop: 1, id: 'a', note: 'n' });
    const { row } = (await db.engine.table('orders').scan(new Scan()).nextBatch(1))[0]!;
    await db.engine.table('orders').put(new Put(row).addColumn('e', 'n', Uint8Array.of(0x6e, 0xff)));
    await db.index(Order, 'byNote').drop();
    await expect(db.index(Order, 'byNote').build()).rejects.toMatchObject({ code: 'ERR_CODEC' });
    expect((await cells(db, 'orders_idx')).filter((cell) => cell.includes('6eff'))).toEqual([]);
    await db.close();
  });

  test('a put with a time of its own that a delete hides has no entries', async () => {
    const db = await openMemory({ entities: [Order] });
    const orders = db.repository(Order);
    await orders.putMany([{ shop: 1, id: 'a', note: 'n' }]);
    await orders.delete({ shop: 1, id: 'a' });
    await orders.putMany([{ shop: 1, id: 'a', note: 'n' }], { timestamp: 1000 });
    expect(await cells(db, 'orders')).toEqual([]);
    expect(await cells(db, 'orders_idx')).toEqual([]);
    await db.close();
  });
});
