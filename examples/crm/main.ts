import {
  Column,
  decimal,
  Entity,
  open,
  part,
  recordType,
  reverseTimestamp,
  rowKey,
  Table,
  text,
  uint32,
} from 'rowan-orm';

@Table({ name: 'crm', families: { d: {} } })
class Crm {}

@Entity({ table: Crm, recordType: 1 })
class Customer {
  static readonly key = rowKey(part('customerId', text), recordType());
  customerId!: string;
  @Column('d:n', text) name!: string;
}

@Entity({ table: Crm, recordType: 2 })
class Order {
  static readonly key = rowKey(
    part('customerId', text),
    recordType(),
    reverseTimestamp('placedAt'),
    part('orderNo', uint32),
  );
  customerId!: string;
  placedAt!: Date;
  orderNo!: number;
  @Column('d:s', text) status!: string;
  @Column('d:t', decimal(2)) total!: string;
}

await using db = await open({ path: '.rowan/crm', entities: [Customer, Order] });
const customers = db.repository(Customer);
const orders = db.repository(Order);

await customers.put({ customerId: 'c1', name: 'Ada' });
for (const [orderNo, day] of [10, 11, 12].entries()) {
  const placedAt = new Date(Date.UTC(2026, 0, day));
  await orders.put({ customerId: 'c1', placedAt, orderNo, status: 'open', total: `${day}.50` });
}

// Equality on leading parts of the key, then a range. The newest comes first, because the key holds the time reversed.
const query = orders
  .find({ customerId: 'c1', placedAt: { gte: new Date('2026-01-11') } })
  .where({ status: 'open' });
for await (const order of query) console.log(order.orderNo, order.total);
console.log(String(query.explain()));

// One atomic step: only if the order is still open.
const key = { customerId: 'c1', placedAt: new Date('2026-01-12'), orderNo: 2 };
console.log((await orders.check(key, { status: 'open' }).update({ status: 'shipped' })).ok);

// The customer with all orders, in one scan.
const rows = await db.collection([Customer, Order], { customerId: 'c1' }).groups();
console.log(rows.of(Customer)[0]?.name, rows.of(Order).length);
