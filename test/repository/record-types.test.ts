/** Record types of one table whose rows lie between each other's. */

import { expect, test } from 'vitest';
import { Column, Entity, part, recordType, rowKey, salt } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { uint8 } from '../../src/key/index.js';
import { openTestDatabase } from '../query/test-database.js';

const table = { name: 'items', families: { d: {} } };

@Entity({ table, recordType: 1 })
class Item {
  static readonly key = rowKey(salt(3), recordType(), part('group', uint8), part('id', uint8));
  group!: number;
  id!: number;
  @Column('d:a', text) name?: string | null;
}

/** Its row with a shelf of 1 is \x02\x01, between those of items with a salt of 2. */
@Entity({ table, recordType: 2 })
class Shelf {
  static readonly key = rowKey(recordType(), part('shelf', uint8));
  shelf!: number;
  @Column('d:a', text) name?: string | null;
}

test('queries of one find, count and delete its rows only', async () => {
  const database = await openTestDatabase([Item, Shelf]);
  const items = database.repository(Item);
  const shelves = database.repository(Shelf);
  const every = { fullScan: true };
  await shelves.putMany(Array.from({ length: 4 }, (_, shelf) => ({ shelf, name: 's' })));
  expect(await items.find({}, every).all()).toEqual([]);
  expect(await items.find({}, every).count()).toBe(0);
  await items.putMany(Array.from({ length: 40 }, (_, i) => ({ group: i % 4, id: i, name: 'i' })));
  expect(await items.find({}, every).count()).toBe(40);
  expect(await items.find({ group: 1 }).count()).toBe(10);
  expect((await shelves.find({}, every).all()).map(({ shelf }) => shelf)).toEqual([0, 1, 2, 3]);
  expect(await database.collection([Item, Shelf], {}, every).count()).toBe(44);
  expect((await items.find({}, every).deleteAll()).changed).toBe(40);
  expect(await shelves.find({}, every).count()).toBe(4);
  await database.dispose();
});
