/** For `npm run bench:ycsb`: records of ten fields, by better-sqlite3 alone and by Drizzle on it. */

import { join } from 'node:path';
import Database from 'better-sqlite3';
import { asc, eq, gte, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { insertOf } from './prepared-insert.mjs';

const FIELDS = Array.from({ length: 10 }, (_, field) => `field${field}`);
// With a rowid: SQLite's documentation advises `without rowid` for rows of less than a twentieth of a page.
const CREATE = `create table usertable (id text not null primary key,
  ${FIELDS.map((name) => `${name} text not null`).join(', ')})`;

const usertable = sqliteTable('usertable', {
  id: text('id').primaryKey(),
  ...Object.fromEntries(FIELDS.map((name) => [name, text(name).notNull()])),
});

function openDatabase(folder, { cacheBytes, sync }) {
  const database = new Database(join(folder, 'records.db'));
  database.pragma('journal_mode = WAL');
  database.pragma(`synchronous = ${sync ? 'FULL' : 'OFF'}`);
  database.pragma(`cache_size = ${-Math.ceil(cacheBytes / 1024)}`);
  database.exec(CREATE);
  return database;
}

const objectOf = ({ key, fields }) =>
  Object.fromEntries([['id', key], ...FIELDS.map((name, field) => [name, fields[field]])]);

export function openSqliteRecords(folder, settings) {
  const database = openDatabase(folder, settings);
  const insert = database.prepare(`insert into usertable values (?, ${FIELDS.map(() => '?').join(', ')})`);
  const select = database.prepare('select * from usertable where id = ?');
  const range = database.prepare('select * from usertable where id >= ? order by id limit ?');
  const updates = FIELDS.map((name) => database.prepare(`update usertable set ${name} = ? where id = ?`));
  const load = database.transaction((records) => {
    for (const { key, fields } of records) insert.run(key, ...fields);
  });
  const read = (key) => (select.get(key)?.field9.length === 100 ? FIELDS.length : 0);
  const update = (key, field, value) => void updates[field].run(value, key);
  return {
    load,
    read,
    update,
    insert: ({ key, fields }) => void insert.run(key, ...fields),
    scan: (key, count) => range.all(key, count).length,
    modify: (key, field, value) => {
      if (read(key) === 0) throw new Error(`${key} is not there.`);
      update(key, field, value);
    },
    close: () => database.close(),
  };
}

export function openDrizzleRecords(folder, settings) {
  const database = openDatabase(folder, settings);
  const db = drizzle(database);
  const select = db
    .select()
    .from(usertable)
    .where(eq(usertable.id, sql.placeholder('id')))
    .prepare();
  const range = db
    .select()
    .from(usertable)
    .where(gte(usertable.id, sql.placeholder('id')))
    .orderBy(asc(usertable.id))
    .limit(sql.placeholder('count'))
    .prepare();
  const insert = insertOf(db, usertable).prepare();
  const updates = FIELDS.map((name) =>
    db
      .update(usertable)
      .set({ [name]: sql.placeholder('value') })
      .where(eq(usertable.id, sql.placeholder('id')))
      .prepare(),
  );
  const read = (id) => (select.get({ id })?.field9.length === 100 ? FIELDS.length : 0);
  const update = (id, field, value) => void updates[field].run({ id, value });
  return {
    load: (records) => {
      db.transaction(() => {
        for (const record of records) insert.run(objectOf(record));
      });
    },
    read,
    update,
    insert: (record) => void insert.run(objectOf(record)),
    scan: (id, count) => range.all({ id, count }).length,
    modify: (id, field, value) => {
      if (read(id) === 0) throw new Error(`${id} is not there.`);
      update(id, field, value);
    },
    close: () => database.close(),
  };
}
