/** Jobs over a whole table: count, change rows, write several tables, sum up to a table, several steps in a row. */

// #region entity
import { Column, Entity, int32, part, rowKey, Table, text, uint32 } from 'rowan-orm';
import { entitySink, several } from 'rowan-orm/jobs';
import { openRecipe } from '../recipe.js';

@Table({ name: 'cookbook:visits', families: { d: {} } })
class Visits {}
@Table({ name: 'cookbook:pages', families: { d: {} } })
class Pages {}
@Table({ name: 'cookbook:errors', families: { d: {} } })
class Errors {}

@Entity({ table: Visits })
class Visit {
  static readonly key = rowKey(part('day', text), part('n', uint32));
  day!: string;
  n!: number;
  @Column('d:p', text) page!: string;
  @Column('d:s', int32) status!: number;
  @Column('d:k', text) kind?: string | null;
}

@Entity({ table: Pages })
class PageVisits {
  static readonly key = rowKey('page');
  page!: string;
  @Column('d:v', int32) visits!: number;
}

@Entity({ table: Errors })
class Failure {
  static readonly key = rowKey(part('status', int32), part('day', text), part('n', uint32));
  status!: number;
  day!: string;
  n!: number;
  @Column('d:p', text) page!: string;
}
// #endregion

await using recipe = await openRecipe([Visit, PageVisits, Failure]);
const { db } = recipe;
const [visits, pages, failures] = [db.repository(Visit), db.repository(PageVisits), db.repository(Failure)];
const day = '2026-01-05';
await visits.putMany(
  Array.from({ length: 40 }, (_, n) => ({
    day,
    n,
    page: ['/', '/shop', '/help'][n % 3]!,
    status: n % 10 === 9 ? 404 : 200,
  })),
);

recipe.section('keys');
recipe.key(Visit, { day, n: 9 });
recipe.key(Failure, { status: 404, day, n: 9 });

recipe.section('queries');
// #region queries
const all = visits.find({ day });

// Read: no reduce and no sink, only counters.
const read = await db
  .job('count-visits')
  .from(all)
  .map((visit, _emit, context) => context.count(`status ${visit.status}`))
  .run({ restart: true });
recipe.print('> Read', ...Object.entries(read.counters).map(([name, count]) => `${name}: ${count}`));

// Read and write: each row is put again, changed.
await db
  .job('name-kinds')
  .from(all)
  .map<number, Visit>((visit, emit) => emit(0, { ...visit, kind: visit.status < 400 ? 'page' : 'error' }))
  .to(entitySink(visits))
  .run({ restart: true });
recipe.print(`> Read and write: ${await all.where({ kind: 'error' }).count()} errors`);

// Several tables, and a summary in a table: the pairs of a page meet in its reduce.
await db
  .job('visits-by-page')
  .from(all)
  .map<string, Visit>((visit, emit) => emit(visit.page, visit))
  .reduce((page, some) => [
    { to: 'pages' as const, item: { page, visits: some.length } },
    ...some
      .filter(({ status }) => status >= 400)
      .map(({ n, status }) => ({ to: 'failures' as const, item: { status, day, n, page } })),
  ])
  .to(several({ pages: entitySink(pages), failures: entitySink(failures) }))
  .run({ restart: true });

// A flow of several steps: the next job reads what the last one wrote.
await db
  .job('most-visited')
  .from(pages.find({}, { fullScan: true }))
  .map((page, _emit, context) => context.count(page.visits > 13 ? 'above 13' : 'others'))
  .run({ restart: true });
await recipe.show('Visits by page', pages.find({}, { fullScan: true }));
await recipe.show('Failures', failures.find({ status: 404 }).limit(2));
// #endregion

recipe.section('cost');
for (const name of ['visits', 'pages', 'errors']) await recipe.size(`cookbook:${name}`);
