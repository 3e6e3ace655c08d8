/** Copies and rules of what is deleted and left. */

import { expect, test } from 'vitest';
import { Column, DeletedAt, Denormalized, Entity, part, Reference, RowKey } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { openMemory } from '../../src/testing/index.js';

const families = { d: {} };

@Entity({ table: { name: 'shops', families } })
@RowKey(part('id'))
class Shop {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:n', text) name!: string;
  @DeletedAt('d:x') closed?: Date | null;
}

@Entity({ table: { name: 'sales', families } })
@RowKey(part('id'))
@Denormalized(() => Shop, { via: 'shopId', fields: { shopName: 'name' } })
class Sale {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:s', text) shopId?: string | null;
  @Column('d:n', text) shopName?: string | null;
  @DeletedAt('d:x') gone?: Date | null;
  @Reference(() => Shop, { id: 'shopId' }, { onDelete: 'restrict' }) shop?: Shop | null;
}

test('what is deleted and left counts as not there, and comes back whole', async () => {
  await using db = await openMemory({ entities: [Shop, Sale] });
  const shops = db.repository(Shop);
  const sales = db.repository(Sale);
  await shops.put({ id: 'a', name: 'A' });
  await sales.put({ id: '1', shopId: 'a' });
  await expect(shops.delete({ id: 'a' })).rejects.toMatchObject({ code: 'ERR_REFERENCE' });
  await sales.delete({ id: '1' });
  await shops.delete({ id: 'a' });
  expect(await db.references(Sale).check()).toEqual({ rows: 1, valid: 1, dangling: 0 });
  await expect(sales.restore({ id: '1' })).rejects.toMatchObject({ code: 'ERR_REFERENCE' });
  await expect(sales.put({ id: '2', shopId: 'a' })).rejects.toMatchObject({ code: 'ERR_REFERENCE' });
  await shops.restore({ id: 'a' });
  await shops.update({ id: 'a' }, { name: 'B' });
  await sales.restore({ id: '1' });
  expect((await sales.get({ id: '1' }))?.shopName).toBe('B');
  expect(await db.denormalized(Sale).check()).toMatchObject({ valid: 1, stale: 0, missing: 0, extra: 0 });
});

test('a cascade that could not be undone is refused', () => {
  @Entity({ table: { name: 'parts', families } })
  @RowKey(part('id'))
  class Part {
    declare static readonly key: ['id'];
    id!: string;
    @Reference(() => Shop, { id: 'id' }, { onDelete: 'cascade' }) shop?: Shop | null;
  }
  expect(() => compileSchema([Shop, Part])).toThrow('would not restore the rows that were deleted with it');
});
