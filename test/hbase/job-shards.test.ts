/** One job worked by four processes, one of which is killed on the way. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect, type Database } from '../../src/database.js';
import { JobStore, jobTableDescriptor, type SplitState } from '../../src/job/job-store.js';
import { Page, Visit } from '../cli/fixtures/job.js';
import { connectShared, sharedHBase } from './connect.js';
import { GIVE_UP, orSay } from './patience.js';
import { dropTable } from './tables.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MODULE = fileURLToPath(new URL('../../build/test/cli/fixtures/job.js', import.meta.url));
const ROWS = 20_000;
/** Rows a second of the worker that is killed: its splits would take minutes. */
const VICTIM_RATE = 50;
const TABLES = ['job_visits', 'job_pages', 'rowan_jobs'];

let db: Database;
const living = new Set<ChildProcess>();
beforeAll(async () => {
  const before = await connectShared();
  for (const table of TABLES) await dropTable(before, table);
  await before.close();
  db = await connect({ masters: sharedHBase().masters, entities: [Page, Visit], tables: 'create' });
});
afterAll(async () => {
  for (const child of living) child.kill('SIGKILL');
  for (const table of TABLES) await dropTable(db.engine, table);
  await db.close();
});

interface Shard {
  readonly process: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>;
  /** What it has printed so far. */
  output(): string;
}

/** `rate`: rows a second. */
function startShard(index: number, rate: number): Shard {
  const masters = `hbase:${sharedHBase().masters.join(',')}`;
  const args = [
    'job',
    'run',
    masters,
    MODULE,
    '--shard',
    `${index}/4`,
    '--lease',
    '15',
    '--rate',
    String(rate),
    '--json',
  ];
  const child = spawn(process.execPath, ['build/src/cli/main.js', ...args], { cwd: ROOT });
  living.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => (output += data.toString()));
  const ended = once(child, 'close').then(([code]) => {
    living.delete(child);
    return { code: code as number | null, output };
  });
  return { process: child, ended, output: () => output };
}

it('ends with the right sums, each visit counted once', async () => {
  const naive = new Map<string, number>();
  const visits = Array.from({ length: ROWS }, (_, i) => {
    const page = `/${(i * 7919) % 101}`;
    naive.set(page, (naive.get(page) ?? 0) + 1);
    return { id: `v${i % 10}${i}`, page };
  });
  await db.repository(Visit).putMany(visits);

  const states = new JobStore(db.engine.table(jobTableDescriptor().name), 'page-visits');
  const first = (): Promise<SplitState | undefined> =>
    states.splits(0).then(
      (splits) => splits.get(0)?.value,
      // The first worker has not made the table yet.
      () => undefined,
    );
  // It is slow, so that it is at its first split whenever it is looked at; and alone, until it has that.
  const victim = startShard(0, VICTIM_RATE);
  const over = victim.ended.then(({ output }) => {
    throw new Error(`The first worker ended before it could be killed: ${output}`);
  });
  over.catch(() => {});
  const come = async (
    what: string,
    there: (state: SplitState | undefined) => boolean,
  ): Promise<SplitState> => {
    for (const end = performance.now() + GIVE_UP; ; ) {
      const state = await Promise.race([over, first()]);
      if (state?.state === 'done')
        throw new Error('The first split ended before its worker could be killed.');
      if (there(state)) return state!;
      if (performance.now() > end)
        throw new Error(`${what} did not come: ${JSON.stringify(state)}. ${victim.output()}`);
      await new Promise((done) => setTimeout(done, 20));
    }
  };
  const { owner } = await come('A claim of the first split', (state) => state?.state === 'running');
  const others = [1, 2, 3].map((index) => startShard(index, 800));
  // It dies with a checkpoint behind it and rows before it.
  await come('A checkpoint of the first split', (state) => state?.position !== undefined);
  const held = [...(await states.splits(0))].filter(
    ([, { value }]) => value.owner === owner && value.state === 'running',
  );
  victim.process.kill('SIGKILL');
  expect(await victim.ended).toMatchObject({ code: null });
  const left = await states.splits(0);
  const orphans = held.filter(([split]) => {
    const { state, owner: last } = left.get(split)!.value;
    return state !== 'done' || last !== owner;
  });
  expect(orphans).not.toEqual([]);
  for (const { ended, output } of others) {
    const { code, output: all } = await orSay('The end of a worker', ended, output);
    expect([code, all]).toEqual([0, expect.any(String)]);
    expect(JSON.parse(all)).toMatchObject({ job: 'page-visits', rows: ROWS, counters: { visits: ROWS } });
  }
  const pages = await db.repository(Page).find({}, { fullScan: true }).all();
  expect(new Map(pages.map(({ page, visits: count }) => [page, count]))).toEqual(naive);
  const ended = await states.splits(0);
  for (const [split] of orphans) {
    expect(ended.get(split)!.value).toMatchObject({ state: 'done' });
    expect(ended.get(split)!.value.owner).not.toBe(owner);
  }
});
