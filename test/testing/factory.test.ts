/** `factory`: entities that are valid by their declaration, the same for the same seed. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  boolean,
  Column,
  date,
  decimal,
  defineEntity,
  defineTable,
  Entity,
  enumeration,
  int32,
  json,
  part,
  Reference,
  type Related,
  rowKey,
  text,
  uint32,
  uuid,
} from '../../src/index.js';
import { entities } from '../../src/testing/fast-check.js';
import { factory, openMemory } from '../../src/testing/index.js';

@Entity({ table: { name: 'owners', families: { d: {} } } })
class Owner {
  static readonly key = rowKey('id');
  id!: string;
  @Column('d:n', text) name!: string;
}

@Entity({ table: { name: 'pets', families: { d: {} } } })
class Pet {
  static readonly key = rowKey('id');
  id!: string;
  @Column('d:o', text) owner!: string;
  @Reference(() => Owner, { id: 'owner' }, { onDelete: 'cascade' }) held?: Related<Owner> | null;
}

const Ticket = defineEntity({
  name: 'Ticket',
  table: defineTable({ name: 'tickets', families: { d: {}, l: {} } }),
  key: [part('tenantId'), part('number', uint32)],
  columns: (c) => ({
    subject: c.column('d:s', text),
    status: c.column('d:t', enumeration({ open: 1, closed: 2 })),
    price: c.column('d:p', decimal(2)),
    dueAt: c.column('d:d', date).optional(),
    urgent: c.column('d:u', boolean),
    ref: c.column('d:r', uuid),
    reporter: c.embedded('d', (a) => ({ name: a.column('name', text), age: a.column('age', uint32) }), {
      prefix: 'r.',
    }),
    createdAt: c.createdAt('d:c'),
  }),
});

it('makes entities that can be stored and read, each with a key of its own', async () => {
  await using db = await openMemory({ entities: [Ticket] });
  const made = await factory(Ticket, { tenantId: 't1' }, { seed: 3 }).storeMany(db, 50);
  const found = await db.repository(Ticket).find({ tenantId: 't1' }).all();
  expect(found).toHaveLength(50);
  for (const [at, ticket] of found.entries()) {
    expect(ticket).toMatchObject(made[at]!);
    expect(ticket.reporter).toMatchObject({ name: expect.any(String), age: expect.any(Number) });
  }
  expect(new Set(found.map(({ status }) => status))).toEqual(new Set(['open', 'closed']));
  expect(new Set(found.map(({ subject }) => subject)).size).toBeGreaterThan(40);
});

it('makes the same for the same seed, and other things for another one', () => {
  const of = (seed?: number) => {
    const tickets = factory(Ticket, {}, seed === undefined ? {} : { seed });
    return [tickets.build(), tickets.build()];
  };
  expect(of(1)).toEqual(of(1));
  expect(of()).toEqual(of(0));
  expect(of(1)).not.toEqual(of(2));
});

it('takes values, functions of the number, and a faker that it seeds', () => {
  const seeds: number[] = [];
  const faker = { seed: (seed: number) => seeds.push(seed), word: () => `word ${seeds.at(-1)}` };
  const tickets = factory(
    Ticket,
    {
      tenantId: 't1',
      number: (n) => n * 10,
      subject: (n, f) => `${n} ${f.word()}`,
      reporter: { name: 'Ada', age: 1 },
    },
    { seed: 5, faker },
  );
  expect(tickets.build()).toMatchObject({
    tenantId: 't1',
    number: 10,
    subject: '1 word 6',
    reporter: { name: 'Ada' },
  });
  expect(tickets.build({ tenantId: 't2' })).toMatchObject({
    tenantId: 't2',
    number: 20,
    subject: '2 word 7',
  });
});

it('refuses properties that do not exist, seeds that are none, and codecs of which it knows no values', () => {
  expect(() => factory(Ticket, { subjects: 'a' } as never)).toThrow(
    'factory(Ticket): it has no property "subjects". It has tenantId, number, createdAt, dueAt',
  );
  expect(() => factory(Ticket, {}, { seed: -1 })).toThrow('The seed must be a whole number');
  const own = { ...json<string>(), name: 'mine', encode: () => new Uint8Array(1), decode: () => 'x' };
  const Odd = defineEntity({
    name: 'Odd',
    table: defineTable({ name: 'odd', families: { d: {} } }),
    key: [part('id')],
    columns: (c) => ({ it: c.column('d:i', own) }),
  });
  expect(() => factory(Odd)).toThrow('No values can be generated for it of Odd');
  expect(factory(Odd, { it: 'x' }).build()).toMatchObject({ it: 'x' });
});

it('makes entities with rules about others, which it is not given', async () => {
  await using db = await openMemory({ entities: [Owner, Pet] });
  await factory(Owner, { id: (n) => `o${n}` }).storeMany(db, 3);
  await factory(Pet, { owner: (n) => `o${n}` }).storeMany(db, 3);
  expect(await db.repository(Pet).find({}, { fullScan: true }).count()).toBe(3);
  await fc.assert(fc.property(entities(Pet), ({ owner }) => typeof owner === 'string'));
  await expect(openMemory({ entities: [Pet] })).rejects.toThrow(/rules about Owner, which is not among/);
});

it('makes lists for JSON columns that an index lists', async () => {
  const Post = defineEntity({
    name: 'Post',
    table: defineTable({ name: 'posts', families: { d: {} } }),
    key: [part('id')],
    columns: (c) => ({
      tags: c.json<string[]>('d:t'),
      scores: c.json<number[]>('d:s'),
      more: c.json<unknown>('d:m'),
    }),
    indexes: { byTag: { on: [part('tags')] }, byScore: { on: [part('scores', int32)] } },
  });
  await using db = await openMemory({ entities: [Post] });
  const posts = db.repository(Post);
  for (const { id, tags, scores, more } of await factory(Post).storeMany(db, 20)) {
    expect([typeof tags[0], typeof scores[0], typeof more]).toEqual(['string', 'number', 'object']);
    expect(
      await posts
        .by('byTag')
        .find({ tags: tags.at(-1)! })
        .all(),
    ).toContainEqual(expect.objectContaining({ id }));
  }
  await fc.assert(fc.asyncProperty(entities(Post), async (post) => posts.put(post)));
  expect(await db.index(Post, 'byScore').verify()).toMatchObject({ missing: 0, extra: 0 });
});
