/**
 * Indexes on a real HBase: a program that ends after any of its changes, programs that change the same rows and claim the
 * same values at once. No query gives a wrong row, and repair leaves nothing.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../../src/database.js';
import { Database as DatabaseOf } from '../../../src/database.js';
import { compileSchema } from '../../../src/mapper/index.js';
import type { Repository } from '../../../src/repository/index.js';
import { type Engine, Scan } from '../../../src/table/index.js';
import { Person } from '../../indexes/entities.js';
import { Mortal } from '../../proof/dying.js';
import { scaled } from '../../proof/scale.js';
import { Random } from '../../query/model/random.js';
import { openTestDatabase, type TestDatabase } from '../../query/test-database.js';
import { connectShared } from '../connect.js';
import { expectTrueAnswers, NAMES, STATUS, WELL } from './answers.js';
import { endWrites, old } from './dying-writes.js';

let db: TestDatabase;
let people: Repository<typeof Person>;
const engines: Engine[] = [];

beforeAll(async () => {
  db = await openTestDatabase([Person]);
  people = db.repository(Person);
});
afterAll(async () => {
  await Promise.all(engines.map((engine) => engine.close()));
  await db.dispose();
});

/** Another program on the same tables. */
async function program(): Promise<{ readonly database: Database; readonly mortal: Mortal }> {
  const engine = await connectShared();
  engines.push(engine);
  const mortal = new Mortal(engine);
  const database = new DatabaseOf(compileSchema([Person]), mortal.mortal, 'verify');
  await database.ready();
  return { database, mortal };
}

async function clear(): Promise<void> {
  await people.find({}, { fullScan: true }).deleteAll();
  for (const name of NAMES) await db.index(Person, name).repair({ settledAfter: 0 });
  expect(await entries()).toBe(0);
}

async function entries(): Promise<number> {
  let count = 0;
  for await (const _ of db.engine.table('shop:people_idx').scan(new Scan())) count++;
  return count;
}

test('a program may end behind any read or change: queries say what the rows say, repair leaves nothing, a second repair changes nothing', async () => {
  await clear();
  const { database, mortal } = await program();
  const deaths = await endWrites(db, { db: database, mortal }, scaled(6, 1, 1));
  expect(deaths).toBeGreaterThan(scaled(12, 100, 100));
});

test('programs that change the same rows at once: no query is wrong about what stays, nothing is off in the end', async () => {
  await clear();
  await people.put({ ...old('stable'), placedAt: new Date(7), total: 7 });
  const programs = await Promise.all([program(), program(), program()]);
  let writing = true;
  const write = async (repo: Repository<typeof Person>, seed: number): Promise<void> => {
    const random = new Random(seed + 1);
    for (let i = 0; i < scaled(12, 100, 2000); i++) {
      const id = `p${random.below(scaled(12, 100, 100))}`;
      const change = {
        status: random.pick(STATUS),
        placedAt: new Date(random.below(50)),
        total: random.below(9),
      };
      const tags = random.some(['x', 'y', 'z'], 2);
      const sort = random.below(8);
      if (sort === 0) await repo.delete({ id });
      else if (sort < 4) await repo.put({ id, ...change, tags });
      else if (sort < 6) await repo.upsert({ id, ...change }, change);
      else
        await repo.batch((batch) =>
          batch.put({ id, ...change }).update({ id: `p${random.below(12)}` }, { tags }),
        );
    }
  };
  const read = async (): Promise<void> => {
    while (writing) {
      const open = await people.by('byStatus').find({ status: 'open' }).all();
      expect(open.every(({ status }) => status === 'open')).toBe(true);
      expect(open.some(({ id }) => id === 'stable')).toBe(true);
      const covered = await people.by('byStatus').find({ status: 'open' }).select('total', 'status').all();
      expect(covered.every(({ status }) => status === 'open')).toBe(true);
      expect(covered.some(({ id, total }) => id === 'stable' && total === 7)).toBe(true);
    }
  };
  const readers = [read(), read()];
  const seeds = Array.from({ length: 16 }, (_, seed) => seed);
  try {
    await Promise.all(seeds.map((seed) => write(programs[seed % 3]!.database.repository(Person), seed)));
  } finally {
    writing = false;
    await Promise.all(readers);
  }
  await expectTrueAnswers(db, 'when all have written');
  for (const name of NAMES) expect(await db.index(Person, name).verify(), name).toMatchObject(WELL);
});

test('exactly one writer wins each race for a unique value, and at most one where some of them die', async () => {
  await clear();
  const programs = await Promise.all([program(), program(), program()]);
  const random = new Random(5);
  const races = scaled(40, 200, 1000);
  let died = 0;
  for (let race = 0; race < races; race++) {
    const email = `race${race}@x`;
    const deadly = race % 4 === 3;
    for (const { mortal } of programs) if (deadly) mortal.dieAfter(random.below(12));
    const outcomes = await Promise.allSettled(
      programs.flatMap(({ database }, i) => {
        const repo = database.repository(Person);
        return [
          repo.insert({ id: `a${race}-${i}`, email }),
          repo.put({ id: `b${race}-${i}`, email, tags: ['t'] }),
          repo.upsert({ id: `c${race}-${i}`, email }, { email }),
        ];
      }),
    );
    for (const { mortal } of programs) {
      if (mortal.isDead) died++;
      mortal.live();
    }
    const winners = outcomes.filter(({ status }) => status === 'fulfilled').length;
    if (deadly) expect(winners, email).toBeLessThanOrEqual(1);
    else expect(winners, email).toBe(1);
    const owners = await people.find({}, { fullScan: true }).where({ email }).all();
    expect(owners.length, email).toBeLessThanOrEqual(1);
    expect(await people.by('byEmail').find({ email }).count(), email).toBe(owners.length);
  }
  expect(died).toBeGreaterThan(races / 8);
  await db.index(Person, 'byEmail').repair({ settledAfter: 0 });
  expect(await db.index(Person, 'byEmail').repair({ settledAfter: 0 })).toMatchObject({
    ...WELL,
    repaired: 0,
  });
  for (let race = 0; race < races; race++) {
    const email = `race${race}@x`;
    const taken = await people.by('byEmail').find({ email }).count();
    await people.insert({ id: `late${race}`, email }).catch((error: { code?: string }) => {
      expect(error.code).toBe('ERR_CONFLICT');
      expect(taken).toBe(1);
    });
  }
});
