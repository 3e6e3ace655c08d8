/** The outputs of a job: files, a relational database, counters without a reduce, and bulk load into a table. */

// #region entity
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Column, Counter, Entity, part, rowKey, Table, text, uint32 } from 'rowan-orm';
import { bulkLoad, csvFiles, increments, ndjsonSource, sqlTable } from 'rowan-orm/jobs';
import { Put } from 'rowan-orm/table';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:hits', families: { d: {} } })
class Hits {}
@Table({ name: 'cookbook:totals', families: { c: {} } })
class Totals {}

@Entity({ table: Hits })
class Hit {
  static readonly key = rowKey(part('day', text), part('n', uint32));
  day!: string;
  n!: number;
  @Column('d:p', text) page!: string;
}

@Entity({ table: Totals })
class Total {
  static readonly key = rowKey('page');
  page!: string;
  @Counter('c:n') hits?: bigint;
}
// #endregion

await using recipe = await openRecipe([Hit, Total]);
const { db } = recipe;
const [hits, totals] = [db.repository(Hit), db.repository(Total)];
const folder = mkdtempSync(join(tmpdir(), 'rowan-cookbook-'));
const pageOf = (n: number): string => ['/', '/shop', '/help'][n % 3]!;
await hits.putMany(Array.from({ length: 30 }, (_, n) => ({ day: '2026-01-05', n, page: pageOf(n) })));

recipe.section('keys');
recipe.key(Hit, { day: '2026-01-05', n: 7 });

recipe.section('queries');
// #region queries
const all = hits.find({ day: '2026-01-05' });
const byPage = (name: string) =>
  db
    .job(name)
    .from(all)
    .map<string, number>((hit, emit) => emit(hit.page, 1))
    .combine((_page, counts) => counts.reduce((sum, n) => sum + n, 0))
    .reduce((page, counts) => ({ page, hits: counts.reduce((sum, n) => sum + n, 0) }));

recipe.print('> To files');
const csv = join(folder, 'csv');
await byPage('hits-to-csv')
  .to(csvFiles(csv, { columns: ['page', 'hits'], header: false }))
  .run({ restart: true });
const records = readdirSync(csv).flatMap((name) => readFileSync(join(csv, name), 'utf8').trim().split('\n'));
recipe.print(
  records
    .filter((line) => line !== '')
    .sort()
    .join(' '),
);

recipe.print('> To a relational database, by any driver: this one prints');
const statements: string[] = [];
const connect = () => ({
  execute: (sql: string, values: readonly unknown[]) => statements.push(`${sql} -- ${values.join(' ')}`),
});
await byPage('hits-to-sql')
  .to(sqlTable({ dialect: 'postgres', table: 'hits', columns: ['page', 'hits'], key: ['page'], connect }))
  .run({ restart: true });
recipe.print(statements.sort()[0]);

recipe.print('> Without a reduce: counters are added to');
await db
  .job('hits-to-counters')
  .from(all)
  .map((hit, emit) => emit(0, { key: { page: hit.page }, by: { hits: 1n } }))
  .to(increments(totals))
  .run({ restart: true });
recipe.print(...(await totals.find({}, { fullScan: true }).all()));

recipe.print('> Bulk load: lines of JSON become files of the table');
const lines = join(folder, 'hits.ndjson');
writeFileSync(lines, [5, 6, 7].map((n) => JSON.stringify({ day: '2026-01-06', n, page: '/' })).join('\n'));
await db
  .job('load-hits')
  .from(ndjsonSource([lines]))
  .map<number, Put>((line, emit) => {
    const { day, n, page } = line as Hit;
    const row = db.schema.entity(Hit).key.encode({ day, n });
    emit(0, new Put(row).addColumn('d', '_', '\x01').addColumn('d', 'p', page));
  })
  .to(bulkLoad(db.engine, 'cookbook:hits', { folder }))
  .run({ restart: true });
await recipe.show('The rows that were loaded', hits.find({ day: '2026-01-06' }));
// #endregion
rmSync(folder, { recursive: true });

recipe.section('cost');
for (const name of ['hits', 'totals']) await recipe.size(`cookbook:${name}`);
