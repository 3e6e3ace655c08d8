/**
 * Clones of tables whose snapshots were taken while programs wrote, under other names: the repairs have what follows rows agree with the
 * clones, and leave the tables that they were made of alone.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  Column,
  Denormalized,
  Entity,
  Index,
  part,
  Reference,
  RowKey,
  Summary,
} from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { Database } from '../../src/database.js';
import type { HBaseEngine } from '../../src/hbase/engine.js';
import { compileSchema } from '../../src/mapper/index.js';
import { connectShared } from './connect.js';

/** The entities over tables whose names begin with the prefix. */
function entitiesOf(prefix: string) {
  const tableOf = (name: string) => ({ name: `${prefix}_${name}`, families: { d: {} } });

  @Entity({ table: tableOf('shops') })
  @RowKey(part('id'))
  class Shop {
    declare static readonly key: ['id'];
    id!: string;
    @Column('d:c', text) city?: string | null;
  }

  @Entity({ table: tableOf('owners') })
  @RowKey(part('id'))
  class Owner {
    declare static readonly key: ['id'];
    id!: string;
  }

  @Entity({ table: tableOf('items') })
  @RowKey(part('no'))
  @Index('byKind', [part('kind')], { include: ['weight'] })
  @Index('byCode', [part('code')], { unique: true })
  @Index('byWeight', [part('weight', int32)], { consistency: 'eventual' })
  @Denormalized(() => Shop, { via: 'shopId', fields: { city: 'city' } })
  @Summary('perCity', { by: ['city'], figures: { items: 'count', most: { max: 'weight' } } })
  class Item {
    declare static readonly key: ['no'];
    declare static readonly indexes: { byKind: ['kind']; byCode: ['code']; byWeight: ['weight'] };
    declare static readonly summaries: {
      perCity: { by: ['city']; figures: { items: 'count'; most: { max: 'weight' } } };
    };
    no!: string;
    @Column('d:s', text) shopId?: string | null;
    @Column('d:o', text) ownerId?: string | null;
    @Column('d:k', text) kind!: string;
    @Column('d:x', text) code!: string;
    @Column('d:w', int32) weight!: number;
    @Column('d:c', text) city?: string | null;
    @Reference(() => Shop, { id: 'shopId' }, { onDelete: 'cascade' }) shop?: Shop | null;
    @Reference(() => Owner, { id: 'ownerId' }, { onDelete: 'setNull' }) owner?: Owner | null;
  }
  return { Shop, Owner, Item };
}
type Entities = ReturnType<typeof entitiesOf>;

const TABLES = ['shops', 'owners', 'items', 'items_idx', 'items_sum'];
const [ORIGINAL, CLONED] = [`cl_${process.pid}_a`, `cl_${process.pid}_b`];
let engine: HBaseEngine;

beforeAll(async () => {
  engine = (await connectShared()) as HBaseEngine;
});
afterAll(async () => {
  const { admin } = engine;
  for (const name of await admin.listSnapshots())
    if (name.name.startsWith(ORIGINAL)) await admin.deleteSnapshot(name.name);
  for (const { name } of await admin.listTables()) {
    if (![ORIGINAL, CLONED].some((prefix) => name.startsWith(prefix))) continue;
    await admin.disableTable(name);
    await admin.deleteTable(name);
  }
  await engine.close();
});

async function opened(entities: Entities, tables: 'create' | 'verify'): Promise<Database> {
  const db = new Database(compileSchema(Object.values(entities)), await connectShared(), tables);
  await db.ready();
  return db;
}

/** Writes of each kind; `round` makes the rows of one differ from those of others. */
async function write(db: Database, { Shop, Owner, Item }: Entities, round: number): Promise<void> {
  const [shops, owners, items] = [db.repository(Shop), db.repository(Owner), db.repository(Item)];
  await shops.putMany([0, 1, 2].map((n) => ({ id: `s${round}${n}`, city: `c${n}` })));
  await owners.putMany([0, 1].map((n) => ({ id: `o${round}${n}` })));
  await items.putMany(
    Array.from({ length: 6 }, (_, n) => ({
      no: `i${round}${n}`,
      shopId: `s${round}${n % 3}`,
      ownerId: `o${round}${n % 2}`,
      kind: `k${n % 2}`,
      code: `x${round}${n}`,
      weight: round * 10 + n,
    })),
  );
  if (round % 10 === 0) return;
  const before = round - 1;
  await shops.update({ id: `s${before}0` }, { city: `moved ${round}` });
  await shops.delete({ id: `s${before}1` });
  await owners.delete({ id: `o${before}0` });
  await items.update(
    { no: `i${before}5` },
    { kind: 'other', code: `x${before}5 again`, weight: 1000 + round },
  );
  await items.delete({ no: `i${before}3` });
}

/** What indexes, copies, rules and figures say, against the rows. */
async function expectAgreeing(db: Database, { Shop, Owner, Item }: Entities, when: string): Promise<void> {
  const rows = await db.repository(Item).find({}, { fullScan: true }).all();
  const shops = new Map((await db.repository(Shop).find({}, { fullScan: true }).all()).map((s) => [s.id, s]));
  const owners = new Set((await db.repository(Owner).find({}, { fullScan: true }).all()).map(({ id }) => id));
  for (const row of rows) {
    expect(shops.get(row.shopId!), `${when}: shop of ${row.no}`).toBeDefined();
    expect(row.city ?? null, `${when}: ${row.no}`).toBe(shops.get(row.shopId!)!.city ?? null);
    expect(row.ownerId == null || owners.has(row.ownerId), `${when}: owner of ${row.no}`).toBe(true);
  }
  for (const name of ['byKind', 'byCode', 'byWeight', 'ref_shopId', 'ref_ownerId'] as const) {
    const index = db.index(Item, name as 'byKind');
    const report = await index.verify();
    expect(report, `${when}: ${name}`).toMatchObject({
      missing: 0,
      extra: 0,
      stale: 0,
      unverified: 0,
      pending: 0,
    });
  }
  const figures = new Map<string, { city: string; items: number; most: number }>();
  for (const { city, weight } of rows) {
    if (city == null) continue;
    const { items, most } = figures.get(city) ?? { items: 0, most: weight };
    figures.set(city, { city, items: items + 1, most: Math.max(most, weight) });
  }
  const wanted = [...figures.values()].sort((a, b) => (a.city < b.city ? -1 : 1));
  expect(await db.summary(Item, 'perCity').find({}), when).toEqual(wanted);
}

test('repairs have clones of tables that were written between their snapshots agree', {
  timeout: 900_000,
}, async () => {
  const original = entitiesOf(ORIGINAL);
  const first = await opened(original, 'create');
  await write(first, original, 0);
  for (const [n, table] of TABLES.entries()) {
    await write(first, original, n + 1);
    await engine.admin.snapshot(`${ORIGINAL}_${n}`, `${ORIGINAL}_${table}`);
  }
  await first.summary(original.Item, 'perCity').drain();
  await first.index(original.Item, 'byWeight').drain();
  for (const [n, table] of TABLES.entries())
    await engine.admin.cloneSnapshot(`${ORIGINAL}_${n}`, `${CLONED}_${table}`);

  const cloned = entitiesOf(CLONED);
  const { Shop, Owner, Item } = cloned;
  const db = await opened(cloned, 'verify');
  const indexes = ['byKind', 'byCode', 'byWeight', 'ref_shopId', 'ref_ownerId'] as const;
  for (const name of indexes) {
    const index = db.index(Item, name as 'byKind');
    expect(index.state, name).toBe('active');
    expect(await index.repair({ settledAfter: 0 }), name).not.toMatchObject({ repaired: 0 });
  }
  expect((await db.references(Item).repair()).dangling).toBeGreaterThan(0);
  expect(await db.denormalized(Item).repair()).not.toMatchObject({ repaired: 0 });
  expect(await db.summary(Item, 'perCity').repair({ settledAfter: 0 })).not.toMatchObject({ repaired: 0 });
  await expectAgreeing(db, cloned, 'repaired');
  for (const name of indexes)
    expect(await db.index(Item, name as 'byKind').repair({ settledAfter: 0 }), name).toMatchObject({
      repaired: 0,
    });
  expect(await db.denormalized(Item).repair()).toMatchObject({ repaired: 0 });
  expect(await db.references(Item).repair()).toMatchObject({ dangling: 0 });
  expect(await db.summary(Item, 'perCity').repair()).toMatchObject({ repaired: 0 });

  // Rules and what follows find the rows of the clones from now on.
  await write(db, cloned, 10);
  await write(db, cloned, 11);
  for (const { id } of await db.repository(Shop).find({}, { fullScan: true }).limit(3).all())
    await db.repository(Shop).delete({ id });
  for (const { id } of await db.repository(Owner).find({}, { fullScan: true }).limit(2).all())
    await db.repository(Owner).delete({ id });
  await db.summary(Item, 'perCity').drain();
  await db.index(Item, 'byWeight').drain();
  await expectAgreeing(db, cloned, 'written');
  await expectAgreeing(first, original, 'original');
  await db.close();
  await first.close();
});
