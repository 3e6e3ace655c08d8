/** An order with shipping locations and line items, stored in three ways. */

// #region entity
import { Column, Entity, Json, part, recordType, rowKey, text, uint8, uint32 } from 'rowan-orm';
import { openRecipe } from '../recipe.js';

const table = (name: string) => ({ name: `cookbook:${name}`, families: { d: {} } });

/** Normalized: three tables, one for each type. */
@Entity({ table: table('orders') })
class OrderRow {
  static readonly key = rowKey(part('order', uint32));
  order!: number;
  @Column('d:s', text) status!: string;
}
@Entity({ table: table('locations') })
class LocationRow {
  static readonly key = rowKey(part('order', uint32), part('location', uint8));
  order!: number;
  location!: number;
  @Column('d:c', text) city!: string;
}
@Entity({ table: table('lines') })
class LineRow {
  static readonly key = rowKey(part('order', uint32), part('location', uint8), part('line', uint8));
  order!: number;
  location!: number;
  line!: number;
  @Column('d:p', text) product!: string;
}

/** Denormalized: each line has a copy of the city. */
@Entity({ table: table('flat'), recordType: 3 })
class FlatLine {
  static readonly key = rowKey(part('order', uint32), recordType(), part('line', uint8));
  order!: number;
  line!: number;
  @Column('d:p', text) product!: string;
  @Column('d:c', text) city!: string;
}

/** One object: data that is always read and written together. */
@Entity({ table: table('blob') })
class OrderBlob {
  static readonly key = rowKey(part('order', uint32));
  order!: number;
  @Column('d:s', text) status!: string;
  @Json('d:l') locations!: { city: string; products: string[] }[];
}
// #endregion

await using recipe = await openRecipe([OrderRow, LocationRow, LineRow, FlatLine, OrderBlob]);
const { db } = recipe;
const locations = [
  { city: 'Ulm', products: ['pen', 'ink'] },
  { city: 'Bonn', products: ['cup'] },
];
for (const order of [1, 2]) {
  await db.repository(OrderRow).put({ order, status: 'open' });
  await db.repository(OrderBlob).put({ order, status: 'open', locations });
  let next = 1;
  for (const [location, { city, products }] of locations.entries()) {
    await db.repository(LocationRow).put({ order, location, city });
    for (const [line, product] of products.entries()) {
      await db.repository(LineRow).put({ order, location, line, product });
      await db.repository(FlatLine).put({ order, line: next++, product, city });
    }
  }
}

recipe.section('keys');
recipe.key(LineRow, { order: 1, location: 0, line: 1 });
recipe.key(FlatLine, { order: 1, line: 2 });
recipe.key(OrderBlob, { order: 1 });

recipe.section('queries');
// #region queries
const wanted = { order: 1 };
await recipe.show(
  'Normalized: the locations, after the order itself',
  db.repository(LocationRow).find(wanted),
);
await recipe.show('... and the lines: three reads in all', db.repository(LineRow).find(wanted));
await recipe.show('Denormalized: one read, no join', db.repository(FlatLine).find(wanted));
await recipe.show('One object', db.repository(OrderBlob).find(wanted));
// #endregion

recipe.section('cost');
for (const name of ['orders', 'locations', 'lines', 'flat', 'blob']) await recipe.size(`cookbook:${name}`);
