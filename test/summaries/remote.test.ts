/**
 * Summaries where one step is one row, as on HBase: programs that end behind any call, programs that write at once, and what is
 * off by writes that nobody followed.
 */

import { afterEach, beforeEach, expect, test } from 'vitest';
import { Column, defineEntity, defineTable, Entity, part, RowKey, Summary } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { FENCE_TTL } from '../../src/repository/index.js';
import { Delete, Get, Scan } from '../../src/table/index.js';
import { scaled } from '../proof/scale.js';
import { openStepless, type SteplessStore } from '../proof/stepless.js';
import {
  counted,
  endCountedAfterCalls,
  expectTrueFigures,
  Sale,
  sale,
  writeCountedAtOnce,
} from './faults.js';

let store: SteplessStore;
/** Milliseconds that the engine's clock goes ahead. */
let ahead: number;
beforeEach(async () => {
  ahead = 0;
  store = await openStepless(() => Date.now() + ahead);
});
afterEach(() => store[Symbol.asyncDispose]());

const program = () => store.program(...counted);

test('figures follow every write, and what was added stands beside them once', async () => {
  const { db } = await program();
  const sales = db.repository(Sale);
  const byShop = db.summary(Sale, 'byShop');
  expect(await byShop.state()).toBe('active');
  await sales.putMany([sale(1, 'a'), sale(2, 'a', 8), sale(3, 'b'), sale(4, null)]);
  expect(await byShop.get({ shop: 'a' })).toEqual({ shop: 'a', sales: 2, total: '3.50', most: 8 });
  expect(await db.summary(Sale, 'large').get({})).toEqual({ sales: 1, pieces: 8 });
  await sales.update({ no: 2 }, { shop: 'b' });
  await sales.delete({ no: 1 });
  expect(await byShop.get({ shop: 'a' })).toBeNull();
  expect(await byShop.find({})).toEqual([{ shop: 'b', sales: 2, total: '5.50', most: 8 }]);
  // Deleted and left: it does not count until it is restored.
  await sales.find({ no: 3 }).deleteAll();
  await expectTrueFigures(db, 'left');
  await byShop.drain();
  await db.summary(Sale, 'large').drain();
  // What groups have taken they know for some hours.
  ahead = FENCE_TTL + 1000;
  const stored = [];
  for await (const result of db.engine.table('counted_sales_sum').scan(new Scan())) stored.push(result);
  // Two states, the groups a, b and all, and the sale that counts twice: nothing of what was under way is left.
  const kinds = stored.map(({ row }) => row[0]);
  expect(kinds.filter((kind) => kind === 0)).toHaveLength(2);
  for (const { cells } of stored) for (const { qualifier } of cells) expect(qualifier.length).toBeLessThan(3);
  expect(await db.engine.table('rowan_outbox').get(new Get('x'))).toMatchObject({ cells: [] });
});

test('what was written below the mapper is told, and put right by a new count', async () => {
  const { db } = await program();
  const sales = db.repository(Sale);
  await sales.putMany([sale(1, 'a'), sale(2, 'a', 8), sale(3, 'b'), sale(4, 'c')]);
  await db.summary(Sale, 'byShop').drain();
  const table = db.engine.table('counted_sales');
  await table.delete(new Delete(sales.schema.mapper.rowOf({ no: 1 })).addColumns('d', 't'));
  await table.delete(new Delete(sales.schema.mapper.rowOf({ no: 3 })));
  await table.delete(new Delete(sales.schema.mapper.rowOf({ no: 4 })).addColumns('d', 's'));
  const byShop = db.summary(Sale, 'byShop');
  const off = { groups: 3, valid: 0, stale: 1, missing: 0, extra: 2 };
  expect(await byShop.check()).toMatchObject({ ...off, repaired: 0 });
  expect(await byShop.check()).toMatchObject(off);
  expect((await byShop.repair()).repaired).toBeGreaterThanOrEqual(3);
  expect(await byShop.repair()).toMatchObject({
    valid: 1,
    stale: 0,
    missing: 0,
    extra: 0,
    entries: 0,
    repaired: 0,
  });
  expect(await byShop.get({ shop: 'c' })).toBeNull();
  await db.summary(Sale, 'large').repair();
  await sales.update({ no: 2 }, { shop: 'd' });
  expect(await byShop.get({ shop: 'd' })).toMatchObject({ sales: 1, total: '2.25' });
});

test('a change that a program left is finished by a program that has the entity over the same table, and by no other', async () => {
  const over = (table: string) =>
    defineEntity({
      name: 'Visit',
      table: defineTable({ name: table, families: { d: {} } }),
      key: [part('id')],
      columns: (c) => ({ shop: c.column('d:s', text) }),
      summaries: { perShop: { by: ['shop'], figures: { visits: 'count' } } },
    });
  const [mine, other] = [over('visits'), over('copied_visits')];
  const pending = async (): Promise<number> => {
    let count = 0;
    for await (const { cells } of second.db.engine.table('rowan_outbox').scan(new Scan()))
      count += cells.length;
    return count;
  };
  const second = await store.program(other);
  const first = await store.program(mine);
  await first.db.repository(mine).put({ id: '1', shop: 'a' });
  expect(await first.db.summary(mine, 'perShop').get({ shop: 'a' })).toMatchObject({ visits: 1 });
  // It reads the row, notes the change beside a look for delete markers, and writes the row.
  first.mortal.dieAfter(4);
  await first.db
    .repository(mine)
    .update({ id: '1' }, { shop: 'b' })
    .catch(() => undefined);
  await first.mortal.arrived();
  ahead = 60_000;
  expect(await pending()).toBe(1);
  await second.db.summary(other, 'perShop').drain();
  expect(await pending()).toBe(1);
  const third = await store.program(mine);
  const perShop = third.db.summary(mine, 'perShop');
  await perShop.drain();
  expect(await pending()).toBe(0);
  expect(await perShop.find({})).toEqual([{ shop: 'b', visits: 1 }]);
});

test('a summary that comes to stored rows is built beside programs that write them', async () => {
  @Entity({ table: { name: 'counted_sales', families: { d: {} } }, name: 'Sale' })
  @RowKey(part('id'))
  class Bare {
    declare static readonly key: ['id'];
    id!: string;
    @Column('d:s', text) shop!: string;
  }
  @Entity({ table: { name: 'counted_sales', families: { d: {} } }, name: 'Sale' })
  @RowKey(part('id'))
  @Summary('byShop', { by: ['shop'], figures: { sales: 'count' } })
  class Counted extends Bare {
    declare static readonly summaries: { byShop: { by: ['shop']; figures: { sales: 'count' } } };
  }
  const bare = await store.program(Bare);
  const rows = scaled(20, 60, 5000);
  await bare.db
    .repository(Bare)
    .putMany(Array.from({ length: rows }, (_, no) => ({ id: `${no}`, shop: `s${no % 3}` })));
  const one = await store.program(Counted);
  const two = await store.program(Counted);
  const byShop = one.db.summary(Counted, 'byShop');
  await expect(byShop.get({ shop: 's1' })).rejects.toThrow(/never counted/);
  let built = false;
  const write = async (): Promise<void> => {
    for (let no = 0; !built; no++)
      await two.db.repository(Counted).put({ id: `${(no * 7) % (2 * rows)}`, shop: `s${no % 5}` });
  };
  const writing = write();
  expect((await byShop.build()).rows).toBeGreaterThanOrEqual(rows);
  built = true;
  await writing;
  await byShop.drain();
  const all = await two.db.repository(Counted).find({}, { fullScan: true }).all();
  for (const { shop, sales } of await byShop.find({}))
    expect(sales, shop).toBe(all.filter((row) => row.shop === shop).length);
  expect(await byShop.check()).toMatchObject({ stale: 0, missing: 0, extra: 0 });
});

test('a program may end behind any call: check tells exactly what is off, and the outbox or a repair ends it', async () => {
  const { db } = await program();
  const { died, off } = await endCountedAfterCalls(db, program, scaled(31, 5, 1), scaled(1, 1000, 1000));
  expect(died).toBeGreaterThan(scaled(4, 20, 150));
  expect(off).toBeGreaterThan(0);
});

test('writers of the same rows and groups in three programs, while all is counted anew: no figure is off', async () => {
  const programs = [await program(), await program(), await program()];
  const most = scaled(3, 4, 400);
  await writeCountedAtOnce(
    programs.map(({ db }) => db),
    (writes) => writes < most,
    // Less than the 30 s that an entry is waited for where nobody says another time.
    () => AbortSignal.timeout(25_000),
  );
});

test('any change of rows that are counted together arrives late or twice, behind who took them over: each row counts once', async () => {
  @Entity({ table: { name: 'counted_together', families: { d: {} } } })
  @RowKey(part('id'))
  @Summary('byShop', { by: ['shop'], figures: { sales: 'count' } })
  class Together {
    declare static readonly key: ['id'];
    declare static readonly summaries: { byShop: { by: ['shop']; figures: { sales: 'count' } } };
    id!: string;
    @Column('d:s', text) shop!: string;
  }
  const { db: other } = await store.program(Together);
  const byShop = other.summary(Together, 'byShop');
  let written = 0;
  const expectOnce = async (when: string): Promise<void> => {
    await byShop.drain();
    const rows = await other.repository(Together).find({}, { fullScan: true }).all();
    const counts = ['a', 'b'].map((shop) => rows.filter((row) => row.shop === shop).length);
    const found = await Promise.all(['a', 'b'].map((shop) => byShop.get({ shop })));
    expect(
      found.map((group) => group?.sales ?? 0),
      when,
    ).toEqual(counts);
  };
  const stride = scaled(7, 1, 1);
  for (const [place, mode] of (['late', 'last', 'twice'] as const).entries()) {
    for (let n = place % stride; ; n += stride) {
      const { db, requests } = await store.late(Together);
      requests.keep(n, mode);
      const rows = ['a', 'a', 'b'].map((shop) => ({ id: `${written++}`, shop }));
      await db
        .repository(Together)
        .putMany(rows)
        .catch((error: { code?: string }) => expect(error.code).toBe('ERR_TIMEOUT'));
      // Behind what follows the answer.
      await db.summary(Together, 'byShop').get({ shop: 'a' });
      if (!requests.hasKept) break;
      ahead += 60_000;
      await expectOnce(`${mode} ${n}, taken over`);
      await requests.deliver();
      ahead += 60_000;
      await expectOnce(`${mode} ${n}, arrived`);
    }
  }
  expect(written).toBeGreaterThan(scaled(24, 75, 75));
});

test('rows that end by themselves are not counted there', async () => {
  @Entity({ table: { name: 'ending', families: { d: {} } }, ttl: 1000 })
  @RowKey(part('id'))
  @Summary('all', { by: [], figures: { rows: 'count' } })
  class Ending {
    declare static readonly key: ['id'];
    declare static readonly summaries: { all: { by: []; figures: { rows: 'count' } } };
    id!: string;
  }
  await expect(store.program(Ending)).rejects.toThrow(/Ending has summaries .* and a ttl/);
});
