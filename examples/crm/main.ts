import {
  Column,
  date,
  decimal,
  Entity,
  open,
  part,
  recordType,
  reverseTimestamp,
  rowKey,
  salt,
  Table,
  text,
  uint32,
} from 'rowan-orm';

@Table({ name: 'shop:crm', families: { d: { compression: 'SNAPPY' } }, presplit: { regions: 4 } })
class Crm {}

@Entity({ table: Crm, recordType: 1 })
class Customer {
  static readonly key = rowKey(salt(16, ['customerId']), part('customerId', text), recordType());
  customerId!: string;
  @Column('d:n', text) name!: string;
  @Column('d:e', text) email?: string | null;
}

@Entity({ table: Crm, recordType: 2 })
class Order {
  static readonly key = rowKey(
    salt(16, ['customerId']),
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
  @Column('d:w', date) shippedAt?: Date | null;
}

await using db = await open({ path: '.rowan/crm', entities: [Customer, Order] });
const customers = db.repository(Customer);
const orders = db.repository(Order);

await customers.put({ customerId: 'c1', name: 'Ada', email: 'ada@example.com' });
for (const [orderNo, day] of [10, 11, 12].entries()) {
  const placedAt = new Date(Date.UTC(2026, 0, day));
  await orders.put({ customerId: 'c1', placedAt, orderNo, status: 'open', total: `${orderNo}.50` });
}

// The newest order first: its time stands reversed in the key.
const latest = await orders.find({ customerId: 'c1' }).first();
console.log(latest?.placedAt.toISOString(), latest?.total);

// Equality on leading parts of the key, then a range; conditions on columns are decided by the engine.
const query = orders
  .find({ customerId: 'c1', placedAt: { gte: new Date('2026-01-11') } })
  .where({ status: 'open', total: { gte: '1.00' } })
  .limit(10);
for await (const order of query) console.log(order.orderNo, order.total);
console.log(String(query.explain()));

// One atomic step: only if the order is still open.
const key = { customerId: 'c1', placedAt: new Date('2026-01-12'), orderNo: 2 };
const outcome = await orders
  .check(key, { status: 'open' })
  .update({ status: 'shipped', shippedAt: new Date() });
console.log(outcome.ok);

// A customer with all orders, in one scan.
const rows = await db.collection([Customer, Order], { customerId: 'c1' }).groups();
console.log(rows.of(Customer)[0]?.name, rows.of(Order).length);
