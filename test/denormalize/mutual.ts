/** Entities with mutual links, and what must hold of them: for suites of both engines. */

import { expect } from 'vitest';
import { Column, Columns, copy, Entity, index, Reference, rowKey, summary } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { endAfterCalls, type Program } from '../proof/stepless.js';
import { Random } from '../query/model/random.js';

@Entity({ table: { name: 'people', families: { d: {} } } })
export class Person {
  static readonly key = rowKey('id');
  id!: string;
  @Column('d:n', text) name!: string;
}

/** With what depends on each of its rows: copies, an index, a summary, rules. */
@Entity({ table: { name: 'friendships', families: { d: {}, n: {} } }, mutual: ['person', 'friend'] })
export class Friendship {
  static readonly key = rowKey('person', 'friend');
  static readonly copies = { name: copy(() => Person, { via: 'friend', fields: { friendName: 'name' } }) };
  static readonly indexes = { bySince: index('since') };
  static readonly summaries = { count: summary({ by: ['person'], figures: { friends: 'count' } }) };
  person!: string;
  friend!: string;
  @Column('d:t', int32) since?: number | null;
  @Column('d:m', text) motto?: string | null;
  @Column('d:f', text) friendName?: string | null;
  @Columns('n:', { value: text }) notes?: Map<string, string | null>;
  @Reference(() => Person, { id: 'person' }, { onDelete: 'cascade' }) one?: Person | null;
  @Reference(() => Person, { id: 'friend' }, { onDelete: 'cascade' }) other?: Person | null;
}

export const entities = [Person, Friendship];

const NAMES = { ann: 'Ann', ben: 'Ben', cid: 'Cid' };

export async function prepare(db: Database): Promise<void> {
  const people = Object.entries(NAMES).map(([id, name]) => ({ id, name }));
  await db.repository(Person).putMany(people);
}

/** The rows that differ from their mirrors, by a scan. */
export async function states(db: Database): Promise<{ readonly faults: number; readonly rows: number }> {
  const rows = await db.repository(Friendship).find({}, { fullScan: true }).all();
  const text = ({ since, motto, notes }: Friendship): string =>
    JSON.stringify([since, motto, [...(notes ?? [])]]);
  const byKey = new Map(rows.map((row) => [`${row.person} ${row.friend}`, text(row)]));
  const isOff = (row: Friendship): boolean => byKey.get(`${row.friend} ${row.person}`) !== text(row);
  return { faults: rows.filter(isOff).length, rows: rows.length };
}

const there = { person: 'ann', friend: 'ben' };
const back = { person: 'ben', friend: 'ann' };

const WRITES: Readonly<Record<string, (db: Database) => Promise<unknown>>> = {
  insert: (db) => db.repository(Friendship).insert({ person: 'cid', friend: 'ben', since: 2 }),
  put: (db) => db.repository(Friendship).put({ ...back, since: 3, notes: new Map([['a', 'x']]) }),
  update: (db) => db.repository(Friendship).update(back, { since: 4 }),
  delete: (db) => db.repository(Friendship).delete(back),
  'delete there': (db) => db.repository(Friendship).delete(there),
};

/** Ends programs after the calls of their writes: check tells what is off, and the outbox corrects it. */
export async function endLinkingAfterCalls(db: Database, program: () => Promise<Program>, stride: number) {
  const links = db.repository(Friendship);
  const prepareLinks = async (): Promise<void> => {
    await prepare(db);
    await links.deleteMany([{ person: 'ben', friend: 'cid' }]);
    await links.put({ ...there, since: 1 });
  };
  const writes = { writes: WRITES, prepare: prepareLinks, stride, spacing: 7 };
  return endAfterCalls(writes, program, async (when) => {
    const { faults } = await states(db);
    const { stale, missing } = await db.mutual(Friendship).check();
    expect(stale + missing > 0, when).toBe(faults > 0);
    await db.denormalized(Friendship).drain({ settledAfter: 0 });
    expect(await states(db), when).toMatchObject({ faults: 0 });
    expect(await db.mutual(Friendship).repair(), when).toMatchObject({ stale: 0, missing: 0, repaired: 0 });
    return faults;
  });
}

/** Writers of both sides of the same links at once, until `goesOn` says no: both sides are equal once the outbox is drained. */
export async function writeBothSides(
  databases: readonly Database[],
  goesOn: (writes: number) => boolean,
): Promise<void> {
  await prepare(databases[0]!);
  const run = async (db: Database, seed: number): Promise<void> => {
    const random = new Random(seed);
    const links = db.repository(Friendship);
    for (let i = 0; goesOn(i); i++) {
      const key = random.chance(0.5) ? there : back;
      if (random.below(5) === 0) await links.delete(key);
      else await links.mutate(key, (row) => row.set({ since: 1000 * seed + i }));
    }
  };
  await Promise.all(
    Array.from({ length: 8 }, (_, writer) => run(databases[writer % databases.length]!, writer + 1)),
  );
  for (const db of databases) await db.denormalized(Friendship).drain();
  expect((await states(databases[0]!)).faults).toBe(0);
}
