/** For `npm run bench:relations`: customers, orders and their lines, read by TypeORM's relations. */

import { join } from 'node:path';
import { DataSource, EntitySchema } from 'typeorm';
import { CREATE_RELATED, inBatches } from './related-tables.mjs';
import { PRAGMAS, versionOf } from './sqlite.mjs';

class Customer {}
class Order {}
class Line {}

const customer = new EntitySchema({
  name: 'Customer',
  target: Customer,
  tableName: 'customer',
  columns: { id: { type: 'text', primary: true }, name: { type: 'text' } },
});
const order = new EntitySchema({
  name: 'Order',
  target: Order,
  tableName: 'orders',
  columns: { no: { type: 'integer', primary: true }, customerId: { type: 'text', name: 'customer_id' } },
  relations: {
    customer: { type: 'many-to-one', target: 'Customer', joinColumn: { name: 'customer_id' } },
    lines: { type: 'one-to-many', target: 'Line', inverseSide: 'order' },
  },
});
const line = new EntitySchema({
  name: 'Line',
  target: Line,
  tableName: 'line',
  columns: {
    orderNo: { type: 'integer', primary: true, name: 'order_no' },
    lineNo: { type: 'integer', primary: true, name: 'line_no' },
    product: { type: 'text' },
    quantity: { type: 'integer' },
  },
  relations: {
    order: { type: 'many-to-one', target: 'Order', inverseSide: 'lines', joinColumn: { name: 'order_no' } },
  },
});

export async function openTypeOrmRelated(folder) {
  const source = new DataSource({
    type: 'better-sqlite3',
    database: join(folder, 'typeorm.db'),
    entities: [customer, order, line],
    prepareDatabase: (db) => {
      for (const pragma of PRAGMAS) db.pragma(pragma);
      for (const statement of CREATE_RELATED) db.exec(statement);
    },
  });
  await source.initialize();
  const orders = source.getRepository(Order);
  return {
    name: 'typeorm',
    version: versionOf('typeorm'),
    fill: (customers, all, lines) =>
      source.transaction(async (manager) => {
        await manager.insert(Customer, customers);
        await manager.insert(Order, all);
        for (const some of inBatches(lines)) await manager.insert(Line, some);
      }),
    // In one query, as by default: with relationLoadStrategy 'query' 1,000 lines take a second.
    whole: (no) => orders.findOne({ where: { no }, relations: { customer: true, lines: true } }),
    close: () => source.destroy(),
  };
}
