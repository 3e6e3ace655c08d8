import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Column, Entity, RowKey } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { type Database, open } from '../../src/database.js';
import { JobBuilder, type Sink, snapshotSource, tableSource } from '../../src/job/index.js';
import { part } from '../../src/key/index.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import { Scan } from '../../src/table/index.js';
import { scaled } from '../proof/scale.js';

const families = { d: {} };

@Entity({ table: { name: 'look_pages', families } })
@RowKey(part('id'))
class Page {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:s', text) section!: string;
}

@Entity({ table: { name: 'look_visits', families } })
@RowKey(part('id'))
class Visit {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:p', text) page?: string | null;
  @Column('d:n', int32) weight!: number;
}

let folder: string;
let db: Database<EmbeddedEngine>;
const openAt = (name: string): Promise<Database<EmbeddedEngine>> =>
  open({ path: join(folder, name), entities: [Page, Visit], background: 'inline', durability: 'ASYNC_WAL' });
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowan-lookup-'));
  db = await openAt('store');
});
afterAll(async () => {
  await db.close();
  await rm(folder, { recursive: true });
});

function collecting<T>(into: T[]): Sink<T> {
  return { signature: 'list', open: () => ({ write: (items) => void into.push(...items) }) };
}

/** A repository whose calls are counted. */
function counted(calls: (readonly { id: string }[])[]) {
  const pages = db.repository(Page);
  return {
    entityName: 'Page',
    getMany(keys: readonly { id: string }[]) {
      calls.push(keys);
      return pages.getMany(keys);
    },
  };
}

let round = 0;

test('each item comes with what it names, as a join made by hand has it, however little is kept', async () => {
  const id = fc.integer({ min: 0, max: 12 }).map(String);
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(id),
      fc.array(fc.option(id, { nil: null }), { maxLength: 40 }),
      fc.integer({ min: 0, max: 15 }),
      fc.integer({ min: 1, max: 10 }),
      async (pages, named, kept, batchRows) => {
        await db.repository(Page).find({}, { fullScan: true }).deleteAll();
        await db.repository(Visit).find({}, { fullScan: true }).deleteAll();
        await db.repository(Page).putMany(pages.map((id) => ({ id, section: `of ${id}` })));
        const visits = named.map((page, at) => ({ id: String(at).padStart(3, '0'), page, weight: at }));
        await db.repository(Visit).putMany(visits);
        const calls: (readonly { id: string }[])[] = [];
        const found: { visit: string; section: string; again: string }[] = [];
        await new JobBuilder(db.engine, `look-${round++}`)
          .from(db.repository(Visit).find({}, { fullScan: true }))
          .lookup(
            counted(calls),
            ({ page }) => (page === null || page === undefined ? undefined : { id: page }),
            { kept },
          )
          .lookup(db.repository(Page), ([visit]) => ({ id: String(visit.weight) }))
          .map<number, { visit: string; section: string; again: string }>(([[visit, page], again], emit) =>
            emit(0, { visit: visit.id, section: page?.section ?? 'none', again: again?.section ?? 'none' }),
          )
          .to(collecting(found))
          .run({ batchRows, parallel: 1 });
        const sectionOf = (page: string): string => (pages.includes(page) ? `of ${page}` : 'none');
        expect(found).toEqual(
          visits.map(({ id, page, weight }) => ({
            visit: id,
            section: page === null ? 'none' : sectionOf(page),
            again: sectionOf(String(weight)),
          })),
        );
        for (const keys of calls) {
          expect(keys.length).toBeGreaterThan(0);
          expect(new Set(keys.map((key) => key.id)).size).toBe(keys.length);
        }
        // What is kept is not got again.
        if (kept >= 13) expect(new Set(calls.flat().map((key) => key.id)).size).toBe(calls.flat().length);
      },
    ),
    { numRuns: scaled(3, 30, 800) },
  );
});

test('what is no lookup is refused, and another lookup is another job', async () => {
  const job = new JobBuilder(db.engine, 'refused').from(db.repository(Visit).find({}, { fullScan: true }));
  const lookup = job.lookup.bind(job) as (...args: unknown[]) => unknown;
  for (const [args, why] of [
    [[undefined, () => 1], 'lookup() takes a repository'],
    [[db.repository(Page), 'id'], 'lookup() takes a repository'],
    [[db.repository(Page), () => 1, { kept: -1 }], 'a whole number, not -1'],
  ] as const) {
    expect(() => lookup(...args)).toThrow(why);
  }
  await job.run();
  await expect(job.lookup(db.repository(Page), () => null).run()).rejects.toMatchObject({ code: 'ERR_JOB' });
});

test('a snapshot is read as it was, while the job writes to what it was taken of', async () => {
  const visits = db.repository(Visit);
  await visits.find({}, { fullScan: true }).deleteAll();
  const names = Array.from({ length: 50 }, (_, at) => `s${String(at).padStart(3, '0')}`);
  await visits.putMany(names.map((id) => ({ id, weight: 1 })));
  await db.engine.checkpoint(join(folder, 'then'));
  const then = await openAt('then');
  try {
    await visits.putMany([{ id: 's999', weight: 5 }]);
    const seen: string[] = [];
    const source = snapshotSource(then.engine, then.repository(Visit).find({}, { fullScan: true }), {
      splitBytes: 500,
    });
    const writing: Sink<Visit> = {
      signature: 'writing',
      open: () => ({
        async write(items) {
          seen.push(...items.map((visit) => visit.id));
          await visits.putMany(items.map((visit) => ({ id: `${visit.id}-copy`, weight: visit.weight })));
        },
      }),
    };
    const { rows } = await new JobBuilder(db.engine, 'snap').from(source).to(writing).run({ batchRows: 5 });
    expect(rows).toBe(50);
    expect(seen.sort()).toEqual(names);
    expect(await visits.find({}, { fullScan: true }).count()).toBe(101);
    const cells = snapshotSource(
      then.engine,
      tableSource('look_visits', () => new Scan()),
    );
    expect((await new JobBuilder(db.engine, 'cells').from(cells).run()).rows).toBe(50);
    const none = new JobBuilder(db.engine, 'none').from(
      snapshotSource(then.engine, { ...(await cells.toSource()) }),
    );
    await expect(none.run()).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
  } finally {
    await then.close();
  }
});
