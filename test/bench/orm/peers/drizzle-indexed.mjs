/** For `npm run bench:index`: the table of accounts with its two indexes. */

import { join } from 'node:path';
import Database from 'better-sqlite3';
import { eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { real, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { preparedInsert } from './prepared-insert.mjs';
import { PRAGMAS, versionOf } from './sqlite.mjs';

const account = sqliteTable('account', {
  id: text('id').primaryKey(),
  email: text('email').notNull(),
  phone: text('phone').notNull(),
  name: text('name').notNull(),
  balance: real('balance').notNull(),
});

const CREATE = [
  `create table account (id text not null primary key, email text not null, phone text not null,
    name text not null, balance real not null) without rowid`,
  'create index by_email on account (email)',
  'create index by_phone on account (phone, balance)',
];

export async function openDrizzleIndexed(folder) {
  const sqlite = new Database(join(folder, 'drizzle.db'));
  for (const pragma of PRAGMAS) sqlite.pragma(pragma);
  for (const statement of CREATE) sqlite.exec(statement);
  const db = drizzle(sqlite);
  const one = (column, fields) =>
    (fields ? db.select(fields) : db.select())
      .from(account)
      .where(eq(column, sql.placeholder('value')))
      .limit(1)
      .prepare();
  const get = one(account.id);
  const byEmail = one(account.email);
  const byPhone = one(account.phone, { id: account.id, balance: account.balance });
  const insert = preparedInsert(db, account);
  let synced = true;
  return {
    name: 'drizzle',
    version: versionOf('drizzle-orm'),
    insert: (rows, durable) => {
      if (durable !== synced) sqlite.pragma(`synchronous = ${durable ? 'FULL' : 'NORMAL'}`);
      synced = durable;
      insert(rows);
    },
    get: (id) => get.get({ value: id }),
    byEmail: (email) => byEmail.get({ value: email }),
    byPhone: (phone) => byPhone.get({ value: phone }),
    close: () => sqlite.close(),
  };
}
