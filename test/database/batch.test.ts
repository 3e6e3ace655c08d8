/** Batches over several entities: an outcome for each item, or all of them and nothing. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AfterPut, Column, Entity, Index, part, RowKey, Table, Version } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { Database } from '../../src/database.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import { openMemory } from '../../src/testing/index.js';
import { ModelEngine } from '../model/engine.js';

@Table({ name: 'b_orders', families: { d: {} } })
class Orders {}

@Entity({ table: Orders })
@RowKey(part('id'))
class Order {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byNumber: ['number'] };
  id!: string;
  @Index('byNumber', { unique: true }) @Column('d:n', int32) number?: number | null;
  @Version('d:v', int32) version?: number;
  @AfterPut() stored(): void {
    if (this.id === 'broken') throw new Error('hook');
  }
}

@Table({ name: 'b_stock', families: { d: {} } })
class Stocks {}

@Entity({ table: Stocks })
@RowKey(part('id'))
class Stock {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:l', int32) left!: number;
  @Column('d:s', text) shelf?: string | null;
}

let db: Database<EmbeddedEngine>;
beforeEach(async () => {
  db = await openMemory({ entities: [Order, Stock] });
  await db.repository(Stock).put({ id: 'pen', left: 5 });
});
afterEach(() => db.close());

const orderIds = async (): Promise<string[]> =>
  (await db.repository(Order).find({}, { fullScan: true }).all()).map(({ id }) => id);
const left = async (): Promise<number | undefined> => (await db.repository(Stock).get({ id: 'pen' }))?.left;

describe('db.batch', () => {
  test('gives each item an outcome, in the order in which they were said', async () => {
    const outcomes = await db.batch((batch) => {
      batch.of(Order).insert({ id: 'a', number: 1 });
      batch
        .of(Stock)
        .check({ id: 'pen' }, { left: { gte: 9 } })
        .update({ left: 0 });
      batch.of(Order).insert({ id: 'a', number: 2 }).insert({ id: 'b', number: 1 });
      batch.of(Stock).check({ id: 'pen' }, { left: 5 }).update({ left: 4 }).get({ id: 'pen' });
    });
    expect(outcomes.map((outcome) => (outcome.ok ? 'ok' : outcome.error.code))).toEqual([
      'ok',
      'ERR_CONFLICT',
      'ERR_CONFLICT',
      'ERR_CONFLICT',
      'ok',
      'ok',
    ]);
    expect(outcomes[5]).toMatchObject({ value: { id: 'pen', left: 4 } });
    expect(await orderIds()).toEqual(['a']);
  });

  test('with atomic is all or nothing, over tables and indexes, rows changed twice included', async () => {
    const order: Order = Object.assign(new Order(), { id: 'a', number: 7 });
    const outcomes = await db.batch(
      (batch) => {
        batch.of(Order).insert(order);
        batch
          .of(Stock)
          .check({ id: 'pen' }, { left: { gte: 2 } })
          .update({ left: 3 });
        batch.of(Stock).check({ id: 'pen' }, { left: 3 }).update({ shelf: 'x' }).get({ id: 'pen' });
        batch.of(Order).update({ id: 'a' }, { number: 8 });
      },
      { atomic: true },
    );
    expect(outcomes.every(({ ok }) => ok)).toBe(true);
    expect(outcomes[3]).toMatchObject({ value: { left: 3, shelf: 'x' } });
    const orders = db.repository(Order);
    expect((await orders.by('byNumber').find({ number: 8 }).all()).map(({ id }) => id)).toEqual(['a']);
    expect(await orders.by('byNumber').find({ number: 7 }).all()).toEqual([]);

    const next: Order = Object.assign(new Order(), { id: 'b', number: 9 });
    for (const fails of [
      () =>
        db.batch(
          (b) => {
            b.of(Order).put(next);
            b.of(Stock).check({ id: 'pen' }, { left: 99 }).delete();
          },
          { atomic: true },
        ),
      () =>
        db.batch(
          (b) => {
            b.of(Order).put(next);
            b.of(Order).insert({ id: 'a' });
          },
          { atomic: true },
        ),
      () =>
        db.batch(
          (b) => {
            b.of(Order).put(next);
            b.of(Order).put({ id: 'c', number: 8 });
          },
          { atomic: true },
        ),
    ]) {
      await expect(fails()).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
      expect(next.version).toBeUndefined();
      expect(await orderIds()).toEqual(['a']);
      expect(await left()).toBe(3);
    }
  });

  test('with atomic loses nothing among many that meet, and tells of hooks behind it', async () => {
    await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        db.batch(
          (batch) => {
            batch.of(Stock).mutate({ id: 'pen' }, (row) => row.set({ shelf: `s${i}` }));
            batch.of(Order).insert({ id: `o${i}`, number: i });
          },
          { atomic: true },
        ),
      ),
    );
    expect(await orderIds()).toHaveLength(12);
    const [outcome] = await db.batch((batch) => batch.of(Order).put({ id: 'broken' }), { atomic: true });
    expect(outcome).toMatchObject({ ok: true, hookError: { code: 'ERR_HOOK' } });
  });

  test('on engines without transactions gives outcomes, and refuses atomic at once', async () => {
    const engine = new ModelEngine({ now: Date.now, random: Math.random });
    const remote = new Database(compileSchema([Stock]), engine, 'create');
    await remote.ready();
    const outcomes = await remote.batch((batch) =>
      batch
        .of(Stock)
        .put({ id: 'a', left: 1 })
        .check({ id: 'a' }, { left: 1 })
        .update({ left: 2 })
        .insert({ id: 'a', left: 3 }),
    );
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, true, false]);
    let filled = false;
    const refused = remote.batch(
      () => {
        filled = true;
      },
      { atomic: true },
    );
    await expect(refused).rejects.toMatchObject({ code: 'ERR_UNSUPPORTED' });
    expect(filled).toBe(false);
    await expect((async () => remote.transaction(async () => 1))()).rejects.toMatchObject({
      code: 'ERR_UNSUPPORTED',
    });
    await expect(db.batch('x' as never)).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
  });
});
