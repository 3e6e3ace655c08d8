/** Writes by who may write the entries of an index, and not the rows. */

import { expect, test } from 'vitest';
import { defineEntity, defineTable, part } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { Database } from '../../src/database.js';
import { RowanError } from '../../src/errors.js';
import { compileSchema } from '../../src/mapper/index.js';
import { openEmbedded } from '../../src/store/engine.js';
import { type BatchAction, type BatchOptions, type Engine, Scan, type Table } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/index.js';
import { overriding, stepless } from '../proof/stepless.js';

const Person = defineEntity({
  name: 'Person',
  table: defineTable({ name: 'people', families: { d: {} } }),
  key: [part('id')],
  columns: (c) => ({ name: c.column('d:n', text), mail: c.column('d:m', text).optional() }),
  indexes: { byName: { on: [part('name')] }, byMail: { on: [part('mail')], unique: true } },
});

const WELL = { missing: 0, extra: 0, stale: 0, unverified: 0 };

/** The engine for a user who may not write the people. */
function withoutWrite(engine: Engine, details?: object): Engine {
  const denied = (of: Table) => async (actions: readonly BatchAction[], options?: BatchOptions) => {
    const isDenied = of.name.endsWith('people') && actions.some((action) => 'kind' in action);
    if (!isDenied) return of.batch(actions, options);
    const error = new RowanError('ERR_SECURITY', 'ben lacks WRITE on "people".', { details: { ...details } });
    return actions.map(() => ({ ok: false as const, error }));
  };
  return overriding(engine, 'table', (name: string) => {
    const table = engine.table(name);
    return overriding(table, 'batch', denied(table));
  });
}

async function opened(details?: object) {
  let ahead = 0;
  const engine = stepless(
    await openEmbedded('/memory', { fileSystem: new MemoryFileSystem(), clock: () => Date.now() + ahead }),
  );
  const program = async (of: Engine) => {
    const db = new Database(compileSchema([Person]), of, 'create');
    await db.ready();
    return db;
  };
  const mighty = await program(engine);
  const entries = async () => {
    let count = 0;
    for await (const { cells } of engine.table('people_idx').scan(new Scan())) count += cells.length;
    return count;
  };
  const verify = async () =>
    Promise.all((['byName', 'byMail'] as const).map((name) => mighty.index(Person, name).verify()));
  const later = () => {
    ahead += 60_000;
  };
  return { mighty, weak: await program(withoutWrite(engine, details)), entries, verify, later };
}

test('the entries of a new row that may not be written are taken back at once', async () => {
  const { mighty, weak, entries, verify } = await opened();
  const before = await entries();
  const people = weak.repository(Person);
  const row = { id: 'a', name: 'Ann', mail: 'a@x' };
  await expect(people.insert(row)).rejects.toMatchObject({ code: 'ERR_SECURITY' });
  await expect(people.put(row)).rejects.toMatchObject({ code: 'ERR_SECURITY' });
  await expect(people.putMany([row, { id: 'b', name: 'Bob' }])).rejects.toMatchObject({
    code: 'ERR_SECURITY',
  });
  await weak['wiring'].contexts.rest();
  expect(await entries()).toBe(before);
  for (const report of await verify()) expect(report).toMatchObject(WELL);
  // Its unique value waits for nobody.
  await mighty.repository(Person).insert({ ...row, id: 'c' });
  await mighty.close();
});

test('they stay where an earlier request may still write the row, and a query finds no row by them', async () => {
  const { mighty, weak, entries, verify, later } = await opened({ outcome: 'unknown' });
  const before = await entries();
  const row = { id: 'a', name: 'Ann', mail: 'a@x' };
  await expect(weak.repository(Person).insert(row)).rejects.toMatchObject({ code: 'ERR_SECURITY' });
  await weak['wiring'].contexts.rest();
  expect(await entries()).toBe(before + 2);
  later();
  expect(await mighty.repository(Person).by('byName').find({ name: 'Ann' }).all()).toEqual([]);
  await expect.poll(async () => (await verify())[0]).toMatchObject(WELL);
  await mighty.close();
});

test('those of a row that is there stay unverified until a program that may write it settles them', async () => {
  const { mighty, weak, verify, later } = await opened();
  const people = mighty.repository(Person);
  await people.insert({ id: 'a', name: 'Ann', mail: 'a@x' });
  await mighty['wiring'].contexts.rest();
  const denied = weak.repository(Person);
  for (const write of [
    () => denied.update({ id: 'a' }, { name: 'Anna', mail: 'anna@x' }),
    () => denied.delete({ id: 'a' }),
  ])
    await expect(write()).rejects.toMatchObject({ code: 'ERR_SECURITY' });
  await weak['wiring'].contexts.rest();
  const found = async (name: string) =>
    (await people.by('byName').find({ name }).all()).map(({ id }) => id).join();
  // What queries say is right all the time.
  expect([await found('Ann'), await found('Anna')]).toEqual(['a', '']);
  expect((await verify()).map(({ unverified }) => unverified)).toEqual([2, 2]);
  later();
  expect([await found('Ann'), await found('Anna')]).toEqual(['a', '']);
  await expect.poll(async () => (await verify())[0]!.unverified).toBe(0);
  await people.insert({ id: 'b', name: 'Bea', mail: 'anna@x' });
  await mighty['wiring'].contexts.rest();
  await mighty.index(Person, 'byMail').repair();
  for (const report of await verify()) expect(report).toMatchObject(WELL);
  await mighty.close();
});
