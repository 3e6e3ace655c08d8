import {
  Avro,
  Column,
  Denormalized,
  Entity,
  Index,
  part,
  Reference,
  type Related,
  rowKey,
  salt,
  summary,
  Table,
} from '../../decorators/index.js';
import { bytes, int32, json, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { reverseTimestamp } from '../../src/key/index.js';
import { Put } from '../../src/table/index.js';

/** A shop with what Rowan derives: an index, a summary, copies, relations, changes; and values of every look. */

@Table({ name: 'shop:people', families: { d: { versions: 10 }, m: {} } })
class People {}

@Table({
  name: 'shop:sales',
  families: { d: { versions: 3 }, x: { ttl: 7 * 86_400 } },
  presplit: { regions: 4 },
})
class Sales {}

@Entity({ table: People, name: 'Buyer', changes: { keep: 86_400_000, marks: 'm' } })
export class Buyer {
  static readonly key = rowKey(part('id'));
  declare static readonly indexes: { byCity: ['city'] };
  id!: string;
  @Column('d:n', text) name!: string;
  @Index('byCity') @Column('d:c', text) city?: string | null;
  @Column('d:j', json()) more?: { tags: string[]; at: { floor: number } } | null;
  @Column('d:p', bytes) face?: Uint8Array | null;
}

@Entity({ table: Sales, name: 'Sale' })
@Denormalized(() => Buyer, { via: 'buyer', fields: { city: 'city' }, fanOut: 100 })
export class Sale {
  static readonly key = rowKey(salt(4, ['shop']), part('shop'), reverseTimestamp('at'));
  static readonly summaries = {
    byShop: summary({ by: ['shop'], figures: { sales: 'count', total: { sum: 'amount' } } }),
  };
  shop!: string;
  at!: Date;
  @Column('d:b', text) buyer!: string;
  @Column('d:a', int32) amount!: number;
  @Column('d:ci', text) city?: string | null;
  @Column('x:n', text) note?: string | null;
  @Avro('d:o', {
    type: 'record',
    name: 'Parcel',
    fields: [
      { name: 'weight', type: 'double' },
      {
        name: 'items',
        type: {
          type: 'array',
          items: {
            type: 'record',
            name: 'Item',
            fields: [
              { name: 'sku', type: 'string' },
              { name: 'count', type: 'int' },
            ],
          },
        },
      },
    ],
  })
  parcel?: { weight: number; items: { sku: string; count: number }[] } | null;
  @Reference(() => Buyer, { id: 'buyer' }) who?: Related<Buyer> | null;
}

/** A picture of one orange point. */
export const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP438xwCQAGAQIiGSbVUgAAAABJRU5ErkJggg==',
  'base64',
);

export async function fillShop(db: Database, sales: number): Promise<void> {
  const buyers = db.repository(Buyer);
  for (let i = 0; i < 20; i++) {
    await buyers.put({
      id: `b${i}`,
      name: `Buyer ${i}`,
      city: ['Uppsala', 'Lund', 'Visby'][i % 3]!,
      more: { tags: ['a', 'b'], at: { floor: i } },
      face: PICTURE,
    });
  }
  await buyers.update({ id: 'b1' }, { name: 'Buyer one', more: { tags: ['a', 'c'], at: { floor: 7 } } });
  await buyers.update({ id: 'b1' }, { name: 'Buyer No 1' });
  await db.repository(Sale).putMany(
    Array.from({ length: sales }, (_, i) => ({
      // One shop has half of the sales: a hot spot.
      shop: i % 2 === 0 ? 'main' : `s${i % 9}`,
      at: new Date(Date.UTC(2026, 0, 1) + i * 60_000),
      buyer: `b${i % 20}`,
      amount: i,
      note: i % 5 === 0 ? 'gift' : null,
      parcel: { weight: i / 10, items: [{ sku: `k${i}`, count: 1 + (i % 3) }] },
    })),
  );
  const large = Buffer.alloc(10_000_000, '<b>');
  await db.engine
    .table('shop:people')
    .put(new Put(buyers.schema.key.encode({ id: 'b2' })).addColumn('d', 'large', large));
}
