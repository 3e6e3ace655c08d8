/** Writes one of whose requests arrives late or twice, and what must hold then, on any engine where one step is one row. */

import { expect } from 'vitest';
import {
  Column,
  Denormalized,
  Entity,
  Index,
  part,
  Reference,
  RowKey,
  Summary,
} from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import type { Delivery } from '../proof/late.js';

@Entity({ table: { name: 'late_teams', families: { d: {} } } })
@RowKey(part('id'))
class Team {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:n', text) name!: string;
}

@Entity({ table: { name: 'late_members', families: { d: {} } } })
@RowKey(part('id'))
@Index('byTeam', [part('team')], { include: ['points'] })
@Denormalized(() => Team, { via: 'team', fields: { teamName: 'name' }, fanOut: 10 })
@Summary('perTeam', { by: ['team'], figures: { members: 'count', points: { sum: 'points' } } })
class Member {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byTeam: ['team']; byEmail: ['email'] };
  declare static readonly summaries: {
    perTeam: { by: ['team']; figures: { members: 'count'; points: { sum: 'points' } } };
  };
  id!: string;
  @Index('byEmail', { unique: true }) @Column('d:e', text) email?: string | null;
  @Column('d:t', text) team?: string | null;
  @Column('d:p', int32) points?: number | null;
  @Column('d:c', text) teamName?: string | null;
}

@Entity({ table: { name: 'late_owners', families: { d: {} } } })
@RowKey(part('id'))
class Owner {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:n', text) name?: string | null;
}

@Entity({ table: { name: 'late_pets', families: { d: {} } } })
@RowKey(part('id'))
@Index('byKeeper', [part('keeper')])
@Index('byOwner', [part('owner')])
class Pet {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byOwner: ['owner']; byKeeper: ['keeper'] };
  id!: string;
  @Column('d:o', text) owner?: string | null;
  @Column('d:k', text) keeper?: string | null;
  @Reference(() => Owner, { id: 'owner' }, { onDelete: 'cascade' }) owned?: Owner | null;
  @Reference(() => Owner, { id: 'keeper' }, { onDelete: 'setNull' }) kept?: Owner | null;
}

export const lateEntities = [Team, Member, Owner, Pet];
const DELIVERIES: readonly Delivery[] = ['late', 'last', 'twice'];
const PATIENCE = { timeout: 60_000, interval: 5 };
/** Beyond any time after which somebody takes over, in milliseconds. */
export const LATER = 60_000;

const member = (id: string, email: string | null, team: string | null, points = 1) => ({
  id,
  email,
  team,
  points,
});

export async function prepareLate(db: Database): Promise<void> {
  await db.repository(Team).putMany([
    { id: 'red', name: 'Red' },
    { id: 'blue', name: 'Blue' },
  ]);
  await db
    .repository(Member)
    .putMany([member('a', 'a@x', 'red', 1), member('b', 'b@x', 'red', 2), member('c', null, 'blue', 4)]);
  await db.repository(Owner).putMany([{ id: 'x' }, { id: 'y' }]);
  await db.repository(Pet).putMany([
    { id: 'cat', owner: 'x', keeper: 'y' },
    { id: 'dog', owner: 'y', keeper: 'x' },
  ]);
}

/** The writes one of whose requests is late, and what others write when its writer has given up. */
export const LATE_WRITES: Readonly<
  Record<
    string,
    { readonly write: (db: Database) => Promise<unknown>; readonly rival: (db: Database) => Promise<unknown> }
  >
> = {
  insert: {
    write: (db) => db.repository(Member).insert(member('n', 'n@x', 'red', 8)),
    rival: (db) => db.repository(Member).insert(member('o', 'n@x', 'blue', 16)),
  },
  'insert, and the same key': {
    write: (db) => db.repository(Member).insert(member('n', 'n@x', 'red', 8)),
    rival: (db) => db.repository(Member).put(member('n', 'o@x', 'blue', 16)),
  },
  'insert without a value, and the same key': {
    write: (db) => db.repository(Member).insert(member('n', null, null, 8)),
    rival: (db) => db.repository(Member).insert(member('n', 'n@x', 'blue', 16)),
  },
  'change of a unique value': {
    write: (db) => db.repository(Member).update({ id: 'a' }, { email: 'n@x' }),
    rival: (db) => db.repository(Member).update({ id: 'b' }, { email: 'n@x' }),
  },
  'a unique value let go': {
    write: (db) => db.repository(Member).update({ id: 'a' }, { email: null }),
    rival: (db) => db.repository(Member).update({ id: 'b' }, { email: 'a@x' }),
  },
  'move to another team': {
    write: (db) => db.repository(Member).update({ id: 'a' }, { team: 'blue', points: 8 }),
    rival: (db) => db.repository(Member).update({ id: 'a' }, { points: 16 }),
  },
  'figures only': {
    write: (db) => db.repository(Member).update({ id: 'b' }, { points: 32 }),
    rival: (db) => db.repository(Member).update({ id: 'a' }, { points: 16 }),
  },
  delete: {
    write: (db) => db.repository(Member).delete({ id: 'a' }),
    rival: (db) => db.repository(Member).update({ id: 'b' }, { email: 'a@x' }),
  },
  'delete, and the same key': {
    write: (db) => db.repository(Member).delete({ id: 'a' }),
    rival: (db) => db.repository(Member).put(member('a', 'a@x', 'blue', 16)),
  },
  'source of copies': {
    write: (db) => db.repository(Team).put({ id: 'red', name: 'Crimson' }),
    rival: (db) => db.repository(Member).update({ id: 'c' }, { team: 'red' }),
  },
  'source of copies, and back': {
    write: (db) => db.repository(Team).put({ id: 'red', name: 'Crimson' }),
    rival: (db) => db.repository(Team).put({ id: 'red', name: 'Red' }),
  },
  'delete of what is named': {
    write: (db) => db.repository(Owner).delete({ id: 'x' }),
    rival: (db) => db.repository(Pet).insert({ id: 'bird', owner: 'y', keeper: null }),
  },
  'delete of what is named, and back': {
    write: (db) => db.repository(Owner).delete({ id: 'x' }),
    rival: (db) => db.repository(Owner).put({ id: 'x', name: 'X' }),
  },
  'a name of what is deleted': {
    write: (db) => db.repository(Pet).insert({ id: 'bird', owner: 'x', keeper: 'y' }),
    rival: (db) => db.repository(Owner).delete({ id: 'x' }),
  },
  'many rows': {
    write: (db) =>
      db.repository(Member).putMany([member('n', 'n@x', 'red', 8), member('a', 'o@x', 'blue', 16)]),
    rival: (db) =>
      db.repository(Member).putMany([member('b', 'n@x', 'blue', 32), member('c', 'a@x', 'red', 64)]),
  },
};

export async function drained(db: Database): Promise<void> {
  await db.denormalized(Member).drain();
  await db.summary(Member, 'perTeam').drain();
}

/** Resolves when all requests after the answers of a program are sent: the figures are read after them. */
export async function followed(db: Database): Promise<void> {
  await db.summary(Member, 'perTeam').get({ team: 'red' });
}

/** Every answer is what the rows say. */
export async function expectTrueAnswers(db: Database): Promise<void> {
  const rows = await db.repository(Member).find({}, { fullScan: true }).all();
  const emails = rows.flatMap(({ email }) => (email == null ? [] : [email]));
  expect(new Set(emails).size, `unique values: ${emails.join(' ')}`).toBe(emails.length);
  for (const email of ['a@x', 'b@x', 'n@x', 'o@x'])
    expect(await idsOf(db.repository(Member).by('byEmail').find({ email }).all())).toEqual(
      rows.filter((row) => row.email === email).map(({ id }) => id),
    );
  const teams = new Map(
    (await db.repository(Team).find({}, { fullScan: true }).all()).map((one) => [one.id, one]),
  );
  for (const { id, team, teamName } of rows)
    expect([id, teamName ?? undefined]).toEqual([id, team == null ? undefined : teams.get(team)?.name]);
  for (const team of teams.keys()) {
    const own = rows.filter((row) => row.team === team);
    expect(await idsOf(db.repository(Member).by('byTeam').find({ team }).all())).toEqual(
      own.map(({ id }) => id),
    );
    const points = own.reduce((sum, row) => sum + (row.points ?? 0), 0);
    const figures = await db.summary(Member, 'perTeam').get({ team });
    expect({ team, members: figures?.members ?? 0, points: Number(figures?.points ?? 0) }).toEqual({
      team,
      members: own.length,
      points,
    });
  }
}

/** No pet names an owner who is not there; those that are there, in the order of their keys. */
export async function petsThere(db: Database): Promise<string[]> {
  const owners = await idsOf(db.repository(Owner).find({}, { fullScan: true }).all());
  const pets = await db.repository(Pet).find({}, { fullScan: true }).all();
  for (const { id, owner, keeper } of pets)
    for (const named of [owner, keeper])
      if (named != null) expect([id, owners]).toEqual([id, expect.arrayContaining([named])]);
  for (const owner of ['x', 'y'])
    expect(await idsOf(db.repository(Pet).by('byOwner').find({ owner }).all())).toEqual(
      pets.filter((pet) => pet.owner === owner).map(({ id }) => id),
    );
  return pets.map((pet) => JSON.stringify(pet));
}

async function idsOf(found: Promise<readonly { id: string }[]>): Promise<string[]> {
  return (await found).map(({ id }) => id).sort();
}

/** Nothing is off that is not just to be looked at; and what a repair leaves is exact. */
export async function expectExactChecks(db: Database): Promise<void> {
  for (const name of ['byTeam', 'byEmail'] as const) {
    const index = db.index(Member, name);
    const found = await index.verify();
    expect({ name, ...found }, JSON.stringify({ name, ...found })).toMatchObject({
      missing: 0,
      extra: 0,
      stale: 0,
    });
    await index.repair();
    // What the queries have begun to put right behind their backs comes to its end.
    const none = { name, missing: 0, extra: 0, stale: 0, unverified: 0 };
    await expect.poll(async () => ({ name, ...(await index.verify()) }), PATIENCE).toMatchObject(none);
  }
  expect(await db.references(Pet).check()).toMatchObject({ dangling: 0 });
  expect(await db.denormalized(Member).check()).toMatchObject({ stale: 0, missing: 0, extra: 0, pending: 0 });
  expect(await db.summary(Member, 'perTeam').check()).toMatchObject({ stale: 0, missing: 0, extra: 0 });
}

/** Removes every row, and what is left to be done for it. */
export async function emptied(db: Database): Promise<void> {
  await db.repository(Pet).find({}, { fullScan: true }).deleteAll();
  await db.repository(Owner).find({}, { fullScan: true }).deleteAll();
  await db.repository(Member).find({}, { fullScan: true }).deleteAll();
  await drained(db);
}

/** An insert that is sent once more when its row was deleted is no other than a new one: nothing tells them apart (docs/hbase-calls.md). */
const AN_INSERT_AGAIN = 'a name of what is deleted';

/** Every kind of write, delivered in each way in which it can be told. */
export const LATE_CASES: readonly { readonly name: string; readonly mode: Delivery }[] = Object.keys(
  LATE_WRITES,
).flatMap((name) =>
  DELIVERIES.filter((mode) => name !== AN_INSERT_AGAIN || mode !== 'twice').map((mode) => ({ name, mode })),
);
