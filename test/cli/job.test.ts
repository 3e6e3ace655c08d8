import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { open } from '../../src/database.js';
import { Page, Visit } from './fixtures/job.js';
import { run } from './run.js';

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../build/test/cli/fixtures/${name}.js`, import.meta.url));
const MODULE = fixture('job');
let folder: string;
let store: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowan-job-'));
  store = join(folder, 'store');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const opened = () => open({ path: store, entities: [Page, Visit] });

test('the job of a module is run to its end, once, and anew when it is told to', async () => {
  {
    await using db = await opened();
    const visits = Array.from({ length: 60 }, (_, i) => ({ id: `v${i}`, page: `/${i % 3}` }));
    await db.repository(Visit).putMany(visits);
  }
  expect(await run('job', 'run', store, MODULE)).toEqual({ code: 0, out: 'visits\t60\n', err: '' });
  {
    await using db = await opened();
    const pages = await db.repository(Page).find({}, { fullScan: true }).all();
    expect(pages.map(({ page, visits }) => [page, visits])).toEqual([
      ['/0', 20],
      ['/1', 20],
      ['/2', 20],
    ]);
    await db.repository(Visit).put({ id: 'w', page: '/0' });
  }
  // Any shard ends only when the job is done: alone it takes over what the others of its number leave.
  expect(JSON.parse((await run('job', 'run', store, MODULE, '--shard', '3/4', '--json')).out)).toMatchObject({
    job: 'page-visits',
    resumed: true,
    counters: { visits: 60 },
  });
  expect((await run('job', 'run', store, MODULE, '--restart')).out).toBe('visits\t61\n');
  expect(process.listenerCount('SIGTERM')).toBe(0);
});

test('says what is wrong with a module or an option', async () => {
  await using db = await opened();
  await db.close();
  for (const [args, why] of [
    [[fixture('indexed')], 'exports no job. Export a function "job"'],
    [[MODULE, '--shard', '4/4'], '--shard takes i/n'],
    [[MODULE, '--shard', '1'], '--shard takes i/n'],
    [[MODULE, '--shard', '0/4', '--restart'], 'exclude each other'],
    [[MODULE, '--lease', 'long'], '--lease takes a whole number'],
  ] as const) {
    const { code, err } = await run('job', 'run', store, ...args);
    expect([args, code]).toEqual([args, 1]);
    expect(err).toContain(why);
  }
});
