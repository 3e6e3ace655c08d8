/**
 * What the mapper promises and once broke, and the tests that hold it: a name that is changed there is changed here. Below
 * the table stand the programs that have no better place.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { part, recordType, salt, timeBucket, uint32 } from '../../src/key/index.js';
import { openMemory } from '../../src/testing/index.js';

/** Promise -> the names of tests, by file below `test/`. */
const HELD: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'Writes that meet lose nothing, and a clock that steps back stalls nobody': {
    'repository/concurrent-writes.test.ts': ['come out as some order of them'],
    'repository/repository.test.ts': ['exists, delete, and put again in the same millisecond'],
    'store/commit/row-times.test.ts': ['the clock steps back between them'],
  },
  'Packed rows are found by any range': {
    'query/reading.test.ts': ['finds packed points by any range of time'],
  },
  'What the key keeps as a digest or bucket is held against the column': {
    'query/reading.test.ts': ['is held against the stored column', 'of several parts tells them apart'],
    'key/layout.test.ts': ['ends each part but the last before it is hashed with others'],
    'repository/made-by-change.test.ts': ['%s keeps what the row cannot tell'],
  },
  'Collections are in order wherever salts and buckets stand': {
    'query/reading.test.ts': ['come in order where a salt stands behind a part'],
    'query/model.test.ts': ['random questions have the answers of a plain array'],
  },
  'Versions hold for every way of writing': {
    'repository/writes.test.ts': [
      'is kept by replace, of a new entity and of a known one',
      'is held and counted behind checks',
      'begins with the first update of a row that was made beneath it',
      'forty updates at once all succeed',
    ],
  },
  'Random salts are refused where one row is meant': {
    'repository/repository.test.ts': ['rows are found in every salt, and what needs one row is refused'],
    'types/misuse.test.ts': ["'scattered.ts'"],
  },
  'Splits of new tables are what was asked for, or a warning': {
    'schema/presplit.test.ts': [
      "algorithm: 'HexStringSplit'",
      'splits samples, given as keys or as rows, into equal shares',
      'stays in the alphabet of the ends between which it splits',
      'says when the keys tell fewer regions than were asked for',
    ],
  },
  'Tables that are other than declared are told': {
    'database/declarations.test.ts': ['are reported by event and by the database'],
  },
  'Failed writes, hooks and checks leave nothing behind': {
    'repository/writes.test.ts': [
      'nothing when it fails',
      'one that throws after the write says that the write stands',
      'run around every way of writing',
    ],
    'crossing/found.test.ts': ['a check of a text that has no id is not met, and gives it none'],
    'repository/markers.test.ts': ['has the past read right'],
    'database/declarations.test.ts': [
      'a column of another family declared first leaves the marker where it was',
    ],
  },
  'What compiles works, and what works compiles': {
    'types/misuse.test.ts': ["'inputs.ts'", "'projection.ts'", "'prefix.ts'"],
    'query/reading.test.ts': ['holds what it is asked to what it can be'],
  },
  'Errors say what, where and what to do': {
    'database/hostile-arguments.test.ts': [
      '@Entity of a table that is a text says what a table is',
      'open and compileSchema',
    ],
    'repository/item-errors.test.ts': ['getMany and batch'],
    'types/misuse.test.ts': ['say what to write, with %s'],
    'query/explain.test.ts': ['a full scan throws, and says what to give'],
    'cli/load-entities.test.ts': ['classes that extend what defineEntity made are entities'],
  },
  'Writes that follow increments in their thousands take effect': {
    'store/commit/row-times.test.ts': ['they run no more than a second ahead of the clock'],
    'mapper/points.test.ts': ['what follows many increments of one row at once takes effect'],
  },
  'An entity lives and dies as one': {
    'repository/writes.test.ts': [
      'whatever is written; a write that says a time begins the life of the whole row anew',
    ],
    'decorators/on-the-engine.test.ts': ['are gone when the time of their own is over'],
    'crossing/found.test.ts': [
      'a life made shorter does not give way to the longer one behind it',
      'what an ended entity leaves for a moment is not counted',
    ],
  },
  'Maps, buckets, versions, counters and decimals of every kind': {
    'repository/writes.test.ts': ['keeps the entries of Maps by what their keys are'],
    'key/layout.test.ts': ['takes a time of several buckets once, where the finest of them stands'],
    'mapper/points.test.ts': [
      'packed points keep to the bucket that they name, of several',
      'a collection with a bound on one side gives each row once',
    ],
    'query/reading.test.ts': ['have every version of a column', 'orders by value, whatever the bytes'],
    'codec/hostile.test.ts': ['reads back every scale of raw.decimal that it takes'],
  },
  'Values come back as they were, or are refused': {
    'codec/hostile.test.ts': [
      'refuses values that JSON would change',
      'refuses keys and texts of Avro that would come back as others',
    ],
    'mapper/points.test.ts': ['embedded objects refuse properties that nobody declared'],
    'query/reading.test.ts': ['refuses names that every object has, and dots'],
    'key/only-own-bytes.test.ts': ["it.each(CODECS.map((codec) => [codec.name, codec] as const))('%s'"],
  },
  'Tables remember what was declared': {
    'database/declarations.test.ts': [
      'rows without a record type are not mixed with rows that have one',
      'another class is not taken for the one that wrote them',
      'an enumeration gains names and loses none',
      'a column does not move to another qualifier',
    ],
    'repository/writes.test.ts': ['hold for callers without types'],
  },
  'Hostile bytes, cursors, conditions and arguments do no harm': {
    'codec/hostile.test.ts': [
      'refuses Avro that announces more than it holds',
      'bounds decimals by their precision',
    ],
    'query/reading.test.ts': ['seals cursors, and bounds them', 'holds what it is asked to what it can be'],
    'database/hostile-arguments.test.ts': ['getters of the caller throw what they throw'],
  },
  'Atomic batches take what their types allow': {
    'repository/writes.test.ts': ['atomic batches take everything that there is, or are refused'],
  },
  'A family is added without an open database': {
    'database/declarations.test.ts': ['a new one is added without an open database, as the error says'],
  },
  'Commands that look make nothing, also beside a running process': {
    'cli/store.test.ts': [
      'commands that look make nothing, and end with 1',
      'stats and verify look beside the process that has it open',
    ],
  },
};

const TESTS = fileURLToPath(new URL('..', import.meta.url));

it.each(Object.entries(HELD))('%s', (_, files) => {
  for (const [file, names] of Object.entries(files)) {
    const source = readFileSync(join(TESTS, file), 'utf8');
    expect(names.filter((name) => !source.includes(name))).toEqual([]);
  }
});

const HOUR = 3_600_000;
const families = { d: {} };

describe('programs', () => {
  it('what follows many increments of one row at once takes effect', async () => {
    const Counted = defineEntity({
      name: 'Counted',
      table: defineTable({ name: 'counted', families }),
      key: [part('id')],
      columns: (c) => ({ n: c.counter('d:n'), note: c.column('d:t', text).optional() }),
    });
    await using db = await openMemory({ entities: [Counted] });
    const counted = db.repository(Counted);
    const add = (id: string) =>
      Promise.all(Array.from({ length: 2000 }, () => counted.increment({ id }, { n: 1n })));
    await add('deleted');
    await counted.delete({ id: 'deleted' });
    expect(await counted.get({ id: 'deleted' })).toBeNull();
    await add('changed');
    await counted.put({ id: 'changed', note: 'put', n: null });
    expect(await counted.get({ id: 'changed' })).toEqual({ id: 'changed', note: 'put', n: undefined });
    await counted.update({ id: 'changed' }, { note: 'updated' });
    expect(await counted.get({ id: 'changed' })).toMatchObject({ note: 'updated' });
  });

  it('packed points keep to the bucket that they name, of several', async () => {
    const Points = defineEntity({
      name: 'Points',
      table: defineTable({ name: 'points', families }),
      key: [timeBucket('hour', '1d'), part('metric'), timeBucket('hour', '1h')],
      columns: (c) => ({ points: c.packed('d:p', { part: 'hour', value: int32 }) }),
    });
    await using db = await openMemory({ entities: [Points] });
    const points = db.repository(Points);
    const fifth = new Date(5 * HOUR);
    const given = new Map([
      [5 * HOUR, 0],
      [6 * HOUR - 1, 59],
    ]);
    await points.put({ metric: 'm', hour: fifth, points: given });
    const row = await points.get({ metric: 'm', hour: new Date(5 * HOUR + 1) });
    expect(row).toMatchObject({ hour: fifth, points: given });
    const late = new Map([[6 * HOUR, 60]]);
    await expect(points.put({ metric: 'm', hour: fifth, points: late })).rejects.toThrow(/row's span/);
  });

  it('a collection with a bound on one side gives each row once', async () => {
    const table = defineTable({ name: 'both', families });
    const make = (name: string, type: number) =>
      defineEntity({
        name,
        table,
        recordType: type,
        key: [salt(4, ['tenant']), part('tenant'), recordType(), part('no', uint32)],
        columns: (c) => ({ of: c.column('d:of', text) }),
      });
    const [One, Two] = [make('One', 1), make('Two', 2)] as const;
    await using db = await openMemory({ entities: [One, Two] });
    const tenants = ['a', 'b', 'c', 'd'];
    for (const tenant of tenants) {
      await db.repository(One).put({ tenant, no: 1, of: 'one' });
      await db.repository(Two).put({ tenant, no: 2, of: 'two' });
    }
    const texts = async (bound: object): Promise<string[]> =>
      (await db.collection([One, Two], { tenant: bound }).all()).map(({ tenant, of }) => `${tenant} ${of}`);
    expect(await texts({ gte: 'c' })).toEqual(['c one', 'c two', 'd one', 'd two']);
    expect(await texts({ gt: 'a', lte: 'b' })).toEqual(['b one', 'b two']);
    expect(await texts({ lt: 'c' })).toEqual(['a one', 'a two', 'b one', 'b two']);
  });

  it('embedded objects refuse properties that nobody declared', async () => {
    const Person = defineEntity({
      name: 'Person',
      table: defineTable({ name: 'people', families }),
      key: [part('id')],
      columns: (c) => ({
        at: c
          .embedded('d', (a) => ({
            city: a.column('city', text),
            geo: a.embedded('', (g) => ({ lon: g.column('lon', int32) }), { prefix: 'g.' }).optional(),
          }))
          .optional(),
      }),
    });
    await using db = await openMemory({ entities: [Person] });
    const people = db.repository(Person);
    const at = { city: 'Oslo', zip: '0150' };
    await expect(people.put({ id: 'a', at })).rejects.toThrow(/zip/);
    await expect(
      people.insert({ id: 'a', at: { city: 'Oslo', geo: { lon: 1, lat: 2 } } } as never),
    ).rejects.toThrow(/lat/);
    await people.put({ id: 'b', at: { city: 'Oslo' } });
    await expect(people.update({ id: 'b' }, { at })).rejects.toThrow(/zip/);
    expect(await people.exists({ id: 'a' })).toBe(false);
    expect(await people.get({ id: 'b' })).toMatchObject({ at: { city: 'Oslo' } });
  });
});
