import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  Avro,
  AvroField,
  AvroRecord,
  Column,
  Embedded,
  Entity,
  Json,
  part,
  RowKey,
} from '../../decorators/index.js';
import { avro, text } from '../../src/codec/index.js';
import type { Repository } from '../../src/repository/index.js';
import { openTestDatabase, type TestDatabase } from './test-database.js';

class Address {
  @Column('c', text) city?: string | null;
  @Column('z', text) zip?: string | null;
}

@AvroRecord({ name: 'Parcel', namespace: 'test' })
class Parcel {
  @AvroField(avro.int) weight!: number;
}

@Entity({ table: { name: 'inside', families: { d: {} } } })
@RowKey(part('shop'), part('id'))
class Item {
  declare static readonly key: ['shop', 'id'];
  shop!: string;
  id!: string;
  @Json('d:j') document?: { a?: number | string; inner?: { b: string | null }; eq?: number } | null;
  @Avro('d:p', () => Parcel) parcel?: Parcel | null;
  @Embedded('d', () => Address, { prefix: 'a.' }) address?: Address | null;
}

let database: TestDatabase;
let items: Repository<typeof Item>;

beforeAll(async () => {
  database = await openTestDatabase([Item]);
  items = database.repository(Item);
  const weighed = (weight: number): Parcel => Object.assign(new Parcel(), { weight });
  await items.putMany([
    { shop: 's', id: '1', document: { a: 1, inner: { b: 'x' } }, address: { city: 'Ulm' } },
    { shop: 's', id: '2', document: { a: 'text', inner: { b: null } }, parcel: weighed(3) },
    { shop: 's', id: '3', document: { a: 7, eq: 4 }, parcel: weighed(9), address: { zip: '89073' } },
    { shop: 's', id: '4' },
  ]);
});

afterAll(() => database.dispose());

const found = async (where: Parameters<ReturnType<typeof items.find>['where']>[0]): Promise<string[]> =>
  (await items.find({ shop: 's' }).where(where).all()).map(({ id }) => id);

describe('properties of the objects that columns hold', () => {
  it('are compared as columns are', async () => {
    expect(await found({ document: { a: 1 } })).toEqual(['1']);
    expect(await found({ document: { a: { gte: 1 } } })).toEqual(['1', '3']);
    expect(await found({ document: { a: { in: [7, 'text'] } } })).toEqual(['2', '3']);
    expect(await found({ document: { inner: { b: { startsWith: 'x' } } } })).toEqual(['1']);
    expect(await found({ parcel: { weight: { gt: 3 } } })).toEqual(['3']);
  });

  it('are absent when null, and `not` is the complement', async () => {
    expect(await found({ document: { inner: { b: null } } })).toEqual(['2', '3', '4']);
    expect(await found({ document: { a: { ne: 1 } } })).toEqual(['2', '3', '4']);
    expect(await found((w) => w.not({ document: { a: { gte: 1 } } }))).toEqual(['2', '4']);
  });

  it('are told from operators on the whole', async () => {
    expect(await found({ document: { exists: true } })).toEqual(['1', '2', '3']);
    expect(await found({ document: null })).toEqual(['4']);
  });

  it('stand in explain, and are refused when undefined', async () => {
    const explained = items
      .find({ shop: 's' })
      .where({ document: { a: 1 } })
      .explain();
    expect(explained.filters.local).toEqual(['document.a = 1']);
    const wrong = { document: { a: undefined } } as never;
    expect(() => items.find({ shop: 's' }).where(wrong)).toThrow(/document\.a is undefined/);
  });

  it('do not decide a check, which the engine makes', async () => {
    await expect(async () =>
      items.check({ shop: 's', id: '1' }, { document: { a: 1 } }).delete(),
    ).rejects.toMatchObject({ code: 'ERR_QUERY' });
  });
});

it('an embedded object exists when one of its columns does', async () => {
  expect(await found({ address: { exists: true } })).toEqual(['1', '3']);
  expect(await found({ address: { exists: false } })).toEqual(['2', '4']);
  expect(await found({ address: null })).toEqual(['2', '4']);
});
