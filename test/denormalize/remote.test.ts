/** Copies where one step is one row, as on HBase: written with the row, given behind the source, found again by the outbox. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Column, Denormalized, Entity, part, Reference, RowKey, Summary } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { SchemaError } from '../../src/errors.js';
import { openStepless, type Program, type SteplessStore } from '../proof/stepless.js';
import { Line, Location, Region, Visit } from './entities.js';
import { expectRepair } from './faults.js';

const entities = [Location, Region, Line, Visit];
const WELL = { stale: 0, missing: 0, extra: 0, pending: 0 };

let store: SteplessStore;
let program: Program;
beforeEach(async () => {
  store = await openStepless();
  program = await store.program(...entities);
  const { db } = program;
  await db.repository(Location).put({ id: 'a', city: 'Bern', zip: 3000 });
  await db.repository(Location).put({ id: 'b', city: 'Basel' });
  await db.repository(Region).put({ land: 'CH', no: 1, name: 'Mittelland' });
});
afterEach(() => store[Symbol.asyncDispose]());

const line = (order: number, locationId?: string | null) => ({ order, line: 1, quantity: 1, locationId });
const get = (order: number) => program.db.repository(Line).get({ order, line: 1 });

describe('one program', () => {
  test('every way of writing a row gives it the values of its source, whatever was said', async () => {
    const { db } = program;
    const lines = db.repository(Line);
    await lines.insert(line(1, 'a'));
    await lines.put({ ...line(2, 'a'), city: 'said otherwise', zip: null });
    await lines.putMany([line(3, 'a'), line(4, null), line(5, 'nowhere')]);
    await db.batch((batch) => void batch.of(Line).put(line(6, 'b')));
    await lines.upsert(line(8), { locationId: 'b' });
    await lines.upsert(line(8), { locationId: 'a' });
    const cities = await Promise.all([1, 2, 3, 4, 5, 6, 8].map(async (no) => (await get(no))?.city));
    expect(cities).toEqual(['Bern', 'Bern', 'Bern', undefined, undefined, 'Basel', 'Bern']);
    expect(await get(2)).toMatchObject({ zip: 3000 });
    await lines.update({ order: 1, line: 1 }, { locationId: 'b' });
    expect(await get(1)).toMatchObject({ city: 'Basel', version: 2 });
    expect((await get(1))?.zip).toBeUndefined();
    await lines.update({ order: 1, line: 1 }, { locationId: null });
    expect((await get(1))?.city).toBeUndefined();
    await lines.update({ order: 3, line: 1 }, { land: 'CH', regionNo: 1 });
    expect(await get(3)).toMatchObject({ region: 'Mittelland', city: 'Bern' });
    await expect(lines.update({ order: 3, line: 1 }, { city: 'Thun' })).rejects.toThrow('is a copy of');
    await expect(lines.put(line(9, 'a'), { timestamp: 500 })).rejects.toMatchObject({
      code: 'ERR_UNSUPPORTED',
    });
    expect(await db.denormalized(Line).check()).toMatchObject({ rows: 7, valid: 14, ...WELL });
  });

  test('a change of the source reaches the rows, their indexes, and nothing else of them', async () => {
    const { db } = program;
    const lines = db.repository(Line);
    await lines.putMany([line(1, 'a'), line(2, 'a'), line(3, 'b')]);
    await db.repository(Visit).put({ id: 'a', at: 1, who: 'w' });
    await db.repository(Location).update({ id: 'a' }, { city: 'Biel' });
    expect(await get(1)).toMatchObject({ city: 'Biel', zip: 3000, version: 1 });
    expect((await db.repository(Visit).get({ id: 'a', at: 1 }))?.town).toBe('Biel');
    expect(await lines.by('byCity').find({ city: 'Biel' }).count()).toBe(2);
    expect(await lines.by('byCity').find({ city: 'Bern' }).count()).toBe(0);
    await db.repository(Location).delete({ id: 'a' });
    expect((await get(1))?.city).toBeUndefined();
    expect((await get(3))?.city).toBe('Basel');
    expect(await db.denormalized(Line).check()).toMatchObject({ valid: 6, ...WELL });
    expect(await db.explainWrite(Location, { id: 'b' })).toMatchObject({
      copiedTo: [{ entity: 'Line', rows: 1, how: 'behind' }, { entity: 'Visit' }],
    });
  });

  test('more rows than fanOut are left to the outbox', async () => {
    const { db } = program;
    await db.repository(Line).putMany(Array.from({ length: 10 }, (_, no) => line(no, 'a')));
    await db.repository(Location).update({ id: 'a' }, { city: 'Biel' });
    await db.denormalized(Line).drain();
    expect(await db.repository(Line).find({}, { fullScan: true }).where({ city: 'Biel' }).count()).toBe(10);
    expect(await db.denormalized(Line).check()).toMatchObject({ valid: 20, ...WELL });
  });

  test('check tells what is off, repair corrects it, a second repair changes nothing', () =>
    expectRepair(program.db));

  test('an entity whose rows are followed has a marker there', async () => {
    const { Entity, RowKey, part, Column, Denormalized } = await import('../../decorators/index.js');
    const { text } = await import('../../src/codec/index.js');
    @Entity({ table: { name: 'bare', families: { d: {} } }, marker: false })
    @RowKey(part('id'))
    @Denormalized(() => Location, { via: 'id', fields: { city: 'city' } })
    class Bare {
      declare static readonly key: ['id'];
      id!: string;
      @Column('d:c', text) city?: string | null;
    }
    await expect(store.program(Location, Bare)).rejects.toThrow(SchemaError);
  });
});

@Entity({
  table: { name: 'parcels', families: { d: {}, m: {} } },
  changes: { keep: 3_600_000, marks: 'm' },
})
@RowKey(part('id'))
@Denormalized(() => Location, { via: 'at', fields: { city: 'city' } })
@Summary('byCity', { by: ['city'], figures: { parcels: 'count' } })
class Parcel {
  declare static readonly key: ['id'];
  declare static readonly summaries: { byCity: { by: ['city']; figures: { parcels: 'count' } } };
  id!: string;
  @Column('d:a', text) at?: string | null;
  @Column('d:c', text) city?: string | null;
  @Reference(() => Location, { id: 'at' }, { onDelete: 'setNull' }) location?: Location | null;
}

test('checks count the rows that are there, not what is kept beside those that were deleted', async () => {
  const { db } = await store.program(Location, Parcel);
  const parcels = db.repository(Parcel);
  await parcels.putMany(['1', '2', '3'].map((id) => ({ id, at: 'a' })));
  await parcels.delete({ id: '1' });
  await parcels.find({ id: '2' }).deleteAll();
  await db.denormalized(Parcel).drain();
  expect(await db.denormalized(Parcel).check()).toMatchObject({ rows: 1, valid: 1, ...WELL });
  expect(await db.references(Parcel).check()).toMatchObject({ rows: 1, valid: 1, dangling: 0 });
  expect(await db.summary(Parcel, 'byCity').check()).toMatchObject({ rows: 1, groups: 1, valid: 1 });
  expect(await db.explainWrite(Parcel, { id: '3' })).toMatchObject({
    copiedFrom: ['Location'],
    summaries: ['byCity'],
    changes: 3_600_000,
  });
});
