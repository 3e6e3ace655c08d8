/** One job worked by four processes, one of which is killed on the way. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { connect, type Database } from '../../src/database.js';
import { JobStore, jobTableDescriptor } from '../../src/job/job-store.js';
import { Page, Visit } from '../cli/fixtures/job.js';
import { connectShared } from './connect.js';
import { dropTable } from './tables.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MODULE = fileURLToPath(new URL('../../dist/test/cli/fixtures/job.js', import.meta.url));
const ROWS = 20_000;
const TABLES = ['job_visits', 'job_pages', 'rowan_jobs'];

let db: Database;
const living = new Set<ChildProcess>();
beforeAll(async () => {
  const before = await connectShared();
  for (const table of TABLES) await dropTable(before, table);
  await before.close();
  db = await connect({ masters: inject('hbase').masters, entities: [Page, Visit], tables: 'create' });
});
afterAll(async () => {
  for (const child of living) child.kill('SIGKILL');
  for (const table of TABLES) await dropTable(db.engine, table);
  await db.close();
});

interface Shard {
  readonly process: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>;
}

function startShard(index: number): Shard {
  const masters = `hbase:${inject('hbase').masters.join(',')}`;
  const args = [
    'job',
    'run',
    masters,
    MODULE,
    '--shard',
    `${index}/4`,
    '--lease',
    '6',
    '--rate',
    '800',
    '--json',
  ];
  const child = spawn(process.execPath, ['dist/src/cli/main.js', ...args], { cwd: ROOT });
  living.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => (output += data.toString()));
  const ended = once(child, 'close').then(([code]) => {
    living.delete(child);
    return { code: code as number | null, output };
  });
  return { process: child, ended };
}

it('ends with the right sums, each visit counted once', async () => {
  const naive = new Map<string, number>();
  const visits = Array.from({ length: ROWS }, (_, i) => {
    const page = `/${(i * 7919) % 101}`;
    naive.set(page, (naive.get(page) ?? 0) + 1);
    return { id: `v${i % 10}${i}`, page };
  });
  await db.repository(Visit).putMany(visits);

  const shards = [0, 1, 2, 3].map(startShard);
  const states = new JobStore(db.engine.table(jobTableDescriptor().name), 'page-visits');
  // The first of the shards dies with a checkpoint behind it and rows before it.
  let victim: string;
  const over = shards[0]!.ended.then(({ output }) => {
    throw new Error(`The first worker ended before it could be killed: ${output}`);
  });
  over.catch(() => {});
  for (;;) {
    const first = await states.splits(0).then(
      (splits) => splits.get(0)?.value,
      () => undefined,
    );
    if (first?.state === 'done') throw new Error('The first split ended before its worker could be killed.');
    if (first?.state === 'running' && first.position !== undefined) {
      victim = first.owner;
      break;
    }
    await Promise.race([over, new Promise((done) => setTimeout(done, 20))]);
  }
  shards[0]!.process.kill('SIGKILL');

  expect(await shards[0]!.ended).toMatchObject({ code: null });
  const orphans = [...(await states.splits(0))].filter(
    ([, { value }]) => value.owner === victim && value.state === 'running',
  );
  expect(orphans).not.toEqual([]);
  for (const { ended } of shards.slice(1)) {
    const { code, output } = await ended;
    expect([code, output]).toEqual([0, expect.any(String)]);
    expect(JSON.parse(output)).toMatchObject({ job: 'page-visits', rows: ROWS, counters: { visits: ROWS } });
  }
  const pages = await db.repository(Page).find({}, { fullScan: true }).all();
  expect(new Map(pages.map(({ page, visits: count }) => [page, count]))).toEqual(naive);
  const ended = await states.splits(0);
  for (const [split] of orphans) {
    expect(ended.get(split)!.value).toMatchObject({ state: 'done' });
    expect(ended.get(split)!.value.owner).not.toBe(victim);
  }
});
