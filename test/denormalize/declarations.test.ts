/** What is refused of declared copies, each with what to do. */

import { expect, test } from 'vitest';
import { Column, Counter, Denormalized, defineEntity, Entity, part, RowKey } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import type { SchemaError } from '../../src/errors.js';
import { compileSchema } from '../../src/mapper/index.js';
import { openMemory } from '../../src/testing/index.js';
import { Line, Location, Region, Visit } from './entities.js';

const table = { name: 'wrong', families: { d: {}, t: { ttl: 60 } } };

function problemsOf(...entities: Parameters<typeof compileSchema>[0]): readonly string[] {
  try {
    compileSchema(entities);
  } catch (error) {
    return (error as SchemaError).problems;
  }
  return [];
}

/** An entity with one declaration of copies, as an untyped caller may write it. */
function holder(source: unknown, options: unknown): Parameters<typeof compileSchema>[0][number] {
  @Entity({ table })
  @RowKey(part('id'))
  class Wrong {
    declare static readonly key: ['id'];
    id!: string;
    @Column('d:l', text) locationId?: string | null;
    @Column('d:c', text) city?: string | null;
    @Column('t:e', text) ending?: string | null;
    @Counter('d:n') count?: bigint;
  }
  (Denormalized as (...args: unknown[]) => (target: unknown) => void)(source, options)(Wrong);
  return Wrong;
}

test('what is no declaration is said, with the mend', () => {
  const of = (options: unknown, source: unknown = () => Location) =>
    problemsOf(Location, holder(source, options)).join('\n');
  const fields = { city: 'city' };
  expect(of(undefined)).toContain('@Denormalized takes a source and options.');
  expect(of({ via: 'locationId', fields }, Location.name)).toContain('takes a source and options');
  expect(of({ fields })).toContain('via is undefined');
  expect(of({ via: 'nothing', fields })).toContain('which is no column of one value');
  expect(of({ via: 'locationId', fields: {} })).toContain('names no fields');
  expect(of({ via: 'locationId', fields: { nothing: 'city' } })).toContain('is not a single-valued column');
  expect(of({ via: 'locationId', fields: { count: 'city' } })).toContain('is not a single-valued column');
  expect(of({ via: 'locationId', fields: { city: 'nothing' } })).toContain('Location.nothing');
  expect(of({ via: 'locationId', fields: { city: 'zip' } })).toContain('Its codec is text');
  expect(of({ via: 'locationId', fields: { locationId: 'city' } })).toContain('is the link to the source');
  expect(of({ via: 'locationId', fields: { ending: 'city' } })).toContain('has a ttl');
  expect(of({ via: 'locationId', fields, fanOut: 10_001 })).toContain('fanOut');
  expect(of({ via: 'locationId', fields, fanout: 1 })).toContain('has no option "fanout"');
  expect(of({ via: { land: 'id' }, fields })).toContain('the key of Location is id');
  expect(of({ via: 'locationId', fields: { city: 'region' } }, () => Line)).toContain(
    'not among the entities',
  );
  expect(problemsOf(holder(() => Location, { via: 'locationId', fields })).join()).toContain(
    'not among the entities',
  );
});

test('sources that end, and copies of copies, are refused', () => {
  const visitor = holder(() => Visit, { via: { id: 'locationId', at: 'id' }, fields: { city: 'who' } });
  expect(problemsOf(Location, Region, Line, Visit, visitor).join('\n')).toContain('ends by itself');
  const second = holder(() => Line, { via: { order: 'locationId', line: 'id' }, fields: { city: 'region' } });
  expect(problemsOf(Location, Region, Line, Visit, second).join('\n')).toContain('a copy itself');
});

test('defineEntity declares copies; the index that finds them is made once, or found', async () => {
  const Order = defineEntity({
    name: 'Order',
    table: { name: 'defined', families: { d: {} } } as never,
    key: [part('id')],
    columns: (c) => ({
      from: c.column('d:f', text).optional(),
      to: c.column('d:t', text).optional(),
      fromCity: c.column('d:fc', text).optional(),
      toCity: c.column('d:tc', text).optional(),
      toZip: c.column('d:tz', int32).optional(),
    }),
    denormalized: [
      { from: () => Location, via: 'from', fields: { fromCity: 'city' } },
      { from: () => Location, via: 'to', fields: { toCity: 'city' } },
      { from: () => Location, via: 'to', fields: { toZip: 'zip' } },
    ],
  });
  await using db = await openMemory({ entities: [Location, Order] });
  expect(
    compileSchema([Location, Order])
      .entity(Order)
      .indexes.map(({ name }) => name),
  ).toEqual(['ref_from', 'ref_to']);
  await db.repository(Location).putMany([
    { id: 'a', city: 'A', zip: 1 },
    { id: 'b', city: 'B' },
  ]);
  await db.repository(Order).put({ id: 'o', from: 'a', to: 'b' });
  await db.repository(Location).update({ id: 'b' }, { zip: 2 });
  expect(await db.repository(Order).get({ id: 'o' })).toMatchObject({ fromCity: 'A', toCity: 'B', toZip: 2 });
  expect(await db.explainWrite(Location, { id: 'b' })).toEqual({
    entity: 'Location',
    indexes: [],
    copiedFrom: [],
    referredBy: [],
    summaries: [],
    mirror: false,
    changes: null,
    keyChange: null,
    copiedTo: [
      {
        entity: 'Order',
        fields: { fromCity: 'city' },
        foundBy: 'index ref_from',
        rows: 0,
        fanOut: 100,
        how: 'step',
      },
      {
        entity: 'Order',
        fields: { toCity: 'city' },
        foundBy: 'index ref_to',
        rows: 1,
        fanOut: 100,
        how: 'step',
      },
      {
        entity: 'Order',
        fields: { toZip: 'zip' },
        foundBy: 'index ref_to',
        rows: 1,
        fanOut: 100,
        how: 'step',
      },
    ],
  });
});

test('an entity that copies cannot be added behind its source, nor be written to elsewhere', async () => {
  await using db = await openMemory({ entities: [Location, Region] });
  await expect(db.add(Line)).rejects.toThrow('pass both to open()');
  await using all = await openMemory({ entities: [Location, Region, Line, Visit] });
  await expect(all.repositoryIn(Location, 'elsewhere')).rejects.toMatchObject({ code: 'ERR_UNSUPPORTED' });
  expect(() => all.denormalized(Location)).toThrow(
    'has no copies. Declare them: static readonly copies = { name: copy(…) }.',
  );
});
