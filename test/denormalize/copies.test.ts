/** Copies of another entity's properties: written with the row, changed with their source, checked and mended. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  Column,
  Denormalized,
  defineEntity,
  defineTable,
  Entity,
  part,
  RowKey,
} from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import { Get, Put } from '../../src/table/index.js';
import { MemoryFileSystem, openMemory, settableClock } from '../../src/testing/index.js';
import { scaled } from '../proof/scale.js';
import { Random } from '../query/model/random.js';
import { Line, Location, Region, Visit } from './entities.js';
import { expectRepair } from './faults.js';

const entities = [Location, Region, Line, Visit];
let db: Database<EmbeddedEngine>;
let disk: MemoryFileSystem;
const clock = settableClock(1_000_000);

beforeEach(async () => {
  disk = new MemoryFileSystem();
  db = await openMemory({ entities, disk, clock });
  await db.repository(Location).put({ id: 'a', city: 'Bern', zip: 3000 });
  await db.repository(Location).put({ id: 'b', city: 'Basel' });
  await db.repository(Region).put({ land: 'CH', no: 1, name: 'Mittelland' });
});
afterEach(() => db.close());

const line = (order: number, locationId?: string | null) => ({ order, line: 1, quantity: 1, locationId });
const get = (order: number) => db.repository(Line).get({ order, line: 1 });

describe('copies at write', () => {
  test('every way of writing a row gives it the values of its source, whatever was said', async () => {
    const lines = db.repository(Line);
    await lines.insert(line(1, 'a'));
    await lines.put({ ...line(2, 'a'), city: 'said otherwise' });
    await lines.putMany([line(3, 'a'), line(4, null), line(5, 'nowhere')]);
    await db.batch((batch) => void batch.of(Line).put(line(6, 'b')), { atomic: true });
    await db.transaction((tx) => tx.repository(Line).put(line(7, 'b')));
    await lines.upsert(line(8), { locationId: 'b' });
    await lines.upsert(line(8), { locationId: 'a' });
    const cities = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(async (no) => (await get(no))?.city));
    expect(cities).toEqual(['Bern', 'Bern', 'Bern', undefined, undefined, 'Basel', 'Basel', 'Bern']);
    expect((await get(1))?.zip).toBe(3000);

    await lines.update({ order: 1, line: 1 }, { locationId: 'b' });
    expect(await get(1)).toMatchObject({ city: 'Basel', version: 2 });
    expect((await get(1))?.zip).toBeUndefined();
    await lines.update({ order: 1, line: 1 }, { locationId: null });
    expect((await get(1))?.city).toBeUndefined();
    const read = (await get(2))!;
    delete read.city;
    await lines.replace(read);
    expect(await get(2)).toMatchObject({ city: 'Bern', zip: 3000 });
    await lines.find({ order: { in: [2, 3] } }).updateAll({ locationId: 'b' });
    expect([(await get(2))?.city, (await get(3))?.city]).toEqual(['Basel', 'Basel']);
    await lines.update({ order: 3, line: 1 }, { land: 'CH', regionNo: 1 });
    expect(await get(3)).toMatchObject({ region: 'Mittelland', city: 'Basel' });
  });

  test('an update that says another value is refused, one that says the same is not', async () => {
    const lines = db.repository(Line);
    await lines.put(line(1, 'a'));
    const wrong = lines.update({ order: 1, line: 1 }, { city: 'Thun' });
    await expect(wrong).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' });
    await expect(wrong).rejects.toThrow('Line.city is a copy of Location');
    await lines.update({ order: 1, line: 1 }, { city: 'Bern', quantity: 2 });
    await lines.update({ order: 1, line: 1 }, { city: 'Basel', locationId: 'b' });
    expect(await get(1)).toMatchObject({ city: 'Basel', quantity: 2 });
    await expect(lines.mutate({ order: 1, line: 1 }, (row) => row.unset('city'))).rejects.toThrow(
      'is a copy',
    );
  });

  test('older times are followed, those that would hide a copy are refused', async () => {
    const lines = db.repository(Line);
    await lines.put(line(1, 'a'), { timestamp: 500 });
    expect((await get(1))?.city).toBe('Bern');
    await lines.delete({ order: 1, line: 1 }, { timestamp: 500 });
    await expect(
      lines.put({ ...line(2, 'a'), city: 'x' }, { timestamp: clock() + 60_000 }),
    ).rejects.toMatchObject({ code: 'ERR_UNSUPPORTED' });
    await expect(
      db.repository(Location).delete({ id: 'a' }, { timestamp: clock() + 60_000 }),
    ).rejects.toMatchObject({ code: 'ERR_UNSUPPORTED' });
  });
});

describe('writes of given times', () => {
  test('a delete of a time before a copy leaves nothing of the row', async () => {
    const lines = db.repository(Line);
    await lines.put(line(1, 'a'), { timestamp: 500 });
    await db.repository(Location).update({ id: 'a' }, { city: 'Biel' });
    expect((await get(1))?.city).toBe('Biel');
    await lines.delete({ order: 1, line: 1 }, { timestamp: 600 });
    expect(await lines.exists({ order: 1, line: 1 })).toBe(false);
    expect(await get(1)).toBeNull();
    expect(await lines.by('byCity').find({ city: 'Biel' }).count()).toBe(0);
    await lines.put({ order: 1, line: 1 });
    expect((await get(1))?.city).toBeUndefined();
  });

  // Of one row in the step of its source; of more rows than `fanOut` by the outbox, until which they hold the old values.
  test.each([
    ['alone', 0],
    ['beside more rows than a step changes', 5],
  ])(
    'whatever they are, a row %s is there for every reader or for none, with the copies of its source',
    async (_, others) => {
      const lines = db.repository(Line);
      const beside = Array.from({ length: others }, (_, no) => [line(2 * no, 'a'), line(2 * no + 1, 'b')]);
      await lines.putMany(beside.flat());
      for (let seed = 1; seed <= scaled(4, 60, 1000); seed++) {
        const random = new Random(seed);
        const order = 100 + seed;
        const key = { order, line: 1 };
        for (let step = 0; step < 12; step++) {
          const timestamp = random.chance(0.6) ? { timestamp: 100 + random.below(20) } : undefined;
          const locationId = random.pick(['a', 'b', null]);
          const city = random.pick(['Bern', 'Biel', 'Basel']);
          const writes: (() => Promise<unknown>)[] = [
            () => lines.put({ ...key, locationId }, timestamp).catch(ifRefused),
            () => lines.update(key, { quantity: step }, timestamp).catch(ifRefused),
            () => lines.update(key, { locationId }, timestamp).catch(ifRefused),
            () => lines.delete(key, timestamp),
            () => db.repository(Location).put({ id: random.pick(['a', 'b']), city }),
          ];
          await random.pick(writes)();
          if (others > 0) await db.denormalized(Line).drain();
          const when = `seed ${seed}, step ${step}`;
          const found = await lines.get(key);
          expect(await lines.exists(key), when).toBe(found !== null);
          const source =
            found?.locationId == null ? null : await db.repository(Location).get({ id: found.locationId });
          expect(found?.city ?? undefined, when).toBe(source?.city ?? undefined);
          const entries = await lines
            .by('byCity')
            .find({ city: { gte: '' } })
            .where({ locationId: { ne: '' } })
            .all();
          expect(entries.filter((one) => one.order === order).length, when).toBe(found?.city == null ? 0 : 1);
        }
        // Rows that stay would be ever more that name a source.
        await lines.delete(key);
      }
    },
  );
});

/** An update of a row that is not there, a put of one that is: it has a version. */
const ifRefused = (error: { code?: string }): void =>
  expect(error.code).toMatch(/^ERR_(NOT_FOUND|CONFLICT)$/);

describe('a change of the source', () => {
  test('reaches up to fanOut rows in its own step, and what follows those rows', async () => {
    const lines = db.repository(Line);
    await lines.putMany([line(1, 'a'), line(2, 'a'), line(3, 'b')]);
    await db.repository(Location).update({ id: 'a' }, { city: 'Biel' });
    // Neither version nor other properties are touched; the index over the copy is.
    expect(await get(1)).toMatchObject({ city: 'Biel', zip: 3000, version: 1 });
    expect(await lines.by('byCity').find({ city: 'Biel' }).count()).toBe(2);
    expect(await lines.by('byCity').find({ city: 'Bern' }).count()).toBe(0);
    await db.repository(Location).update({ id: 'a' }, { zip: null });
    expect((await get(2))?.zip).toBeUndefined();
    await db.repository(Location).delete({ id: 'a' });
    expect((await get(1))?.city).toBeUndefined();
    await db.repository(Location).insert({ id: 'a', city: 'Chur' });
    expect((await get(1))?.city).toBe('Chur');
    await db.repository(Region).put({ land: 'CH', no: 2, name: 'Jura' });
    await lines.update({ order: 3, line: 1 }, { land: 'CH', regionNo: 2 });
    await db.repository(Region).update({ land: 'CH', no: 2 }, { name: 'Jurassic' });
    expect(await get(3)).toMatchObject({ region: 'Jurassic', city: 'Basel' });
  });

  test('reaches more rows by the outbox, also behind a transaction', async () => {
    const lines = db.repository(Line);
    await lines.putMany(Array.from({ length: 300 }, (_, no) => line(no, 'a')));
    await db.transaction((tx) => tx.repository(Location).update({ id: 'a' }, { city: 'Biel' }));
    const copies = db.denormalized(Line);
    await copies.drain();
    expect(await lines.find({}, { fullScan: true }).where({ city: 'Biel' }).count()).toBe(300);
    expect(await copies.check()).toMatchObject({ rows: 300, valid: 600, stale: 0, pending: 0 });
    // Two at once, and a row that changes its mind meanwhile.
    await Promise.all([
      db.repository(Location).update({ id: 'a' }, { city: 'x' }),
      db.repository(Location).update({ id: 'a' }, { city: 'y' }),
      lines.update({ order: 7, line: 1 }, { locationId: 'b' }),
    ]);
    await copies.drain();
    expect(await copies.check()).toMatchObject({ rows: 300, valid: 600, pending: 0 });
    expect((await get(7))?.city).toBe('Basel');
    expect((await get(8))?.city).toBe('y');
  });

  test('what waits when power is lost is done when the database is opened next', async () => {
    await db.repository(Line).putMany(Array.from({ length: 10 }, (_, no) => line(no, 'a')));
    await db.repository(Location).update({ id: 'a' }, { city: 'Biel' });
    // Nothing was drained yet: the note is behind the update, and the drain behind the turn.
    const after = disk.crash({ keepUnsynced: 0, random: () => 0 });
    const again = await openMemory({ entities, disk: after, clock });
    await again.denormalized(Line).drain();
    expect(await again.repository(Line).find({}, { fullScan: true }).where({ city: 'Biel' }).count()).toBe(
      10,
    );
    expect(await again.denormalized(Line).check()).toMatchObject({ valid: 20, pending: 0 });
    await again.close();
  });

  test.each([
    ['one', 'two'],
    ['two', 'one'],
  ])('what waits of entities of one name over two tables is done for both: %s, %s', async (...names) => {
    const over = (of: string) => {
      const Place = defineEntity({
        name: 'Place',
        table: defineTable({ name: `${of}_places`, families: { d: {} } }),
        key: [part('id')],
        columns: (c) => ({ city: c.column('d:c', text) }),
      });
      const Stay = defineEntity({
        name: 'Stay',
        table: defineTable({ name: `${of}_stays`, families: { d: {} } }),
        key: [part('id')],
        columns: (c) => ({
          at: c.column('d:a', text),
          city: c.column('d:c', text).optional(),
        }),
        denormalized: [{ from: () => Place, via: 'at', fields: { city: 'city' }, fanOut: 1 }],
      });
      return { Place, Stay };
    };
    const sides = names.map(over);
    let image = new MemoryFileSystem();
    const opened = ({ Place, Stay }: (typeof sides)[number]) =>
      openMemory({ entities: [Place, Stay], disk: image, clock });
    const cities = async (own: Database, { Stay }: (typeof sides)[number]) =>
      (await own.repository(Stay).find({}, { fullScan: true }).all()).map(({ city }) => city);
    for (const side of sides) {
      const own = await opened(side);
      await own.repository(side.Place).put({ id: 'a', city: 'Bern' });
      await own.repository(side.Stay).putMany(['1', '2', '3'].map((id) => ({ id, at: 'a' })));
      await own.close();
    }
    for (const side of sides) {
      const own = await opened(side);
      await own.repository(side.Place).update({ id: 'a' }, { city: 'Biel' });
      image = image.crash({ keepUnsynced: 0, random: () => 0 });
      await own.close();
    }
    for (const [i, side] of sides.entries()) {
      await using own = await opened(side);
      await own.denormalized(side.Stay).drain();
      expect(await cities(own, side)).toEqual(['Biel', 'Biel', 'Biel']);
      // The note of the other is left.
      expect(await own.denormalized(side.Stay).check()).toMatchObject({ valid: 3, pending: 1 - i });
    }
    // A note of an earlier release names no table.
    await using own = await opened(sides[1]!);
    await own.engine.table(`${names[1]}_places`).put(new Put('a').addColumn('d', 'c', 'Basel'));
    await own.engine
      .table('rowan_outbox')
      .put(new Put('Stay\0Place at\0a').addColumn('o', 't', Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8)));
    await own.denormalized(sides[1]!.Stay).drain();
    expect(await cities(own, sides[1]!)).toEqual(['Basel', 'Basel', 'Basel']);
    expect(await own.denormalized(sides[1]!.Stay).check()).toMatchObject({ valid: 3, pending: 0 });
    // Those of tables that this program does not have are counted, each of them.
    const unknown = new Put('Stay\0Place at\0a').addColumn('o', 't:three_stays', 'a');
    await own.engine.table('rowan_outbox').put(unknown.addColumn('o', 't:shop:stays', 'b'));
    await own.denormalized(sides[1]!.Stay).drain();
    expect(await own.denormalized(sides[1]!.Stay).check()).toMatchObject({ valid: 3, pending: 2 });
  });

  test('gives rows that end no more life than they had, and does not say that they were updated', async () => {
    const visits = db.repository(Visit);
    await visits.put({ id: 'a', at: 1, who: 'w' });
    const { changed } = (await visits.get({ id: 'a', at: 1 }))!;
    clock.advance(30_000);
    await db.repository(Location).update({ id: 'a' }, { city: 'Biel' });
    expect(await visits.get({ id: 'a', at: 1 })).toMatchObject({ town: 'Biel', changed });
    clock.advance(31_100);
    await db.repository(Location).update({ id: 'a' }, { city: 'Thun' });
    expect(await visits.get({ id: 'a', at: 1 })).toBeNull();
    expect((await db.engine.table('lines').get(getOf(Visit, { id: 'a', at: 1 }))).isEmpty).toBe(true);
  });
});

describe('check, repair and backfill', () => {
  test('tell exactly what is off, and mend it; a second repair changes nothing', async () => {
    await expectRepair(db);
    expect(await db.repository(Line).by('byCity').find({ city: 'Bern' }).count()).toBe(3);
  });

  test('leave out what is left of a row in the second after its end, which lives no longer by them', async () => {
    await db.repository(Visit).put({ id: 'a', at: 1, who: 'w' });
    clock.advance(30_000);
    await db.repository(Location).update({ id: 'a' }, { city: 'Biel' });
    clock.advance(30_500);
    await db.repository(Location).update({ id: 'a' }, { city: 'Thun' });
    const isLeft = async () =>
      !(await db.engine.table('lines').get(getOf(Visit, { id: 'a', at: 1 }))).isEmpty;
    expect(await isLeft()).toBe(true);
    const copies = db.denormalized(Visit);
    const none = { valid: 0, stale: 0, missing: 0, extra: 0 };
    expect(await copies.check()).toMatchObject(none);
    expect(await copies.repair()).toMatchObject({ ...none, repaired: 0 });
    clock.advance(1_000);
    expect(await isLeft()).toBe(false);
  });

  test('a declaration that comes to stored rows is backfilled, its index built', async () => {
    const table = { name: 'later', families: { d: {} } };
    @Entity({ table, name: 'Later' })
    @RowKey(part('id'))
    class Before {
      declare static readonly key: ['id'];
      id!: string;
      @Column('d:l', text) locationId?: string | null;
    }
    @Entity({ table, name: 'Later' })
    @RowKey(part('id'))
    @Denormalized(() => Location, { via: 'locationId', fields: { city: 'city' } })
    class After {
      declare static readonly key: ['id'];
      id!: string;
      @Column('d:l', text) locationId?: string | null;
      @Column('d:c', text) city?: string | null;
    }
    await db.add(Before);
    await db.repository(Before).putMany([
      { id: '1', locationId: 'a' },
      { id: '2', locationId: 'b' },
    ]);
    await db.close();
    db = await openMemory({ entities: [...entities, After], disk, clock });
    expect(await db.denormalized(After).check()).toMatchObject({ missing: 2, valid: 0 });
    expect(await db.denormalized(After).backfill()).toMatchObject({ repaired: 2 });
    await db.repository(Location).update({ id: 'a' }, { city: 'Biel' });
    expect((await db.repository(After).get({ id: '1' }))?.city).toBe('Biel');
  });
});

function getOf(target: typeof Visit, key: { id: string; at: number }) {
  return new Get(compileSchema(entities).entity(target).mapper.rowOf(key));
}
