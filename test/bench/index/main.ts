/**
 * `npm run bench:index`: what secondary indexes cost and give. Writes with two indexes against the same entity without
 * them, look-ups by an index against those by the key, both against Drizzle on better-sqlite3 with the same two
 * indexes and prepared statements, and the building of an index. One process, one disk; contestants take turns in every round; the figure is
 * the median. A look-up's second is one of the processor's, for none waits for the disk.
 *
 * `--rounds N` (default 5), `--build N` (rows of the build, default 100,000), `--json FILE`.
 */

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  type BenchRow,
  compare,
  type Measured,
  report,
  rowLine,
  type Seconds,
  secondsOf,
  toRow,
} from '../harness.js';
import { projectRoot } from '../orm/contestant.js';
import { type Contestant, type IndexedContestant, makeAccount } from './contestant.js';
import { buildIndexes, openPlain, openRowan } from './rowan.js';

/** Batches of one round, and before the first. */
const DURABLE = { size: 100, batches: 30, warmUp: 120 };
const SOON = { size: 1000, batches: 8, warmUp: 24 };
/** Seconds of one round of look-ups, and before the first. */
const ROUND = 0.3;
const WARM_UP = 1.2;

const rounds = numberOf('--rounds', 5);
const buildRows = numberOf('--build', 100_000);
const folder = mkdtempSync(join(projectRoot, '.rowan-bench-index-'));
let accounts = 0;
try {
  report(await measure());
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function numberOf(option: string, otherwise: number): number {
  const at = process.argv.indexOf(option);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
}

function folderOf(name: string): string {
  const own = join(folder, name);
  mkdirSync(own);
  return own;
}

async function openDrizzle(): Promise<IndexedContestant> {
  const file = join(projectRoot, 'test/bench/orm/peers/drizzle-indexed.mjs');
  const module = (await import(file)) as { openDrizzleIndexed(folder: string): Promise<IndexedContestant> };
  return module.openDrizzleIndexed(folderOf('drizzle'));
}

async function measure(): Promise<BenchRow[]> {
  const rowan = await openRowan(folderOf('rowan'));
  const plain = await openPlain(folderOf('plain'));
  const drizzle = await openDrizzle();
  const rows: BenchRow[] = [];
  const row = async (
    title: string,
    unit: string,
    measured: Record<string, Measured>,
    seconds: Seconds = 'wall',
  ): Promise<void> => {
    const figures = toRow(title, unit, await compare(measured, rounds, seconds));
    console.log(rowLine(figures));
    rows.push(figures);
  };
  try {
    const all: Contestant[] = [rowan, plain, drizzle];
    await row('insert, batches of 100, fsync each', 'rows/s', inserts(all, DURABLE, true));
    await row('insert, batches of 1,000, no fsync', 'rows/s', inserts(all, SOON, false));
    for (const contestant of [rowan, drizzle]) await check(contestant);
    await row(
      'look-up by covered index',
      'look-ups/s',
      {
        rowan: lookUps((i) => rowan.byPhone(makeAccount(i).phone)),
        'rowan get': lookUps((i) => rowan.get(makeAccount(i).id)),
        'rowan find by key': lookUps((i) => rowan.byKey(makeAccount(i).id)),
        drizzle: lookUps((i) => drizzle.byPhone(makeAccount(i).phone)),
      },
      'processor',
    );
    await row(
      'look-up by uncovered index',
      'look-ups/s',
      {
        rowan: lookUps((i) => rowan.byEmail(makeAccount(i).email)),
        'rowan get': lookUps((i) => rowan.get(makeAccount(i).id)),
        'rowan find by key': lookUps((i) => rowan.byKey(makeAccount(i).id)),
        drizzle: lookUps((i) => drizzle.byEmail(makeAccount(i).email)),
      },
      'processor',
    );
  } finally {
    for (const contestant of [rowan, plain, drizzle]) await contestant.close();
  }
  rows.push(...(await build()));
  return rows;
}

/** Each contestant writes the same new keys, round after round. */
function inserts(
  contestants: readonly Contestant[],
  { size, batches, warmUp }: typeof DURABLE,
  durable: boolean,
): Record<string, Measured> {
  const from = accounts;
  accounts += size * (warmUp + rounds * batches);
  return Object.fromEntries(
    contestants.map((contestant) => {
      let next = from;
      const run: Measured = async () => {
        const end = next + size * (next === from ? warmUp : batches);
        const count = end - next;
        for (; next < end; next += size) await contestant.insert(accountsFrom(next, size), durable);
        return count;
      };
      return [contestant.name, run];
    }),
  );
}

function accountsFrom(first: number, size: number): ReturnType<typeof makeAccount>[] {
  return Array.from({ length: size }, (_, i) => makeAccount(first + i));
}

async function check(contestant: IndexedContestant): Promise<void> {
  const expected = makeAccount(accounts - 1);
  const found = await contestant.byEmail(expected.email);
  const covered = await contestant.byPhone(expected.phone);
  if (JSON.stringify({ ...expected, ...found, ...covered }) === JSON.stringify(expected) && found && covered)
    return;
  throw new Error(`${contestant.name} gave back ${JSON.stringify([found, covered])}`);
}

function lookUps(operation: (account: number) => unknown): Measured {
  let calls = 0;
  let lasts = WARM_UP;
  return async () => {
    let count = 0;
    const end = secondsOf('processor') + lasts;
    while (secondsOf('processor') < end) {
      for (let i = 0; i < 64; i++, count++) {
        const found = await operation((calls++ * 7919) % accounts);
        if (found === null || found === undefined) throw new Error('An account is lost');
      }
    }
    lasts = ROUND;
    return count;
  };
}

async function build(): Promise<BenchRow[]> {
  const own = folderOf('build');
  const plain = await openPlain(own);
  for (let at = 0; at < buildRows; at += 1000) await plain.insert(accountsFrom(at, 1000), false);
  await plain.close();
  const [email, phone] = await buildIndexes(own);
  const rows = [
    toRow(`build over ${buildRows} rows`, 'rows/s', { rowan: (1000 * buildRows) / email! }),
    toRow(`build over ${buildRows} rows, covering`, 'rows/s', { rowan: (1000 * buildRows) / phone! }),
  ];
  for (const figures of rows) console.log(rowLine(figures));
  return rows;
}
