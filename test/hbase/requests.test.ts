/** Requests that writes take on a real HBase, by what follows them. docs/indexes-costs.md has the table. */

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { Database } from '../../src/database.js';
import type { HBaseEngine } from '../../src/hbase/engine.js';
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
import { PATIENCE } from './patience.js';

/** The most requests a row: of a put alone, and of `putMany` of 100 rows. They go in rounds, so the counts are certain. */
const MOST: Readonly<Record<Kind, readonly [alone: number, many: number]>> = {
  plain: [1, 0.01],
  index: [4, 0.19],
  'eventual index': [2.5, 0.14],
  unique: [5, 0.26],
  summary: [3.5, 0.17],
  copies: [7, 0.28],
  changes: [7, 0.5],
};

/** Lookups of regions, renewals, and looks into the outbox, that a run may take beside. */
const OTHERS = 8;
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
  await gather();
});
afterAll(async () => {
  await dropTables(db);
  await db.close();
});

/** Moves the tables to one server: what is sent to one server at one moment shares a request. */
async function gather(): Promise<void> {
  const { admin } = trips.engine as HBaseEngine;
  const tables = (await admin.listTables())
    .map(({ name }) => name)
    .filter((name) => /^(followers|rowan)_/.test(name));
  const regions = async () => (await Promise.all(tables.map((name) => admin.getRegions(name)))).flat();
  const [first] = await regions();
  for (const { name, server } of await regions())
    if (server !== first!.server) await admin.moveRegion(name, first!.server);
  await vi.waitFor(
    async () => expect(new Set((await regions()).map(({ server }) => server)).size).toBe(1),
    PATIENCE,
  );
}

/** Requests of `run`, with those that go on behind it. */
async function requests(run: () => Promise<unknown>): Promise<number> {
  const before = requestsOf(db);
  await trips.run(async () => {
    await run();
    // What waits for further rows waits no longer.
    await db.summary(KINDS.summary, 'perTeam').get({ team: 't1' });
  });
  return requestsOf(db) - before;
}

/** The summary comes last: its counts go on to be tidied up behind what is waited for, which the next case would count. */
const ORDER = (Object.keys(KINDS) as Kind[]).sort(
  (a, b) => Number(a === 'summary') - Number(b === 'summary'),
);

it.each(ORDER)('writes of %s take as many requests as documented, at most', async (kind) => {
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
});
