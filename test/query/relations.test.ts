import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  Column,
  DeletedAt,
  Embedded,
  Entity,
  hash,
  part,
  Reference,
  References,
  RowKey,
  recordType,
  salt,
  substitute,
} from '../../decorators/index.js';
import { date, int32, text } from '../../src/codec/index.js';
import { open } from '../../src/database.js';
import { uint32 } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { TableAccess } from '../../src/query/access.js';
import { EntityQuery } from '../../src/query/entity-query.js';
import { parseKeyConditions } from '../../src/query/key-conditions.js';
import { emptySpec } from '../../src/query/query-spec.js';
import {
  MAX_HASHED,
  type RelatedReader,
  type RelatedReaders,
  type RelatedRows,
  RelationLoader,
} from '../../src/query/related/relation-loader.js';
import { relatedNodes } from '../../src/query/related/relation-tree.js';
import type { EntitySchema } from '../../src/schema/types.js';
import { scaled } from '../proof/scale.js';
import { openTestDatabase, type TestDatabase } from './test-database.js';

const table = { name: 'related', families: { d: {} } };

@Entity({ table: { name: 'related_customers', families: { d: {} } } })
@RowKey(salt(4), part('region'), part('no', uint32))
class Customer {
  declare static readonly key: ['region', 'no'];
  region!: string;
  no!: number;
  @Column('d:n', text) name!: string;
}

/** In the table of the orders, its digest in the key only. */
@Entity({ table, recordType: 2 })
@RowKey(recordType(), hash('code', { bytes: 4 }))
class Product {
  declare static readonly key: ['code'];
  @Column('d:c', text) code!: string;
  @Column('d:p', int32) price?: number | null;
}

@Entity({ table: { name: 'related_lines', families: { d: {} } } })
@RowKey(salt(3, ['order']), part('order', uint32), part('at', date), part('line', uint32))
class Line {
  declare static readonly key: ['order', 'at', 'line'];
  order!: number;
  at!: Date;
  line!: number;
  @Column('d:p', text) productCode?: string | null;
  @Reference(() => Product, { code: 'productCode' }) product?: Product | null;
}

class Buyer {
  @Column('r', text) region?: string | null;
}

/** Its key is an id that a dictionary gives for the name. */
@Entity({ table: { name: 'related_shops', families: { d: {} } } })
@RowKey(substitute('shop', 'shops'))
class Shop {
  declare static readonly key: ['shop'];
  shop!: string;
  @Column('d:t', text) town?: string | null;
}

@Entity({ table, recordType: 3 })
@RowKey(recordType(), part('id', uint32))
class Visit {
  declare static readonly key: ['id'];
  id!: number;
  @Column('d:s', text) shopName?: string | null;
  @Reference(() => Shop, { shop: 'shopName' }) shop?: Shop | null;
}

@Entity({ table, recordType: 1 })
@RowKey(recordType(), part('id', uint32))
class Order {
  declare static readonly key: ['id'];
  id!: number;
  @Column('d:s', text) status?: string | null;
  @Column('d:b', uint32) buyer?: number | null;
  @Embedded('d', () => Buyer, { prefix: 'b.' }) from?: Buyer | null;
  @Reference(() => Customer, { region: 'from.region', no: 'buyer' }) customer?: Customer | null;
  @References(() => Line, { order: 'id' }, { max: 20 }) lines?: Line[];
}

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase([Customer, Product, Line, Order, Shop, Visit]);
});

afterAll(() => database.dispose());

const at = new Date(Date.UTC(2026, 0, 1));

async function empty(): Promise<void> {
  for (const entity of [Customer, Product, Line, Order] as const) {
    await database
      .repository(entity as typeof Order)
      .find({}, { fullScan: true })
      .deleteAll();
  }
}

describe('with', () => {
  it('gives each row what a loop over arrays finds, by lookups and by hashing', async () => {
    const region = fc.option(fc.constantFrom('eu', 'us'));
    const data = fc.record({
      customers: fc.uniqueArray(
        fc.record({ region: fc.constantFrom('eu', 'us'), no: fc.nat(3), name: fc.string() }),
        { selector: ({ region: of, no }) => `${of}${no}`, maxLength: 6 },
      ),
      products: fc.uniqueArray(fc.record({ code: fc.constantFrom('a', 'b', 'c'), price: fc.nat(99) }), {
        selector: ({ code }) => code,
      }),
      lines: fc.uniqueArray(
        fc.record({
          order: fc.nat(5),
          at: fc.constant(at),
          line: fc.nat(3),
          productCode: fc.option(fc.constantFrom('a', 'b', 'd')),
        }),
        { selector: ({ order, line }) => `${order} ${line}`, maxLength: 15 },
      ),
      orders: fc.uniqueArray(
        fc.record({ id: fc.nat(5), buyer: fc.option(fc.nat(3)), from: fc.record({ region }) }),
        {
          selector: ({ id }) => id,
        },
      ),
      join: fc.constantFrom('lookup' as const, 'hash' as const),
    });
    await fc.assert(
      fc.asyncProperty(data, async ({ customers, products, lines, orders, join }) => {
        await empty();
        await database.repository(Customer).putMany(customers);
        await database.repository(Product).putMany(products);
        await database.repository(Line).putMany(lines);
        await database.repository(Order).putMany(orders);
        const expected = [...orders]
          .sort((a, b) => a.id - b.id)
          .map(({ id, buyer, from }) => ({
            id,
            customer: customers.find((one) => one.region === from.region && one.no === buyer)?.name ?? null,
            lines: lines
              .filter(({ order }) => order === id)
              .map(({ line }) => line)
              .sort(),
          }));
        const query = database.repository(Order).find({}, { join, fullScan: true }).with('customer', 'lines');
        const shown = (rows: Awaited<ReturnType<typeof query.all>>) =>
          rows.map(({ id, customer, lines: of }) => ({
            id,
            customer: customer?.name ?? null,
            lines: of.map(({ line }) => line),
          }));
        expect(shown(await query.all())).toEqual(expected);
        const streamed = [];
        for await (const row of query) streamed.push(row);
        expect(shown(streamed)).toEqual(expected);
        const page = await query.page({ size: 3 });
        expect(shown([...page.items])).toEqual(expected.slice(0, 3));
        const withProducts = await database
          .repository(Line)
          .find({}, { join, fullScan: true })
          .with('product')
          .all();
        for (const { productCode, product } of withProducts) {
          const found = products.find(({ code }) => code === productCode);
          expect(product?.price ?? null).toBe(found?.price ?? null);
        }
      }),
      { numRuns: scaled(4, 25, 1000) },
    );
  });

  it('reads what relations need beside a selection, and gives no more than was selected', async () => {
    await empty();
    await database.repository(Customer).put({ region: 'eu', no: 7, name: 'Ann' });
    await database.repository(Order).put({ id: 1, status: 'open', buyer: 7, from: { region: 'eu' } });
    const row = await database.repository(Order).find({ id: 1 }).select('status').with('customer').first();
    expect(row?.customer?.name).toBe('Ann');
    expect(Object.keys(row!).sort()).toEqual(['customer', 'id', 'status']);
    expect(await database.repository(Order).find({ id: 9 }).with('lines').first()).toBeNull();
  });

  it('stores no relation, and takes back what it gave', async () => {
    await empty();
    await database.repository(Order).put({ id: 1, lines: [new Line()], customer: null });
    const row = await database.repository(Order).find({ id: 1 }).with('lines').first();
    expect(row!.lines).toEqual([]);
    await database.repository(Order).put({ ...row!, status: 'paid' });
    expect((await database.repository(Order).get({ id: 1 }))!.status).toBe('paid');
  });

  it('says how it reads, and never cuts off', async () => {
    await empty();
    const orders = database.repository(Order);
    const lookups = orders.find({ id: 1 }).with('customer', 'lines').explain();
    expect(lookups.related).toEqual([
      {
        property: 'customer',
        entity: 'Customer',
        kind: 'one',
        by: 'region = from.region, no = buyer',
        join: 'lookup',
        reads: 'a get for each distinct key, 1000 in a call',
      },
      {
        property: 'lines',
        entity: 'Line',
        kind: 'many',
        by: 'order = id',
        join: 'lookup',
        reads: 'one range for each row, 16 at a time, at most 20 rows each',
      },
    ]);
    expect(String(lookups)).toContain('with   lines: Line where order = id');
    const scan = orders.find({}, { fullScan: true }).with('customer').explain();
    expect(scan.related?.[0]?.join).toBe('hash');
    await orders.put({ id: 1 });
    const lines = Array.from({ length: 21 }, (_, line) => ({ order: 1, at, line }));
    await database.repository(Line).putMany(lines);
    await expect(orders.find({ id: 1 }).with('lines').all()).rejects.toThrow(/more than 20 entities of Line/);
    await database.repository(Line).delete(lines[0]!);
    expect((await orders.find({ id: 1 }).with('lines').first())!.lines).toHaveLength(20);
  });

  it('finds entities by the texts of dictionaries, those that no dictionary knows too', async () => {
    const path = join(mkdtempSync(join(tmpdir(), 'rowan-relations-')), 'store');
    try {
      for (const first of [true, false]) {
        // At the second opening no dictionary has met any text.
        await using other = await open({ path, entities: [Shop, Visit] });
        const visits = other.repository(Visit);
        if (first) {
          await other.repository(Shop).putMany([
            { shop: 'pens', town: 'Ulm' },
            { shop: 'caps', town: 'Bern' },
          ]);
          await visits.putMany([
            { id: 1, shopName: 'caps' },
            { id: 2, shopName: 'unheard of' },
            { id: 3, shopName: 'pens' },
            { id: 4, shopName: 'nor of this' },
          ]);
          continue;
        }
        for (const how of ['lookup', 'hash'] as const) {
          const found = await visits.find({}, { fullScan: true, join: how }).with('shop').all();
          expect(found.map(({ shop }) => shop?.town ?? null)).toEqual(['Bern', null, 'Ulm', null]);
        }
      }
    } finally {
      rmSync(join(path, '..'), { recursive: true });
    }
  });

  it('goes on with lookups when there are more entities than a hash join holds', async () => {
    const schema = compileSchema([Order, Customer, Line, Product]);
    let asked = 0;
    const rows = (count: number): RelatedRows => ({
      limit: (most) => rows(Math.min(count, most)),
      where: () => rows(count),
      select: () => rows(count),
      orderBy: () => rows(count),
      reverse: () => rows(count),
      whereRelated: () => rows(count),
      count: async () => count,
      exists: async () => count > 0,
      all: async () => [],
      async *[Symbol.asyncIterator]() {
        for (let no = 0; no < count; no++) yield { region: 'eu', no };
      },
    });
    const reader = (count: number): RelatedReader => ({
      schema: schema.entity(Customer),
      getMany: async (keys) => {
        asked += keys.length;
        return keys.map(({ no }: { no: number }) => ({ region: 'eu', no }));
      },
      find: () => rows(count),
      by: () => ({ find: () => rows(count) }),
    });
    const [node] = relatedNodes(schema.entity(Order), ['customer'], () => reader(0));
    for (const [count, lookups] of [
      [10, 0],
      [MAX_HASHED + 1, 2],
    ] as const) {
      const loader = new RelationLoader(node!, () => reader(count), 'hash', {
        timeRange: undefined,
        options: {},
      });
      const orders = [3, 4, 3].map((buyer): Order => ({ id: 1, buyer, from: { region: 'eu' } }));
      asked = 0;
      await loader.attach(orders);
      expect(orders.map(({ customer }) => customer?.no)).toEqual([3, 4, 3]);
      expect(asked).toBe(lookups);
    }
  });

  it('refuses what is no relation', () => {
    const query = database.repository(Order).find({ id: 1 });
    expect(() => query.with('nope' as 'lines')).toThrow(/no relation "nope". It has customer, lines/);
    expect(() => query.with()).toThrow(/names no relation/);
    expect(() => database.repository(Order).find({ id: 1 }, { join: 'merge' as 'hash' })).toThrow(/join/);
    expect(() =>
      database
        .repository(Customer)
        .find({ region: 'eu' })
        .with('x' as never),
    ).toThrow(/It has none/);
  });
});

const kept = { versions: 9, keepDeletedCells: 'TRUE' } as const;

@Entity({ table: { name: 'related_boxes', families: { d: kept } } })
@RowKey(part('no', uint32))
class Box {
  declare static readonly key: ['no'];
  no!: number;
  @Column('d:n', text) name?: string | null;
  @DeletedAt('d:x') deletedAt?: Date | null;
}

@Entity({ table: { name: 'related_items', families: { d: kept } } })
@RowKey(part('shelf', uint32), part('at', uint32))
class Item {
  declare static readonly key: ['shelf', 'at'];
  shelf!: number;
  at!: number;
  @Column('d:n', text) name?: string | null;
}

@Entity({ table: { name: 'related_shelves', families: { d: kept } } })
@RowKey(part('shelf', uint32))
class Shelf {
  declare static readonly key: ['shelf'];
  shelf!: number;
  @Column('d:b', uint32) boxNo?: number | null;
  @Reference(() => Box, { no: 'boxNo' }) box?: Box | null;
  @References(() => Item, { shelf: 'shelf' }) items?: Item[];
}

describe('what a query says of its reading', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase([Box, Item, Shelf]);
    for (const [name, timestamp] of [
      ['old', 1000],
      ['new', 2000],
    ] as const) {
      await db.repository(Box).put({ no: 7, name }, { timestamp });
      await db.repository(Item).put({ shelf: 1, at: 1, name }, { timestamp });
      await db.repository(Shelf).put({ shelf: 1, boxNo: 7 }, { timestamp });
    }
    await db.repository(Item).put({ shelf: 1, at: 2, name: 'late' }, { timestamp: 2000 });
    await db.repository(Shelf).put({ shelf: 2, boxNo: 8 }, { timestamp: 1000 });
    await db.repository(Box).put({ no: 8, name: 'gone' }, { timestamp: 1000 });
    await db.repository(Box).delete({ no: 8 });
  });
  afterAll(() => db.dispose());

  const shelf = (name: string, items: readonly string[]) => [
    { box: { name }, items: items.map((one) => ({ name: one })) },
  ];

  it.each(['lookup', 'hash'] as const)('holds for its relations: the time, by %s', async (join) => {
    const shelves = db.repository(Shelf);
    const wanted = shelf('old', ['old']);
    expect(await shelves.asOf(1500).find({ shelf: 1 }, { join }).with('box', 'items').all()).toMatchObject(
      wanted,
    );
    const query = shelves.find({ shelf: 1 }, { join });
    expect(await query.asOf(1500).with('box', 'items').all()).toMatchObject(wanted);
    expect(await query.asOf(1500).with('box', 'items').first()).toMatchObject(wanted[0]!);
    expect((await query.asOf(1500).with('box', 'items').page({ size: 1 })).items).toMatchObject(wanted);
    for await (const row of query.asOf(1500).with('box', 'items')) expect(row).toMatchObject(wanted[0]!);
    expect(await query.with('box', 'items').all()).toMatchObject(shelf('new', ['new', 'late']));
    const window = query.writtenBetween(1200, 1900);
    expect(await window.with('box', 'items').all()).toEqual([]);
    expect(await query.writtenBetween(1900, 2100).with('box').all()).toMatchObject([
      { box: { name: 'new' } },
    ]);
    expect((await query.asOf(1500).with('items').all())[0]!.items).toHaveLength(1);
  });

  it.each(['lookup', 'hash'] as const)('holds for its relations: deleted rows, by %s', async (join) => {
    const shelves = db.repository(Shelf);
    expect(await shelves.find({ shelf: 2 }, { join }).with('box').all()).toMatchObject([{ box: null }]);
    const all = { withDeleted: true } as const;
    const wanted = [{ box: { name: 'gone' } }];
    expect(
      await shelves
        .find({ shelf: 2 }, { join, ...all })
        .with('box')
        .all(),
    ).toMatchObject(wanted);
    expect(await shelves.reading(all).find({ shelf: 2 }, { join }).with('box').all()).toMatchObject(wanted);
  });

  it('holds for its relations: consistency and signal, in every call', async () => {
    const asked: object[] = [];
    const { signal } = new AbortController();
    const said = {
      consistency: 'TIMELINE',
      attributes: { a: '1' },
      timeout: 5000,
      withDeleted: true,
    } as const;
    const readers: RelatedReaders = (_target, view) => {
      if (view !== undefined) asked.push({ ...view });
      return db.repository(Box);
    };
    const { schema, access } = db.repository(Shelf) as unknown as {
      readonly schema: EntitySchema;
      readonly access: TableAccess;
    };
    const spec = emptySpec(schema, parseKeyConditions('Shelf', schema.key, { shelf: 1 }), {
      fullScan: false,
    });
    const query = new EntityQuery<typeof Shelf>({ ...access, related: readers }, spec, said).signal(signal);
    await query.with('box').all();
    expect(asked).toEqual([{ timeRange: undefined, options: { ...said, cacheBlocks: undefined, signal } }]);
  });
});

describe('a declaration', () => {
  it('names the whole key of one, leading parts of many, and stored properties', () => {
    @Entity({ table: { name: 'wrong', families: { d: {} } } })
    @RowKey(part('id', uint32))
    class Wrong {
      declare static readonly key: ['id'];
      id!: number;
      @Reference(() => Customer, { region: 'id' } as never) half?: Customer | null;
      @References(() => Line, { at: 'id' } as never) gap?: Line[];
      @Reference(() => Product, { code: 'nope' }) unknown?: Product | null;
      @Reference(() => Product, {} as never) nothing?: Product | null;
      @References(undefined as never, { order: 'id' }) none?: Line[];
    }
    const problems = (): void => void compileSchema([Wrong, Customer, Line, Product]);
    expect(problems).toThrow(/Wrong.unknown: It is found by "nope"/);
    expect(problems).toThrow(/Wrong.nothing: @Reference does not say/);
    expect(problems).toThrow(/Wrong.none: @References names undefined/);

    @Entity({ table: { name: 'wrong', families: { d: {} } } })
    @RowKey(part('id', uint32))
    class Gaps {
      declare static readonly key: ['id'];
      id!: number;
      @Reference(() => Customer, { region: 'id' } as never) half?: Customer | null;
      @References(() => Line, { at: 'id' } as never) gap?: Line[];
    }
    expect(() => compileSchema([Gaps, Customer, Line])).toThrow(
      /Gaps.half: It finds Customer by region, and the key of Customer is region, no[\s\S]*Gaps.gap: It finds Line by at/,
    );
  });
});
