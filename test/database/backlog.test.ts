/** `db.backlog()`: what waits in the background, and how often writes start again or take over from others. One step is one row, as on HBase. */

import { afterEach, beforeEach, expect, it } from 'vitest';
import { Column, Denormalized, Entity, Index, part, RowKey } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { Scan } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { openMemory } from '../../src/testing/index.js';
import { openStepless, type SteplessStore } from '../proof/stepless.js';
import { Kept, Late } from './waiting-entities.js';

@Entity({ table: { name: 'backlog_teams', families: { d: {} } } })
@RowKey(part('id'))
class Team {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:n', text) name!: string;
}

@Entity({ table: { name: 'backlog_people', families: { d: {} } } })
@RowKey(part('id'))
class Person {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byEmail: ['email']; byCity: ['city'] };
  id!: string;
  @Index('byEmail', { unique: true }) @Column('d:e', text) email?: string;
  @Index('byCity') @Column('d:c', text) city?: string;
}

@Entity({ table: { name: 'backlog_players', families: { d: {} } } })
@RowKey(part('id'))
@Denormalized(() => Team, { via: 'team', fields: { teamName: 'name' }, fanOut: 10 })
class Player {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byTeam: ['team'] };
  id!: string;
  @Index('byTeam') @Column('d:t', text) team?: string;
  @Column('d:n', text) teamName?: string | null;
}

const entities = [Team, Person, Player];
/** Beyond the time after which a writer is taken to have given up, ms. */
const LATER = 60_000;

let store: SteplessStore;
let ahead: number;
beforeEach(async () => {
  ahead = 0;
  store = await openStepless(() => Date.now() + ahead);
});
afterEach(() => store[Symbol.asyncDispose]());

async function figures(db: Database, options = {}): Promise<Record<string, number>> {
  const found = await db.backlog(options);
  return Object.fromEntries(found.map(({ name, value }) => [name.slice('rowan.'.length), value]));
}

/** Resolves when the entries of answered writes are verified. */
const rest = (db: Database): Promise<unknown> => db['wiring'].contexts.rest();

/** Programs insert a person and end after 0, 1, … steps, until one ends by itself. */
async function* brokenInserts(
  own: Database,
): AsyncGenerator<{ readonly email: string; readonly claimed: boolean; readonly found: boolean }> {
  for (let after = 0; ; after++) {
    const { db, mortal } = await store.program(...entities);
    const email = `${after}@x`;
    mortal.dieAfter(after);
    await db
      .repository(Person)
      .insert({ id: `dead${after}`, email, city: email })
      .catch((error: { code?: string }) => expect(error.code).toBe('ERR_CONNECTION'));
    await mortal.arrived();
    if (!mortal.isDead) return;
    const row = await own.repository(Person).get({ id: `dead${after}` });
    const keys: string[] = [];
    for await (const { row: key } of own.engine.table('backlog_people_idx').scan(new Scan()))
      keys.push(Buffer.from(key).toString('latin1'));
    // An entry of a unique index has the row in its value.
    const entries = keys.filter((key) => row === null && key.includes(email));
    const ofCity = entries.filter((key) => key.includes(`dead${after}`)).length;
    yield { email, claimed: entries.length > ofCity, found: ofCity > 0 };
  }
}

it('counts nothing while writers neither meet nor end early', async () => {
  const { db } = await store.program(...entities);
  await db.repository(Person).insert({ id: 'a', email: 'a@x', city: 'Bern' });
  await db.repository(Person).update({ id: 'a' }, { email: 'b@x' });
  expect(await db.repository(Person).by('byCity').find({ city: 'Bern' }).count()).toBe(1);
  await rest(db);
  expect(await figures(db)).toEqual({
    'change.restarts': 0,
    'outbox.pending': 0,
    'outbox.age': 0,
    'outbox.takeovers': 0,
    'index.unverified': 0,
    'index.unverified.age': 0,
    'index.repairs': 0,
    'index.takeovers': 0,
  });
});

it('counts changes that start again because another program changed their row', async () => {
  const people = (await store.program(...entities)).db.repository(Person);
  await people.insert({ id: 'a', city: 'Bern' });
  const { db, requests } = await store.late(...entities);
  // It has read the row, and its first mark is under way.
  requests.keep(0, 'held');
  const later = db.repository(Person).update({ id: 'a' }, { city: 'Basel' });
  await requests.reached;
  await people.update({ id: 'a' }, { city: 'Chur' });
  await requests.deliver();
  await later;
  expect(await people.get({ id: 'a' })).toMatchObject({ city: 'Basel' });
  expect((await figures(db))['change.restarts']).toBe(1);
});

it('counts unique values that are taken over from writers that gave up, and only those', async () => {
  const { db } = await store.program(...entities);
  const people = db.repository(Person);
  let taken = 0;
  for await (const { email, claimed } of brokenInserts(db)) {
    ahead += LATER;
    await people
      .insert({ id: `own ${email}`, email })
      .catch((error: { code?: string }) => expect(error.code).toBe('ERR_CONFLICT'));
    if (claimed) taken++;
    expect((await figures(db))['index.takeovers'], email).toBe(taken);
  }
  expect(taken).toBeGreaterThan(0);
});

it('counts entries that queries repair', async () => {
  const { db } = await store.program(...entities);
  const cities = db.repository(Person).by('byCity');
  let repaired = 0;
  for await (const { email, found } of brokenInserts(db)) {
    if (!found) continue;
    ahead += LATER;
    const before = (await figures(db))['index.repairs']!;
    expect(await cities.find({ city: email }).all()).toEqual([]);
    await expect.poll(async () => (await figures(db))['index.repairs']).toBe(before + 1);
    expect((await figures(db))['index.unverified']).toBe(0);
    repaired++;
  }
  expect(repaired).toBeGreaterThan(0);
});

it('has what waits in the outbox with its age, up to the limit, and counts what is applied for others', async () => {
  const { db } = await store.program(...entities);
  await db.repository(Team).putMany(['a', 'b'].map((id) => ({ id, name: 'old' })));
  await db.repository(Player).putMany(['a', 'b'].map((id) => ({ id, team: id })));
  await db.denormalized(Player).drain();
  for (const id of ['a', 'b']) {
    for (let after = 0, before = (await figures(db))['outbox.pending']!; ; after++) {
      const { db: other, mortal } = await store.program(...entities);
      mortal.dieAfter(after);
      await other
        .repository(Team)
        .update({ id }, { name: `new ${after}` })
        .catch(() => undefined);
      await mortal.arrived();
      if ((await figures(db))['outbox.pending']! > before) break;
      expect(mortal.isDead).toBe(true);
    }
  }
  ahead += LATER;
  const found = await figures(db);
  expect(found).toMatchObject({ 'outbox.pending': 2, 'outbox.takeovers': 0 });
  expect(found['outbox.age']).toBeGreaterThanOrEqual(LATER);
  expect(await figures(db, { limit: 1 })).toMatchObject({ 'outbox.pending': 1 });
  await db.denormalized(Player).drain();
  expect(await figures(db)).toMatchObject({ 'outbox.pending': 0, 'outbox.age': 0, 'outbox.takeovers': 2 });
});

it('counts recorded changes that their writers have not closed, among the newest of each bucket', async () => {
  const { db } = await store.program(Kept);
  await db.repository(Kept).put({ id: 'a', name: 'n' });
  await rest(db);
  const none = { 'changes.open': 0, 'changes.open.age': 0 };
  expect(await figures(db)).toEqual({ 'change.restarts': 0, ...none });
  const feed = db.watch(Kept, {}, { from: 'start', settledAfter: 0 });
  let open = 0;
  for (let after = 0; open === 0; after++) {
    const { db: other, mortal } = await store.program(Kept);
    mortal.dieAfter(after);
    await other
      .repository(Kept)
      .put({ id: 'a', name: `n${after}` })
      .catch((error: { code?: string }) => expect(error.code).toBe('ERR_CONNECTION'));
    await mortal.arrived();
    expect(mortal.isDead).toBe(true);
    ahead += LATER;
    const found = await figures(db, { limit: 16 });
    if (found['changes.open'] === 0) continue;
    open++;
    expect(found['changes.open']).toBe(1);
    expect(found['changes.open.age']).toBeGreaterThanOrEqual(LATER);
    await db.repository(Kept).put({ id: 'a', name: 'newest' });
    // The limit leaves out what is behind the newest entry of its bucket.
    expect(await figures(db, { limit: 16 })).toMatchObject(none);
    expect(await figures(db)).toMatchObject({ 'changes.open': 1 });
    await rest(db);
    for await (const { changes } of feed) if (changes.some(({ after }) => after?.name === 'newest')) break;
    expect(await figures(db)).toMatchObject(none);
  }
});

it('counts the entries of eventual indexes that are not written yet, on the embedded engine', async () => {
  const disk = new MemoryFileSystem();
  {
    await using db = await openMemory({ entities: [Late], disk });
    await db.repository(Late).putMany(['a', 'b'].map((id) => ({ id, color: 'red' })));
  }
  await using db = await openMemory({ entities: [Late], disk, tables: 'ignore' });
  const left = (await db.index(Late, 'byColor').verify()).pending;
  const { 'index.pending': pending, 'index.pending.age': age, ...others } = await figures(db);
  expect({ pending, others }).toEqual({ pending: left, others: {} });
  expect(left).toBe(2);
  expect(age).toBeGreaterThanOrEqual(0);
});

it('refuses options that are none', async () => {
  const { db } = await store.program(...entities);
  for (const options of [{ limit: 0 }, { limit: 1.5 }, { most: 1 }])
    expect(() => db.backlog(options as never)).toThrow(/backlog/);
});
