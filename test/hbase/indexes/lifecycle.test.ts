/** Indexes on HBase as a whole: built while programs write, checked, mended and emptied; and what readers put right. */

import { afterEach, expect, test } from 'vitest';
import { toBytes } from '../../../src/bytes/index.js';
import { int32 } from '../../../src/codec/index.js';
import type { Database } from '../../../src/database.js';
import { unverifiedValue } from '../../../src/features/indexes/entry.js';
import { newToken } from '../../../src/repository/index.js';
import { Delete, Get, Put, Scan } from '../../../src/table/index.js';
import { fillPlain, Plain, Thing } from '../../indexes/things.js';
import { openTestStore, type TestStore } from '../../query/test-database.js';

const WELL = { missing: 0, extra: 0, stale: 0, unverified: 0 };

let store: TestStore | undefined;
let db: Database | undefined;
afterEach(async () => {
  await db?.close();
  await store?.dispose();
});

/** Rows that a program without indexes wrote, and the database of one that has them. */
async function openFilled(rows: number): Promise<Database> {
  store = openTestStore();
  const plain = await store.open(Plain);
  await fillPlain(plain, 0, rows);
  await plain.close();
  db = await store.open(Thing);
  return db;
}

async function entries(of: Database): Promise<number> {
  let count = 0;
  for await (const _ of of.engine.table('things_idx').scan(new Scan())) count++;
  return count;
}

/** The entry of a thing by its color, as it stands in the table. */
function entryOf(of: Database, color: string, id: string): Uint8Array {
  const { index } = of
    .repository(Thing)
    .schema.indexes.map((index) => ({ index }))
    .find(({ index: { name } }) => name === 'byColor')!;
  return index.layout.encode({ color, $row: toBytes(id) });
}

test('an index is built while two programs write, and then holds what they wrote', async () => {
  const first = await openFilled(200);
  const second = await store!.open(Thing);
  try {
    expect(first.index(Thing, 'byColor').state).toBe('building');
    let writing = true;
    const write = async (of: Database, seed: number): Promise<void> => {
      const things = of.repository(Thing);
      for (let i = 0; writing; i++) {
        const id = `t${(i * 37 + seed) % 200}`;
        if (i % 5 === 0) await things.delete({ id });
        else await things.put({ id, color: i % 2 ? 'green' : 'red' });
      }
    };
    const writers = [write(first, 1), write(second, 2)];
    await first.index(Thing, 'byColor').build({ batchRows: 50 });
    await first.index(Thing, 'bySize').build({ batchRows: 50 });
    writing = false;
    await Promise.all(writers);
    const things = first.repository(Thing);
    const rows = await things.find({}, { fullScan: true }).all();
    for (const color of ['red', 'blue', 'green']) {
      const found = await things.by('byColor').find({ color }).all();
      expect(found.map(({ id }) => id).sort()).toEqual(
        rows
          .filter((row) => row.color === color)
          .map(({ id }) => id)
          .sort(),
      );
    }
    for (const name of ['byColor', 'bySize'] as const) {
      expect(await first.index(Thing, name).verify()).toMatchObject({ ...WELL, repaired: 0 });
    }
  } finally {
    await second.close();
  }
});

test('verify counts what is off, repair mends it, a second changes nothing; two rows of one value cannot be built', async () => {
  const of = await openFilled(20);
  const byColor = of.index(Thing, 'byColor');
  await byColor.build();
  const idx = of.engine.table('things_idx');
  const value = Uint8Array.of(1, 0);
  const put = (row: Uint8Array, bytes: Uint8Array) =>
    idx.put(new Put(row).addColumn('i', Uint8Array.of(0x5f), bytes));
  await idx.delete(new Delete(entryOf(of, 'blue', 't0')));
  await put(entryOf(of, 'red', 't3'), value);
  await put(entryOf(of, 'red', 'nobody'), value);
  await put(entryOf(of, 'red', 't1'), unverifiedValue(value, newToken()));
  await put(entryOf(of, 'red', 'soon'), unverifiedValue(value, newToken()));
  expect(await byColor.verify()).toMatchObject({
    rows: 20,
    valid: 18,
    missing: 1,
    extra: 1,
    stale: 1,
    unverified: 2,
  });
  expect(await byColor.repair({ settledAfter: 0 })).toMatchObject({
    missing: 1,
    extra: 1,
    stale: 1,
    repaired: 5,
  });
  expect(await byColor.repair({ settledAfter: 0 })).toMatchObject({ ...WELL, valid: 20, repaired: 0 });
  await of.engine.table('things').put(new Put('t1').addColumn('d', 's', int32.encode(2)));
  await expect(of.index(Thing, 'bySize').build()).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
  expect(of.index(Thing, 'bySize').state).toBe('building');
  await expect(of.index(Thing, 'byColor').repair({ settledAfter: -1 })).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
  });
  await of.index(Thing, 'bySize').drop();
  await byColor.drop();
  expect(await entries(of)).toBe(0);
  expect(byColor.state).toBe('disabled');
});

test('queries answer by the rows, and have old unverified entries put right behind their back', async () => {
  const of = await openFilled(6);
  await of.index(Thing, 'byColor').build();
  const idx = of.engine.table('things_idx');
  const long = Date.now() - 3_600_000;
  const rows = [entryOf(of, 'red', 't1'), entryOf(of, 'red', 't3'), entryOf(of, 'red', 'nobody')];
  for (const row of rows) {
    await idx.delete(new Delete(row));
    await of.admin.flush('things_idx');
  }
  await of.admin.majorCompact('things_idx');
  // The deletes hide what is older until they are compacted away.
  for (const row of rows) {
    do {
      await idx.put(
        new Put(row).addColumn(
          'i',
          Uint8Array.of(0x5f),
          unverifiedValue(Uint8Array.of(1, 0), newToken()),
          long,
        ),
      );
    } while ((await idx.get(new Get(row))).isEmpty);
  }
  const things = of.repository(Thing);
  const red = (await things.by('byColor').find({ color: 'red' }).select('size').all()).map(({ id, size }) => [
    id,
    size,
  ]);
  expect(red).toEqual([
    ['t1', 1],
    ['t2', 2],
    ['t4', 4],
    ['t5', 5],
  ]);
  let last: unknown;
  do last = await of.index(Thing, 'byColor').verify();
  while ((last as { unverified: number }).unverified > 0);
  expect(last).toMatchObject({ ...WELL, valid: 6 });
});
