/** Requests that writes take on a real HBase, by what follows them. docs/indexes-costs.md has the table. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { Database } from '../../src/database.js';
import { compileSchema } from '../../src/mapper/index.js';
import {
  dropTables,
  KINDS,
  type Kind,
  newRow,
  putTeams,
  repositoryOf,
  requestsOf,
  Team,
} from '../bench/hbase/follower-entities.js';
import { RoundTrips } from '../proof/round-trips.js';
import { connectShared } from './connect.js';

/**
 * The most requests a row: of a put alone, and of `putMany` of 100 rows. They go in rounds, so a slow machine counts the same. What is
 * sent to one server at one moment shares a request; where the tables lie on several servers, each server has its own. The figures
 * are for such a cluster; the documented ones are for a single server.
 */
const MOST: Readonly<Record<Kind, readonly [alone: number, many: number]>> = {
  plain: [1, 0.01],
  index: [5, 0.4],
  'eventual index': [5, 0.4],
  unique: [6, 0.5],
  summary: [12, 1],
  copies: [10, 0.6],
  changes: [8, 1],
};

/** Lookups of regions, and renewals, that a run may take beside. */
const OTHERS = 5;
const ALONE = 20;
const MANY = 500;
const BATCH = 100;

let db: Database;
let trips: RoundTrips;
beforeAll(async () => {
  trips = new RoundTrips(await connectShared());
  db = new Database(compileSchema([Team, ...Object.values(KINDS)]), trips.engine, 'create');
  await db.ready();
  await putTeams(db);
});
afterAll(async () => {
  await dropTables(db);
  await db.close();
});

/** Requests of `run`, with those that go on behind it. */
async function requests(run: () => Promise<unknown>): Promise<number> {
  const before = requestsOf(db);
  await trips.run(run);
  return requestsOf(db) - before;
}

it.each(Object.keys(KINDS) as Kind[])(
  'writes of %s take as many requests as documented, at most',
  async (kind) => {
    const repository = repositoryOf(db, kind);
    // Looks up the regions.
    await requests(() => repository.putMany(Array.from({ length: BATCH }, () => newRow())));
    const alone = await requests(async () => {
      for (let i = 0; i < ALONE; i++) await repository.put(newRow());
    });
    const many = await requests(async () => {
      for (let i = 0; i < MANY; i += BATCH)
        await repository.putMany(Array.from({ length: BATCH }, () => newRow()));
    });
    const [mostAlone, mostMany] = MOST[kind];
    expect(alone).toBeLessThanOrEqual(mostAlone * ALONE + OTHERS);
    expect(many).toBeLessThanOrEqual(mostMany * MANY + OTHERS);
  },
);
