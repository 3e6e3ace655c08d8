/** Writes of sources and of rows that hold copies, and what must hold behind them: for suites of both engines. */

import { expect } from 'vitest';
import type { Database } from '../../src/database.js';
import { Delete, Put } from '../../src/table/index.js';
import { endAfterCalls, type Program } from '../proof/stepless.js';
import { Random } from '../query/model/random.js';
import { Line, Location, Region, Tour, Visit } from './entities.js';

export const entities = [Location, Region, Line, Visit, Tour];

const WELL = { stale: 0, missing: 0, extra: 0, pending: 0 };
const ORDERS = [1, 2, 3, 4, 5, 6, 7] as const;

const stops = (...ids: string[]) => new Map(ids.map((id) => [id, 'said']));
const line = (order: number, locationId?: string | null) => ({ order, line: 1, locationId });

/** What stands before each of the writes. */
async function prepare(db: Database): Promise<void> {
  const lines = db.repository(Line);
  await db.repository(Location).put({ id: 'a', city: 'Bern', zip: 3000 });
  await db.repository(Location).put({ id: 'b', city: 'Basel', zip: null });
  await Promise.all(ORDERS.map((order) => lines.delete({ order, line: 1 })));
  await lines.putMany([1, 2, 3, 4, 5].map((order) => line(order, order < 3 ? 'a' : order < 4 ? 'b' : null)));
  await db.repository(Tour).putMany(['1', '2'].map((id) => ({ id, stops: stops('a') })));
}

const WRITES: Readonly<Record<string, (db: Database) => Promise<unknown>>> = {
  source: (db) => db.repository(Location).update({ id: 'a' }, { city: 'Biel' }),
  'source put': (db) => db.repository(Location).put({ id: 'b', city: 'Chur', zip: 7000 }),
  'source deleted': (db) => db.repository(Location).delete({ id: 'a' }),
  row: (db) => db.repository(Line).insert(line(6, 'a')),
  'row moved': (db) => db.repository(Line).update({ order: 1, line: 1 }, { locationId: 'b' }),
  'row put': (db) => db.repository(Line).upsert(line(3), { locationId: 'a' }),
  'row left': (db) => db.repository(Line).update({ order: 2, line: 1 }, { locationId: null }),
  entries: (db) => db.repository(Tour).update({ id: '1' }, { stops: stops('b', 'nowhere') }),
  batch: (db) =>
    db.batch((batch) => {
      batch.of(Location).put({ id: 'a', city: 'Thun' });
      batch.of(Line).put(line(7, 'a'));
      batch.of(Line).update({ order: 3, line: 1 }, { locationId: 'a' });
    }),
  // More than one writer is to change while it is waited for.
  outbox: async (db) => {
    await db.repository(Line).put(line(6, 'a'));
    for (const order of [3, 4, 5]) await db.repository(Line).update({ order, line: 1 }, { locationId: 'a' });
    await db.repository(Location).update({ id: 'a' }, { city: 'Olten' });
    await db.denormalized(Line).drain();
  },
};

/** Rows whose copies of locations are not what their locations are, by scans. */
async function countFaults(db: Database): Promise<number> {
  const locations = new Map(
    (await db.repository(Location).find({}, { fullScan: true }).all()).map((one) => [one.id, one]),
  );
  const lines = await db.repository(Line).find({}, { fullScan: true }).all();
  const tours = await db.repository(Tour).find({}, { fullScan: true }).all();
  const isOff = ({ locationId, city, zip }: Line): boolean => {
    const location = locationId == null ? undefined : locations.get(locationId);
    return (city ?? null) !== (location?.city ?? null) || (zip ?? null) !== (location?.zip ?? null);
  };
  const hasOff = (tour: Tour): boolean =>
    [...(tour.stops ?? [])].some(([id, city]) => city !== locations.get(id)?.city);
  return lines.filter(isOff).length + tours.filter(hasOff).length;
}

/** No copy is off, and the index over copies says the same as the rows. */
async function expectTrueCopies(db: Database, when: string): Promise<void> {
  expect(await countFaults(db), when).toBe(0);
  const lines = db.repository(Line);
  const rows = await lines.find({}, { fullScan: true }).all();
  for (const city of new Set(rows.flatMap((row) => row.city ?? []))) {
    const found = await lines.by('byCity').find({ city }).all();
    const wanted = rows.filter((row) => row.city === city);
    expect(found.map(({ order }) => order).sort(), when).toEqual(wanted.map(({ order }) => order).sort());
  }
  for (const { order } of rows) expect(ORDERS.includes(order as 1) || order >= 100, when).toBe(true);
}

/**
 * Ends programs after the calls of their writes: check tells exactly what is off, the outbox finds all of it, and repair then
 * nothing.
 */
export async function endCopyingAfterCalls(db: Database, program: () => Promise<Program>, stride: number) {
  const copies = [db.denormalized(Line), db.denormalized(Tour)];
  const writes = { writes: WRITES, prepare: () => prepare(db), stride };
  return endAfterCalls(writes, program, async (when) => {
    const found = await countFaults(db);
    const reports = await Promise.all(copies.map((one) => one.check()));
    const told = reports.map(({ stale, missing, extra }) => stale + missing + extra);
    expect(told[0]! + told[1]!, when).toBe(found);
    await copies[0]!.drain({ settledAfter: 0 });
    for (const one of copies) expect(await one.repair(), when).toMatchObject({ ...WELL, repaired: 0 });
    await expectTrueCopies(db, when);
    return found;
  });
}

/** Lines whose copies were changed below the repository: check tells exactly which, repair corrects them, and a second repair nothing. */
export async function expectRepair(db: Database): Promise<void> {
  const lines = db.repository(Line);
  await lines.putMany([line(1, 'a'), line(2, 'a'), line(3, 'a'), line(4), line(5, 'b')]);
  const table = db.engine.table('lines');
  const row = (order: number) => lines.schema.mapper.rowOf({ order, line: 1 });
  const [city, zip] = [Buffer.from('c'), Buffer.from('z')];
  await table.put(new Put(row(1)).addColumn('d', city, Buffer.from('Thun')));
  await table.delete(new Delete(row(2)).addColumns('d', city).addColumns('d', zip));
  await table.put(new Put(row(4)).addColumn('d', city, Buffer.from('Genf')));
  const copies = db.denormalized(Line);
  const off = { rows: 5, valid: 7, stale: 1, missing: 1, extra: 1 };
  expect(await copies.check()).toEqual({ ...off, repaired: 0, pending: 0 });
  expect(await copies.repair()).toEqual({ ...off, repaired: 3, pending: 0 });
  expect(await copies.repair()).toMatchObject({ valid: 10, repaired: 0 });
  expect((await lines.get({ order: 4, line: 1 }))?.city).toBeUndefined();
}

/** 16 writers of sources and of rows at once, until `goesOn` says no: nothing is off once the outbox is drained. */
export async function writeAtOnce(
  databases: readonly Database[],
  goesOn: (writes: number) => boolean,
): Promise<void> {
  const ids = ['a', 'b', 'c', 'd'];
  for (const id of ids) await databases[0]!.repository(Location).put({ id, city: `${id}0`, zip: 1 });
  const writeSources = async (db: Database, seed: number): Promise<void> => {
    const random = new Random(seed);
    for (let i = 0; goesOn(i); i++) {
      const id = random.pick(ids);
      if (random.below(8) === 0) await db.repository(Location).delete({ id });
      else await db.repository(Location).put({ id, city: `${id}${seed}-${i}`, zip: random.below(3) });
    }
  };
  const writeRows = async (db: Database, seed: number): Promise<void> => {
    const random = new Random(seed);
    for (let i = 0; goesOn(i); i++) {
      const key = { order: 100 + random.below(12), line: 1 };
      const locationId = random.pick(ids);
      const sort = random.below(10);
      if (sort > 7) {
        const taken = new Map([[locationId, 'said'] as const, [random.pick(ids), null] as const]);
        await db.repository(Tour).put({ id: `${random.below(3)}`, stops: taken });
      } else if (sort === 0) await db.repository(Line).delete(key);
      else if (sort < 4) await db.repository(Line).mutate(key, (row) => row.set({ locationId }));
      else await db.repository(Line).upsert({ ...key, locationId }, { locationId });
    }
  };
  await Promise.all(
    Array.from({ length: 16 }, (_, writer) => {
      const db = databases[writer % databases.length]!;
      return writer % 2 === 0 ? writeSources(db, writer + 1) : writeRows(db, writer + 1);
    }),
  );
  for (const db of databases) await db.denormalized(Line).drain();
  expect(await databases[0]!.denormalized(Line).check()).toMatchObject(WELL);
  expect(await databases[0]!.denormalized(Tour).check()).toMatchObject(WELL);
  await expectTrueCopies(databases[0]!, 'drained');
}
