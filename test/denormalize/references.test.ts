/** Referential rules: at the rows that name others, and when those are deleted. */

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  Column,
  Denormalized,
  Entity,
  Index,
  part,
  Reference,
  RowKey,
  salt,
  Version,
} from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import type { RowanError, SchemaError } from '../../src/errors.js';
import { uint32 } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import { Delete, Put } from '../../src/table/index.js';
import { openMemory, settableClock } from '../../src/testing/index.js';
import { scaled } from '../proof/scale.js';
import { bothEngines } from '../proof/stepless.js';

const families = { d: {} };

@Entity({ table: { name: 'people', families } })
@RowKey(part('id'))
class Person {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:n', text) name?: string | null;
  @Column('d:b', text) bossId?: string | null;
  @Reference(() => Person, { id: 'bossId' }, { onDelete: 'cascade' }) boss?: Person | null;
}

@Entity({ table: { name: 'orders', families } })
@RowKey(salt(2), part('no', uint32))
class Order {
  declare static readonly key: ['no'];
  no!: number;
  @Column('d:c', text) customerId?: string | null;
  @Reference(() => Person, { id: 'customerId' }, { onDelete: 'restrict' }) customer?: Person | null;
}

/** Ends by itself; found by the order's number, with which its key begins; names a seller and holds a copy of the name. */
@Entity({ table: { name: 'items', families }, ttl: 60_000 })
@RowKey(part('no', uint32), part('at', uint32))
@Denormalized(() => Person, { via: 'sellerId', fields: { sellerName: 'name' } })
@Index('bySeller', [part('sellerName')])
class Item {
  declare static readonly key: ['no', 'at'];
  declare static readonly indexes: { bySeller: ['sellerName'] };
  no!: number;
  at!: number;
  @Column('d:s', text) sellerId?: string | null;
  @Column('d:n', text) sellerName?: string | null;
  @Version('d:v', int32) version?: number;
  @Reference(() => Order, { no: 'no' }, { onDelete: 'cascade' }) order?: Order | null;
  @Reference(() => Person, { id: 'sellerId' }, { onDelete: 'setNull' }) seller?: Person | null;
}

const entities = [Person, Order, Item];
const clock = settableClock();
let db: Database<EmbeddedEngine>;

beforeEach(async () => {
  db = await openMemory({ entities, clock });
  await db.repository(Person).putMany([
    { id: 'ann', name: 'Ann' },
    { id: 'bob', name: 'Bob' },
  ]);
  await db.repository(Order).put({ no: 1, customerId: 'ann' });
  await db.repository(Item).put({ no: 1, at: 1, sellerId: 'bob' });
});
afterEach(() => db.close());

const refused = (entity: string) =>
  expect.objectContaining({ code: 'ERR_REFERENCE', details: expect.objectContaining({ entity }) });

test.each(scaled<readonly number[]>([], [10_001], [10_001]))(
  'a delete takes no %i rows along',
  async (rows) => {
    const db = await openMemory({ entities: [Person, Order, Item] });
    const people = db.repository(Person);
    const below = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, i) => ({ id: `p${from + i}`, bossId: 'boss' }));
    await people.put({ id: 'boss' });
    await people.putMany(below(0, rows));
    await expect(people.delete({ id: 'boss' })).rejects.toMatchObject({ code: 'ERR_TOO_LARGE' });
    expect(await people.find({}, { fullScan: true }).count()).toBe(rows + 1);
    await people.delete({ id: 'p0' });
    await people.delete({ id: 'boss' });
    expect(await people.find({}, { fullScan: true }).count()).toBe(0);
    expect(await db.references(Person).check()).toMatchObject({ dangling: 0 });
    await db.close();
  },
);

describe('a write that names what is not there', () => {
  test('is refused in every way of writing, and leaves nothing', async () => {
    const orders = db.repository(Order);
    await expect(orders.put({ no: 2, customerId: 'nobody' })).rejects.toEqual(refused('Order'));
    await expect(orders.update({ no: 1 }, { customerId: 'nobody' })).rejects.toThrow(
      'Order.customer references the Person { id: "nobody" }',
    );
    await expect(orders.insert({ no: 2, customerId: 'nobody' })).rejects.toEqual(refused('Order'));
    await expect(db.repository(Item).put({ no: 9, at: 1 })).rejects.toEqual(refused('Item'));
    const outcomes = await db.batch((batch) => {
      batch.of(Order).put({ no: 2, customerId: 'bob' }).put({ no: 3, customerId: 'nobody' });
    });
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, false]);
    await expect(
      db.transaction(async (tx) => {
        await tx.repository(Order).put({ no: 4, customerId: 'ann' });
        await tx.repository(Order).put({ no: 5, customerId: 'nobody' });
      }),
    ).rejects.toEqual(refused('Order'));
    expect((await orders.find({}, { fullScan: true }).all()).map(({ no }) => no).sort()).toEqual([1, 2]);
    await orders.put({ no: 6 });
    await orders.put({ no: 7, customerId: null });
    // Itself, and what was written before in the same batch.
    await db.repository(Person).put({ id: 'self', bossId: 'self' });
    await db.batch(
      (batch) => {
        batch.of(Person).put({ id: 'eve' });
        batch.of(Order).put({ no: 8, customerId: 'eve' });
      },
      { atomic: true },
    );
  });
});

describe('a delete of what is named', () => {
  test('restrict refuses it, whole, until nothing names it', async () => {
    await expect(db.repository(Person).delete({ id: 'ann' })).rejects.toEqual(refused('Order'));
    await expect(db.repository(Person).delete({ id: 'ann' })).rejects.toThrow(
      'Order { no: 1 } references it',
    );
    await db.repository(Order).update({ no: 1 }, { customerId: 'bob' });
    await db.repository(Person).delete({ id: 'ann' });
    expect(await db.repository(Person).get({ id: 'ann' })).toBeNull();
  });

  test('setNull takes the reference away, with copies, entries, and a version; the row lives no longer for it', async () => {
    await db.repository(Order).update({ no: 1 }, { customerId: 'ann' });
    clock.advance(40_000);
    await db.repository(Person).delete({ id: 'bob' });
    const item = await db.repository(Item).get({ no: 1, at: 1 });
    expect(item).toMatchObject({ version: 2 });
    expect([item?.sellerId, item?.sellerName]).toEqual([undefined, undefined]);
    expect(await db.repository(Item).by('bySeller').find({ sellerName: 'Bob' }).count()).toBe(0);
    clock.advance(21_100);
    expect(await db.repository(Item).get({ no: 1, at: 1 })).toBeNull();
  });

  test('cascade deletes along, down to the last, and stops at a circle and at restrict', async () => {
    const people = db.repository(Person);
    await people.putMany([
      { id: 'c', bossId: 'bob' },
      { id: 'd', bossId: 'c' },
      { id: 'e', bossId: 'd' },
    ]);
    await people.update({ id: 'bob' }, { bossId: 'e' });
    await db.repository(Order).put({ no: 2, customerId: 'e' });
    await expect(people.delete({ id: 'c' })).rejects.toEqual(refused('Order'));
    expect(await people.find({}, { fullScan: true }).count()).toBe(5);
    await db.repository(Order).delete({ no: 2 });
    await people.delete({ id: 'c' });
    expect((await people.find({}, { fullScan: true }).all()).map(({ id }) => id)).toEqual(['ann']);
    expect((await db.repository(Item).get({ no: 1, at: 1 }))?.sellerId).toBeUndefined();
    await db.repository(Order).delete({ no: 1 });
    expect(await db.repository(Item).get({ no: 1, at: 1 })).toBeNull();
  });

  test('a long chain needs no deep stack', async () => {
    const people = db.repository(Person);
    await people.put({ id: 'p0' });
    const chain = Array.from({ length: scaled(300, 3000, 9000) }, (_, i) => ({
      id: `p${i + 1}`,
      bossId: `p${i}`,
    }));
    await people.putMany(chain);
    await people.delete({ id: 'p0' });
    expect(await people.find({}, { fullScan: true }).count()).toBe(2);
  });

  test('at once with writes that name it: one of the two is refused', async () => {
    for (let round = 0; round < 10; round++) {
      const id = `r${round}`;
      await db.repository(Person).put({ id });
      const done = await Promise.allSettled([
        db.repository(Order).put({ no: 100 + round, customerId: id }),
        db.repository(Person).delete({ id }),
        db.transaction((tx) => tx.repository(Order).put({ no: 200 + round, customerId: id })),
      ]);
      const there = (await db.repository(Person).get({ id })) !== null;
      const naming = await db
        .repository(Order)
        .find({}, { fullScan: true })
        .where({ customerId: id })
        .count();
      expect(there || naming === 0).toBe(true);
      for (const one of done)
        if (one.status === 'rejected') expect((one.reason as RowanError).code).toBe('ERR_REFERENCE');
    }
    expect(await db.references(Order).check()).toMatchObject({ dangling: 0 });
  });

  test('explainWrite says what a delete does to others', async () => {
    expect((await db.explainWrite(Person, { id: 'bob' })).referredBy).toEqual([
      { entity: 'Person', property: 'boss', onDelete: 'cascade', foundBy: 'index ref_bossId', rows: 0 },
      {
        entity: 'Order',
        property: 'customer',
        onDelete: 'restrict',
        foundBy: 'index ref_customerId',
        rows: 0,
      },
      { entity: 'Item', property: 'seller', onDelete: 'setNull', foundBy: 'index ref_sellerId', rows: 1 },
    ]);
  });
});

test('check counts what names nothing; with(…) gives null for it', async () => {
  const { mapper } = compileSchema(entities).entity(Person);
  await db.engine.table('people').delete(new Delete(mapper.rowOf({ id: 'ann' })));
  expect(await db.references(Order).check()).toEqual({ rows: 1, valid: 0, dangling: 1 });
  expect(await db.references(Item).check()).toEqual({ rows: 1, valid: 2, dangling: 0 });
  expect(
    (await db.repository(Order).find({}, { fullScan: true }).with('customer').first())?.customer,
  ).toBeNull();
});

test('wrong rules are said when the schema is compiled', () => {
  const wrong = (rule: unknown): string => {
    @Entity({ table: { name: 'wrong', families } })
    @RowKey(part('id'))
    class Wrong {
      declare static readonly key: ['id'];
      id!: string;
      @Reference(() => Person, { id: 'id' }, rule as never) person?: Person | null;
    }
    try {
      compileSchema([Person, Wrong]);
      return '';
    } catch (error) {
      return (error as SchemaError).problems.join('\n');
    }
  };
  expect(wrong({ onDelete: 'cascade' })).toBe('');
  expect(wrong({ onDelete: 'delete' })).toContain("Give 'restrict', 'cascade' or 'setNull'");
  expect(wrong({ onDelete: 'setNull' })).toContain('"id" is part of the key');
  expect(wrong({ exists: 1 })).toContain('Give true or false');
  expect(wrong({ ondelete: 'restrict' })).toContain('has no option');
  expect(() => compileSchema([Order])).toThrow('not among the entities');
});

@Entity({ table: { name: 'tenant_users', families } })
@RowKey(part('tenantId'), part('id'))
class User {
  declare static readonly key: ['tenantId', 'id'];
  tenantId!: string;
  id!: string;
  @Column('d:n', text) name?: string | null;
}

/** Its key begins with a part of that of its user. */
@Entity({ table: { name: 'tenant_issues', families } })
@RowKey(part('tenantId'), part('no', uint32))
class Issue {
  declare static readonly key: ['tenantId', 'no'];
  tenantId!: string;
  no!: number;
  @Column('d:a', text) assigneeId?: string | null;
  @Column('d:t', text) title?: string | null;
  @Reference(() => User, { tenantId: 'tenantId', id: 'assigneeId' }, { onDelete: 'setNull' })
  assignee?: User | null;
}

test.each(Object.entries(bothEngines([User, Issue])))(
  'setNull of a reference by several properties clears those that a row may lack: %s',
  async (_, opened) => {
    const { db: tenants, close } = await opened();
    const issues = tenants.repository(Issue);
    await tenants.repository(User).putMany(['t1', 't2'].map((tenantId) => ({ tenantId, id: 'ann' })));
    await issues.putMany(
      ['t1', 't2'].map((tenantId) => ({ tenantId, no: 1, title: 'it', assigneeId: 'ann' })),
    );
    await tenants.repository(User).delete({ tenantId: 't1', id: 'ann' });
    expect(await issues.get({ tenantId: 't1', no: 1 })).toEqual({ tenantId: 't1', no: 1, title: 'it' });
    expect(await issues.get({ tenantId: 't2', no: 1 })).toMatchObject({ assigneeId: 'ann' });
    expect(await tenants.references(Issue).check()).toEqual({ rows: 2, valid: 2, dangling: 0 });
    await close();
  },
);

test('a rule that only writes follow adds no index, and one that deletes follow does', () => {
  const orders = (rule: object) => {
    @Entity({ table: { name: 'plain_orders', families } })
    @RowKey(part('no', uint32))
    class Plain {
      declare static readonly key: ['no'];
      no!: number;
      @Column('d:c', text) customerId?: string | null;
      @Reference(() => Person, { id: 'customerId' }, rule) customer?: Person | null;
    }
    return compileSchema([Person, Plain])
      .entity(Plain)
      .indexes.map(({ name }) => name);
  };
  expect(orders({ exists: true })).toEqual([]);
  expect(orders({ onDelete: 'restrict' })).toEqual(['ref_customerId']);
});

test('random writes and deletes leave no reference to what is not there', async () => {
  const id = fc.constantFrom('ann', 'bob', 'cat', 'dan');
  const no = fc.integer({ min: 1, max: 4 });
  const step = fc.oneof(
    fc.record({ do: fc.constant('person' as const), id, boss: fc.option(id) }),
    fc.record({ do: fc.constant('order' as const), no, id: fc.option(id) }),
    fc.record({ do: fc.constant('item' as const), no, at: no, id: fc.option(id) }),
    fc.record({ do: fc.constant('drop' as const), id }),
    fc.record({ do: fc.constant('cancel' as const), no }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { maxLength: 12 }),
      async (rounds) => {
        const own = await openMemory({ entities });
        const calls = rounds.map(async (steps) => {
          for (const s of steps) {
            const work = async (): Promise<unknown> => {
              if (s.do === 'person')
                return own.repository(Person).put({ id: s.id, name: s.id, bossId: s.boss });
              if (s.do === 'order') return own.repository(Order).put({ no: s.no, customerId: s.id });
              if (s.do === 'drop') return own.repository(Person).delete({ id: s.id });
              if (s.do === 'cancel') return own.repository(Order).delete({ no: s.no });
              const items = own.repository(Item);
              return items.upsert({ no: s.no, at: s.at, sellerId: s.id }, { sellerId: s.id });
            };
            await work().catch((error: RowanError) => expect(error.code).toBe('ERR_REFERENCE'));
          }
        });
        await Promise.all(calls);
        for (const target of entities) {
          const report = await own.references(target as typeof Order).check();
          expect(report).toMatchObject({ dangling: 0 });
        }
        expect(await own.denormalized(Item).check()).toMatchObject({ stale: 0, missing: 0, extra: 0 });
        await own.close();
      },
    ),
    { numRuns: scaled(4, 40, 1000) },
  );
});

/** No rule deletes it. */
@Entity({ table: { name: 'pets', families } })
@RowKey(part('id'))
class Pet {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:n', text) name?: string | null;
  @Column('d:k', text) keeperId?: string | null;
  @Reference(() => Person, { id: 'keeperId' }, { onDelete: 'setNull' }) keeper?: Person | null;
}

describe('a future timestamp, which the delete of a rule does not reach', () => {
  const refused = { code: 'ERR_UNSUPPORTED', message: expect.stringContaining('a future timestamp') };

  test('is refused of a reference that a rule may clear, and taken of other columns', async () => {
    await using all = await openMemory({ entities: [...entities, Pet], clock });
    const future = { timestamp: clock() + 1000 };
    await all.repository(Person).putMany([{ id: 'ann' }, { id: 'bob' }]);
    const pets = all.repository(Pet);
    await expect(pets.put({ id: 'cat', keeperId: 'ann' }, future)).rejects.toMatchObject(refused);
    expect(await pets.get({ id: 'cat' })).toBeNull();
    await pets.put({ id: 'cat', keeperId: 'ann', name: 'Tom' });
    await expect(pets.update({ id: 'cat' }, { keeperId: 'bob' }, future)).rejects.toMatchObject(refused);
    await pets.update({ id: 'cat' }, { name: 'Tim' }, future);
    await all.repository(Person).delete({ id: 'ann' });
    const cat = await pets.get({ id: 'cat' });
    expect([cat?.name, cat?.keeperId ?? null]).toEqual(['Tim', null]);
    expect(await all.references(Pet).check()).toMatchObject({ dangling: 0 });
  });

  test('that is there already is told by a repair, which corrects the reference when the time has come', async () => {
    await using all = await openMemory({ entities: [...entities, Pet], clock });
    const future = clock() + 1000;
    const put = (table: string, row: string, column: string, value: string) =>
      all.engine.table(table).put(new Put(row).addColumn('d', column, value, future));
    await all.repository(Person).putMany([{ id: 'ann' }, { id: 'cid', bossId: 'ann' }]);
    await all.repository(Pet).putMany([
      { id: 'cat', keeperId: 'ann' },
      { id: 'dog', keeperId: 'ann' },
    ]);
    await put('pets', 'cat', 'k', 'ann');
    await put('people', 'cid', 'n', 'Cid');
    await all.engine.table('people').delete(new Delete('ann'));
    const [pets, people] = [all.references(Pet), all.references(Person)];
    expect(await pets.repair()).toEqual({ rows: 2, valid: 0, dangling: 2, repaired: 1, ahead: 1 });
    expect(await pets.repair()).toMatchObject({ dangling: 1, repaired: 0, ahead: 1 });
    expect(await people.repair()).toEqual({ rows: 1, valid: 0, dangling: 1, repaired: 0, ahead: 1 });
    expect(await all.repository(Person).get({ id: 'cid' })).toMatchObject({ name: 'Cid', bossId: 'ann' });
    clock.advance(2000);
    expect(await pets.repair()).toMatchObject({ dangling: 1, repaired: 1, ahead: 0 });
    expect(await people.repair()).toMatchObject({ dangling: 1, repaired: 1, ahead: 0 });
    expect([await pets.check(), await people.check()]).toMatchObject([
      { dangling: 0 },
      { rows: 0, dangling: 0 },
    ]);
  });

  test('is refused of every column of a row that a rule may delete', async () => {
    const people = db.repository(Person);
    const future = { timestamp: clock() + 1000 };
    await expect(people.put({ id: 'cid', bossId: 'ann' }, future)).rejects.toMatchObject(refused);
    const batch = db.batch((items) => items.of(Person).put({ id: 'cid', name: 'Cid' }), future);
    await expect(batch).resolves.toMatchObject([{ ok: false, error: refused }]);
    await people.put({ id: 'cid', bossId: 'bob' });
    await people.delete({ id: 'bob' });
    expect(await people.get({ id: 'cid' })).toBeNull();
  });
});
