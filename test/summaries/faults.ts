/** Writes of rows that summaries count, and what must hold behind them where one step is one row: for suites of both engines. */

import { expect } from 'vitest';
import { Column, DeletedAt, Entity, part, RowKey, Summary } from '../../decorators/index.js';
import { decimal, int32, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { uint32 } from '../../src/key/index.js';
import type { Program } from '../proof/stepless.js';
import { Random } from '../query/model/random.js';

@Entity({ table: { name: 'counted_sales', families: { d: {} } } })
@RowKey(part('no', uint32))
@Summary('byShop', {
  by: ['shop'],
  figures: { sales: 'count', total: { sum: 'total' }, most: { max: 'pieces' } },
})
@Summary('large', {
  by: [],
  figures: { sales: 'count', pieces: { sum: 'pieces' } },
  where: { pieces: { gte: 5 } },
})
export class Sale {
  declare static readonly key: ['no'];
  declare static readonly summaries: {
    byShop: {
      by: ['shop'];
      figures: { sales: 'count'; total: { sum: 'total' }; most: { max: 'pieces' } };
    };
    large: { by: []; figures: { sales: 'count'; pieces: { sum: 'pieces' } } };
  };
  no!: number;
  @Column('d:s', text) shop?: string | null;
  @Column('d:t', decimal(2)) total?: string | null;
  @Column('d:p', int32) pieces?: number | null;
  @DeletedAt('d:x') deletedAt?: Date | null;
}

export const counted = [Sale];

export const sale = (no: number, shop: string | null, pieces = no) => ({
  no,
  shop,
  pieces,
  total: `${no}.25`,
});

type Figures = Map<string, { shop: string; sales: number; total: string; most: number | null }>;

/** The figures of the groups, by a scan of the rows. */
async function recount(db: Database): Promise<{ groups: Figures; large: { sales: number; pieces: number } }> {
  const groups: Figures = new Map();
  const large = { sales: 0, pieces: 0 };
  for (const { shop, total, pieces } of await db.repository(Sale).find({}, { fullScan: true }).all()) {
    if (pieces != null && pieces >= 5) {
      large.sales++;
      large.pieces += pieces;
    }
    if (shop == null) continue;
    const group = groups.get(shop) ?? { shop, sales: 0, total: '0.00', most: null };
    group.sales++;
    const cents = (amount: string): number => Math.round(Number(amount) * 100);
    group.total = ((cents(group.total) + cents(total ?? '0')) / 100).toFixed(2);
    if (pieces != null) group.most = Math.max(group.most ?? pieces, pieces);
    groups.set(shop, group);
  }
  return { groups, large };
}

/** Groups of `byShop`, and that of `large`, whose counts are not those of the rows. */
async function countFaults(db: Database): Promise<{ byShop: number; large: number }> {
  const { groups, large } = await recount(db);
  const found = new Map((await db.summary(Sale, 'byShop').find({})).map((one) => [one.shop, one]));
  let byShop = 0;
  for (const shop of new Set([...groups.keys(), ...found.keys()])) {
    const is = found.get(shop);
    const wanted = groups.get(shop);
    if (is?.sales !== wanted?.sales || is?.total !== wanted?.total) byShop++;
  }
  const all = (await db.summary(Sale, 'large').get({})) ?? { sales: 0, pieces: 0 };
  return { byShop, large: all.sales === large.sales && all.pieces === large.pieces ? 0 : 1 };
}

/** What is answered is what the rows say. */
export async function expectTrueFigures(db: Database, when: string): Promise<void> {
  const { groups, large } = await recount(db);
  const found = await db.summary(Sale, 'byShop').find({});
  expect(found, when).toEqual([...groups.values()].sort((a, b) => (a.shop < b.shop ? -1 : 1)));
  const all = await db.summary(Sale, 'large').get({});
  expect(all, when).toEqual(large.sales === 0 ? null : large);
}

async function prepare(db: Database): Promise<void> {
  const sales = db.repository(Sale);
  for (const no of [1, 2, 3, 4, 5, 6, 7]) await sales.purge({ no });
  await sales.putMany([sale(1, 'a'), sale(2, 'a', 8), sale(3, 'b'), sale(4, 'b'), sale(5, null)]);
  // After their answers too: what another program's write finds must not depend on how fast this one counts.
  for (const summary of ['byShop', 'large'] as const)
    await db.summary(Sale, summary).drain({ settledAfter: 0 });
}

const WRITES: Readonly<Record<string, (db: Database) => Promise<unknown>>> = {
  insert: (db) => db.repository(Sale).insert(sale(6, 'c')),
  move: (db) => db.repository(Sale).update({ no: 1 }, { shop: 'b', pieces: 9 }),
  change: (db) => db.repository(Sale).update({ no: 2 }, { total: '99.99', pieces: 2 }),
  delete: (db) => db.repository(Sale).delete({ no: 3 }),
  batch: (db) =>
    db.batch((batch) => {
      batch.of(Sale).put(sale(7, 'a', 50));
      batch.of(Sale).update({ no: 4 }, { shop: 'a' });
      batch.of(Sale).update({ no: 5 }, { shop: 'b' });
    }),
  outbox: async (db) => {
    await db.repository(Sale).put(sale(6, 'a'));
    await db.summary(Sale, 'byShop').drain();
  },
};

/**
 * Has programs end after their calls, every `stride`-th of each kind of write, `most` times at most: check tells exactly what is
 * off, the outbox or a repair puts it right, and a second repair finds nothing.
 */
export async function endCountedAfterCalls(
  db: Database,
  program: () => Promise<Program>,
  stride: number,
  most = Number.POSITIVE_INFINITY,
): Promise<{ readonly died: number; readonly off: number }> {
  let died = 0;
  let off = 0;
  for (const [place, [name, write]] of Object.entries(WRITES).entries()) {
    for (let after = (place * 5) % stride, ends = died + most; died < ends; after += stride) {
      await prepare(db);
      const { db: own, mortal } = await program();
      mortal.dieAfter(after);
      await write(own).catch((error: { code?: string }) => expect(error.code).toBe('ERR_CONNECTION'));
      // What follows after the answers comes to its end, or the program to its own.
      await own.close();
      await mortal.arrived();
      const when = `${name}, ended after ${after}`;
      const faults = await countFaults(db);
      off += faults.byShop + faults.large;
      for (const summary of ['byShop', 'large'] as const) {
        const { stale, missing, extra } = await db.summary(Sale, summary).check();
        expect(stale + missing + extra, `${when}: ${summary}`).toBe(faults[summary]);
      }
      // One way or the other: the outbox, or a count of all rows.
      const isCounted = after % 2 === 1;
      if (isCounted) {
        await db.summary(Sale, 'large').repair({ settledAfter: 0 });
        await db.summary(Sale, 'byShop').repair();
      } else {
        await db.summary(Sale, 'byShop').drain({ settledAfter: 0 });
        await expectTrueFigures(db, when);
        // What it still finds to do is in the index of greatest values: entries that nobody has verified.
        const { stale, missing, extra } = await db.summary(Sale, 'byShop').repair();
        expect(stale + missing + extra, when).toBe(0);
      }
      for (const summary of ['byShop', 'large'] as const) {
        const again = await db.summary(Sale, summary).repair();
        expect(again, when).toMatchObject({ stale: 0, missing: 0, extra: 0, repaired: 0 });
      }
      await expectTrueFigures(db, when);
      if (!mortal.isDead) break;
      died++;
    }
  }
  return { died, off };
}

/** What was deleted and left is in the way of a row that is new. */
async function mayConflict(write: Promise<unknown>): Promise<void> {
  await write.catch((error: { code?: string }) => expect(error.code).toBe('ERR_CONFLICT'));
}

/** 16 writers at once in some programs, a count beside them: once the outbox is drained the figures are those of the rows. */
export async function writeCountedAtOnce(
  databases: readonly Database[],
  goesOn: (writes: number) => boolean,
  /** Ends a count that takes longer than it may. */
  signal?: () => AbortSignal,
): Promise<void> {
  const [first] = databases as [Database];
  let writing = 16;
  const write = async (db: Database, seed: number): Promise<void> => {
    const random = new Random(seed);
    const sales = db.repository(Sale);
    for (let i = 0; goesOn(i); i++) {
      const no = random.below(12);
      const next = sale(no, random.pick(['a', 'b', 'c', null]), random.below(10));
      const sort = random.below(8);
      if (sort === 0) await sales.delete({ no });
      else if (sort === 1) await sales.purge({ no });
      else if (sort < 4) await sales.put(next);
      else if (sort < 6) await mayConflict(sales.upsert(next, { shop: next.shop }));
      else await sales.mutate({ no }, (row) => row.set({ pieces: next.pieces, total: next.total }));
    }
  };
  const writers = Array.from({ length: 16 }, (_, writer) =>
    write(databases[writer % databases.length]!, writer + 1).finally(() => {
      writing--;
    }),
  );
  // Each puts a new count in the place of the one that the writers add to. Entries that nobody has verified are looked at again
  // 200 ms later, in place of 30 s.
  do await first.summary(Sale, 'byShop').repair({ settledAfter: 200, ...(signal && { signal: signal() }) });
  while (writing > 0);
  await Promise.all(writers);
  for (const db of databases) await db.summary(Sale, 'byShop').drain();
  await expectTrueFigures(first, 'drained');
  for (const summary of ['byShop', 'large'] as const) {
    const found = await first.summary(Sale, summary).check();
    expect(found).toMatchObject({ stale: 0, missing: 0, extra: 0, entries: 0 });
  }
}
