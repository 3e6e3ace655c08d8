import { describe, expect, test } from 'vitest';
import { defineEntity, defineTable, part } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { Put } from '../../src/table/index.js';
import { openMemory } from '../../src/testing/index.js';
import { Buyer, fillShop, Sale } from '../studio/shop.js';

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
