/**
 * `npm run bench:orm`: Rowan's repository against Drizzle, TypeORM and MikroORM on better-sqlite3. One process, one disk,
 * the same entity (key of two parts, six columns), the same durability: a batch is acknowledged when the disk has it.
 * Drizzle's statements are prepared, those of writes for one row, run for each in a transaction; "drizzle values()" builds one
 * statement for each batch. An insert fails where the key exists (Rowan: an atomic `batch`), a put replaces that row (`putMany`).
 * Ranges and full reads end in instances of a class. Contestants take turns in every round; the figure is the median. A read's
 * second is one of the processor's, for none waits for the disk. A write waits for it, so its figure is by the clock, and the CPU
 * time of all threads of the process, the syncing one included, stands beside it. Transactions come last.
 *
 * `--rounds N` (default 7), `--json FILE`.
 */

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  argument,
  type BenchRow,
  compareRates,
  type Measured,
  report,
  rowLine,
  secondsOf,
  toRow,
} from '../harness.js';
import {
  type Contestant,
  makeReading,
  type OpenContestant,
  projectRoot,
  type Reading,
  sensorName,
  type Writer,
} from './contestant.js';
import { openRowan } from './rowan.js';

const READINGS = 100;
/** Seconds of one round of reads, and of warming up before the first: the compilers need more than one round. */
const ROUND = 0.4;
const WARM_UP = 1.5;
/** Batches of 100 in one round, and before the first. */
const BATCHES = 40;
const WARM_UP_BATCHES = 160;
const RANGE = 50;
/** Multiples of 16, in half a round and before the first. */
const TRANSACTIONS = 320;
const WARM_UP_TRANSACTIONS = 6000;

const rounds = Number(argument('--rounds') ?? 7);
/** One sensor's readings are one batch. Inserts write the first half of the sensors, puts the other. */
const INSERTED = WARM_UP_BATCHES + BATCHES * rounds;
const SENSORS = 2 * INSERTED;
const batches = Array.from({ length: SENSORS }, (_, sensor) =>
  Array.from({ length: READINGS }, (_, seq) => makeReading(sensor, seq)),
);

const folder = mkdtempSync(join(projectRoot, '.rowan-bench-orm-'));
try {
  const contestants = await openAll();
  const byValues = await openPeer<Writer>('drizzle', 'openDrizzleValues', 'drizzle-values');
  try {
    report(await measure(contestants, byValues));
  } finally {
    for (const contestant of [...contestants, byValues]) await contestant.close();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function openAll(): Promise<Contestant[]> {
  const peers: readonly [file: string, open: string][] = [
    ['drizzle', 'openDrizzle'],
    ['typeorm', 'openTypeOrm'],
    ['mikro-orm', 'openMikroOrm'],
  ];
  const contestants = [await openRowan(join(folder, 'rowan'))];
  for (const [file, name] of peers) contestants.push(await openPeer(file, name));
  console.log(contestants.map(({ name, version }) => `${name} ${version}`).join(', '));
  return contestants;
}

async function openPeer<C extends Writer = Contestant>(file: string, name: string, own = file): Promise<C> {
  const path = join(projectRoot, 'test/bench/orm/peers', `${file}.mjs`);
  const module = (await import(path)) as Record<string, OpenContestant<C>>;
  mkdirSync(join(folder, own));
  return module[name]!(join(folder, own));
}

async function measure(contestants: readonly Contestant[], byValues: Writer): Promise<BenchRow[]> {
  const ratesOf = <C extends Writer>(
    all: readonly C[],
    run: (of: C) => Measured,
  ): ReturnType<typeof compareRates> =>
    compareRates(Object.fromEntries(all.map((each) => [each.name, run(each)])), rounds);
  const row = (measured: BenchRow): BenchRow => {
    console.log(rowLine(measured));
    return measured;
  };
  const read = async (title: string, unit: string, run: (of: Contestant) => Measured): Promise<BenchRow> =>
    row(toRow(title, unit, (await ratesOf(contestants, run)).processor));
  const write = async (title: string, run: (of: Writer) => Measured): Promise<BenchRow> => {
    const { wall, processor } = await ratesOf([...contestants, byValues], run);
    return row({ ...toRow(`${title}, batches of 100, fsync each`, 'rows/s', wall), processor });
  };
  const rows = [
    await write('insert', (of) => batchesFrom(0, (readings) => of.insert(readings))),
    await write('put', (of) => batchesFrom(INSERTED, (readings) => of.put(readings))),
  ];
  for (const contestant of contestants) await check(contestant);
  rows.push(await read('get by key', 'gets/s', getByKey));
  rows.push(await read(`range of ${RANGE}, hydrated`, 'rows/s', readRanges));
  rows.push(await read('full read, hydrated', 'rows/s', readAll));
  for (const [title, atOnce] of [
    ['one after the other', 1],
    ['16 at once', 16],
  ] as const) {
    const { wall, processor } = await ratesOf(contestants, (of) => changeRows(of, atOnce));
    const measured = toRow(
      `transaction of a get and an update, fsync each, ${title}`,
      'transactions/s',
      wall,
    );
    rows.push(row({ ...measured, processor }));
  }
  for (const contestant of contestants) await checkChanged(contestant);
  return rows;
}

/** Every round writes new keys behind the ones before. */
function batchesFrom(first: number, write: (readings: readonly Reading[]) => unknown): Measured {
  let sensor = first;
  return async () => {
    const count = sensor === first ? WARM_UP_BATCHES : BATCHES;
    for (const end = sensor + count; sensor < end; sensor++) await write(batches[sensor]!);
    return count * READINGS;
  };
}

/** All hold the same rows and give them back as they were. */
async function check(contestant: Contestant): Promise<void> {
  for (const [sensor, seq] of [
    [0, 0],
    [SENSORS - 1, READINGS - 1],
  ] as const) {
    const found = await contestant.get(sensorName(sensor), seq);
    const expected = makeReading(sensor, seq);
    if (
      JSON.stringify({ ...expected, ...found }) !== JSON.stringify(expected) ||
      !(found?.takenAt instanceof Date)
    ) {
      throw new Error(
        `${contestant.name} gave back ${JSON.stringify(found)} for ${JSON.stringify(expected)}`,
      );
    }
  }
  const rows = await contestant.range(sensorName(1), 10, 10 + RANGE);
  if (rows.length !== RANGE || rows[0]!.seq !== 10) throw new Error(`${contestant.name} gave a wrong range`);
}

/**
 * Changes the quality of one row after the other of the second sensor, and back. `atOnce`: so many transactions begin together, on rows of
 * their own. The mappers of SQL have one connection, on which one follows the other.
 */
function changeRows(contestant: Contestant, atOnce: number): Measured {
  let isFirst = true;
  return async () => {
    const times = isFirst ? WARM_UP_TRANSACTIONS : TRANSACTIONS;
    isFirst = false;
    for (const by of [1, -1]) {
      for (let i = 0; i < times; i += atOnce) {
        const change = (n: number): unknown => contestant.change(sensorName(1), (i + n) % READINGS, by);
        if (contestant.overlaps) await Promise.all(Array.from({ length: atOnce }, (_, n) => change(n)));
        else for (let n = 0; n < atOnce; n++) await change(n);
      }
    }
    return 2 * times;
  };
}

/** What {@link changeRows} leaves behind is what it found, as nobody else has changed it. */
async function checkChanged(contestant: Contestant): Promise<void> {
  const { change } = contestant;
  await change(sensorName(1), 7, 5);
  const found = await contestant.get(sensorName(1), 7);
  if (found?.quality !== makeReading(1, 7).quality + 5)
    throw new Error(`${contestant.name} has the quality ${found?.quality}`);
  await change(sensorName(1), 7, -5);
}

function getByKey(contestant: Contestant): Measured {
  return timed(async (i) => {
    const found = await contestant.get(sensorName((i * 7919) % SENSORS), (i * 104729) % READINGS);
    if (found === null || found === undefined) throw new Error(`${contestant.name} has lost a reading`);
    return 1;
  }, 64);
}

function readRanges(contestant: Contestant): Measured {
  return timed(async (i) => {
    const from = i % (READINGS - RANGE);
    const rows = await contestant.range(sensorName((i * 7919) % SENSORS), from, from + RANGE);
    if (rows.length !== RANGE) throw new Error(`${contestant.name} gave ${rows.length} rows`);
    return rows.length;
  });
}

function readAll(contestant: Contestant): Measured {
  return timed(async () => (await contestant.all()).length);
}

/** Rounds of about the same time, whatever the contestant's speed; the first one warms up. */
function timed(operation: (i: number) => Promise<number>, atOnce = 8): Measured {
  let calls = 0;
  let lasts = WARM_UP;
  return async () => {
    let count = 0;
    const end = secondsOf('processor') + lasts;
    while (secondsOf('processor') < end) {
      for (let i = 0; i < atOnce; i++) count += await operation(calls++);
    }
    lasts = ROUND;
    return count;
  };
}
