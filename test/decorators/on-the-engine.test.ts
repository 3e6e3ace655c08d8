import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  AfterLoad,
  AfterPut,
  Avro,
  AvroField,
  AvroRecord,
  avro,
  BeforePut,
  Column,
  Columns,
  Counter,
  CreatedAt,
  date,
  decimal,
  defineTable,
  Embedded,
  Entity,
  float64,
  Packed,
  part,
  RowKey,
  recordType,
  salt,
  Ttl,
  text,
  timeBucket,
  UpdatedAt,
  Validate,
  Version,
  type Versioned,
  Versions,
} from '../../src/index.js';
import { onBigtable, openTestDatabase, type TestDatabase } from '../query/test-database.js';

const table = defineTable({ name: 'shop:all', families: { d: { versions: 3 }, m: {} } });
const calls: string[] = [];

class Address {
  @Column('c', text) city!: string;
  @Column('z', text) zip?: string | null;
}

@AvroRecord({ name: 'Line' })
class Line {
  @AvroField(avro.string) sku!: string;
}

@Entity({ table, recordType: 1 })
@RowKey(salt(4), part('id'), recordType())
class Shop {
  declare static readonly key: ['id'];
  id!: string;
  @Validate(z.string().min(2)) @Column('d:n', text) name?: string;
  @Embedded('d', () => Address, { prefix: 'a.' }) address?: Address | null;
  @Columns('m:f.', { value: date }) followers!: Map<string, Date | null>;
  @Versions('d:p', decimal(2)) prices!: Versioned<string>[];
  @Counter('d:v') views?: bigint;
  @Avro('d:l', () => [Line]) lines?: Line[];
  @CreatedAt('d:ca') createdAt?: Date;
  @UpdatedAt('d:ua') updatedAt?: Date;
  @Ttl() expiresIn?: number;
  @BeforePut() before(): void {
    calls.push('before');
  }
  @AfterPut() after(): void {
    calls.push('after');
  }
  @AfterLoad() async loaded(): Promise<void> {
    calls.push(`loaded ${this.id}`);
  }
}

@Entity({ table, recordType: 2 })
@RowKey(salt(4, ['metric']), part('metric'), recordType(), timeBucket('hour', '1h', { unit: 's' }))
class MetricHour {
  declare static readonly key: ['metric', 'hour'];
  metric!: string;
  hour!: Date;
  @Packed('m:', { part: 'hour', value: float64 }) points!: Map<number, number | null>;
}

@Entity({ table, recordType: 3 })
@RowKey(salt(4), part('id'), recordType())
class Document {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:t', text) text!: string;
  @Version('d:v') version?: number;
}

const shop = (values: Partial<Shop>) => Object.assign(Object.create(Shop.prototype), values) as Shop;

describe('declared entities on an engine', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await openTestDatabase([Shop, MetricHour, Document]);
  });
  afterAll(() => database.dispose());

  it('store and load every kind of column', async () => {
    const shops = database.repository(Shop);
    const stored = shop({
      id: 'full',
      name: 'Full',
      address: { city: 'Ulm', zip: '89073' },
      followers: new Map([['ann', new Date(1)]]),
      lines: [Object.assign(new Line(), { sku: 's' })],
      prices: [{ value: '1.00' }],
    });
    calls.length = 0;
    await shops.insert(stored);
    const loaded = (await shops.get({ id: 'full' }))!;
    expect(calls).toEqual(['before', 'after', 'loaded full']);
    expect(loaded).toMatchObject({
      name: 'Full',
      followers: new Map([['ann', new Date(1)]]),
      views: undefined,
    });
    expect(loaded.address).toBeInstanceOf(Address);
    expect(loaded.lines![0]).toBeInstanceOf(Line);
    expect(loaded.prices.map(({ value }) => value)).toEqual(['1.00']);
    expect(loaded.createdAt).toEqual(loaded.updatedAt);
  });

  it('leave alone what is undefined, delete what is null, count and keep versions', async () => {
    const shops = database.repository(Shop);
    const at = (value: string, timestamp: number) => ({ value, timestamp });
    await shops.put(
      shop({
        id: 'b',
        name: 'First',
        address: { city: 'Ulm', zip: '1' },
        followers: new Map([
          ['ann', new Date(1)],
          ['bob', new Date(2)],
        ]),
        prices: [at('1.00', 10), at('2.00', 20)],
      }),
    );
    await shops.put(
      shop({ id: 'b', address: null, followers: new Map([['ann', null]]), prices: [at('3.00', 30)] }),
    );
    expect(await shops.increment({ id: 'b' }, { views: 2n })).toEqual({ views: 2n });
    await shops.update({ id: 'b' }, { name: 'Second' });
    const loaded = (await shops.get({ id: 'b' }))!;
    expect(loaded).toMatchObject({ name: 'Second', views: 2n, createdAt: undefined });
    expect(loaded.address).toBeUndefined();
    expect([...loaded.followers.keys()]).toEqual(['bob']);
    expect(loaded.prices).toEqual([at('3.00', 30), at('2.00', 20), at('1.00', 10)]);
    expect(loaded.updatedAt).toBeInstanceOf(Date);
  });

  it('refuse what a check refuses, before anything is written', async () => {
    const shops = database.repository(Shop);
    await expect(shops.put(shop({ id: 'c', name: 'x' }))).rejects.toThrow(
      /Entity "Shop" was not written.*name: /s,
    );
    await expect(shops.update({ id: 'full' }, { name: 'x' })).rejects.toThrow(/name: /);
    expect(await shops.get({ id: 'c' })).toBeNull();
  });

  it('keep the points of an hour in one row', async () => {
    const hours = database.repository(MetricHour);
    const start = Date.UTC(2024, 0, 1, 5);
    const put = (ms: number, value: number) =>
      hours.put({ metric: 'cpu', hour: new Date(start + ms), points: new Map([[start + ms, value]]) });
    await put(61_000, 1);
    await put(5_000, 2);
    await put(3_600_000, 3);
    const first = (await hours.get({ metric: 'cpu', hour: new Date(start + 1) }))!;
    expect(first.hour).toEqual(new Date(start));
    expect([...first.points]).toEqual([
      [start + 5_000, 2],
      [start + 61_000, 1],
    ]);
    expect((await hours.find({ metric: 'cpu' }).all()).map(({ points }) => points.size)).toEqual([2, 1]);
  });

  it('are gone when the time of their own is over', async () => {
    const shops = database.repository(Shop);
    const written = { timestamp: Date.now() - 100_000 };
    const short = shops.put(shop({ id: 'short', name: 'Short', expiresIn: 50_000 }), written);
    // Bigtable has no lives of single cells.
    if (onBigtable) return expect(short).rejects.toMatchObject({ code: 'ERR_UNSUPPORTED' });
    await short;
    await shops.put(shop({ id: 'long', name: 'Long', expiresIn: 3_600_000 }), written);
    expect(await shops.get({ id: 'short' })).toBeNull();
    expect(await shops.find({ id: 'short' }).count()).toBe(0);
    expect(await shops.get({ id: 'long' })).toMatchObject({ name: 'Long' });
  });

  it('lock optimistically', async () => {
    const documents = database.repository(Document);
    const mine: { id: string; text: string; version?: number } = { id: 'd', text: 'one' };
    await documents.put(mine);
    const theirs = (await documents.get({ id: 'd' }))!;
    theirs.text = 'two';
    await documents.put(theirs);
    await expect(documents.put({ ...mine, text: 'three' })).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
    expect(await documents.get({ id: 'd' })).toMatchObject({ text: 'two', version: 2 });
  });
});
