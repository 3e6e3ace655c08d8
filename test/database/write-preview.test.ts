import { describe, expect, test } from 'vitest';
import {
  Column,
  copy,
  defineEntity,
  defineTable,
  Entity,
  index,
  part,
  Reference,
  recordType,
  rowKey,
  salt,
  summary,
  Table,
} from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import type { ExplainedWrite } from '../../src/database/batch.js';
import type { Features } from '../../src/features/registry.js';
import { Put } from '../../src/table/index.js';
import { openMemory } from '../../src/testing/index.js';
import { Buyer, fillShop, Sale } from '../studio/shop.js';

@Entity({ table: { name: 'follow_people', families: { d: {} } } })
class Person {
  static readonly key = rowKey('id');
  id!: string;
  @Column('d:n', text) name!: string;
}

/** With a declaration of every feature. */
@Entity({
  table: { name: 'follow_bonds', families: { d: {}, m: {} } },
  mutual: ['person', 'friend'],
  changes: { keep: 3_600_000, marks: 'm' },
})
class Bond {
  static readonly key = rowKey('person', 'friend');
  static readonly copies = { name: copy(() => Person, { via: 'friend', fields: { friendName: 'name' } }) };
  static readonly indexes = { byMotto: index('motto') };
  static readonly summaries = { count: summary({ by: ['person'], figures: { friends: 'count' } }) };
  person!: string;
  friend!: string;
  @Column('d:m', text) motto?: string | null;
  @Column('d:f', text) friendName?: string | null;
}

@Entity({ table: { name: 'follow_gifts', families: { d: {} } } })
class Gift {
  static readonly key = rowKey('id');
  static readonly copies = {
    motto: copy(() => Bond, { via: { person: 'person', friend: 'friend' }, fields: { motto: 'motto' } }),
  };
  id!: string;
  @Column('d:p', text) person!: string;
  @Column('d:f', text) friend!: string;
  @Column('d:m', text) motto?: string | null;
  @Reference(() => Bond, { person: 'person', friend: 'friend' }, { onDelete: 'cascade' }) bond?: Bond | null;
}

@Table({ name: 'follow_notes', families: { d: {} } })
class Notes {}

@Entity({ table: Notes, recordType: 1 })
class Note {
  static readonly key = rowKey(recordType(), 'id');
  id!: string;
  @Column('d:n', text) note!: string;
}

@Entity({ table: Notes, recordType: 2 })
class NoteV2 {
  static readonly key = rowKey(recordType(), salt(4), 'id');
  id!: string;
  @Column('d:n', text) note!: string;
}

/** What each feature adds. Null: it changes no other row, and nothing of it follows a write. */
const FOLLOWING: Readonly<Record<keyof Features, ((explained: ExplainedWrite) => unknown) | null>> = {
  indexes: ({ indexes }) => indexes,
  references: ({ referredBy }) => referredBy,
  copies: ({ copiedTo }) => copiedTo,
  computed: null,
  mutual: ({ mirror }) => mirror,
  summaries: ({ summaries }) => summaries,
  changes: ({ changes }) => changes,
  rekey: ({ keyChange }) => keyChange,
  evolution: null,
};

test('explainWrite names what follows a write by every feature', async () => {
  await using db = await openMemory({ entities: [Person, Bond, Gift] });
  expect(Object.keys(db['wiring'].features.named)).toEqual(Object.keys(FOLLOWING));
  const bond = { person: 'ann', friend: 'ben' };
  await db.repository(Bond).put(bond);
  await db.repository(Gift).put({ id: 'g', ...bond });
  const explained = await db.explainWrite(Bond, bond);
  expect(explained).toEqual({
    entity: 'Bond',
    indexes: expect.arrayContaining(['byMotto']),
    summaries: ['count'],
    copiedFrom: ['Person'],
    copiedTo: [
      {
        entity: 'Gift',
        fields: { motto: 'motto' },
        foundBy: 'index ref_person_friend',
        rows: 1,
        fanOut: 100,
        how: 'step',
      },
    ],
    referredBy: [
      { entity: 'Gift', property: 'bond', onDelete: 'cascade', foundBy: 'index ref_person_friend', rows: 1 },
    ],
    mirror: true,
    keyChange: null,
    changes: 3_600_000,
  });
  // Of an entity without declarations nothing follows.
  await using plain = await openMemory({ entities: [Note, NoteV2] });
  const none = await plain.explainWrite(Note, { id: 'ann' });
  const rekey = plain.rekey(Note, NoteV2);
  await rekey.run();
  const changing = await plain.explainWrite(Note, { id: 'ann' });
  expect(changing.keyChange).toEqual({ other: 'NoteV2', stage: 'complete' });
  for (const [name, of] of Object.entries(FOLLOWING)) {
    if (of === null) continue;
    expect([null, 0, false], name).toContainEqual(
      (of(none) as { length?: number } | null)?.length ?? of(none),
    );
    const seen = of(name === 'rekey' ? changing : explained) as { length?: number } | null;
    expect(seen?.length ?? seen, name).toBeTruthy();
  }
  await rekey.cutOver();
  expect((await plain.explainWrite(NoteV2, { id: 'ann' })).keyChange).toEqual({
    other: 'Note',
    stage: 'complete',
  });
  await rekey.cleanup();
  expect((await plain.explainWrite(NoteV2, { id: 'ann' })).keyChange).toBeNull();
});

test('explainWrite says for how long the change is kept for feeds', async () => {
  const kept = (changes?: { keep: number; marks: string }) =>
    defineEntity({
      name: changes === undefined ? 'Plain' : 'Watched',
      table: defineTable({ name: changes === undefined ? 'plain' : 'watched', families: { d: {}, m: {} } }),
      key: [part('id', text)],
      columns: (c) => ({ note: c.column('d:n', text) }),
      ...(changes === undefined ? {} : { changes }),
    });
  const [Plain, Watched] = [kept(), kept({ keep: 3_600_000, marks: 'm' })];
  await using db = await openMemory({ entities: [Plain, Watched] });
  expect(await db.explainWrite(Plain, { id: 'a' })).toMatchObject({ changes: null });
  expect(await db.explainWrite(Watched, { id: 'a' })).toMatchObject({ changes: 3_600_000 });
});

describe('explainWrite with a write', () => {
  test('lists the mutations that the write then makes, and makes none', async () => {
    await using db = await openMemory({ entities: [Buyer, Sale] });
    await fillShop(db, 40);
    const key = { id: 'b3' };
    const { lastSeq } = db.engine.stats();
    const { preview, indexes } = await db.explainWrite(Buyer, key, (buyers) =>
      buyers.update(key, { city: 'Kiruna' }),
    );
    expect(indexes).toEqual(['byCity']);
    expect(preview.complete).toBe(true);
    expect(db.engine.stats().lastSeq).toBe(lastSeq);
    expect((await db.repository(Buyer).get(key))!.city).toBe('Uppsala');

    const rows = new Set(preview.mutations.map(({ table, change }) => `${table} ${Buffer.from(change.row)}`));
    const made = new Set<string>();
    for (const { name } of await db.admin.listTables())
      db.engine.observe(name, {
        after({ table, change }) {
          made.add(`${table} ${Buffer.from(change.row)}`);
          return undefined;
        },
      });
    await db.repository(Buyer).update(key, { city: 'Kiruna' });
    const isFeed = (place: string): boolean => place.startsWith('rowan_');
    expect([...rows].filter((place) => !isFeed(place)).sort()).toEqual(
      [...made].filter((place) => !isFeed(place)).sort(),
    );
  });

  test('throws what the write throws', async () => {
    await using db = await openMemory({ entities: [Buyer, Sale] });
    await fillShop(db, 2);
    const key = { id: 'b3' };
    await expect(
      db.explainWrite(Buyer, key, (buyers) => buyers.insert({ ...key, name: 'again' })),
    ).rejects.toThrow('b3');
    await expect(db.explainWrite(Buyer, key, 7 as never)).rejects.toThrow('takes a function');
  });

  test('lists puts and deletes of entities without indexes', async () => {
    await using db = await openMemory({ entities: [Buyer, Sale] });
    const at = new Date(0);
    const { preview } = await db.explainWrite(Sale, { shop: 'x', at }, (sales) =>
      sales.put({ shop: 'x', at, buyer: 'nobody', amount: 1 }),
    );
    const [first] = preview.mutations;
    expect(first!.table).toBe('shop:sales');
    expect(first!.change).toBeInstanceOf(Put);
  });
});
