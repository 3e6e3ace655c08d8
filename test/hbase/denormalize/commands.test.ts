/** `rowan references`, `rowan denormalized` and `rowan summary` on a real HBase that was written to below the mapper. */

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Delete, Put } from '../../../src/table/index.js';
import { Pair, Parcel, Place } from '../../cli/fixtures/followed.js';
import { run } from '../../cli/run.js';
import { openTestDatabase, type TestDatabase } from '../../query/test-database.js';
import { sharedHBase } from '../connect.js';

const MODULE = fileURLToPath(new URL('../../../build/test/cli/fixtures/followed.js', import.meta.url));
let db: TestDatabase;

beforeAll(async () => {
  db = await openTestDatabase([Place, Parcel, Pair]);
});
afterAll(() => db.dispose());

async function command(name: string, verb: string) {
  const place = `hbase:${sharedHBase().masters.join(',')}`;
  const { code, out, err } = await run(name, verb, MODULE, place, '--json');
  expect(out, err).not.toBe('');
  return { code, counters: (JSON.parse(out) as { counters: Record<string, number> }[])[0]!.counters };
}

test('commands tell what is off, put it right, and find nothing when they are run again', {
  timeout: 900_000,
}, async () => {
  await db.repository(Place).putMany([
    { id: 'a', city: 'Bern' },
    { id: 'b', city: 'Basel' },
  ]);
  const parcels = [1, 2, 3, 4].map((n) => ({ no: `p${n}`, placeId: n % 2 ? 'a' : 'b', weight: n }));
  await db.repository(Parcel).putMany(parcels);
  for (const name of ['denormalized', 'references', 'summary'])
    expect(await command(name, 'check'), name).toMatchObject({ code: 0 });

  await db.engine.table('places').put(new Put('a').addColumn('d', 'c', 'Biel'));
  await db.engine.table('places').delete(new Delete('b'));
  const dangling = { rows: 4, valid: 2, dangling: 2 };
  expect(await command('references', 'check')).toEqual({ code: 1, counters: dangling });
  // `exists` alone says nothing of what is to become of them.
  expect(await command('references', 'repair')).toMatchObject({
    code: 1,
    counters: { dangling: 2, repaired: 0 },
  });
  const copies = { rows: 4, valid: 0, stale: 2, missing: 0, extra: 2, pending: 0 };
  expect(await command('denormalized', 'check')).toEqual({ code: 1, counters: { ...copies, repaired: 0 } });
  expect(await command('denormalized', 'repair')).toEqual({ code: 0, counters: { ...copies, repaired: 4 } });
  expect(await command('denormalized', 'repair')).toMatchObject({
    code: 0,
    counters: { valid: 4, repaired: 0 },
  });
  // The figures have followed the copies.
  expect(await command('summary', 'check')).toMatchObject({ code: 0, counters: { 'byCity.valid': 1 } });
  expect(await db.summary(Parcel, 'byCity').find({})).toEqual([{ city: 'Biel', parcels: 2, weight: 4 }]);

  await db.engine.table('parcels').delete(new Delete('p1'));
  const stale = { 'byCity.stale': 1, 'byCity.valid': 0 };
  expect(await command('summary', 'check')).toMatchObject({ code: 1, counters: stale });
  expect(await command('summary', 'repair')).toMatchObject({
    code: 0,
    counters: { ...stale, 'byCity.repaired': 1 },
  });
  expect(await command('summary', 'repair')).toMatchObject({
    code: 0,
    counters: { 'byCity.valid': 1, 'byCity.repaired': 0 },
  });
});
