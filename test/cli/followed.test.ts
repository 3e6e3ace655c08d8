/** `rowan denormalized`, `rowan references`, `rowan mutual` and `rowan summary` over a store that was written to below the mapper. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { open } from '../../src/database.js';
import { defineEntity, int32, part, text } from '../../src/index.js';
import { Delete, Put } from '../../src/table/index.js';
import { Pair, Parcel, Place } from './fixtures/followed.js';
import { run } from './run.js';

const MODULE = fileURLToPath(new URL('../../build/test/cli/fixtures/followed.js', import.meta.url));
const BARE = fileURLToPath(new URL('../../build/test/cli/fixtures/unindexed.js', import.meta.url));
let folder: string;
let store: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rowan-followed-'));
  store = join(folder, 'store');
  await using db = await open({ path: store, entities: [Place, Parcel, Pair] });
  await db.repository(Place).putMany([
    { id: 'a', city: 'Bern' },
    { id: 'b', city: 'Basel' },
  ]);
  const parcels = [1, 2, 3, 4].map((n) => ({ no: `p${n}`, placeId: n % 2 ? 'a' : 'b', weight: n }));
  await db.repository(Parcel).putMany(parcels);
  await db.repository(Pair).put({ one: 'a', other: 'b', weight: 1 });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const command = async (...args: string[]) => {
  const { code, out } = await run(args[0]!, ...args.slice(1), '--json');
  return { code, counters: (JSON.parse(out) as { counters: Record<string, number> }[])[0]!.counters };
};

test('what follows rows is checked and put right', async () => {
  for (const name of ['denormalized', 'references', 'mutual', 'summary'])
    expect(await command(name, 'check', MODULE, store)).toMatchObject({ code: 0 });
  {
    await using db = await open({ path: store, entities: [Place, Parcel, Pair] });
    await db.engine.table('places').put(new Put('a').addColumn('d', 'c', 'Biel'));
    await db.engine.table('places').delete(new Delete('b'));
  }
  expect(await command('references', 'check', MODULE, store, 'Parcel')).toEqual({
    code: 1,
    counters: { rows: 4, valid: 2, dangling: 2 },
  });
  expect(await command('references', 'backfill', MODULE, store)).toMatchObject({ code: 1 });
  const copies = { rows: 4, valid: 0, stale: 2, missing: 0, extra: 2, pending: 0 };
  expect(await command('denormalized', 'check', MODULE, store)).toEqual({
    code: 1,
    counters: { ...copies, repaired: 0 },
  });
  expect(await command('denormalized', 'repair', MODULE, store)).toEqual({
    code: 0,
    counters: { ...copies, repaired: 4 },
  });
  expect(await command('denormalized', 'backfill', MODULE, store)).toMatchObject({
    code: 0,
    counters: { valid: 4, repaired: 0 },
  });
  // The repair of the copies took the figures along.
  expect(await command('summary', 'check', MODULE, store)).toMatchObject({
    code: 0,
    counters: { 'byCity.groups': 1, 'byCity.valid': 1 },
  });
  {
    await using db = await open({ path: store, entities: [Place, Parcel, Pair] });
    expect(await db.summary(Parcel, 'byCity').find({})).toEqual([{ city: 'Biel', parcels: 2, weight: 4 }]);
    await db.engine.table('parcels').delete(new Delete('p1'));
  }
  expect(await command('summary', 'check', MODULE, store)).toMatchObject({
    code: 1,
    counters: { 'byCity.stale': 1, 'byCity.repaired': 0 },
  });
  expect(await command('summary', 'repair', MODULE, store, 'Parcel')).toMatchObject({
    code: 0,
    counters: { 'byCity.stale': 1, 'byCity.repaired': 1 },
  });
  expect(await command('summary', 'build', MODULE, store)).toMatchObject({
    code: 0,
    counters: { 'byCity.rows': 3, 'byCity.valid': 1 },
  });
});

test('both rows of mutual links are compared, and a missing one is written', async () => {
  {
    await using db = await open({ path: store, entities: [Place, Parcel, Pair] });
    await db.engine
      .table('pairs')
      .delete(new Delete(db.repository(Pair).schema.mapper.rowOf({ one: 'a', other: 'b' })));
  }
  const off = { rows: 1, valid: 0, stale: 0, missing: 1 };
  expect(await command('mutual', 'check', MODULE, store)).toEqual({
    code: 1,
    counters: { ...off, repaired: 0 },
  });
  expect(await command('mutual', 'repair', MODULE, store)).toEqual({
    code: 0,
    counters: { ...off, repaired: 1 },
  });
  expect(await command('mutual', 'check', MODULE, store, 'Pair')).toMatchObject({
    code: 0,
    counters: { valid: 2 },
  });
});

test('what an entity does not declare is said', async () => {
  for (const [name, declared] of [
    ['denormalized', 'static readonly copies = '],
    ['references', 'onDelete'],
    ['mutual', 'is not mutual'],
    ['summary', 'static readonly summaries = '],
  ] as const) {
    const { code, err } = await run(name, 'check', BARE, store);
    expect(code).not.toBe(0);
    expect(err).toContain(declared);
  }
});

test('migrate and schema say which summaries are left to be built', async () => {
  const dir = join(folder, 'migrations');
  const migrate = (which: string) => run('migrate', which, MODULE, store, '--dir', dir);
  expect((await migrate('dev')).code).toBe(0);
  expect(await migrate('status')).toMatchObject({ code: 0, out: expect.stringContaining('is up to date') });
  const Bare = defineEntity({
    name: 'Parcel',
    table: { name: 'parcels', families: { d: {} } },
    key: [part('no', text)],
    columns: (c) => ({
      placeId: c.column('d:p', text).optional(),
      city: c.column('d:c', text).optional(),
      weight: c.column('d:w', int32),
    }),
  });
  await (await open({ path: store, entities: [Bare] })).close();
  const sentence =
    'The summary "byCity" of Parcel is not built as it is declared, so it cannot be read: run rowan summary build.';
  const left = `left ${sentence}\n`;
  const applied = await run('schema', 'apply', MODULE, store);
  expect([applied.code, applied.out]).toEqual([0, expect.stringMatching(/^done .*\nleft /s)]);
  expect(applied.out.endsWith(left)).toBe(true);
  const plan = (format: string) => run('schema', 'plan', MODULE, store, '--format', format);
  expect((await plan('text')).out).toBe(`Tables match the declarations.\n${left}`);
  expect(JSON.parse((await plan('json')).out)).toMatchObject({ steps: [], unbuilt: [sentence] });
  expect((await plan('shell')).out).toMatch(/\n# left The summary "byCity"[^\n]*\n$/);
  expect(await migrate('deploy')).toMatchObject({ code: 0, out: `No migration is pending.\n${left}` });
  const status = await migrate('status');
  expect([status.code, status.out]).toEqual([1, expect.stringMatching(`  applied  .*\n${left}$`)]);
  expect(await command('summary', 'build', MODULE, store)).toMatchObject({ code: 0 });
  expect(await migrate('status')).toMatchObject({ code: 0, out: expect.stringContaining('is up to date') });
});
