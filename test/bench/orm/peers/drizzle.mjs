import { join } from 'node:path';
import Database from 'better-sqlite3';
import { and, asc, eq, gte, lt, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { integer, primaryKey, real, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { preparedInsert, preparedPut, replacing } from './prepared-insert.mjs';
import { CREATE_TABLE, PRAGMAS, versionOf } from './sqlite.mjs';

const reading = sqliteTable(
  'reading',
  {
    sensor: text('sensor').notNull(),
    seq: integer('seq').notNull(),
    kind: text('kind').notNull(),
    unit: text('unit').notNull(),
    value: real('value').notNull(),
    quality: integer('quality').notNull(),
    valid: integer('valid', { mode: 'boolean' }).notNull(),
    takenAt: integer('taken_at', { mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.sensor, table.seq] })],
);

/** What the others give: Drizzle's rows are plain objects, and whoever wants instances makes them so. */
class Reading {}

function hydrate(row) {
  return Object.assign(new Reading(), row);
}

function openDatabase(folder) {
  const sqlite = new Database(join(folder, 'drizzle.db'));
  for (const pragma of PRAGMAS) sqlite.pragma(pragma);
  sqlite.exec(CREATE_TABLE);
  return { sqlite, db: drizzle(sqlite) };
}

/** Writes alone, by `values(rows)`: the statement is built anew for each batch. */
export async function openDrizzleValues(folder) {
  const { sqlite, db } = openDatabase(folder);
  return {
    name: 'drizzle values()',
    version: versionOf('drizzle-orm'),
    insert: (rows) => db.insert(reading).values(rows).run(),
    put: (rows) => db.insert(reading).values(rows).onConflictDoUpdate(replacing(reading)).run(),
    close: () => sqlite.close(),
  };
}

export async function openDrizzle(folder) {
  const { sqlite, db } = openDatabase(folder);
  const get = db
    .select()
    .from(reading)
    .where(and(eq(reading.sensor, sql.placeholder('sensor')), eq(reading.seq, sql.placeholder('seq'))))
    .prepare();
  const range = db
    .select()
    .from(reading)
    .where(
      and(
        eq(reading.sensor, sql.placeholder('sensor')),
        gte(reading.seq, sql.placeholder('from')),
        lt(reading.seq, sql.placeholder('to')),
      ),
    )
    .orderBy(asc(reading.seq))
    .prepare();
  const set = db
    .update(reading)
    .set({ quality: sql`${sql.placeholder('quality')}` })
    .where(and(eq(reading.sensor, sql.placeholder('sensor')), eq(reading.seq, sql.placeholder('seq'))))
    .prepare();
  const all = db.select().from(reading).orderBy(asc(reading.sensor), asc(reading.seq)).prepare();
  return {
    name: 'drizzle',
    version: versionOf('drizzle-orm'),
    insert: preparedInsert(db, reading),
    put: preparedPut(db, reading),
    get: (sensor, seq) => get.get({ sensor, seq }),
    range: (sensor, from, to) => range.all({ sensor, from, to }).map(hydrate),
    all: () => all.all().map(hydrate),
    // The statements are of the one connection, which is in the transaction.
    change: (sensor, seq, by) =>
      db.transaction(() => {
        const { quality } = get.get({ sensor, seq });
        set.run({ sensor, seq, quality: quality + by });
      }),
    close: () => sqlite.close(),
  };
}
