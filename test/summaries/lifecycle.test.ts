/** Summaries that come to stored rows, programs that do not declare them, jobs that are cut off, and what is off. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  Column,
  defineEntity,
  defineTable,
  desc,
  Entity,
  float64,
  int32,
  part,
  RowKey,
  Summary,
  text,
  upgrade,
} from '../../src/index.js';
import { MemoryFileSystem, openMemory, settableClock } from '../../src/testing/index.js';
import { scaled } from '../proof/scale.js';

const table = { name: 'sales', families: { d: {} } };
const name = 'Sale';

@Entity({ table, name })
@RowKey(part('id'))
class Bare {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:s', text) shop!: string;
  @Column('d:a', int32) amount!: number;
}

@Entity({ table, name })
@RowKey(part('id'))
@Summary('byShop', {
  by: ['shop'],
  figures: { sales: 'count', sum: { sum: 'amount' }, top: { max: 'amount' } },
})
class Sale {
  declare static readonly key: ['id'];
  declare static readonly summaries: {
    byShop: { by: ['shop']; figures: { sales: 'count'; sum: { sum: 'amount' }; top: { max: 'amount' } } };
  };
  id!: string;
  @Column('d:s', text) shop!: string;
  @Column('d:a', int32) amount!: number;
}

const ROWS = scaled(500, 6000, 200_000);
const sale = (n: number, amount = n % 97) => ({ id: `i${n}`, shop: `s${n % 7}`, amount });

async function expectRight(db: Awaited<ReturnType<typeof openMemory>>): Promise<void> {
  const rows = await db.repository(Sale).find({}, { fullScan: true }).all();
  const wanted = new Map<string, { shop: string; sales: number; sum: number; top: number }>();
  for (const { shop, amount } of rows) {
    const group = wanted.get(shop) ?? { shop, sales: 0, sum: 0, top: Number.NEGATIVE_INFINITY };
    group.sales++;
    group.sum += amount;
    group.top = Math.max(group.top, amount);
    wanted.set(shop, group);
  }
  const found = await db.summary(Sale, 'byShop').find({});
  expect(found).toEqual([...wanted.values()].sort((a, b) => (a.shop < b.shop ? -1 : 1)));
}

it('is built over stored rows beside writers, and goes on where a job was cut off', async () => {
  const disk = new MemoryFileSystem();
  const before = await openMemory({ entities: [Bare], disk });
  await before.repository(Bare).putMany(Array.from({ length: ROWS }, (_, n) => sale(n)));
  await before.close();

  const db = await openMemory({ entities: [Sale], disk });
  const byShop = db.summary(Sale, 'byShop');
  expect(await byShop.state()).toBe('disabled');
  await expect(byShop.get({ shop: 's1' })).rejects.toThrow(/never counted/);
  const sales = db.repository(Sale);
  let done = false;
  let retries = 0;
  const write = async (writer: number): Promise<void> => {
    for (let n = writer; !done; n += 5) {
      const no = (n * 7919) % (2 * ROWS);
      await new Promise(setImmediate);
      const way = n % 4;
      if (way === 0) await sales.put(sale(no, n % 1000));
      else if (way === 1) await sales.delete({ id: `i${no}` });
      else if (way === 2) await sales.upsert(sale(no, 5), { shop: `s${n % 5}` });
      else {
        await db
          .transaction((tx) => tx.repository(Sale).put(sale(no, -n)), { attempts: 50 })
          .catch(() => void retries++);
      }
    }
  };
  const writers = [1, 2, 3].map(write);
  const abort = new AbortController();
  const cut = byShop.build({
    signal: abort.signal,
    onProgress: () => abort.abort(),
    checkpointRows: 500,
  });
  await cut.catch((error: { code: string }) => expect(error.code).toBe('ERR_ABORTED'));
  await byShop.build();
  expect(await byShop.state()).toBe('active');
  const beside = await byShop.check();
  done = true;
  await Promise.all(writers);
  expect(beside).toMatchObject({ stale: 0, missing: 0, extra: 0, entries: 0 });
  await expectRight(db);

  // Left in the middle of a count, as a crash would leave it.
  const again = new AbortController();
  await byShop
    .check({ signal: again.signal, onProgress: () => again.abort(), checkpointRows: 500 })
    .catch(() => undefined);
  const copy = disk.crash({ keepUnsynced: 1, random: () => 0.5 });
  await db.close();
  const reopened = await openMemory({ entities: [Sale], disk: copy });
  await reopened.repository(Sale).putMany([sale(1, 1_000_000), sale(3 * ROWS)]);
  await expectRight(reopened);
  expect(await reopened.summary(Sale, 'byShop').check()).toMatchObject({ stale: 0, missing: 0, extra: 0 });
  await reopened.close();
});

it('is to be built anew when a program that does not declare it has written', async () => {
  const disk = new MemoryFileSystem();
  const first = await openMemory({ entities: [Sale], disk });
  await first.repository(Sale).put(sale(1));
  await expectRight(first);
  await first.close();
  await expect(openMemory({ entities: [Bare], disk, tables: 'verify' })).rejects.toThrow(/byShop/);
  const bare = await openMemory({ entities: [Bare], disk });
  await bare.repository(Bare).put(sale(2));
  await bare.close();
  const db = await openMemory({ entities: [Sale], disk });
  const byShop = db.summary(Sale, 'byShop');
  expect(await byShop.state()).toBe('disabled');
  await expect(byShop.find({})).rejects.toMatchObject({ code: 'ERR_QUERY' });
  await byShop.build();
  await expectRight(db);
  await db.close();
});

it('check says what writes below the mapper have left, and repair mends it once', async () => {
  const db = await openMemory({ entities: [Sale] });
  const sales = db.repository(Sale);
  for (let n = 0; n < 20; n++) await sales.put(sale(n));
  const { Put, Delete } = await import('../../src/table/index.js');
  const raw = db.engine.table('sales');
  await raw.put(new Put('i0').addColumn('d', 's', 'elsewhere'));
  await raw.delete(new Delete('i6'));
  await raw.delete(new Delete('i13'));
  const byShop = db.summary(Sale, 'byShop');
  // s6 has lost i6 and i13 and has no rows left; s0 lost i0; "elsewhere" is new.
  const report = await byShop.check();
  expect(report).toMatchObject({
    rows: 18,
    groups: 8,
    valid: 5,
    stale: 1,
    missing: 1,
    extra: 1,
    repaired: 0,
  });
  expect(report.entries).toBeGreaterThan(0);
  const mended = await byShop.repair();
  expect(mended.repaired).toBe(3 + report.entries);
  expect(await byShop.repair()).toMatchObject({
    valid: 7,
    stale: 0,
    missing: 0,
    extra: 0,
    entries: 0,
    repaired: 0,
  });
  await expectRight(db);
  await db.close();
});

it('leaves nothing of a count that is not asked any more', async () => {
  const db = await openMemory({ entities: [Sale] });
  await db.repository(Sale).putMany(Array.from({ length: 50 }, (_, n) => sale(n)));
  const byShop = db.summary(Sale, 'byShop');
  for (let i = 0; i < 3; i++) await byShop.repair();
  const { Scan } = await import('../../src/table/index.js');
  let rows = 0;
  for await (const _ of db.engine.table('sales_sum').scan(new Scan())) rows++;
  expect(rows).toBe(1 + 7);
  for (let n = 0; n < 50; n++) await db.repository(Sale).delete({ id: `i${n}` });
  expect(await byShop.find({})).toEqual([]);
  rows = 0;
  for await (const _ of db.engine.table('sales_sum').scan(new Scan())) rows++;
  expect(rows).toBe(1);
  await db.close();
});

it('stands in defineEntity too, and doubles are summed exactly', async () => {
  const Weight = defineEntity({
    name: 'Weight',
    table,
    key: [part('id')],
    columns: (c) => ({ kilos: c.column('d:k', float64).optional() }),
    summaries: { all: { by: [], figures: { kilos: { sum: 'kilos' }, mean: { avg: 'kilos' } } } },
  });
  const db = await openMemory({ entities: [Weight] });
  const weights = db.repository(Weight);
  const all = db.summary(Weight, 'all');
  const sumOf = async (...values: number[]): Promise<number | undefined> => {
    await weights.find({}, { fullScan: true }).deleteAll();
    await weights.putMany(values.map((kilos, i) => ({ id: String(i), kilos })));
    const found = await all.get({});
    return found?.kilos;
  };
  expect(await sumOf(1e300, 1, -1e300)).toBe(1);
  expect(await sumOf(0.1, 0.2, 0.3)).toBe(0.6);
  expect(await sumOf(5e-324, 5e-324)).toBe(1e-323);
  expect(await sumOf(1.7976931348623157e308, 1.7976931348623157e308)).toBe(Number.POSITIVE_INFINITY);
  expect(await sumOf(2.2250738585072014e-308, -5e-324)).toBe(2.225073858507201e-308);
  expect(await sumOf(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY)).toBeNaN();
  expect(await sumOf(2 ** 53, 1)).toBe(2 ** 53);
  await weights.find({}, { fullScan: true }).deleteAll();
  expect(await all.get({})).toBeNull();
  await db.close();
});

it('answers groups by leading properties and ranges, up to a limit', async () => {
  const db = await openMemory({ entities: [Sale] });
  await db
    .repository(Sale)
    .putMany(Array.from({ length: 600 }, (_, n) => ({ ...sale(n), shop: `s${1000 + n}` })));
  const byShop = db.summary(Sale, 'byShop');
  expect((await byShop.find({})).length).toBe(600);
  expect((await byShop.find({ shop: { gte: 's1500', lt: 's1510' } })).map(({ shop }) => shop)).toEqual(
    Array.from({ length: 10 }, (_, n) => `s${1500 + n}`),
  );
  expect((await byShop.find({ shop: { startsWith: 's10' } }, { limit: 7 })).length).toBe(7);
  const wrong = byShop.find as (prefix: object, options?: object) => Promise<unknown>;
  await expect(wrong.call(byShop, { sales: 1 })).rejects.toMatchObject({ code: 'ERR_KEY' });
  await expect(wrong.call(byShop, {}, { limit: -1 })).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
  await expect(wrong.call(byShop, {}, { max: 1 })).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
  await expect(byShop.get({} as never)).rejects.toMatchObject({ code: 'ERR_KEY' });
  expect(() => db.summary(Sale, 'none' as never)).toThrow(/no summary "none"/);
  expect(() => db.summary(Bare as never, 'byShop' as never)).toThrow();
  await db.close();
});

it('is to be counted anew when rows come to end by themselves, and when they do so no more', async () => {
  const declare = (ends: boolean) =>
    defineEntity({
      name: 'Visit',
      table: defineTable({ name: 'visits', families: { d: {} } }),
      key: [part('id')],
      columns: (c) => ({ page: c.column('d:p', text).optional(), ...(ends && { life: c.ttl() }) }),
      summaries: { byPage: { by: ['page'], figures: { visits: 'count' } } },
    });
  type Target = ReturnType<typeof declare>;
  const disk = new MemoryFileSystem();
  const clock = settableClock();
  const opened = async (target: Target, stated: string): Promise<Awaited<ReturnType<typeof openMemory>>> => {
    const db = await openMemory({ entities: [target], disk, clock });
    expect(await db.summary(target, 'byPage').state()).toBe(stated);
    return db;
  };
  const visits = async (db: Awaited<ReturnType<typeof openMemory>>, target: Target): Promise<number> =>
    (await db.summary(target, 'byPage').get({ page: 'a' }))?.visits ?? 0;

  const plain = declare(false);
  const first = await opened(plain, 'active');
  await first.repository(plain).putMany(['1', '2', '3'].map((id) => ({ id, page: 'a' })));
  await first.close();
  await (await opened(plain, 'active')).close();

  const ending = declare(true);
  const second = await opened(ending, 'disabled');
  await expect(visits(second, ending)).rejects.toMatchObject({ code: 'ERR_QUERY' });
  await second.summary(ending, 'byPage').build();
  await second.repository(ending).update({ id: '1' }, { page: null });
  await second.repository(ending).put({ id: '2', page: 'a', life: 1000 });
  expect(await visits(second, ending)).toBe(2);
  clock.advance(2000);
  expect(await visits(second, ending)).toBe(1);
  await second.close();
  await (await opened(ending, 'active')).close();

  const third = await opened(plain, 'disabled');
  await third.summary(plain, 'byPage').build();
  await third.repository(plain).delete({ id: '3' });
  expect(await visits(third, plain)).toBe(0);
  await third.close();
  const refused = openMemory({ entities: [ending], disk, clock, tables: 'verify' });
  await expect(refused).rejects.toThrow('Count it as it is declared now: rowan summary build');
});

it('the least and the greatest value are those of the property, also where keys or columns have the greatest first', async () => {
  const Visit = defineEntity({
    name: 'Visit',
    table: defineTable({ name: 'visits', families: { d: {} } }),
    key: [part('page'), part('no', desc(int32))],
    columns: (c) => ({
      left: c.column('d:l', desc(int32)).optional(),
      right: c.column('d:r', int32).optional(),
    }),
    summaries: {
      ofPage: {
        by: ['page'],
        figures: {
          first: { min: 'no' },
          last: { max: 'no' },
          leftmost: { min: 'left' },
          left: { max: 'left' },
          least: { min: 'right' },
          right: { max: 'right' },
        },
      },
    },
  });
  const db = await openMemory({ entities: [Visit] });
  const values = [3, -1, 12, 7];
  await db.repository(Visit).putMany(values.map((no) => ({ page: 'a', no, left: no * 2, right: no * 3 })));
  const ofPage = db.summary(Visit, 'ofPage');
  expect(await ofPage.get({ page: 'a' })).toEqual({
    page: 'a',
    first: -1,
    last: 12,
    leftmost: -2,
    left: 24,
    least: -3,
    right: 36,
  });
  await db.repository(Visit).delete({ page: 'a', no: 12 });
  await db.repository(Visit).delete({ page: 'a', no: -1 });
  expect(await ofPage.get({ page: 'a' })).toMatchObject({
    first: 3,
    last: 7,
    leftmost: 6,
    left: 14,
    least: 9,
  });
  await db.close();
});

it('is named as unbuilt by a deployment where rows, their version or their expiry have changed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowan-unbuilt-'));
  const disk = new MemoryFileSystem();
  const release = (schemaVersion: number, ttl?: number) =>
    defineEntity({
      name,
      table: { name: 'sales', families: { d: {} } },
      ...(ttl !== undefined && { ttl }),
      ...(schemaVersion > 1 && { schemaVersion }),
      key: [part('id', text)],
      columns: (c) => ({ shop: c.column('d:s', text) }),
      summaries: { byShop: { by: ['shop'], figures: { sales: 'count' } } },
      ...(schemaVersion > 1 && {
        upgrades: [
          upgrade(1, { old: (c) => ({ store: c.column('d:s', text) }), sets: ['shop'] }, (old) => ({
            shop: old.store,
          })),
        ],
      }),
    });
  const deployed = async (entity: ReturnType<typeof release>): Promise<readonly string[]> => {
    const db = await openMemory({ entities: [entity], disk, tables: 'ignore' });
    await db.schema.makeMigration(folder);
    const { status } = await db.schema.deploy(folder);
    expect(status.upToDate).toBe(status.unbuilt.length === 0);
    await db.close();
    return status.unbuilt;
  };
  const opened = async (entity: ReturnType<typeof release>, build: boolean): Promise<void> => {
    const db = await openMemory({ entities: [entity], disk });
    if (build) await db.summary(entity, 'byShop').build();
    await db.repository(entity).put({ id: 'i1', shop: 's1' });
    expect(await db.summary(entity, 'byShop').find({})).toEqual([{ shop: 's1', sales: 1 }]);
    await db.close();
  };
  try {
    // A table without rows: the next opening makes it active.
    expect(await deployed(release(1))).toEqual([]);
    await opened(release(1), false);
    expect(await deployed(release(1))).toEqual([]);
    expect(await deployed(release(2))).toEqual([
      'The summary "byShop" of Sale is not built as it is declared, so it cannot be read: run rowan summary build.',
    ]);
    await opened(release(2), true);
    expect(await deployed(release(2, 60_000))).toEqual([
      'Rows of Sale have begun to expire, so the summary "byShop" must be counted anew: run rowan summary build.',
    ]);
    await opened(release(2, 60_000), true);
    expect(await deployed(release(2))).toEqual([
      expect.stringMatching(
        /^Rows of Sale have ceased to expire, .* still expire: run it again when all have.$/,
      ),
    ]);
    await opened(release(2), true);
    expect(await deployed(release(2))).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
