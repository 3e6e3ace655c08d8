import { getTableColumns, sql } from 'drizzle-orm';

/** A batch as Drizzle writes it fastest: one prepared statement, run for each row of a transaction. */
export function preparedInsert(db, table) {
  const names = Object.keys(getTableColumns(table));
  const row = Object.fromEntries(names.map((name) => [name, sql.placeholder(name)]));
  const statement = db.insert(table).values(row).prepare();
  return (rows) =>
    db.transaction(() => {
      for (const each of rows) statement.run(each);
    });
}
