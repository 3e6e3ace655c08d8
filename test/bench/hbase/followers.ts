/**
 * What follows a write on HBase, against the same write of an entity without followers, in one process on one server.
 * `followers.ts MASTERS [ROWS]` prints a line of JSON for each kind of {@link KINDS}: figures of one client, of 16 clients, and of
 * `putMany` of 100 rows.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Database } from '../../../src/database.js';
import {
  dropTables,
  KINDS,
  type Kind,
  newRow,
  putTeams,
  repositoryOf,
  requestsOf,
  Team,
} from './follower-entities.js';

const BATCH = 100;
/** Milliseconds in which work behind the last writes ends. */
const QUIET = 600;

interface FollowerFigure {
  /** Rows a second. */
  readonly rate: number;
  /** Those behind the answers included. */
  readonly requestsARow: number;
  /** CPU time of this process, microseconds a row. */
  readonly cpu: number;
}

export interface FollowerFigures {
  readonly kind: Kind;
  readonly one: FollowerFigure;
  readonly sixteen: FollowerFigure;
  readonly batches: FollowerFigure;
}

async function measured(db: Database, rows: number, run: () => Promise<unknown>): Promise<FollowerFigure> {
  const before = requestsOf(db);
  const cpu = process.cpuUsage();
  const began = performance.now();
  await run();
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  await sleep(QUIET);
  return {
    rate: Math.round(rows / seconds),
    requestsARow: Number(((requestsOf(db) - before) / rows).toFixed(2)),
    cpu: Math.round((user + system) / rows),
  };
}

async function measure(db: Database, kind: Kind, rows: number): Promise<FollowerFigures> {
  const repository = repositoryOf(db, kind);
  const clients = (count: number, each: number): Promise<unknown> =>
    Promise.all(
      Array.from({ length: count }, async () => {
        for (let i = 0; i < each; i++) await repository.put(newRow());
      }),
    );
  // Compiles the paths of this kind.
  await clients(16, Math.ceil(rows / 16));
  const one = await measured(db, rows, () => clients(1, rows));
  const sixteen = await measured(db, 4 * rows, () => clients(16, rows / 4));
  const batches = await measured(db, 8 * rows, async () => {
    for (let i = 0; i < 8 * rows; i += BATCH)
      await repository.putMany(Array.from({ length: BATCH }, () => newRow()));
  });
  return { kind, one, sixteen, batches };
}

const [masters = '', rows = '400'] = process.argv.slice(2);
const db = await connect({
  masters: masters.split(','),
  entities: [Team, ...Object.values(KINDS)],
  tables: 'create',
});
try {
  await putTeams(db);
  for (const kind of Object.keys(KINDS) as Kind[])
    console.log(JSON.stringify(await measure(db, kind, Number(rows))));
} finally {
  await dropTables(db);
  await db.close();
}
