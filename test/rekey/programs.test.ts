/** Programs with tables of their own on one store, which change the keys of entities of the same names. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { type Database, open } from '../../src/database.js';
import { ControlTable, rekeyRow } from '../../src/ddl/index.js';
import type { RekeyRecord } from '../../src/features/rekey/strategy.js';
import { jobTableDescriptor } from '../../src/job/job-store.js';
import { part, salt } from '../../src/key/index.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import { Put, Scan } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { openMemory } from '../../src/testing/open-memory.js';
import { backupTables } from '../../src/tools/backup.js';
import { restoreTables } from '../../src/tools/restore.js';
import { withoutSteps } from './without-steps.js';

function program(prefix: string, name = 'Order', keep?: number) {
  const entity = (version: string, salted: boolean) =>
    defineEntity({
      name: `${name}${version}`,
      table: defineTable({ name: `${prefix}_order${version.toLowerCase()}`, families: { d: {} } }),
      key: salted ? [salt(4), part('id', text)] : [part('id', text)],
      columns: (c) => ({ x: c.column('d:x', text).optional() }),
      ...(keep !== undefined && { changes: { keep } }),
    });
  return { Order: entity('', false), OrderV2: entity('V2', true) };
}

type Program = ReturnType<typeof program>;

const [a, b] = [program('a'), program('b')];

/** Opens the store for one program after the other. */
function storeOf() {
  const fileSystem = new MemoryFileSystem();
  return async <T>(
    { Order, OrderV2 }: Program,
    work: (db: Database<EmbeddedEngine>) => Promise<T>,
  ): Promise<T> => {
    const db = await open({ path: '/store', fileSystem, entities: [Order, OrderV2] });
    try {
      return await work(db);
    } finally {
      await db.close();
    }
  };
}

async function idsOf(db: Database<EmbeddedEngine>, entity: Program['Order']): Promise<string[]> {
  const rows = await db.repository(entity).find({}, { fullScan: true }).all();
  return rows.map(({ id }) => id).sort();
}

it('a program changes its keys though another has changed keys of entities of these names, and theirs go on', async () => {
  const within = storeOf();
  await within(a, async (db) => {
    await db.repository(a.Order).put({ id: 'a1' });
    expect(await db.rekey(a.Order, a.OrderV2).run()).toMatchObject({
      state: 'ready',
      tables: ['a_order', 'a_orderv2'],
    });
  });
  await within(b, async (db) => {
    const rekey = db.rekey(b.Order, b.OrderV2);
    expect(await rekey.status()).toBeUndefined();
    await db.repository(b.Order).put({ id: 'b1' });
    // Nothing is written to both layouts before this program's change has begun.
    expect(await idsOf(db, b.OrderV2)).toEqual([]);
    expect(await rekey.run()).toMatchObject({ state: 'ready', run: 1, tables: ['b_order', 'b_orderv2'] });
    expect(await rekey.cutOver()).toMatchObject({ state: 'cut-over' });
    expect(await rekey.cleanup()).toMatchObject({ state: 'done' });
    expect(await idsOf(db, b.OrderV2)).toEqual(['b1']);
    await expect(db.repository(b.Order).put({ id: 'b2' })).rejects.toThrow('The keys of Order were changed');
  });
  await within(a, async (db) => {
    const rekey = db.rekey(a.Order, a.OrderV2);
    expect(await rekey.status()).toMatchObject({ state: 'ready' });
    await db.repository(a.Order).put({ id: 'a2' });
    expect(await idsOf(db, a.OrderV2)).toEqual(['a1', 'a2']);
    await rekey.abort();
    expect(await rekey.status()).toMatchObject({ state: 'aborted' });
    await db.repository(a.Order).put({ id: 'a3' });
    expect(await idsOf(db, a.OrderV2)).toEqual([]);
    expect(await rekey.run()).toMatchObject({ state: 'ready', run: 2 });
  });
  await within(b, async (db) => {
    expect(await db.rekey(b.Order, b.OrderV2).status()).toMatchObject({ state: 'done', run: 1 });
    await expect(db.repository(b.Order).put({ id: 'b2' })).rejects.toThrow('The keys of Order were changed');
    expect(await idsOf(db, b.OrderV2)).toEqual(['b1']);
    const jobs: string[] = [];
    for await (const { row } of db.engine.table(jobTableDescriptor().name).scan(new Scan()))
      jobs.push(Buffer.from(row).toString('latin1'));
    for (const name of ['rekey-copy-Order-OrderV2-1-a_order-a_orderv2', 'rekey-copy-Order-OrderV2-1-b_order'])
      expect(jobs.some((row) => row.includes(name))).toBe(true);
  });
});

it('a program without the tables of a change in progress writes its own, and none of those', async () => {
  const within = storeOf();
  await within(a, async (db) => {
    await db.repository(a.Order).put({ id: 'a1' });
    await db.rekey(a.Order, a.OrderV2).run();
  });
  const missing =
    /Order are being changed to those of OrderV2 \(ready\), in table "a_order" and table "a_orderv2"/;
  await within(b, async (db) => {
    await db.repository(b.Order).put({ id: 'b1' });
    await expect(db.add(program('a', 'Sale').Order)).rejects.toThrow(missing);
    const { marker } = db.schema.entity(b.Order);
    const put = new Put(Buffer.from('a2')).addColumn(marker!.family, marker!.qualifier, Uint8Array.of(1));
    await expect(db.engine.table('a_order').put(put)).rejects.toThrow(missing);
    await expect(db.engine.table('a_orderv2').put(put)).rejects.toThrow(missing);
    await db.repository(b.Order).put({ id: 'b2' });
  });
  await within(a, async (db) => {
    expect(await idsOf(db, a.OrderV2)).toEqual(['a1']);
    expect(await db.rekey(a.Order, a.OrderV2).cutOver()).toMatchObject({ state: 'cut-over' });
  });
});

it('one of two entities over the tables of a change in progress is not enough', async () => {
  const within = storeOf();
  await within(a, (db) => db.rekey(a.Order, a.OrderV2).run());
  const mixed = { Order: a.Order, OrderV2: b.OrderV2 };
  await expect(within(mixed, async () => undefined)).rejects.toThrow('one of them is not declared');
});

it('backups and restores tell the changes of both programs apart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-programs-'));
  const within = storeOf();
  const [fed, alsoFed] = [program('a', 'Order', 86_400_000), program('b', 'Order', 86_400_000)];
  const full = await within(fed, async (db) => {
    await db.repository(fed.Order).put({ id: 'a1' });
    const rekey = db.rekey(fed.Order, fed.OrderV2);
    await rekey.run();
    await rekey.cutOver();
    return (await backupTables(db.engine, folder)).backup;
  });
  expect(full.layouts!['a_order']).toBeNull();
  const continued = await within(alsoFed, async (db) => {
    await db.repository(alsoFed.Order).put({ id: 'b1' });
    return (await backupTables(db.engine, folder, { incremental: true })).backup;
  });
  // The change in progress is that of other tables, so these can be continued.
  expect([continued.layouts!['b_order'], continued.layouts!['a_order']]).toEqual([expect.any(String), null]);
  await within(fed, (db) => db.rekey(fed.Order, fed.OrderV2).cleanup());
  await within(alsoFed, async (db) => {
    const rekey = db.rekey(alsoFed.Order, alsoFed.OrderV2);
    await rekey.run();
    await rekey.cutOver();
    await rekey.cleanup();
    await backupTables(db.engine, folder);
  });
  const restored = await openMemory({ entities: [program('c').Order] });
  await restoreTables(restored.engine, folder);
  const records = await new ControlTable(restored.engine.table('rowan_schema')).rekeys<RekeyRecord>();
  expect(
    records.map(({ value }) => [value.tables![0], value.state, value.feedsFrom, value.feedsUntil]),
  ).toEqual([
    ['a_order', 'done', undefined, undefined],
    ['b_order', 'done', undefined, undefined],
  ]);
  await restored.close();
  rmSync(folder, { recursive: true });
});

it('a record of an earlier release, without tables, is the one of whoever declares the entities', async () => {
  const within = storeOf();
  await within(a, async (db) => {
    await db.repository(a.Order).put({ id: 'a1' });
    const rekey = db.rekey(a.Order, a.OrderV2);
    await rekey.run();
    const control = new ControlTable(db.engine.table('rowan_schema'));
    const before = (await control.read<RekeyRecord>(rekeyRow('Order', 'OrderV2')))!;
    const { tables: _, ...earlier } = before.value;
    await control.change(before.row, before, earlier);
  });
  await within(a, async (db) => {
    await db.repository(a.Order).put({ id: 'a2' });
    expect(await idsOf(db, a.OrderV2)).toEqual(['a1', 'a2']);
    const rekey = db.rekey(a.Order, a.OrderV2);
    await rekey.abort();
    // Anew, and with its tables from now on.
    expect(await rekey.run()).toMatchObject({ run: 2, tables: ['a_order', 'a_orderv2'] });
  });
});

it('on engines with rows as steps both changes go on beside each other', async () => {
  const entities = [a.Order, a.OrderV2, b.Order, b.OrderV2];
  const db = await openMemory({ entities: [a.Order, a.OrderV2] });
  const other = await openMemory({ entities: entities.slice(2) });
  await other.close();
  await db.engine.admin.createTable(other.schema.entity(b.Order).table.descriptor);
  await db.engine.admin.createTable(other.schema.entity(b.OrderV2).table.descriptor);
  const put = async (id: string): Promise<void> => {
    for (const { Order } of [a, b]) {
      const { marker, key } = other.schema.has(Order) ? other.schema.entity(Order) : db.schema.entity(Order);
      const { family, qualifier } = marker!;
      const table = Order === a.Order ? 'a_order' : 'b_order';
      await db.engine
        .table(table)
        .put(new Put(key.encode({ id })).addColumn(family, qualifier, Uint8Array.of(1)));
    }
  };
  await put('1');
  const [ofA, ofB] = [a, b].map(({ Order, OrderV2 }) => {
    const feature = withoutSteps(db, [Order, OrderV2]);
    return { feature, rekey: feature.of(Order, OrderV2) };
  });
  // Both begin at once: one has the short row, the other one of its own.
  await Promise.all([ofA!.rekey.run(), ofB!.rekey.run()]);
  const control = new ControlTable(db.engine.table('rowan_schema'));
  const records = await control.rekeys<RekeyRecord>();
  expect(records.map(({ value }) => value.tables).sort()).toEqual([
    ['a_order', 'a_orderv2'],
    ['b_order', 'b_orderv2'],
  ]);
  await put('2');
  expect(await ofA!.rekey.cutOver()).toMatchObject({ state: 'cut-over', tables: ['a_order', 'a_orderv2'] });
  await ofA!.rekey.cleanup();
  const schemaOfB = other.schema.entity(b.Order);
  expect(await ofB!.feature.keyChanges(schemaOfB)).toMatchObject([{ other: 'OrderV2', stage: 'filling' }]);
  expect(await ofA!.feature.keyChanges(schemaOfB)).toMatchObject([{ stage: 'filling' }]);
  expect(await ofB!.rekey.status()).toMatchObject({ state: 'ready' });
  const live = await db.engine.admin.getDescriptor('b_order');
  expect([live.readOnly, live.families[0]!.keepDeletedCells]).toEqual([false, 'TRUE']);
  const planned = await ofA!.feature.plannedTables(new Map([['b_order', live]]));
  expect(planned.get('b_order')).toBe(live);
  expect(await ofB!.rekey.cutOver()).toMatchObject({ state: 'cut-over' });
  const rows: string[] = [];
  for await (const { row } of db.engine.table('b_orderv2').scan(new Scan())) rows.push(String(row.length));
  expect(rows).toHaveLength(2);
  await db.close();
});
