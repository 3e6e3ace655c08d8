/** Conditions on related entities, counts of them, and links that are declared once and read from both sides. */

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  Column,
  DeletedAt,
  Entity,
  index,
  part,
  Reference,
  References,
  type Related,
  rowKey,
  salt,
} from '../../decorators/index.js';
import { date, int32, text } from '../../src/codec/index.js';
import { SchemaError } from '../../src/errors.js';
import { uint32 } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { scaled } from '../proof/scale.js';
import { openTestDatabase, type TestDatabase } from './test-database.js';

const table = (name: string) => ({ name: `tested_${name}`, families: { d: {} } });

@Entity({ table: table('items') })
class Item {
  static readonly key = rowKey(part('item'));
  item!: string;
  @Column('d:c', text) color?: string | null;
  @Column('d:m', text) maker?: string | null;
  @References(() => Offer, { item: 'item' }, { index: 'byItem', max: 50 }) offers?: Related<Offer[]>;
  @Reference(() => Maker, { region: 'color', no: 'makerNo' }) made?: Related<Maker> | null;
  @Column('d:n', int32) makerNo?: number | null;
}

/** Its key has two parts. */
@Entity({ table: table('makers') })
class Maker {
  static readonly key = rowKey(salt(3), part('region'), part('no', uint32));
  region!: string;
  no!: number;
  @Column('d:t', text) town?: string | null;
  @DeletedAt('d:x') deletedAt?: Date | null;
}

/** The link of shops and items: declared once, found from both. */
@Entity({ table: table('offers') })
class Offer {
  static readonly key = rowKey(part('shop', uint32), part('item'));
  static readonly indexes = { byItem: index('item') };
  shop!: number;
  item!: string;
  @Column('d:p', int32) price!: number;
  @Reference(() => Item, { item: 'item' }) what?: Related<Item> | null;
  @Reference(() => Shop, { shop: 'shop' }) where?: Related<Shop> | null;
}

@Entity({ table: table('shops') })
class Shop {
  static readonly key = rowKey(part('shop', uint32));
  shop!: number;
  @Column('d:r', int32) rank!: number;
  @Column('d:o', date) opened?: Date | null;
  @References(() => Offer, { shop: 'shop' }, { max: 50 }) offers?: Related<Offer[]>;
}

let db: TestDatabase;

beforeAll(async () => {
  db = await openTestDatabase([Item, Maker, Offer, Shop]);
});

afterAll(() => db.dispose());

interface Data {
  readonly shops: readonly { shop: number; rank: number }[];
  readonly items: readonly { item: string; color: string | null; makerNo: number | null }[];
  readonly makers: readonly { region: string; no: number; town: string }[];
  readonly offers: readonly { shop: number; item: string; price: number }[];
}

const color = fc.constantFrom('red', 'blue');
const data: fc.Arbitrary<Data> = fc.record({
  shops: fc.uniqueArray(fc.record({ shop: fc.nat(9), rank: fc.nat(3) }), { selector: ({ shop }) => shop }),
  items: fc.uniqueArray(
    fc.record({
      item: fc.constantFrom('a', 'b', 'c', 'd'),
      color: fc.option(color),
      makerNo: fc.option(fc.nat(2)),
    }),
    { selector: ({ item }) => item },
  ),
  makers: fc.uniqueArray(fc.record({ region: color, no: fc.nat(2), town: fc.constantFrom('Rome', 'Bern') }), {
    selector: ({ region, no }) => `${region}${no}`,
  }),
  offers: fc.uniqueArray(
    fc.record({ shop: fc.nat(9), item: fc.constantFrom('a', 'b', 'c', 'd', 'e'), price: fc.nat(4) }),
    { selector: ({ shop, item }) => `${shop}${item}`, maxLength: 25 },
  ),
});

async function store({ shops, items, makers, offers }: Data): Promise<void> {
  for (const entity of [Item, Maker, Offer, Shop] as const) {
    await db
      .repository(entity as typeof Item)
      .find({}, { fullScan: true, withDeleted: true })
      .deleteAll();
  }
  await db.repository(Shop).putMany(shops);
  await db.repository(Item).putMany(items);
  await db.repository(Maker).putMany(makers);
  await db.repository(Offer).putMany(offers);
}

describe('whereRelated', () => {
  it('keeps the rows that a loop over arrays keeps, in every way of reading', async () => {
    const price = fc.nat(4);
    const quantifier = fc.constantFrom('some' as const, 'none' as const, 'every' as const);
    await fc.assert(
      fc.asyncProperty(data, price, quantifier, fc.boolean(), async (given, above, how, nested) => {
        await store(given);
        const isDear = (offer: Data['offers'][number]): boolean =>
          offer.price > above &&
          (!nested || given.items.some(({ item, color: of }) => item === offer.item && of === 'red'));
        const kept = [...given.shops]
          .sort((a, b) => a.shop - b.shop)
          .filter(({ shop }) => {
            const own = given.offers.filter((offer) => offer.shop === shop);
            if (how === 'some') return own.some(isDear);
            return how === 'none' ? !own.some(isDear) : own.every(isDear);
          });
        const expected = kept.map(({ shop }) => shop);
        const dear = { price: { gt: above }, ...(nested && { what: { color: 'red' } }) };
        const all = db.repository(Shop).find({}, { fullScan: true });
        const query = all.whereRelated({ offers: { [how]: dear } });
        const ids = (rows: readonly { shop: number }[]): number[] => rows.map(({ shop }) => shop);
        expect(ids(await query.all())).toEqual(expected);
        expect(await query.count()).toBe(expected.length);
        expect(await query.exists()).toBe(expected.length > 0);
        expect((await query.first())?.shop).toBe(expected[0]);
        expect(ids(await query.limit(2).all())).toEqual(expected.slice(0, 2));
        expect(await query.limit(2).count()).toBe(Math.min(2, expected.length));
        const streamed: number[] = [];
        for await (const { shop } of query.limit(3)) streamed.push(shop);
        expect(streamed).toEqual(expected.slice(0, 3));
        const pages: number[][] = [];
        let cursor: string | undefined;
        do {
          const page = await query.page({ size: 2, cursor, total: true });
          expect(page.total).toBe(expected.length);
          pages.push(ids(page.items));
          if (page.backCursor !== undefined) {
            const before = await query.page({ size: 2, cursor: page.backCursor, back: true });
            expect(ids(before.items)).toEqual(pages.at(-2));
          }
          cursor = page.cursor;
        } while (cursor !== undefined);
        expect(pages.flat()).toEqual(expected);
        const ranked = all
          .select('opened')
          .orderBy('rank', 'desc')
          .whereRelated({ offers: { [how]: dear } });
        const byRank = [...kept].sort((a, b) => b.rank - a.rank || a.shop - b.shop).slice(0, 3);
        const sorted = await ranked.limit(3).all();
        expect(sorted.map((shop) => shop)).toEqual(
          sorted.map(({ shop }) => expect.objectContaining({ shop })),
        );
        expect(sorted.every((shop) => !('rank' in shop))).toBe(true);
        const ranks = new Map(given.shops.map(({ shop, rank }) => [shop, rank]));
        expect(sorted.map(({ shop }) => ranks.get(shop))).toEqual(byRank.map(({ rank }) => rank));
        const reversed = await all
          .reverse()
          .whereRelated({ offers: { [how]: dear } })
          .all();
        expect(ids(reversed)).toEqual([...expected].reverse());
      }),
      { numRuns: scaled(4, 60, 1000) },
    );
  });

  it('asks whether one related entity is there and meets conditions, by keys of several parts too', async () => {
    await fc.assert(
      fc.asyncProperty(data, fc.constantFrom('Rome', 'Bern'), async (given, town) => {
        await store(given);
        const madeBy = ({ color: region, makerNo }: Data['items'][number]) =>
          given.makers.find((maker) => maker.region === region && maker.no === makerNo);
        const items = [...given.items].sort((a, b) => (a.item < b.item ? -1 : 1));
        const all = db.repository(Item).find({}, { fullScan: true });
        const found = async (test: Parameters<typeof all.whereRelated>[0]): Promise<string[]> =>
          (await all.select('maker').whereRelated(test).all()).map(({ item }) => item);
        const expected = (keep: (item: Data['items'][number]) => boolean): string[] =>
          items.filter(keep).map(({ item }) => item);
        expect(await found({ made: { town } })).toEqual(expected((item) => madeBy(item)?.town === town));
        expect(await found({ made: {} })).toEqual(expected((item) => madeBy(item) !== undefined));
        expect(await found({ made: null })).toEqual(expected((item) => madeBy(item) === undefined));
        expect(await found({ made: { town }, offers: { some: {} } })).toEqual(
          expected(
            (item) => madeBy(item)?.town === town && given.offers.some((offer) => offer.item === item.item),
          ),
        );
      }),
      { numRuns: scaled(3, 40, 1000) },
    );
  });

  it('asks of every entity of a list what its own relations are', async () => {
    await store({
      shops: [1, 2, 3].map((shop) => ({ shop, rank: 0 })),
      items: [
        { item: 'a', color: 'red', makerNo: null },
        { item: 'b', color: 'blue', makerNo: null },
      ],
      makers: [],
      offers: [
        { shop: 1, item: 'a', price: 1 },
        { shop: 1, item: 'b', price: 1 },
        { shop: 2, item: 'a', price: 1 },
      ],
    });
    const shops = db.repository(Shop).find({}, { fullScan: true });
    const all = await shops.whereRelated({ offers: { every: { what: { color: 'red' } } } }).all();
    expect(all.map(({ shop }) => shop)).toEqual([2, 3]);
    const any = await shops.whereRelated({ offers: { some: {}, every: { what: { color: 'red' } } } }).all();
    expect(any.map(({ shop }) => shop)).toEqual([2]);
  });

  it('tests as the query reads: without deleted entities, or with them', async () => {
    await store({
      shops: [],
      items: [{ item: 'a', color: 'red', makerNo: 1 }],
      makers: [{ region: 'red', no: 1, town: 'Rome' }],
      offers: [],
    });
    await db.repository(Maker).delete({ region: 'red', no: 1 });
    const items = db.repository(Item);
    expect(await items.find({ item: 'a' }).whereRelated({ made: {} }).count()).toBe(0);
    expect(await items.find({ item: 'a' }, { withDeleted: true }).whereRelated({ made: {} }).count()).toBe(1);
  });

  it('finds rows behind many batches that do not meet it, with cursors at any row', async () => {
    const shops = Array.from({ length: 700 }, (_, shop) => ({ shop, rank: 0 }));
    const far = [3, 299, 300, 650, 699];
    await store({ shops, items: [], makers: [], offers: far.map((shop) => ({ shop, item: 'a', price: 1 })) });
    const query = db
      .repository(Shop)
      .find({}, { fullScan: true })
      .whereRelated({ offers: { some: {} } });
    const first = await query.page({ size: 2 });
    const second = await query.page({ size: 2, cursor: first.cursor });
    const third = await query.page({ size: 2, cursor: second.cursor });
    const back = await query.page({ size: 2, cursor: third.backCursor, back: true });
    const shown = [first, second, third, back].map(({ items }) => items.map(({ shop }) => shop));
    expect(shown).toEqual([[3, 299], [300, 650], [699], [300, 650]]);
    expect(third.cursor).toBeUndefined();
    expect((await query.page({ size: 9, cursor: first.cursorAt(0) })).items.map(({ shop }) => shop)).toEqual([
      299, 300, 650, 699,
    ]);
  });

  it('refuses what it cannot test, before a row is read', () => {
    const shops = db.repository(Shop).find({}, { fullScan: true });
    const items = db.repository(Item).find({}, { fullScan: true });
    const wrong =
      (test: unknown): (() => unknown) =>
      () =>
        shops.whereRelated(test as never);
    expect(wrong({})).toThrow('whereRelated takes an object of relations');
    expect(wrong({ rank: 1 })).toThrow('Shop has no relation "rank". It has offers.');
    expect(wrong({ offers: { price: 1 } })).toThrow(
      'Shop.offers is a list. Write { offers: { some: { … } } }',
    );
    expect(wrong({ offers: { some: { cost: 1 } } })).toThrow('Offer has no column "cost"');
    expect(wrong({ offers: { some: { what: { some: {} } } } })).toThrow('Item has no column "some"');
    expect(wrong({ offers: { some: null } })).toThrow('takes an object of conditions on Offer, not null');
    expect(() => items.whereRelated({ made: 'Rome' } as never)).toThrow(
      'Item.made takes an object of conditions',
    );
    expect(() => shops.limit(5).whereRelated({ offers: { some: {} } })).toThrow('comes before limit()');
    const sorted = shops.orderBy('rank').whereRelated({ offers: { some: {} } });
    return Promise.all([
      expect(sorted.all()).rejects.toThrow('orderBy() needs a bound'),
      expect(sorted.page({ size: 2 })).rejects.toThrow('cannot be combined with orderBy()'),
      expect(shops.whereRelated({ offers: { none: {} } }).all({ max: 0 })).rejects.toThrow('all({ max: 0 })'),
    ]);
  });

  it('explains its tests and counts', () => {
    const related = db
      .repository(Shop)
      .find({ shop: 1 })
      .whereRelated({ offers: { some: { what: { color: 'red' } } } })
      .withCounts({ offerCount: 'offers' })
      .explain().related;
    expect(related?.map(({ property, reads }) => `${property}: ${reads}`)).toEqual([
      'offers: tests some of offers: one range for each row, 16 at a time, up to the first row that decides',
      'what: tests some of offers: what: a get for each distinct key, 1000 in a call, with the conditions as filters',
      'offers: counted as offerCount: one range for each row, 16 at a time',
    ]);
    const [both] = db.repository(Item).find({ item: 'a' }).with('offers').explain().related!;
    expect(both?.by).toBe('item = item (index byItem)');
  });
});

describe('withCounts', () => {
  it('counts what a loop over arrays counts, beside loaded relations', async () => {
    await fc.assert(
      fc.asyncProperty(data, async (given) => {
        await store(given);
        const rows = await db
          .repository(Item)
          .find({}, { fullScan: true })
          .select('color')
          .withCounts({ offerCount: 'offers', cheap: { of: 'offers', where: { price: { lt: 2 } } } })
          .withCounts({ inGood: { of: 'offers', where: { where: { rank: { gte: 2 } } } } })
          .with('offers')
          .all();
        const good = new Set(given.shops.filter(({ rank }) => rank >= 2).map(({ shop }) => shop));
        const items = [...given.items].sort((a, b) => (a.item < b.item ? -1 : 1));
        expect(
          rows.map(({ item, offerCount, cheap, inGood, offers }) => [
            item,
            offerCount,
            cheap,
            inGood,
            offers.length,
          ]),
        ).toEqual(
          items.map(({ item }) => {
            const own = given.offers.filter((offer) => offer.item === item);
            const cheap = own.filter(({ price }) => price < 2);
            const inGood = own.filter(({ shop }) => good.has(shop));
            return [item, own.length, cheap.length, inGood.length, own.length];
          }),
        );
        expect(rows.every((row) => !('maker' in row) && !('makerNo' in row))).toBe(true);
      }),
      { numRuns: scaled(3, 40, 1000) },
    );
  });

  it('refuses names and relations that it cannot count', () => {
    const items = db.repository(Item).find({ item: 'a' });
    const wrong =
      (counts: unknown): (() => unknown) =>
      () =>
        items.withCounts(counts as never);
    expect(wrong({ color: 'offers' })).toThrow('"color" is a property of Item');
    expect(wrong({ n: 'made' })).toThrow('Item.made stands for one entity');
    expect(wrong({ n: 'colors' })).toThrow('Item has no relation "colors"');
    expect(wrong({ n: { of: 'offers', when: {} } })).toThrow('the unknown option when');
    expect(wrong('offers')).toThrow('withCounts takes names for counts');
  });
});

describe('groupBy a property of a related entity', () => {
  it('gives what a loop over arrays gives, with one absent value for rows without one', async () => {
    await fc.assert(
      fc.asyncProperty(data, async (given) => {
        await store(given);
        const groups = new Map<string, { rank: number | null; price: number; n: number; total: number }>();
        for (const { shop, price } of given.offers) {
          const rank = given.shops.find((one) => one.shop === shop)?.rank ?? null;
          const id = `${rank ?? '~'} ${price}`;
          const group = groups.get(id) ?? { rank, price, n: 0, total: 0 };
          group.n++;
          group.total += price;
          groups.set(id, group);
        }
        const expected = [...groups]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([, { rank, price, n, total }]) => ({ 'where.rank': rank, price, n, total }));
        const rows: { 'where.rank': number | null; price: number; n: number; total: number }[] = await db
          .repository(Offer)
          .find({}, { fullScan: true })
          .groupBy('where.rank', 'price')
          .aggregate((on) => ({ n: on.count(), total: on.sum('price') }));
        expect(rows).toEqual(expected);
      }),
      { numRuns: scaled(3, 40, 1000) },
    );
  });

  it('refuses lists and unknown properties', async () => {
    const shops = db.repository(Shop).find({}, { fullScan: true });
    const offers = db.repository(Offer).find({}, { fullScan: true });
    await expect(shops.groupBy('offers.price' as never).count()).rejects.toThrow('Shop.offers is a list');
    await expect(offers.groupBy('where.size' as never).count()).rejects.toThrow(
      'no column or key part "where.size"',
    );
    await expect(offers.groupBy('which.size' as never).count()).rejects.toThrow(
      'no column or key part "which.size"',
    );
  });
});

describe('a link that is declared once', () => {
  it('is read from both sides, and follows every write of the link', async () => {
    await store({
      shops: [
        { shop: 1, rank: 1 },
        { shop: 2, rank: 2 },
      ],
      items: [
        { item: 'a', color: null, makerNo: null },
        { item: 'b', color: null, makerNo: null },
      ],
      makers: [],
      offers: [
        { shop: 1, item: 'a', price: 3 },
        { shop: 1, item: 'b', price: 4 },
        { shop: 2, item: 'a', price: 5 },
      ],
    });
    const sides = async () => {
      const items = await db.repository(Item).find({}, { fullScan: true }).with('offers.where').all();
      const shops = await db.repository(Shop).find({}, { fullScan: true }).with('offers.what').all();
      return {
        items: items.map(({ item, offers }) => [
          item,
          ...offers.map((offer) => [offer.where?.rank, offer.price]),
        ]),
        shops: shops.map(({ shop, offers }) => [shop, ...offers.map((offer) => offer.what?.item)]),
      };
    };
    expect(await sides()).toEqual({
      items: [
        ['a', [1, 3], [2, 5]],
        ['b', [1, 4]],
      ],
      shops: [
        [1, 'a', 'b'],
        [2, 'a'],
      ],
    });
    await db.repository(Offer).delete({ shop: 1, item: 'a' });
    await db.repository(Offer).put({ shop: 2, item: 'b', price: 6 });
    expect(await sides()).toEqual({
      items: [
        ['a', [2, 5]],
        ['b', [1, 4], [2, 6]],
      ],
      shops: [
        [1, 'b'],
        [2, 'a', 'b'],
      ],
    });
  });

  it('names an index that the other entity has, by its leading parts', () => {
    const compiled = (via: object, name: string) => () => {
      @Entity({ table: table('wrong') })
      class Wrong {
        static readonly key = rowKey(part('item'));
        item!: string;
        @References(() => Offer, via, { index: name }) offers?: Related<Offer[]>;
      }
      return compileSchema([Wrong, Offer, Item, Shop, Maker]);
    };
    expect(compiled({ item: 'item' }, 'byItem')).not.toThrow();
    expect(compiled({ item: 'item' }, 'byPrice')).toThrow(SchemaError);
    expect(compiled({ item: 'item' }, 'byPrice')).toThrow(
      'by the index "byPrice", which Offer does not have',
    );
    expect(compiled({ shop: 'item' }, 'byItem')).toThrow('by shop, and its index byItem is item');
  });
});
