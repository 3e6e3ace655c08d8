/**
 * Queries over several ranges of an index on the embedded engine, which let writers in between their rows: a row that moves
 * to a range that was read is given by the entry that it had when the reading began.
 */

import { afterEach, expect, test } from 'vitest';
import { toBytes } from '../../src/bytes/index.js';
import { Database } from '../../src/database.js';
import { type EmbeddedEngine, openEmbedded } from '../../src/store/engine.js';
import { MemoryFileSystem, settableClock } from '../../src/testing/index.js';
import { schemaOf } from '../proof/stepless.js';
import { CODES, fill, Job, type Jobs, move } from './moving.js';

const engines: EmbeddedEngine[] = [];

afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close();
});

const clock = settableClock(new Date(1_000_000));

async function opened(at: number): Promise<{ engine: EmbeddedEngine; jobs: Jobs }> {
  const engine = await openEmbedded('/memory', {
    fileSystem: new MemoryFileSystem(),
    background: 'inline',
    durability: 'ASYNC_WAL',
    scannerIdleTimeout: 40,
    clock,
  });
  engines.push(engine);
  const db = new Database(schemaOf(Job), engine, 'create');
  await db.ready();
  const jobs = db.repository(Job);
  await fill(jobs, at);
  return { engine, jobs };
}

type Reading = AsyncIterable<Readonly<Partial<Job>>>;

const READINGS: Readonly<Record<string, (jobs: Jobs) => Reading>> = {
  'by two states': (jobs) => jobs.by('byState').find({ state: { in: ['a', 'b'] } }),
  'by two states, backwards': (jobs) =>
    jobs
      .by('byState')
      .find({ state: { in: ['a', 'b'] } })
      .reverse(),
  'by entries alone': (jobs) =>
    jobs
      .by('covering')
      .find({ state: { in: ['a', 'b'] } })
      .select('state', 'at', 'note'),
  'by unique values': (jobs) => jobs.by('byCode').find({ code: { in: CODES } }),
  'by a salted index': (jobs) => jobs.by('spread').find({ at: { gte: 0 } }),
  'by tags': (jobs) => jobs.by('byTag').find({ tags: { in: ['t0', 't1', 't2', 't3', 't4'] } }),
};

const IDS = ['moves', 's10', 's20', 's30', 's40', 's90'];

/** What happens to the files of a table while a query is read. */
const MEANWHILE: Readonly<Record<string, (engine: EmbeddedEngine, table: string) => Promise<void>>> = {
  nothing: async () => {},
  'a flush and a compaction': async (engine, table) => {
    await engine.admin.flush(table);
    await engine.admin.majorCompact(table);
  },
  'a split': async (engine, table) => {
    await engine.admin.flush(table);
    await engine.admin.split(table, toBytes('a\u0000m')).catch(() => {});
  },
};

const CASES = Object.keys(READINGS).flatMap((name) => Object.keys(MEANWHILE).map((what) => [name, what]));

test.each(CASES)('a row that moves is given once, %s, beside %s', async (name, what) => {
  for (const [from, to] of [
    [45, 5],
    [5, 45],
  ] as const) {
    for (let after = 1; after < IDS.length; after++) {
      const { engine, jobs } = await opened(from);
      const tables = (await engine.admin.listTables()).map((table) => table.name);
      const ids: string[] = [];
      for await (const { id } of READINGS[name]!(jobs)) {
        ids.push(id!);
        if (ids.length !== after) continue;
        await move(jobs, to);
        for (const table of tables) await MEANWHILE[what]!(engine, table);
      }
      expect(ids.sort(), `${from} to ${to} behind ${after}`).toEqual(IDS);
      expect(engine.stats().openScanners).toBe(0);
    }
  }
});

test('rows that do not match let writers in too', async () => {
  const { jobs } = await opened(45);
  const others = Array.from({ length: 9000 }, (_, i) => ({
    id: `z${i}`,
    state: 'a',
    at: 6,
    note: 'other',
    tags: [],
  }));
  await jobs.putMany(others);
  const reading = jobs
    .by('byState')
    .find({ state: { in: ['a', 'b'] } })
    .where({ note: 'n' })
    .all();
  await move(jobs, 5);
  expect((await reading).map(({ id }) => id).sort()).toEqual(IDS);
});

test('a query that is left gives back what it holds, and one that nobody reads on is ended', async () => {
  const { engine, jobs } = await opened(45);
  const query = jobs.by('byState').find({ state: { in: ['a', 'b'] } });
  for await (const { id } of query) if (id === 's10') break;
  expect(engine.stats().openScanners).toBe(0);
  const iterator = query[Symbol.asyncIterator]();
  await iterator.next();
  expect(engine.stats().openScanners).toBe(2);
  while (engine.stats().openScanners > 0) await new Promise((resolve) => setTimeout(resolve, 10));
  await expect(
    (async () => {
      for (let one = await iterator.next(); !one.done; one = await iterator.next());
    })(),
  ).rejects.toMatchObject({ code: 'ERR_SCANNER_EXPIRED' });
});
