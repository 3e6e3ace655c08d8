/**
 * `npm run bench:threads`: what a second core gives reads of whole tables, by two threads against the calling one: queries,
 * jobs, an index build, verifications. One store on disk, flushed and read before; contestants take turns in every round; the figure is
 * the median. Rates are by the clock, and tell what two cores give only where nothing else runs. CPU time is that of all threads. So a line
 * tells the most that two idle cores can give: the time of one thread, divided by half of the CPU time with two, or by that of the
 * calling thread if it has more.
 *
 * `--rounds N` (default 3), `--rows N` (of five columns, default 1,000,000), `--only WORD` (rows of the bench whose name has it),
 * `--json FILE`, `--merge FILE`.
 */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Column, Entity, Index, int32, open, part, RowKey, text, uint32 } from '../../../src/index.js';
import {
  argument,
  type BenchRow,
  compareRates,
  median,
  report,
  rowLine,
  secondsOf,
  toRow,
} from '../harness.js';
import { projectRoot } from '../orm/contestant.js';

@Entity({ table: { name: 'parcels', families: { d: {} } } })
@RowKey(part('no', uint32))
@Index('byStreet', [part('street')])
class Parcel {
  declare static readonly key: ['no'];
  declare static readonly indexes: { byStreet: ['street'] };
  no!: number;
  @Column('d:s', text) status!: string;
  @Column('d:t', text) street!: string;
  @Column('d:n', text) name!: string;
  @Column('d:w', int32) weight!: number;
  @Column('d:c', int32) cents!: number;
}

const BATCH = 2000;
const STATES = ['open', 'packed', 'sent', 'lost'];

const rounds = Number(argument('--rounds') ?? 3);
const rows = Number(argument('--rows') ?? 1_000_000);
const only = argument('--only') ?? '';
const folder = mkdtempSync(join(projectRoot, '.rowan-bench-threads-'));
try {
  report(await measure());
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Seconds of the processor that the calling thread took; only on Linux. */
function callingTime(): number {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e9;
}

function parcel(no: number) {
  const mixed = Math.imul(no, 0x9e3779b1) >>> 0;
  return {
    no,
    status: STATES[mixed % STATES.length]!,
    street: `Street ${mixed % 99_991} of the town`,
    name: `Name ${mixed}`,
    weight: mixed % 10_000,
    cents: (mixed >>> 8) % 100_000,
  };
}

async function measure(): Promise<BenchRow[]> {
  const db = await open({ path: join(folder, 'store'), entities: [Parcel], durability: 'ASYNC_WAL' });
  const parcels = db.repository(Parcel);
  for (let from = 0; from < rows; from += BATCH)
    await parcels.putMany(Array.from({ length: Math.min(BATCH, rows - from) }, (_, i) => parcel(from + i)));
  await db.engine.admin.flush('parcels');
  const index = db.index(Parcel, 'byStreet');
  const measured: BenchRow[] = [];
  /** `run` gives the number of rows that it has read. */
  const row = async (
    title: string,
    run: (threads: number) => Promise<number>,
    before?: () => Promise<unknown>,
  ): Promise<void> => {
    if (!title.includes(only)) return;
    const calling: Record<number, number[]> = { 1: [], 2: [] };
    const total: Record<number, number[]> = { 1: [], 2: [] };
    const whole = async (threads: number): Promise<number> => {
      const [own, all] = [callingTime(), secondsOf('processor')];
      const read = await run(threads);
      calling[threads]!.push(callingTime() - own);
      total[threads]!.push(secondsOf('processor') - all);
      if (read !== rows) throw new Error(`${title}: ${read} of ${rows} rows were read.`);
      return read;
    };
    const contestants = { rowan: () => whole(2), 'one thread': () => whole(1) };
    const { wall, processor } = await compareRates(contestants, rounds, before);
    measured.push({ ...toRow(title, 'rows/s', wall), processor });
    console.log(rowLine(measured.at(-1)!));
    // The first round warms up.
    const of = (times: readonly number[]): number => median(times.slice(1));
    const [one, own, both] = [of(calling[1]!), of(calling[2]!), of(total[2]!)];
    const ms = (seconds: number): string => `${Math.round(1000 * seconds)} ms`;
    console.log(
      `  at most ${(one / Math.max(own, both / 2)).toFixed(2)}x: ${ms(one)}; calling thread ${ms(own)} of ${ms(both)}`,
    );
  };
  const all = (threads: number) => parcels.find({}, { fullScan: true, threads });
  await row('count', (threads) => all(threads).count());
  await row('count of a condition', async (threads) => {
    const counts = STATES.map((status) => all(threads).where({ status }).count());
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  });
  await row('figures', async (threads) => {
    const groups = await all(threads)
      .groupBy('status')
      .aggregate((on) => ({ n: on.count(), cents: on.sum('cents'), most: on.max('weight') }));
    return groups.reduce((sum, { n }) => sum + n, 0);
  });
  await row('all', async (threads) => (await all(threads).all()).length);
  await row('job', async (threads) => {
    const job = db
      .job('weights')
      .from(parcels.find({}, { fullScan: true }))
      .map<string, number>(({ status, weight }, emit) => emit(status, weight))
      .combine((_, weights) => weights.reduce((sum, weight) => sum + weight, 0))
      .reduce((status, weights) => ({ status, weight: weights.reduce((sum, weight) => sum + weight, 0) }));
    return (await job.run({ restart: true, threads })).rows;
  });
  await row(
    'index build',
    async (threads) => (await index.build({ threads })).rows,
    () => index.drop(),
  );
  await row('index verify', async (threads) => (await index.verify({ run: { threads } })).rows);
  await row('store verify', async (threads) => {
    await db.engine.verify({ threads });
    return rows;
  });
  await db.close();
  return measured;
}
