import { afterEach, beforeEach, expect, test } from 'vitest';
import { Column, Entity, RowKey, Table } from '../../decorators/index.js';
import { float64, text } from '../../src/codec/index.js';
import { entitySink } from '../../src/job/index.js';
import { JobBuilder } from '../../src/job/pipeline/pipeline.js';
import { part, recordType, salt, uint32 } from '../../src/key/index.js';
import { openMemory } from '../../src/testing/index.js';
import { stepless } from '../proof/stepless.js';
import { openTestDatabase, type TestDatabase } from '../query/test-database.js';

@Table({ name: 'job_visits', families: { d: {} } })
class Visits {}

@Entity({ table: Visits, recordType: 1 })
@RowKey(salt(4), part('site', text), recordType(), part('number', uint32))
class Visit {
  declare static readonly key: ['site', 'number'];
  site!: string;
  number!: number;
  @Column('d:p', text) page!: string;
  @Column('d:m', float64) milliseconds?: number | null;
}

@Entity({ table: Visits, recordType: 2 })
@RowKey(salt(4), part('site', text), recordType(), part('page', text))
class PageTotal {
  declare static readonly key: ['site', 'page'];
  site!: string;
  page!: string;
  @Column('d:n', float64) visits!: number;
}

let db: TestDatabase;
beforeEach(async () => {
  db = await openTestDatabase([Visit, PageTotal]);
  const visits = Array.from({ length: 240 }, (_, number) => ({
    site: number % 3 === 0 ? 'a' : 'b',
    number,
    page: `/${number % 5}`,
    milliseconds: number,
  }));
  await db.repository(Visit).putMany(visits);
  await db.repository(PageTotal).put({ site: 'a', page: 'old', visits: 0 });
});
afterEach(() => db.dispose());

test('a job over a query sees its entities and no others, and puts entities of another kind', async () => {
  const totals = db.repository(PageTotal);
  const query = db
    .repository(Visit)
    .find({ site: 'b' })
    .where({ milliseconds: { gte: 100 } });
  const wanted = new Map<string, number>();
  for (const { page } of await query.all()) wanted.set(page, (wanted.get(page) ?? 0) + 1);
  expect(wanted.size).toBe(5);

  const job = db
    .job('pages')
    .from(query.select('page'))
    .map<[string, string], number>((visit, emit) => emit([visit.site, visit.page], 1))
    .combine((_, counts) => counts.reduce((sum, n) => sum + n, 0))
    .reduce(([site, page], counts) => ({ site, page, visits: counts.reduce((sum, n) => sum + n, 0) }))
    .to(entitySink(totals));
  await job.run();
  const found = await totals.find({ site: 'b' }).all();
  expect(new Map(found.map(({ page, visits }) => [page, visits]))).toEqual(wanted);
  expect(await totals.find({ site: 'a' }).count()).toBe(1);
});

test('rows that are filled again come to what results do, also where map waits', async () => {
  const query = db
    .repository(Visit)
    .find({ site: 'b' })
    .where({ milliseconds: { gte: 100 } });
  const byNumber = (a: Visit, b: Visit): number => a.number - b.number;
  const outcomes: { items: Visit[]; rows: number; bytes: number }[] = [];
  for (const engine of [db.engine, stepless(db.engine)]) {
    const items: Visit[] = [];
    const { rows, bytes } = await new JobBuilder(engine, 'kept')
      .from<Visit>(query)
      .map<number, Visit>(async (visit, emit) => {
        await new Promise((resolve) => setImmediate(resolve));
        emit(visit.number, visit);
      })
      .to({ signature: 'kept', open: () => ({ write: (given) => void items.push(...given) }) })
      .run({ restart: true, batchRows: 7 });
    outcomes.push({ items: items.sort(byNumber), rows, bytes });
  }
  expect(outcomes[0]!.items).toEqual((await query.all()).sort(byNumber));
  expect(outcomes[0]!.items.length).toBeGreaterThan(90);
  expect(outcomes[1]).toEqual(outcomes[0]);
});

test('what has no meaning in parts is refused', async () => {
  const query = db.repository(Visit).find({ site: 'b' });
  for (const wrong of [query.limit(3), query.reverse(), query.orderBy('milliseconds').limit(2)]) {
    await expect(db.job('wrong').from(wrong).run()).rejects.toMatchObject({ code: 'ERR_QUERY' });
  }
  expect(() => db.job('no name!')).toThrowError(/valid job name/);
});

test('a job that waits for its rate ends when the database is closed', async () => {
  const other = await openMemory({ entities: [Visit] });
  await other.repository(Visit).putMany([1, 2, 3].map((number) => ({ site: 'a', number, page: '/' })));
  let begin!: () => void;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const running = other
    .job('slow')
    .from(other.repository(Visit).find({}, { fullScan: true }))
    .map(() => begin())
    .run({ rowsPerSecond: 0.001, batchRows: 1, parallel: 1 });
  const ended = expect(running).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  await begun;
  await other.close();
  await ended;
});
