/** Orders with the names of their customers: by a get for each row, in batches, by a table in memory, by a relation. */

// #region entity
import { Column, Entity, int32, part, Reference, type Related, rowKey, Table, text, uint32 } from 'rowan-orm';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:join_customers', families: { d: {} } })
class Customers {}
@Table({ name: 'cookbook:join_orders', families: { d: {} } })
class Orders {}

@Entity({ table: Customers })
class Customer {
  static readonly key = rowKey('customerId');
  customerId!: string;
  @Column('d:n', text) name!: string;
}

@Entity({ table: Orders })
class Order {
  static readonly key = rowKey(part('day', text), part('no', uint32));
  day!: string;
  no!: number;
  @Column('d:c', text) customerId!: string;
  @Column('d:t', int32) total!: number;
  @Reference(() => Customer, { customerId: 'customerId' }) customer?: Related<Customer> | null;
}
// #endregion

await using recipe = await openRecipe([Customer, Order]);
const [customers, orders] = [recipe.db.repository(Customer), recipe.db.repository(Order)];
for (const name of ['Ann', 'Bob', 'Eve']) await customers.put({ customerId: name[0]!.toLowerCase(), name });
await orders.putMany(
  ['a', 'b', 'a'].map((customerId, no) => ({ day: '2026-01-05', no, customerId, total: no * 10 })),
);

recipe.section('keys');
recipe.key(Order, { day: '2026-01-05', no: 1 });

recipe.section('queries');
// #region queries
const day = orders.find({ day: '2026-01-05' });

recipe.print('> Nested loop: a get for each order');
for await (const { no, customerId } of day) {
  recipe.print(`${no} ${(await customers.get({ customerId }))?.name}`);
}

recipe.print('> Nested loop in batches: one call for all orders');
const some = await day.all();
const found = await customers.getMany(some.map(({ customerId }) => ({ customerId })));
recipe.print(some.map(({ no }, i) => `${no} ${found[i]?.name}`).join(', '));

recipe.print('> Hash join: the smaller table is read once and stays in memory');
const names = new Map<string, string>();
for await (const { customerId, name } of customers.find({}, { fullScan: true })) names.set(customerId, name);
recipe.print(some.map(({ no, customerId }) => `${no} ${names.get(customerId)}`).join(', '));

recipe.print('> A relation: batches, each customer once');
const related = day.with('customer');
recipe.print(String(related.explain()));
for (const { no, customer } of await related.all()) recipe.print(`= ${no} ${customer?.name}`);
// #endregion

recipe.section('cost');
await recipe.size('cookbook:join_customers');
await recipe.size('cookbook:join_orders');
