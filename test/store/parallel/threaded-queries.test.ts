/** Queries with `threads` give what they give without. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Column, Columns, Entity, part, RowKey, salt } from '../../../decorators/index.js';
import { decimal, float64, int32, text } from '../../../src/codec/index.js';
import { type Database, open } from '../../../src/database.js';
import { uint32 } from '../../../src/key/index.js';
import type { Repository } from '../../../src/repository/index.js';
import { Put, Scan } from '../../../src/table/index.js';
import { scaled } from '../../proof/scale.js';

@Entity({ table: { name: 'parcels', families: { d: {} } } })
@RowKey(part('shop'), part('no', uint32))
class Parcel {
  declare static readonly key: ['shop', 'no'];
  shop!: string;
  no!: number;
  @Column('d:s', text) status?: string | null;
  @Column('d:w', float64) weight?: number | null;
  @Column('d:p', decimal(2)) price?: string | null;
  @Column('d:q', int32) quantity?: number | null;
  @Columns('d:m.', { key: text, value: text }) notes!: Map<string, string>;
}

@Entity({ table: { name: 'letters', families: { d: {} } } })
@RowKey(salt(4), part('no', uint32))
class Letter {
  declare static readonly key: ['no'];
  no!: number;
  @Column('d:q', int32) quantity?: number | null;
}

const folder = mkdtempSync(join(tmpdir(), 'rowan-threads-'));
let database: Database;
let parcels: Repository<typeof Parcel>;
let letters: Repository<typeof Letter>;

beforeAll(async () => {
  database = await open({ path: join(folder, 'store'), entities: [Parcel, Letter], durability: 'ASYNC_WAL' });
  parcels = database.repository(Parcel);
  letters = database.repository(Letter);
});

afterAll(async () => {
  await database.close();
  rmSync(folder, { recursive: true });
});

const rows = fc.uniqueArray(
  fc.record({
    shop: fc.constantFrom('a', 'b'),
    no: fc.nat(200),
    status: fc.option(fc.constantFrom('open', 'sent', '')),
    weight: fc.option(fc.double({ noNaN: true, min: -1e6, max: 1e6 })),
    price: fc.option(fc.nat(99_999).map((cents) => (cents / 100).toFixed(2))),
    quantity: fc.option(fc.integer({ min: -1000, max: 1000 })),
    notes: fc.array(fc.tuple(fc.string(), fc.string()), { maxLength: 3 }).map((all) => new Map(all)),
  }),
  { selector: ({ shop, no }) => `${shop}${no}`, maxLength: 60 },
);

type Query = ReturnType<typeof parcels.find>;

/** Everything that can be asked of a query. */
async function answersOf(query: Query): Promise<unknown> {
  const streamed: unknown[] = [];
  for await (const row of query.select('status', 'price')) streamed.push(row);
  return {
    all: await query.all(),
    streamed,
    count: await query.count(),
    first: await query.first(),
    exists: await query.exists(),
    limited: await query.limit(3).all(),
    reversed: await query.reverse().all(),
    page: (await query.page({ size: 5, total: true })).items,
    figures: await query.aggregate((on) => ({
      n: on.count(),
      sum: on.sum('weight'),
      least: on.min('price'),
    })),
    byStatus: await query.groupBy('status').aggregate((on) => ({
      n: on.count(),
      priced: on.count('price'),
      total: on.sum('price'),
      mean: on.avg('quantity'),
      most: on.max('weight'),
    })),
    byKey: await query.groupBy('shop', 'quantity').count(),
    sorted: await query.orderBy('price').limit(4).all(),
  };
}

it('queries of random rows have the same answers', async () => {
  await fc.assert(
    fc.asyncProperty(rows, fc.integer({ min: 2, max: 4 }), async (given, threads) => {
      for (const shop of ['a', 'b']) await parcels.deletePrefix({ shop });
      await parcels.putMany(given);
      const asked = (options: { threads?: number }): Query[] => [
        parcels.find({}, { fullScan: true, ...options }),
        parcels.find({ shop: 'a' }, options),
        parcels.find({ shop: 'b', no: { gte: 20 } }, { ...options, timeout: 60_000 }),
        parcels.find({}, { fullScan: true, ...options }).where({ status: 'sent', quantity: { gt: 0 } }),
        parcels.find({}, { fullScan: true, ...options }).where({ weight: { lt: 10 } }),
      ];
      const [here, there] = [asked({}), asked({ threads })];
      for (const [i, query] of here.entries())
        expect(await answersOf(there[i]!)).toEqual(await answersOf(query));
    }),
    { numRuns: scaled(1, 20, 500) },
  );
});

it('salted keys are counted and summed by threads, and read in their order', async () => {
  await letters.putMany(Array.from({ length: 500 }, (_, no) => ({ no, quantity: no % 7 })));
  const query = letters.find({}, { fullScan: true, threads: 2 });
  expect(await query.count()).toBe(500);
  expect(await query.sum('quantity')).toBe(
    Array.from({ length: 500 }, (_, no) => no % 7).reduce((a, b) => a + b),
  );
  expect((await query.all()).map(({ no }) => no)).toEqual(Array.from({ length: 500 }, (_, no) => no));
});

it('a value that cannot be decoded fails figures as without threads, with the row', async () => {
  await letters.put({ no: 7000, quantity: 1 });
  const table = database.engine.table('letters');
  for await (const { row } of table.scan(new Scan()))
    if (row.at(-2) === 7000 >> 8 && row.at(-1) === (7000 & 255))
      await table.put(new Put(row).addColumn('d', 'q', Uint8Array.of(1, 2)));
  const query = letters.find({}, { fullScan: true, threads: 2 });
  await expect(query.sum('quantity')).rejects.toMatchObject({
    code: 'ERR_CODEC',
    details: { key: { no: 7000 } },
  });
  expect(await query.count()).toBe(501);
  await letters.delete({ no: 7000 });
});

it('listeners get the number of rows and bytes that one thread reads', async () => {
  const seen: string[] = [];
  const stop = database.on('query', ({ operation, rows, bytes }) =>
    seen.push(`${operation} ${rows} ${bytes}`),
  );
  for (const options of [{}, { threads: 2 }]) {
    const query = letters.find({}, { fullScan: true, ...options });
    await query.count();
    await query.sum('quantity');
  }
  stop();
  expect(seen).toHaveLength(4);
  expect(seen.slice(2)).toEqual(seen.slice(0, 2));
});

it('an aborted query ends with ERR_ABORTED', async () => {
  const query = letters.find({}, { fullScan: true, threads: 2 });
  await expect(query.signal(AbortSignal.abort()).count()).rejects.toMatchObject({ code: 'ERR_ABORTED' });
  await expect(query.signal(AbortSignal.abort()).all()).rejects.toMatchObject({ code: 'ERR_ABORTED' });
});

it('threads is a whole number from 1 on', () => {
  for (const threads of [0, 1.5, -1, '2' as never])
    expect(() => letters.find({}, { threads })).toThrow(/threads is a positive integer/);
});
