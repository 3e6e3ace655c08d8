/** Transactions over entities: keys, versions, hooks, indexes, dictionaries, queries, and what is left when they fail. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  AfterDelete,
  AfterPut,
  AfterUpdate,
  Column,
  Counter,
  CreatedAt,
  Entity,
  Index,
  part,
  RowKey,
  substitute,
  Table,
  Version,
} from '../../decorators/index.js';
import { date, int32, text, uint32 } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { SerializationError } from '../../src/errors.js';
import type { Transaction } from '../../src/features/transactions/handle.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import { openMemory } from '../../src/testing/index.js';

const told: string[] = [];

@Table({ name: 'tx_accounts', families: { d: {} } })
class Accounts {}

@Entity({ table: Accounts })
@RowKey(part('bank'), part('id', uint32))
class Account {
  declare static readonly key: ['bank', 'id'];
  declare static readonly indexes: { byOwner: ['owner'] };
  bank!: string;
  id!: number;
  @Index('byOwner', { unique: true }) @Column('d:o', text) owner?: string | null;
  @Column('d:b', int32) balance!: number;
  @Version('d:v', int32) version?: number;
  @CreatedAt('d:c', date) createdAt?: Date;

  @AfterPut() put(): void {
    if (this.id === 13) throw new Error('hook');
    told.push(`put ${this.id}`);
  }
  @AfterUpdate() updated(): void {
    told.push(`updated ${this.id}`);
  }
  @AfterDelete() deleted(): void {
    told.push(`deleted ${this.id}`);
  }
}

@Table({ name: 'tx_visits', families: { d: {} } })
class Visits {}

@Entity({ table: Visits })
@RowKey(substitute('host', 'hosts'), part('id', uint32))
class Visit {
  declare static readonly key: ['host', 'id'];
  host!: string;
  id!: number;
  @Counter('d:n') count?: bigint;
}

let db: Database<EmbeddedEngine>;
beforeEach(async () => {
  told.length = 0;
  db = await openMemory({ entities: [Account, Visit] });
});
afterEach(() => db.close());

const account = (id: number, balance: number, owner = `o${id}`): Account =>
  Object.assign(new Account(), { bank: 'x', id, balance, owner });
const all = async (from: Pick<Database, 'repository'> | Transaction): Promise<[number, number][]> =>
  (await from.repository(Account).find({ bank: 'x' }).all()).map(({ id, balance }) => [id, balance]);

describe('db.transaction', () => {
  test('reads one moment and its own writes in every way, and writes all of it at once', async () => {
    await db.repository(Account).putMany([account(1, 10), account(2, 20)]);
    told.length = 0;
    const answer = await db.transaction(async (tx) => {
      const accounts = tx.repository(Account);
      expect(tx.repository(Account)).toBe(accounts);
      // Rowan's own steps are none of the application's: a rollback of these objects would not be one of the transaction.
      for (const own of ['add', 'rollback', 'rest', 'settle']) expect(own in tx).toBe(false);
      await accounts.insert(account(3, 30));
      await accounts.update({ bank: 'x', id: 1 }, { balance: 5 });
      await accounts.delete({ bank: 'x', id: 2 });
      expect(await all(tx)).toEqual([
        [1, 5],
        [3, 30],
      ]);
      expect(await all(db)).toEqual([
        [1, 10],
        [2, 20],
      ]);
      expect(await accounts.exists({ bank: 'x', id: 2 })).toBe(false);
      expect(
        (
          await accounts.getMany([
            { bank: 'x', id: 3 },
            { bank: 'x', id: 2 },
          ])
        ).map((a) => a?.id),
      ).toEqual([3, undefined]);
      expect(
        await accounts
          .find({ bank: 'x' })
          .where({ balance: { gte: 6 } })
          .count(),
      ).toBe(1);
      expect((await accounts.by('byOwner').find({ owner: 'o3' }).all()).map(({ id }) => id)).toEqual([3]);
      expect(await accounts.by('byOwner').find({ owner: 'o2' }).all()).toEqual([]);
      expect(told).toEqual([]);
      return 'done';
    });
    expect(answer).toBe('done');
    expect(told).toEqual(['put 3', 'updated 1', 'deleted 2']);
    expect(await all(db)).toEqual([
      [1, 5],
      [3, 30],
    ]);
    expect(await db.repository(Account).by('byOwner').find({ owner: 'o2' }).all()).toEqual([]);
  });

  test('counts versions up as it writes, and puts objects back when it fails', async () => {
    const kept = account(1, 10);
    await expect(
      db.transaction(async (tx) => {
        await tx.repository(Account).put(kept);
        expect(kept.version).toBe(1);
        kept.balance = 11;
        await tx.repository(Account).put(kept);
        expect(kept.version).toBe(2);
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    expect(kept.version).toBeUndefined();
    expect(kept.createdAt).toBeUndefined();
    expect(told).toEqual([]);
    let tries = 0;
    await db.transaction(async (tx) => {
      const accounts = tx.repository(Account);
      await accounts.get({ bank: 'x', id: 9 });
      await accounts.put(kept);
      if (tries++ === 0) await db.repository(Account).put(account(9, 1));
    });
    expect(tries).toBe(2);
    expect(kept.version).toBe(1);
    expect((await db.repository(Account).get({ bank: 'x', id: 1 }))?.version).toBe(1);
    expect(told).toEqual(['put 9', 'put 1']);
  });

  test('is overtaken by what others do to a unique index, a range or a counter that it read', async () => {
    const once = { attempts: 1 };
    const unique = db.transaction(async (tx) => {
      await tx.repository(Account).insert(account(1, 1, 'same'));
      await db.repository(Account).insert(account(2, 2, 'same'));
    }, once);
    await expect(unique).rejects.toBeInstanceOf(SerializationError);
    const again = db.transaction((tx) => tx.repository(Account).insert(account(1, 1, 'same')));
    await expect(again).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
    const range = db.transaction(async (tx) => {
      const sum = (await all(tx)).reduce((total, [, balance]) => total + balance, 0);
      await db.repository(Account).put(account(4, 4));
      await tx.repository(Account).put(account(100, sum));
    }, once);
    await expect(range).rejects.toBeInstanceOf(SerializationError);
    expect(await all(db)).toEqual([
      [2, 2],
      [4, 4],
    ]);
  });

  test('knows texts of dictionaries that are new, and is overtaken by those it found without a number', async () => {
    await db.transaction(async (tx) => {
      const visits = tx.repository(Visit);
      expect(await visits.get({ host: 'new', id: 1 })).toBeNull();
      await visits.increment({ host: 'new', id: 1 }, { count: 2n });
      expect((await visits.get({ host: 'new', id: 1 }))?.count).toBe(2n);
    });
    expect((await db.repository(Visit).get({ host: 'new', id: 1 }))?.count).toBe(2n);
    const phantom = db.transaction(
      async (tx) => {
        expect(await tx.repository(Visit).get({ host: 'other', id: 1 })).toBeNull();
        await db.repository(Visit).increment({ host: 'other', id: 1 }, { count: 1n });
        await tx.repository(Visit).increment({ host: 'new', id: 2 }, { count: 1n });
      },
      { attempts: 1 },
    );
    await expect(phantom).rejects.toBeInstanceOf(SerializationError);
    expect(await db.repository(Visit).get({ host: 'new', id: 2 })).toBeNull();
  });

  test('takes every way of writing, batches, checks and bulk changes among them', async () => {
    await db.repository(Account).putMany([account(1, 10), account(2, 20), account(3, 30)]);
    await db.transaction(async (tx) => {
      const accounts = tx.repository(Account);
      const outcomes = await accounts.batch((batch) =>
        batch.insert(account(1, 1)).update({ bank: 'x', id: 2 }, { balance: 21 }).get({ bank: 'x', id: 2 }),
      );
      expect(outcomes.map(({ ok }) => ok)).toEqual([false, true, true]);
      await expect(
        accounts.batch((batch) => batch.put(account(7, 7)).insert(account(1, 1)), { atomic: true }),
      ).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
      expect(await accounts.get({ bank: 'x', id: 7 })).toBeNull();
      expect(await accounts.check({ bank: 'x', id: 3 }, { balance: 31 }).delete()).toMatchObject({
        ok: false,
      });
      expect(await accounts.check({ bank: 'x', id: 3 }, { balance: 30 }).update({ balance: 33 })).toEqual({
        ok: true,
      });
      await accounts.mutate({ bank: 'x', id: 1 }, (row) => row.set({ balance: 11 }));
      expect(await accounts.upsert(account(5, 50), { balance: 51 })).toBe('inserted');
      expect(await accounts.upsert(account(5, 50), { balance: 51 })).toBe('updated');
      expect(await accounts.deletePrefix({ bank: 'x', id: { gte: 2, lt: 3 } })).toBe(1);
      expect(await all(tx)).toEqual([
        [1, 11],
        [3, 33],
        [5, 51],
      ]);
    });
    expect(await all(db)).toEqual([
      [1, 11],
      [3, 33],
      [5, 51],
    ]);
  });

  test('refuses to be nested, to be kept, and what is no function', async () => {
    let kept: Transaction | undefined;
    await db.transaction(async (tx) => {
      kept = tx;
      expect(() => tx.transaction()).toThrow(/inside another/);
    });
    await expect(all(kept!)).rejects.toMatchObject({ code: 'ERR_TRANSACTION_ENDED' });
    expect(() => kept!.repository(Visit)).toThrow(/has ended/);
    await expect(db.transaction('x' as never)).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
    await expect(db.transaction(async () => 1, { tries: 1 } as never)).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
    });
  });

  test('says of a hook that throws behind it that all was written', async () => {
    await expect(db.transaction((tx) => tx.repository(Account).put(account(13, 1)))).rejects.toMatchObject({
      code: 'ERR_HOOK',
    });
    expect(await all(db)).toEqual([[13, 1]]);
  });
});
