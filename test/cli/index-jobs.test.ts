import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { open } from '../../src/database.js';
import { openEmbedded } from '../../src/store/engine.js';
import { Delete, Put, Scan } from '../../src/table/index.js';
import { runScript } from '../crash/run-script.js';
import { Visit } from './fixtures/eventual.js';
import { Thing } from './fixtures/indexed.js';
import { Thing as Plain } from './fixtures/unindexed.js';
import { run } from './run.js';

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../build/test/cli/fixtures/${name}.js`, import.meta.url));
const MODULE = fixture('indexed');
const PLAIN = fixture('unindexed');
let folder: string;
let store: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowan-index-'));
  store = join(folder, 'store');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const index = (...args: string[]) => run('index', ...args);

async function fill(rows: number): Promise<void> {
  await using db = await open({ path: store, entities: [Plain] });
  const list = Array.from({ length: rows }, (_, i) => ({
    id: `t${i}`,
    color: i % 3 ? 'red' : 'blue',
    size: i,
  }));
  await db.repository(Plain).putMany(list);
}

async function entriesIn(): Promise<number> {
  const engine = await openEmbedded(store);
  try {
    return (await engine.table('shop:things_idx').scan(new Scan()).nextBatch(10_000)).length;
  } finally {
    await engine.close();
  }
}

test('indexes are listed, built, verified, repaired and dropped', async () => {
  await fill(60);
  expect((await index('list', MODULE, store)).out).toBe(
    'Thing.bySize\tnew\tunique (size)\nThing.byColor\tnew\t(color) with size\n',
  );
  expect(await index('build', MODULE, store)).toEqual({
    code: 0,
    out: 'Thing.bySize\tentries\t60\nThing.bySize\trows\t60\nThing.byColor\tentries\t60\nThing.byColor\trows\t60\n',
    err: '',
  });
  expect(await index('build', MODULE, store)).toEqual({ code: 0, out: '', err: '' });
  expect((await index('build', MODULE, store, 'Thing', 'bySize')).out).toContain(
    'Thing.bySize\tentries\t60\n',
  );
  expect(await index('list', MODULE, store, 'Thing')).toMatchObject({
    code: 0,
    out: 'Thing.bySize\tactive\tunique (size)\nThing.byColor\tactive\t(color) with size\n',
  });
  expect(JSON.parse((await index('verify', MODULE, store, '--json')).out)).toEqual(
    ['bySize', 'byColor'].map((index) => ({
      entity: 'Thing',
      index,
      state: 'active',
      counters: {
        rows: 60,
        valid: 60,
        missing: 0,
        extra: 0,
        stale: 0,
        unverified: 0,
        pending: 0,
        beyondTtl: 0,
        repaired: 0,
      },
    })),
  );
  const part = JSON.parse(
    (await index('verify', MODULE, store, 'Thing', 'bySize', '--sample', '50%', '--json')).out,
  );
  expect(part[0].counters.rows).toBeGreaterThan(5);
  expect(part[0].counters.rows).toBeLessThan(55);

  // Written below the mapper: an entry is missing, one has no row.
  const engine = await openEmbedded(store);
  await engine.table('shop:things').delete(new Delete('t7'));
  await engine.table('shop:things').put(new Put('t8').addColumn('d', 'c', 'green'));
  await engine.close();
  const off =
    'rows\t59\n|valid\t58\n|missing\t1\n|extra\t1\n|stale\t1\n|unverified\t0\n|pending\t0\n|beyondTtl\t0\n|repaired\t';
  const lines = (repaired: number): string =>
    `${off}${repaired}\n`
      .split('|')
      .map((line) => `Thing.byColor\t${line}`)
      .join('');
  expect(await index('verify', MODULE, store, 'Thing', 'byColor')).toEqual({
    code: 1,
    out: lines(0),
    err: '',
  });
  expect(await index('verify', MODULE, store)).toMatchObject({ code: 1 });
  expect(await index('repair', MODULE, store, 'Thing', 'byColor')).toEqual({
    code: 0,
    out: lines(3),
    err: '',
  });
  expect(await index('repair', MODULE, store)).toMatchObject({ code: 0 });
  expect(await index('verify', MODULE, store)).toMatchObject({ code: 0 });

  expect(await index('drop', MODULE, store, 'Thing', 'byColor')).toMatchObject({
    code: 0,
    out: 'Thing.byColor\tremoved\t59\n',
  });
  expect((await index('list', MODULE, store)).out).toContain('Thing.byColor\tdisabled\t');
  expect(await index('drop', PLAIN, store, 'Thing', 'bySize', '--undeclared', '--json')).toMatchObject({
    code: 0,
    out: '[{"entity":"Thing","index":"bySize","counters":{"removed":59}}]\n',
  });
  expect(await entriesIn()).toBe(0);
  expect((await index('list', PLAIN, store)).out).toBe('Thing.byColor\tdisabled\tdeclared differently\n');
});

test('what cannot be done is said', async () => {
  await fill(3);
  for (const [args, message] of [
    [['list', MODULE, join(folder, 'nope')], /There is no store/],
    [['build', MODULE, join(folder, 'nope')], /There is no store/],
    [['verify', MODULE, store], /The table "shop:things_idx" does not exist/],
    [
      ['verify', PLAIN, store],
      /The module has no index\. Declare one: static readonly indexes = \{ name: index/,
    ],
    [['build', MODULE, store, 'Thong'], /no entity "Thong"/],
    [['build', MODULE, store, 'Thing', 'none'], /Thing has no index "none"\. It has bySize, byColor\./],
    [['verify', MODULE, store, '--sample', '0%'], /--sample takes a share/],
    [['verify', MODULE, store, '--sample', '101%'], /--sample takes a share/],
    [['build', MODULE, store, '--rate', 'fast'], /--rate takes a whole number/],
    [['build', MODULE, store, '--bytes-rate', '0'], /--bytes-rate takes a number above 0/],
    [['drop', PLAIN, store, 'Thing', 'byColor', '--undeclared'], /is stored without being declared/],
    [['list', MODULE, 'hbase:'], /names no master/],
  ] as const) {
    const { code, err } = await index(...args);
    expect([args, code]).toEqual([args, 1]);
    expect(err).toMatch(message);
  }
  expect(await index('drop', MODULE, store)).toMatchObject({ code: 2 });
});

test('a build that was killed goes on, and queries never ask the half of it', async () => {
  await fill(600);
  const script = runScript('test/cli/fixtures/half-build.ts', [store]);
  await script.line((line) => line === 'half');
  script.kill();
  await script.exit;

  expect((await index('list', MODULE, store)).out).toContain('Thing.byColor\tbuilding\t');
  expect(await index('verify', MODULE, store, 'Thing', 'byColor')).toMatchObject({ code: 1 });
  {
    await using db = await open({ path: store, entities: [Thing] });
    const things = db.repository(Thing);
    await expect(things.by('byColor').find({ color: 'red' }).all()).rejects.toThrow(/not have every row yet/);
    // Rows that the build has passed, and others, change before it goes on.
    await things.putMany([0, 300, 599].map((i) => ({ id: `t${i}`, color: 'green', size: i })));
  }
  const built = JSON.parse((await index('build', MODULE, store, 'Thing', 'byColor', '--json')).out);
  expect(built).toMatchObject([{ state: 'active', resumed: true }]);
  expect(await index('verify', MODULE, store, 'Thing', 'byColor')).toMatchObject({ code: 0 });
  await using db = await open({ path: store, entities: [Thing] });
  const count = (color: string) => db.repository(Thing).by('byColor').find({ color }).count();
  expect(await Promise.all(['red', 'blue', 'green'].map(count))).toEqual([399, 198, 3]);
});

test('eventual indexes are drained, and no others', async () => {
  const module = fixture('eventual');
  {
    await using db = await open({ path: store, entities: [Visit] });
    await db
      .repository(Visit)
      .putMany(Array.from({ length: 9 }, (_, i) => ({ id: `v${i}`, agent: 'curl', page: 'p' })));
  }
  const drained = await index('drain', module, store);
  expect(drained).toMatchObject({ code: 0, err: '' });
  expect(drained.out).toMatch(/^Visit\.byAgent\tentries\t\d\n$/);
  const verified = JSON.parse((await index('verify', module, store, 'Visit', 'byAgent', '--json')).out);
  expect(verified[0].counters).toMatchObject({ valid: 9, missing: 0, pending: 0 });
  const strong = await index('drain', module, store, 'Visit', 'byPage');
  expect(strong.code).not.toBe(0);
  expect(strong.err).toContain('is not eventual');
});
