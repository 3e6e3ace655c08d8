/** A record type that is used no more: nothing reads or writes its rows, and a step of the plan removes them. */

import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ColumnBuilder } from '../../decorators/column-builder.js';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { toStringBinary } from '../../src/bytes/index.js';
import { int64, text } from '../../src/codec/index.js';
import { Database, open } from '../../src/database.js';
import { planScript } from '../../src/ddl/index.js';
import { part, recordType } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { EntityClass } from '../../src/schema/types.js';
import { Scan } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { withBatch } from '../proof/with-batch.js';

const table = defineTable({ name: 'shop', families: { d: { versions: 3 }, e: {} } });

const Order = defineEntity({
  name: 'Order',
  table,
  recordType: 1,
  key: [part('customer'), recordType(), part('id')],
  columns: (c) => ({ state: c.column('d:s', text), total: c.column('e:t', int64) }),
  indexes: { byState: { on: [part('state', text)] } },
});

const invoice = (retired: boolean, key = [part('customer'), recordType(), part('number')] as const) =>
  defineEntity({
    name: 'Invoice',
    table,
    recordType: 2,
    retired,
    key,
    columns: (c) => ({ state: c.column('d:s', text), paid: c.column('e:p', int64).optional() }),
    indexes: { byState: { on: [part('state', text)] } },
  });

const Invoice = invoice(false);
const Retired = invoice(true);
const STEP = 'retire:shop/Invoice';

let fileSystem: MemoryFileSystem;
beforeEach(() => {
  fileSystem = new MemoryFileSystem();
});

const opened: Database[] = [];
afterEach(async () => {
  for (const db of opened.splice(0)) await db.close();
});

async function openWith(...entities: readonly EntityClass[]): Promise<Database> {
  const db = await open({ path: '/store', fileSystem, entities });
  opened.push(db);
  return db;
}

async function reopenWith(...entities: readonly EntityClass[]): Promise<Database> {
  await opened.pop()?.close();
  return openWith(...entities);
}

async function fill(db: Database): Promise<void> {
  for (const customer of ['a', 'b', 'c']) {
    await db.repository(Order).put({ customer, id: '1', state: 'open', total: 5n });
    for (const number of ['1', '2']) {
      await db.repository(Invoice).put({ customer, number, state: 'open' });
      await db.repository(Invoice).put({ customer, number, state: 'paid', paid: 7n });
    }
  }
}

const cells = async (db: Database, name: string): Promise<string[]> => {
  const found: string[] = [];
  for await (const { cells: own } of db.engine.table(name).scan(new Scan().readAllVersions())) {
    for (const { row, family, qualifier, timestamp, value } of own)
      found.push(
        [row, qualifier, value].map((bytes) => toStringBinary(bytes)).join(' ') + family + timestamp,
      );
  }
  return found;
};

test('its rows and indexes go once that is allowed, and nothing of the other record types', async () => {
  const before = await openWith(Order, Invoice);
  await fill(before);
  const db = await reopenWith(Order, Retired);
  expect(() => db.repository(Retired)).toThrow('Invoice is retired');

  // Until it is allowed its rows stand, and collections and queries of the table do not see them.
  const orders = ['a', 'b', 'c'].map((customer) => ({ customer, id: '1', state: 'open', total: 5n }));
  const seen = async (): Promise<void> => {
    expect(await db.repository(Order).find({}, { fullScan: true }).all()).toEqual(orders);
    expect(await db.repository(Order).by('byState').find({ state: 'open' }).all()).toHaveLength(3);
    expect(await db.collection([Order], { customer: 'b' }).all()).toEqual([orders[1]]);
  };
  await seen();
  const plan = await db.schema.plan();
  expect(plan.steps.map(({ id, class: kind }) => [id, kind])).toEqual([[STEP, 'data-loss']]);
  expect(plan.unmanaged).toEqual([]);
  expect(planScript(plan)).toContain(`Held back: ${STEP} [data-loss]`);
  const rows = await cells(db, 'shop');
  expect((await db.schema.apply()).held.map(({ id }) => id)).toEqual([STEP]);
  expect(await cells(db, 'shop')).toEqual(rows);

  const others = rows.filter((cell) => !cell.includes('\\x02'));
  expect(others.length).toBeLessThan(rows.length);
  await db.schema.apply({ allow: [`data-loss:${STEP}`] });
  expect(await cells(db, 'shop')).toEqual(others);
  expect(await db.schema.plan()).toMatchObject({ steps: [], unmanaged: [], contradictions: [] });
  await seen();

  // It may be left out now, and its record type is free.
  const after = await reopenWith(Order);
  expect(await after.schema.plan()).toMatchObject({ steps: [], unmanaged: [] });
});

test('rows that others go on writing are told, and removed when they have ended', async () => {
  const writer = await openWith(Order, Invoice);
  await fill(writer);
  const schema = compileSchema([Order, Retired]);
  const invoices = writer.repository(Invoice);
  let writes = true;
  // Each row that is removed is written again before anybody looks.
  const engine = withBatch(writer.engine, 'shop', async (shop, deletes) => {
    const outcomes = await shop.batch(deletes);
    for (const number of writes ? ['1', '2'] : [])
      await invoices.put({ customer: 'a', number, state: 'again' });
    return outcomes;
  });
  const { schema: tools } = new Database(schema, engine, 'ignore');
  await expect(tools.apply({ allow: [`data-loss:${STEP}`] })).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
  writes = false;
  expect((await tools.plan()).steps.map(({ id }) => id)).toContain(STEP);
  await tools.apply({ allow: [`data-loss:${STEP}`] });
  expect(await writer.repository(Invoice).find({}, { fullScan: true }).all()).toEqual([]);
  expect(await writer.repository(Order).find({}, { fullScan: true }).all()).toHaveLength(3);
});

test('a record type that is not what is retired is not removed', async () => {
  await fill(await openWith(Order, Invoice));
  const Other = invoice(true, [part('number'), recordType(), part('customer')] as never);
  await expect(reopenWith(Order, Other as typeof Retired)).rejects.toThrow('its row keys were written as');
  const Named = defineEntity({
    name: 'Receipt',
    table,
    recordType: 2,
    retired: true,
    key: [part('customer'), recordType(), part('number')],
    columns: (c) => ({ state: c.column('d:s', text) }),
  });
  await expect(openWith(Order, Named)).rejects.toThrow('were written by Invoice');
});

test('what cannot be retired is said', () => {
  const lone = (more: object) =>
    defineEntity({
      name: 'Lone',
      table: defineTable({ name: 'lone', families: { d: {} } }),
      key: [part('id')],
      columns: (c: ColumnBuilder<string>) => ({ state: c.column('d:s', text) }),
      ...more,
    } as never) as EntityClass;
  expect(() => compileSchema([lone({ retired: 'yes' })])).toThrow('Its `retired` is "yes"');
});

test('a table whose only entity is retired is emptied', async () => {
  const lone = (retired: boolean) =>
    defineEntity({
      name: 'Lone',
      table: defineTable({ name: 'lone', families: { d: {} } }),
      retired,
      key: [part('id')],
      columns: (c) => ({ state: c.column('d:s', text) }),
    });
  const Live = lone(false);
  const db = await openWith(Live);
  await db.repository(Live).put({ id: '1', state: 'x' });
  const next = await reopenWith(lone(true));
  await next.schema.apply({ allow: ['data-loss:retire:lone/Lone'] });
  expect(await cells(next, 'lone')).toEqual([]);
  expect((await next.schema.plan()).steps).toEqual([]);
});

test('an index is built of the rows of its entity, where another record type of the table is left out', async () => {
  await fill(await openWith(Order, Invoice));
  const Renamed = defineEntity({
    name: 'Order',
    table,
    recordType: 1,
    key: [part('customer'), recordType(), part('id')],
    columns: (c) => ({ state: c.column('d:s', text), total: c.column('e:t', int64) }),
    indexes: { byTotal: { on: [part('total', int64)] } },
  });
  const db = await reopenWith(Renamed);
  const index = db.index(Renamed, 'byTotal');
  await index.build();
  expect(await index.verify()).toMatchObject({ rows: 3, valid: 3, missing: 0, extra: 0, stale: 0 });
  expect(await db.repository(Renamed).by('byTotal').find({ total: 5n }).all()).toHaveLength(3);
});
