/** Requests that writes take on a real HBase, by what follows them. docs/indexes-costs.md has the table. */

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { connect, type Database } from '../../src/database.js';
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
import { PATIENCE } from './patience.js';

/** The most requests a row: of a put alone, and of `putMany` of 100 rows. */
const MOST: Readonly<Record<Kind, readonly [alone: number, many: number]>> = {
  plain: [1, 0.04],
  index: [4, 0.4],
  'eventual index': [4, 0.4],
  unique: [4, 0.5],
  summary: [10, 1],
  copies: [7, 0.5],
  changes: [6, 1],
};

/** Lookups of regions, and renewals, that a run may take beside, for each row. */
const OTHERS = 0.25;
const ALONE = 20;
const MANY = 500;
const BATCH = 100;

let db: Database;
beforeAll(async () => {
  db = await connect({
    masters: inject('hbase').masters,
    entities: [Team, ...Object.values(KINDS)],
    tables: 'create',
  });
  await putTeams(db);
});
afterAll(async () => {
  await dropTables(db);
  await db.close();
});

/** Requests of `run`, with those that go on behind it. */
async function requests(run: () => Promise<unknown>): Promise<number> {
  const before = requestsOf(db);
  await run();
  let latest = -1;
  const atRest = (): boolean => {
    const found = requestsOf(db);
    const isSame = found === latest;
    latest = found;
    return isSame;
  };
  await sleep(PATIENCE.interval);
  await expect.poll(atRest, PATIENCE).toBe(true);
  return latest - before;
}

it.each(Object.keys(KINDS) as Kind[])(
  'writes of %s take as many requests as documented, at most',
  async (kind) => {
    const repository = repositoryOf(db, kind);
    // Looks up the regions.
    await repository.putMany(Array.from({ length: BATCH }, () => newRow()));
    await requests(async () => {});
    const alone = await requests(async () => {
      for (let i = 0; i < ALONE; i++) await repository.put(newRow());
    });
    const many = await requests(async () => {
      for (let i = 0; i < MANY; i += BATCH)
        await repository.putMany(Array.from({ length: BATCH }, () => newRow()));
    });
    const [mostAlone, mostMany] = MOST[kind];
    expect(alone / ALONE).toBeLessThanOrEqual(mostAlone + OTHERS);
    expect(many / MANY).toBeLessThanOrEqual(mostMany);
  },
);
