/** What the peers of `npm run bench:relations` have in common: their tables, and filling them in batches. */

export const CREATE_RELATED = [
  'create table customer (id text not null primary key, name text not null) without rowid',
  'create table orders (no integer not null primary key, customer_id text not null)',
  `create table line (order_no integer not null, line_no integer not null, product text not null,
    quantity integer not null, primary key (order_no, line_no)) without rowid`,
];

/** SQLite takes so many values in one statement that 500 rows are no risk. */
export function* inBatches(rows) {
  for (let at = 0; at < rows.length; at += 500) yield rows.slice(at, at + 500);
}
