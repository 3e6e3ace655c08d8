/**
 * A delete in HBase hides a put of its millisecond, whichever came first (R32). A write of a row with entries waits for the next millisecond
 * where a delete marker in the row may be of this one, and only there.
 */

import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Column, Entity, Index, part, RowKey } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { Database } from '../../src/database.js';
import { RowanError } from '../../src/errors.js';
import { compileSchema } from '../../src/mapper/index.js';
import { openEmbedded } from '../../src/store/engine.js';
import type { Engine, Get, OperationOptions, Table } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/index.js';
import { scaled } from '../proof/scale.js';
import { openStepless, overriding, stepless } from '../proof/stepless.js';

@Entity({ table: { name: 'marked_people', families: { d: {} } } })
@RowKey(part('id'))
@Index('byName', [part('name')])
class Person {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byName: ['name'] };
  id!: string;
  @Column('d:n', text) name!: string;
  @Column('d:t', text) title?: string | null;
}

/** More turns of the event loop than any write takes that waits for nothing. */
const TURNS = 200;

/** Whether the write ends while the clock of `performance.now()` stands still. */
async function endsAtOnce(write: () => Promise<unknown>): Promise<boolean> {
  const { now } = performance;
  const stopped = now.call(performance);
  let hasEnded = false;
  performance.now = () => stopped;
  let writing: Promise<unknown>;
  try {
    writing = write().then(() => {
      hasEnded = true;
    });
    for (let i = 0; i < TURNS && !hasEnded; i++) await turn();
  } finally {
    performance.now = now;
  }
  const atOnce = hasEnded;
  await writing;
  return atOnce;
}

test('a write of a row without delete markers waits for no millisecond, one of a row with some does', async () => {
  await using store = await openStepless();
  const { db } = await store.program(Person);
  const people = db.repository(Person);
  const settled = async () => {
    await db['wiring'].contexts.rest();
    // The next writer of a row waits until the times of its cells are over.
    await sleep(10);
  };
  expect(await endsAtOnce(() => people.insert({ id: 'a', name: 'Ann' }))).toBe(true);
  await settled();
  expect(await endsAtOnce(() => people.put({ id: 'a', name: 'Anna', title: '' }))).toBe(true);
  await settled();
  // A marker of a column.
  await people.update({ id: 'a' }, { title: null });
  await settled();
  expect(await endsAtOnce(() => people.put({ id: 'a', name: 'Ann' }))).toBe(false);
  await settled();
  // Markers of a row that is not there.
  await people.delete({ id: 'a' });
  await settled();
  expect(await endsAtOnce(() => people.insert({ id: 'a', name: 'Ann' }))).toBe(false);
  await settled();
  // Several rows of one call.
  expect(await endsAtOnce(() => people.putMany([1, 2].map((n) => ({ id: `b${n}`, name: 'Bob' }))))).toBe(
    false,
  );
});

test.each<[string, (engine: Engine) => Engine]>([
  [
    'the markers cannot be read',
    (engine) => {
      const failing = (of: Table) => (get: Get, options?: OperationOptions) =>
        get.raw ? Promise.reject(new RowanError('ERR_CONNECTION', 'No answer.')) : of.get(get, options);
      return overriding(engine, 'table', (name: string) => {
        const table = engine.table(name);
        return overriding(table, 'get', failing(table));
      });
    },
  ],
  [
    'the engine shows none',
    (engine) => overriding(engine, 'capabilities', { ...engine.capabilities, deleteMarkers: false }),
  ],
])('where %s, a write waits', async (_, changed) => {
  const engine = stepless(await openEmbedded('/memory', { fileSystem: new MemoryFileSystem() }));
  const db = new Database(compileSchema([Person]), changed(engine), 'create');
  await db.ready();
  expect(await endsAtOnce(() => db.repository(Person).insert({ id: 'a', name: 'Ann' }))).toBe(false);
  expect(await db.repository(Person).get({ id: 'a' })).toEqual({ id: 'a', name: 'Ann' });
  await db.close();
});

test('no delete of another program hides a row that is inserted after it', async () => {
  await using store = await openStepless(Date.now, async () => undefined);
  const [one, other] = [await store.program(Person), await store.program(Person)];
  const rounds = scaled(60, 600, 6000);
  for (let i = 0; i < rounds; i++) {
    await one.db.repository(Person).put({ id: 'a', name: `n${i % 3}` });
    await one.db['wiring'].contexts.rest();
    await other.db.repository(Person).delete({ id: 'a' });
    await one.db.repository(Person).insert({ id: 'a', name: `n${i % 2}` });
    expect(await one.db.repository(Person).get({ id: 'a' }), `round ${i}`).not.toBeNull();
    await other.db['wiring'].contexts.rest();
    await one.db.repository(Person).delete({ id: 'a' });
    await one.db['wiring'].contexts.rest();
  }
  expect(await one.db.index(Person, 'byName').verify()).toMatchObject({ missing: 0, stale: 0, extra: 0 });
});
