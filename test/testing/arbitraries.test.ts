import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  bigint,
  boolean,
  bytes,
  cidr,
  date,
  decimal,
  defineEntity,
  defineTable,
  desc,
  enumeration,
  fixedBytes,
  fixedString,
  float32,
  float64,
  hash,
  int8,
  int53,
  int64,
  ipv4,
  ipv6,
  json,
  ksuid,
  numericEnum,
  part,
  reverse,
  reverseTimestamp,
  salt,
  text,
  textNumber,
  uint64,
  ulid,
  uuid,
} from '../../src/index.js';
import { entities } from '../../src/testing/fast-check.js';
import { openMemory } from '../../src/testing/index.js';

const table = defineTable({ name: 'everything', families: { d: {}, m: {} } });

const Everything = defineEntity({
  name: 'Everything',
  table,
  key: [
    salt(4),
    reverse('site'),
    part('kind', desc(enumeration({ a: 1, b: 7 }))),
    reverseTimestamp('at'),
    hash('name', { keep: true }),
    part('n', desc(int8)),
  ],
  columns: (c) => ({
    flag: c.column('d:a', boolean),
    raw: c.column('d:b', bytes),
    day: c.column('d:c', date),
    price: c.column('d:d', decimal(2)),
    big: c.column('d:e', bigint),
    id: c.column('d:f', fixedBytes(3)),
    code: c.column('d:g', fixedString(4)),
    small: c.column('d:h', float32),
    number: c.column('d:i', float64),
    safe: c.column('d:j', int53),
    long: c.column('d:k', int64),
    digits: c.column('d:l', textNumber(5)),
    unsigned: c.column('d:m', uint64),
    ulid: c.column('d:n', ulid),
    uuid: c.column('d:o', uuid),
    ksuid: c.column('d:t', ksuid),
    ipv4: c.column('d:u', ipv4),
    ipv6: c.column('d:w', ipv6),
    cidr: c.column('d:x', cidr),
    level: c.column('d:y', numericEnum({ low: 1, high: 2 })),
    document: c.column('d:p', json()),
    place: c.embedded('d', (p) => ({ city: p.column('city', text) })),
    names: c.columns('m:', { key: text, value: int53 }),
    seen: c.counter('d:s').optional(),
    version: c.version('d:v'),
  }),
});

it('makes entities of every codec that are got as they were put', async () => {
  const db = await openMemory({ entities: [Everything] });
  const repository = db.repository(Everything);
  const properties = new Set<string>();
  await fc.assert(
    fc.asyncProperty(entities(Everything), async (entity) => {
      for (const name of Object.keys(entity)) properties.add(name);
      await repository.put({ ...entity });
      const { site, kind, at, name, n } = entity;
      const { version, ...got } = (await repository.get({ site, kind, at, name, n }))!;
      expect(version).toBeDefined();
      expect({ ...got, names: got.names ?? new Map() }).toMatchObject(entity);
    }),
    { numRuns: 40, examples: [] },
  );
  expect(properties.size).toBe(28);
  await db.close();
});

it('takes arbitraries of one’s own, and asks for them where it knows no values', () => {
  const fixed = entities(Everything, { code: fc.constant('same') });
  expect(fc.sample(fixed, 5).every(({ code }) => code === 'same')).toBe(true);
  const own = { name: 'mine', ordered: false, encode: () => new Uint8Array(1), decode: () => 1 };
  const Mine = defineEntity({
    name: 'Mine',
    table: defineTable({ name: 'mine', families: { d: {} } }),
    key: [part('id')],
    columns: (c) => ({ mine: c.column('d:m', own) }),
  });
  expect(() => entities(Mine)).toThrow(/no values can be generated for mine.*Pass an override/);
  expect(fc.sample(entities(Mine, { mine: fc.constant(1) }), 1)[0]).toMatchObject({ mine: 1 });
});
