import { getTableColumns, sql } from 'drizzle-orm';
import { getTableConfig } from 'drizzle-orm/sqlite-core';

/** A batch as Drizzle writes it fastest: one prepared statement, run for each row of a transaction. */
function prepared(db, statement) {
  return (rows) =>
    db.transaction(() => {
      for (const each of rows) statement.run(each);
    });
}

/** An insert of a row, each of its columns a placeholder. */
export function insertOf(db, table) {
  const names = Object.keys(getTableColumns(table));
  return db.insert(table).values(Object.fromEntries(names.map((name) => [name, sql.placeholder(name)])));
}

export function preparedInsert(db, table) {
  return prepared(db, insertOf(db, table).prepare());
}

/** Inserts that replace the row which has the key. */
export function preparedPut(db, table) {
  return prepared(db, insertOf(db, table).onConflictDoUpdate(replacing(table)).prepare());
}

/** The conflict on the primary key, and all other columns as given. */
export function replacing(table) {
  const target = getTableConfig(table).primaryKeys[0].columns;
  const others = Object.entries(getTableColumns(table)).filter(([, column]) => !target.includes(column));
  const set = others.map(([name, column]) => [name, sql.raw(`excluded.${column.name}`)]);
  return { target, set: Object.fromEntries(set) };
}
