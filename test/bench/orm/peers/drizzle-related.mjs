/** For `npm run bench:relations`: customers, orders and their lines, read by Drizzle's relational queries. */

import { join } from 'node:path';
import Database from 'better-sqlite3';
import { eq, relations, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { CREATE_RELATED, inBatches } from './related-tables.mjs';
import { PRAGMAS, versionOf } from './sqlite.mjs';

const customer = sqliteTable('customer', { id: text('id').primaryKey(), name: text('name').notNull() });
const order = sqliteTable('orders', {
  no: integer('no').primaryKey(),
  customerId: text('customer_id').notNull(),
});
const line = sqliteTable(
  'line',
  {
    orderNo: integer('order_no').notNull(),
    lineNo: integer('line_no').notNull(),
    product: text('product').notNull(),
    quantity: integer('quantity').notNull(),
  },
  (table) => [primaryKey({ columns: [table.orderNo, table.lineNo] })],
);
const orderRelations = relations(order, ({ one, many }) => ({
  customer: one(customer, { fields: [order.customerId], references: [customer.id] }),
  lines: many(line),
}));
const lineRelations = relations(line, ({ one }) => ({
  order: one(order, { fields: [line.orderNo], references: [order.no] }),
}));

export async function openDrizzleRelated(folder) {
  const sqlite = new Database(join(folder, 'drizzle.db'));
  for (const pragma of PRAGMAS) sqlite.pragma(pragma);
  for (const statement of CREATE_RELATED) sqlite.exec(statement);
  const db = drizzle(sqlite, { schema: { customer, order, line, orderRelations, lineRelations } });
  const whole = db.query.order
    .findFirst({
      where: eq(order.no, sql.placeholder('no')),
      with: { customer: true, lines: true },
    })
    .prepare();
  return {
    name: 'drizzle',
    version: versionOf('drizzle-orm'),
    fill: (customers, orders, lines) => {
      db.transaction((tx) => {
        for (const row of customers) tx.insert(customer).values(row).run();
        for (const row of orders) tx.insert(order).values(row).run();
        for (const some of inBatches(lines)) tx.insert(line).values(some).run();
      });
    },
    whole: (no) => whole.execute({ no }),
    close: () => sqlite.close(),
  };
}
