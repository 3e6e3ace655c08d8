/**
 * What follows a write on HBase, against the same write of an entity without followers, in one process on one server.
 * `followers.ts MASTERS [ROWS] [KIND …]` prints a line of JSON for each kind of {@link KINDS}: figures of one client, of 16 clients, and of
 * `putMany` of 100 rows.
 *
 * Rows are written in bursts. What is left to be done when the last write of a burst is answered is counted apart: the bench waits
 * for its end, and then begins the next burst.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Database } from '../../../src/database.js';
import {
  dropTables,
  followed,
  KINDS,
  type Kind,
  newRow,
  putTeams,
  repositoryOf,
  requestsOf,
  Team,
} from './follower-entities.js';

const BATCH = 100;
/** Milliseconds in which tokens and other leftovers of work after the writes end, which nobody can wait for. */
const QUIET = 600;

export interface FollowerFigure {
  /** Rows a second until the answers. */
  readonly rate: number;
  /** Rows a second until all that follows them is done. */
  readonly settledRate: number;
  /** Those after the answers included. */
  readonly requestsARow: number;
  /** CPU time of this process until the answers, microseconds a row. */
  readonly cpu: number;
  /** CPU time behind them. */
  readonly cpuBehind: number;
}

export interface FollowerFigures {
  readonly kind: Kind;
  readonly one: FollowerFigure;
  readonly sixteen: FollowerFigure;
  readonly batches: FollowerFigure;
}

/** `burst` writes that many rows. */
async function measured(
  db: Database,
  kind: Kind,
  bursts: number,
  rows: number,
  burst: (rows: number) => Promise<unknown>,
): Promise<FollowerFigure> {
  const requests = requestsOf(db);
  const [times, cpus] = [
    [0, 0],
    [0, 0],
  ];
  const spent = (): number => {
    const { user, system } = process.cpuUsage();
    return user + system;
  };
  for (let n = 0; n < bursts; n++) {
    const phases = [() => burst(rows), () => followed(db, kind)];
    for (const [place, phase] of phases.entries()) {
      const [began, cpu] = [performance.now(), spent()];
      await phase();
      times[place]! += performance.now() - began;
      cpus[place]! += spent() - cpu;
    }
  }
  await sleep(QUIET);
  const all = bursts * rows;
  const [written, behind] = times as [number, number];
  return {
    rate: Math.round((all / written) * 1000),
    settledRate: Math.round((all / (written + behind)) * 1000),
    requestsARow: Number(((requestsOf(db) - requests) / all).toFixed(2)),
    cpu: Math.round(cpus[0]! / all),
    cpuBehind: Math.round(cpus[1]! / all),
  };
}

async function measure(db: Database, kind: Kind, rows: number): Promise<FollowerFigures> {
  const repository = repositoryOf(db, kind);
  const clients = (count: number, all: number): Promise<unknown> =>
    Promise.all(
      Array.from({ length: count }, async () => {
        for (let i = 0; i < all / count; i++) await repository.put(newRow());
      }),
    );
  const batches = async (all: number): Promise<void> => {
    for (let i = 0; i < all; i += BATCH)
      await repository.putMany(Array.from({ length: BATCH }, () => newRow()));
  };
  // Compiles the paths of this kind.
  await clients(16, rows);
  await batches(4 * BATCH);
  await followed(db, kind);
  const burst = Math.ceil(rows / 4 / BATCH) * BATCH;
  return {
    kind,
    one: await measured(db, kind, 4, burst, (all) => clients(1, all)),
    sixteen: await measured(db, kind, 4, 4 * burst, (all) => clients(16, all)),
    batches: await measured(db, kind, 8, 8 * burst, batches),
  };
}

const [masters = '', rows = '400', ...kinds] = process.argv.slice(2);
const db = await connect({
  masters: masters.split(','),
  entities: [Team, ...Object.values(KINDS)],
  tables: 'create',
});
try {
  await putTeams(db);
  for (const kind of Object.keys(KINDS) as Kind[])
    if (kinds.length === 0 || kinds.includes(kind))
      console.log(JSON.stringify(await measure(db, kind, Number(rows))));
} finally {
  await dropTables(db);
  await db.close();
}
