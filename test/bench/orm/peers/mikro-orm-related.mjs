/** For `npm run bench:relations`: customers, orders and their lines, read by MikroORM's `populate`. */

import { join } from 'node:path';
import { EntitySchema, MikroORM } from '@mikro-orm/better-sqlite';
import { CREATE_RELATED, inBatches } from './related-tables.mjs';
import { PRAGMAS, versionOf } from './sqlite.mjs';

class Customer {}
class Order {}
class Line {}

const customer = new EntitySchema({
  class: Customer,
  tableName: 'customer',
  properties: { id: { type: 'text', primary: true }, name: { type: 'text' } },
});
const order = new EntitySchema({
  class: Order,
  tableName: 'orders',
  properties: {
    no: { type: 'integer', primary: true },
    customer: { kind: 'm:1', entity: () => Customer, fieldName: 'customer_id' },
    lines: { kind: '1:m', entity: () => Line, mappedBy: 'order' },
  },
});
const line = new EntitySchema({
  class: Line,
  tableName: 'line',
  properties: {
    order: { kind: 'm:1', entity: () => Order, primary: true, fieldName: 'order_no' },
    lineNo: { type: 'integer', primary: true, fieldName: 'line_no' },
    product: { type: 'text' },
    quantity: { type: 'integer' },
  },
});

export async function openMikroOrmRelated(folder) {
  const orm = await MikroORM.init({
    dbName: join(folder, 'mikro-orm.db'),
    entities: [customer, order, line],
  });
  const connection = orm.em.getConnection();
  for (const pragma of PRAGMAS) await connection.execute(`pragma ${pragma}`);
  for (const statement of CREATE_RELATED) await connection.execute(statement);
  return {
    name: 'mikro-orm',
    version: versionOf('@mikro-orm/core'),
    fill: (customers, all, lines) =>
      orm.em.fork().transactional(async (em) => {
        await em.insertMany(Customer, customers);
        await em.insertMany(
          Order,
          all.map(({ no, customerId }) => ({ no, customer: customerId })),
        );
        for (const some of inBatches(lines))
          await em.insertMany(
            Line,
            some.map(({ orderNo, ...rest }) => ({ ...rest, order: orderNo })),
          );
      }),
    // One query for each relation: with the lines joined it takes longer.
    whole: (no) =>
      orm.em.fork().findOne(Order, { no }, { populate: ['customer', 'lines'], strategy: 'select-in' }),
    close: () => orm.close(),
  };
}
