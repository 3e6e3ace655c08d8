import { Column, Entity, Index, part, RowKey, recordType, salt, Table } from '../../decorators/index.js';
import { int32, json, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { reverseTimestamp } from '../../src/key/index.js';
import { Delete, Put } from '../../src/table/index.js';

/** Customers and their orders in one salted table, with what a page must not stumble over. */

@Table({ name: 'shop:crm', families: { d: { versions: 5 } }, presplit: { regions: 2 } })
class Crm {}

@Entity({ table: Crm, recordType: 1, name: 'Customer' })
@RowKey(salt(4, ['id']), part('id'), recordType())
export class Customer {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byCity: ['city'] };
  id!: string;
  @Column('d:n', text) name!: string;
  @Index('byCity') @Column('d:c', text) city?: string | null;
  @Column('d:j', json()) more?: { tags: string[]; at: { floor: number } } | null;
}

@Entity({ table: Crm, recordType: 2, name: 'Order' })
@RowKey(salt(4, ['id']), part('id'), recordType(), reverseTimestamp('at'))
export class Order {
  declare static readonly key: ['id', 'at'];
  id!: string;
  at!: Date;
  @Column('d:a', int32) amount!: number;
}

export const HOSTILE = `<img src=x onerror="window.hacked=1">'"</script><script>window.hacked=1</script>`;

const put = (row: Uint8Array | string, qualifier: string, value: string | Uint8Array) =>
  new Put(row).addColumn('d', qualifier, value);

/** `count` customers with two orders each, one with two versions and a tombstone, one hostile, rows that cannot be decoded. */
export async function fill(db: Database, count: number): Promise<void> {
  const customers = db.repository(Customer);
  const orders = db.repository(Order);
  await customers.putMany(
    Array.from({ length: count }, (_, i) =>
      Object.assign(new Customer(), {
        id: `c${String(i).padStart(6, '0')}`,
        name: `Name ${i}`,
        city: i % 2 === 0 ? 'Uppsala' : 'Lund',
        more: { tags: ['a', 'b'], at: { floor: i } },
      }),
    ),
  );
  await orders.putMany(
    Array.from({ length: 2 * count }, (_, i) =>
      Object.assign(new Order(), {
        id: `c${String(i >> 1).padStart(6, '0')}`,
        at: new Date(Date.UTC(2026, 0, 1 + (i % 2))),
        amount: i,
      }),
    ),
  );
  await customers.update({ id: 'c000001' }, { name: 'Another name' });
  await customers.update({ id: 'c000002' }, { city: null });
  await customers.put(Object.assign(new Customer(), { id: HOSTILE, name: HOSTILE }));
  const table = db.engine.table('shop:crm');
  const { key } = customers.schema;
  // An amount of two bytes, a row of no layout, and a cell that nobody declared.
  await table.put(put(db.repository(Order).schema.key.encode({ id: 'c000003', at: new Date(0) }), 'a', 'xx'));
  await table.put(put('no such row', 'q', HOSTILE));
  await table.put(put('no such row', HOSTILE, 'x'));
  await table.put(put(key.encode({ id: 'c000004' }), 'undeclared', Uint8Array.of(0, 255)));
  await table.delete(new Delete(key.encode({ id: 'c000005' })));
}
