/** Customers and their orders in one table, with a record type each. */

// #region entity
import {
  Column,
  decimal,
  Entity,
  part,
  recordType,
  rowKey,
  salt,
  Table,
  text,
  uint8,
  uint32,
} from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:sales', families: { d: { compression: 'SNAPPY' } }, presplit: { regions: 4 } })
class Sales {}

@Entity({ table: Sales, recordType: 1 })
class Customer {
  static readonly key = rowKey(salt(4, ['customer']), part('customer', text), recordType());
  customer!: string;
  @Column('d:n', text) name!: string;
}

@Entity({ table: Sales, recordType: 2 })
class Order {
  static readonly key = rowKey(
    salt(4, ['customer']),
    part('customer', text),
    recordType(),
    part('order', uint32),
  );
  customer!: string;
  order!: number;
  @Column('d:s', text) status!: string;
}

@Entity({ table: Sales, recordType: 3 })
class LineItem {
  static readonly key = rowKey(
    salt(4, ['customer']),
    part('customer', text),
    recordType(),
    part('order', uint32),
    part('line', uint8),
  );
  customer!: string;
  order!: number;
  line!: number;
  @Column('d:p', text) product!: string;
  @Column('d:t', decimal(2)) total!: string;
}
// #endregion

await using recipe = await openRecipe([Customer, Order, LineItem]);
const { db } = recipe;
const [customers, orders, lines] = [db.repository(Customer), db.repository(Order), db.repository(LineItem)];

for (const customer of ['c1', 'c2']) {
  await customers.put({ customer, name: `Name of ${customer}` });
  for (const order of [1, 2]) {
    await orders.put({ customer, order, status: order === 1 ? 'shipped' : 'open' });
    await lines.put({ customer, order, line: 1, product: 'pen', total: '2.50' });
    await lines.put({ customer, order, line: 2, product: 'ink', total: '4.00' });
  }
}

recipe.section('keys');
recipe.key(Customer, { customer: 'c1' });
recipe.key(Order, { customer: 'c1', order: 2 });
recipe.key(LineItem, { customer: 'c1', order: 2, line: 1 });

recipe.section('queries');
// #region queries
await recipe.show(
  'A customer with its orders, without lines',
  db.collection([Customer, Order], { customer: 'c1' }),
);
await recipe.show('The open orders of a customer', orders.find({ customer: 'c1' }).where({ status: 'open' }));
await recipe.show(
  'The lines of one order',
  lines.find({ customer: 'c1', order: 2 }).select('product', 'total'),
);
recipe.print(`> What customer c1 has spent: ${await lines.find({ customer: 'c1' }).sum('total')}`);
// #endregion

recipe.section('cost');
await recipe.size('cookbook:sales');
