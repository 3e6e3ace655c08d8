/** Copies in the entries of Maps: with steps over several rows, and where one step is one row as on HBase. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Column, Columns, copy, Denormalized, Entity, rowKey } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import type { SchemaError } from '../../src/errors.js';
import { compileSchema } from '../../src/mapper/index.js';
import { Put } from '../../src/table/index.js';
import { openMemory } from '../../src/testing/index.js';
import { bothEngines } from '../proof/stepless.js';
import { Location, Region, Tour } from './entities.js';

/** A tree whose rows name their children, and are named by them. */
@Entity({ table: { name: 'categories', families: { d: {}, c: {}, p: {} } } })
class Category {
  static readonly key = rowKey('id');
  static readonly copies = {
    children: copy(() => Category, { via: 'children', fields: { children: 'name' } }),
    parents: copy(() => Category, { via: 'parents', fields: { parents: 'name' } }),
  };
  id!: string;
  @Column('d:n', text) name?: string | null;
  @Columns('c:', { value: text }) children?: Map<string, string | null>;
  @Columns('p:', { value: text }) parents?: Map<string, string | null>;
}

const entities = [Location, Region, Tour, Category];
const WELL = { stale: 0, missing: 0, extra: 0, pending: 0 };
const ENGINES = bothEngines(entities);

describe.each(Object.entries(ENGINES))('on an engine of %s', (_, openIt) => {
  let db: Database;
  let close: () => Promise<void>;
  beforeEach(async () => {
    ({ db, close } = await openIt());
    const locations = db.repository(Location);
    await locations.putMany([{ id: 'a', city: 'Bern' }, { id: 'b', city: 'Basel' }, { id: 'n' }]);
    await db.repository(Region).put({ land: 'CH', no: 1, name: 'Mittelland' });
    await db.repository(Region).put({ land: 'AT', no: 1, name: 'Tirol' });
  });
  afterEach(() => close());

  const stops = async (id: string) =>
    Object.fromEntries((await db.repository(Tour).get({ id }))?.stops ?? []);
  const said = (...ids: string[]) => new Map(ids.map((id) => [id, 'said']));

  test('entries have the values of their sources in every way of writing; those without one are removed', async () => {
    const tours = db.repository(Tour);
    await tours.insert({ id: '1', stops: said('a', 'n', 'nowhere') });
    await tours.put({ id: '2', stops: said('a', 'b') });
    await tours.upsert({ id: '3', title: 't' }, { title: 't' });
    await tours.update({ id: '3' }, { stops: said('b') });
    await tours.mutate({ id: '3' }, (row) => row.set({ stops: said('a') }));
    await db.batch((batch) => void batch.of(Tour).put({ id: '4', stops: said('b', 'nowhere') }));
    expect([await stops('1'), await stops('2'), await stops('3'), await stops('4')]).toEqual([
      { a: 'Bern' },
      { a: 'Bern', b: 'Basel' },
      { a: 'Bern', b: 'Basel' },
      { b: 'Basel' },
    ]);
    await tours.update({ id: '2' }, { stops: new Map([['a', null]]), title: 'u' });
    expect(await stops('2')).toEqual({ b: 'Basel' });
    await tours.replace({ id: '2', stops: said('a') });
    expect(await stops('2')).toEqual({ a: 'Bern' });
    expect(await db.denormalized(Tour).check()).toMatchObject({ rows: 4, valid: 8, ...WELL });
  });

  test('a change of the source reaches each entry, a source without a value or without a row takes it away', async () => {
    const tours = db.repository(Tour);
    await tours.putMany(['1', '2', '3'].map((id) => ({ id, stops: said('a', 'b') })));
    await db.repository(Location).update({ id: 'a' }, { city: 'Biel' });
    await db.repository(Location).delete({ id: 'b' });
    for (const id of ['1', '2', '3']) expect(await stops(id)).toEqual({ a: 'Biel' });
    expect(
      await tours
        .by('ref_stops' as never)
        .find({ stops: 'b' } as never)
        .count(),
    ).toBe(0);
    await db.repository(Location).update({ id: 'a' }, { city: null });
    expect(await stops('1')).toEqual({});
    await db.repository(Location).put({ id: 'a', city: 'Bern' });
    expect(await stops('1')).toEqual({});
    expect(await db.explainWrite(Location, { id: 'a' })).toMatchObject({
      copiedTo: [{ entity: 'Tour', fields: { stops: 'city' }, foundBy: 'index ref_stops' }],
    });
  });

  test('more rows than fanOut are left to the outbox', async () => {
    const tours = db.repository(Tour);
    await tours.putMany(Array.from({ length: 10 }, (_, no) => ({ id: `${no}`, stops: said('a', 'b') })));
    await db.repository(Location).update({ id: 'a' }, { city: 'Biel' });
    await db.repository(Location).delete({ id: 'b' });
    await db.denormalized(Tour).drain();
    for (const { stops } of await tours.find({}, { fullScan: true }).all())
      expect(Object.fromEntries(stops ?? [])).toEqual({ a: 'Biel' });
    expect(await db.denormalized(Tour).check()).toMatchObject({ valid: 20, ...WELL });
  });

  test('the rest of a key of several parts stands in a column of the row', async () => {
    const tours = db.repository(Tour);
    const regions = async () => (await tours.get({ id: '1' }))?.regions?.get(1);
    await tours.put({ id: '1', land: 'CH', regions: new Map([[1, '']]) });
    await tours.put({ id: '2', regions: new Map([[1, 'of no land']]) });
    expect(await regions()).toBe('Mittelland');
    expect((await tours.get({ id: '2' }))?.regions?.size ?? 0).toBe(0);
    await tours.update({ id: '1' }, { land: 'AT' });
    expect(await regions()).toBe('Tirol');
    await db.repository(Region).update({ land: 'CH', no: 1 }, { name: 'Jura' });
    expect(await regions()).toBe('Tirol');
    await db.repository(Region).update({ land: 'AT', no: 1 }, { name: 'Salzburg' });
    expect(await regions()).toBe('Salzburg');
    await tours.update({ id: '1' }, { land: null });
    expect(await regions()).toBeUndefined();
  });

  test('rows of one entity name each other, and themselves', async () => {
    const categories = db.repository(Category);
    await categories.put({ id: 'animal', name: 'Animal' });
    await categories.put({ id: 'dog', name: 'Dog', parents: said('animal', 'dog') });
    await categories.update({ id: 'animal' }, { children: said('dog') });
    const read = async (id: string) => {
      const found = await categories.get({ id });
      return [Object.fromEntries(found?.parents ?? []), Object.fromEntries(found?.children ?? [])];
    };
    expect(await read('dog')).toEqual([{ animal: 'Animal', dog: 'Dog' }, {}]);
    await categories.update({ id: 'dog' }, { name: 'Hound' });
    await categories.update({ id: 'animal' }, { name: 'Beast' });
    expect(await read('dog')).toEqual([{ animal: 'Beast', dog: 'Hound' }, {}]);
    expect(await read('animal')).toEqual([{}, { dog: 'Hound' }]);
    await categories.delete({ id: 'dog' });
    expect(await read('animal')).toEqual([{}, {}]);
    expect(await db.denormalized(Category).check()).toMatchObject({ rows: 1, valid: 2, ...WELL });
  });

  test('check tells which rows have entries that are off, repair mends them, a second one changes nothing', async () => {
    const tours = db.repository(Tour);
    await tours.putMany(['1', '2', '3'].map((id) => ({ id, stops: said('a', 'b') })));
    const put = (id: string, stop: string, city: string) =>
      db.engine
        .table('tours')
        .put(new Put(tours.schema.mapper.rowOf({ id })).addColumn('s', Buffer.from(stop), Buffer.from(city)));
    await put('1', 'a', 'Thun');
    await put('2', 'nowhere', 'Genf');
    const off = { rows: 3, valid: 4, stale: 1, missing: 0, extra: 1 };
    expect(await db.denormalized(Tour).check()).toEqual({ ...off, repaired: 0, pending: 0 });
    expect(await db.denormalized(Tour).repair()).toEqual({ ...off, repaired: 2, pending: 0 });
    expect(await db.denormalized(Tour).repair()).toMatchObject({ valid: 6, repaired: 0, ...WELL });
    expect([await stops('1'), await stops('2')]).toEqual([
      { a: 'Bern', b: 'Basel' },
      { a: 'Bern', b: 'Basel' },
    ]);
  });
});

test('two declarations of one link both follow behind the outbox', async () => {
  @Entity({ table: { name: 'trips', families: { d: {} } } })
  class Trip {
    static readonly key = rowKey('id');
    static readonly copies = {
      city: copy(() => Location, { via: 'to', fields: { city: 'city' }, fanOut: 1 }),
      note: copy(() => Location, { via: 'to', fields: { note: 'note' }, fanOut: 1 }),
    };
    id!: string;
    @Column('d:t', text) to?: string | null;
    @Column('d:c', text) city?: string | null;
    @Column('d:n', text) note?: string | null;
  }
  await using db = await openMemory({ entities: [Location, Trip] });
  await db.repository(Location).put({ id: 'a', city: 'Bern', note: 'n' });
  await db.repository(Trip).putMany(['1', '2', '3'].map((id) => ({ id, to: 'a' })));
  await db.repository(Location).put({ id: 'a', city: 'Biel', note: 'm' });
  await db.denormalized(Trip).drain();
  for (const trip of await db.repository(Trip).find({}, { fullScan: true }).all())
    expect(trip).toMatchObject({ city: 'Biel', note: 'm' });
});

test('what no Map can hold is refused, and the error says what to do', () => {
  const of = (options: unknown): string => {
    @Entity({ table: { name: 'wrong', families: { d: {}, m: {}, n: {} } } })
    class Wrong {
      static readonly key = rowKey('id');
      id!: string;
      @Column('d:c', text) city?: string | null;
      @Columns('m:', { value: text }) stops?: Map<string, string | null>;
      @Columns('n:', { value: text }) others?: Map<string, string | null>;
    }
    (Denormalized as (...args: unknown[]) => (target: unknown) => void)(() => Location, options)(Wrong);
    try {
      compileSchema([Location, Wrong]);
    } catch (error) {
      return (error as SchemaError).problems.join('\n');
    }
    return '';
  };
  expect(of({ via: 'stops', fields: { stops: 'city' } })).toBe('');
  expect(of({ via: 'stops', fields: { city: 'city' } })).toContain("fields: { stops: 'property' }");
  expect(of({ via: 'city', fields: { stops: 'city' } })).toContain('via names that Map');
  expect(of({ via: { id: 'stops', no: 'others' }, fields: { stops: 'city' } })).toContain('Name one Map');
  expect(of({ via: 'stops', fields: { stops: 'zip' } })).toContain('Its codec is text');
});
