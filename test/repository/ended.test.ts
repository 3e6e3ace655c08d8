/** Entities that have ended: nothing of them is seen, and nothing that stood below them. */

import { beforeEach, describe, expect, test } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { part } from '../../src/key/index.js';
import { openMemory, type SettableClock, settableClock } from '../../src/testing/open-memory.js';

const Session = defineEntity({
  name: 'Session',
  table: defineTable({ name: 'sessions', families: { d: {} } }),
  key: [part('id')],
  columns: (c) => ({
    state: c.column('d:s', text),
    note: c.column('d:n', text).optional(),
    life: c.ttl(),
  }),
});
const key = { id: 'x' };

let clock: SettableClock;
beforeEach(() => {
  clock = settableClock();
});

describe.each(['put', 'replace'] as const)(
  'a life that %s begins over an endless one, and another over that',
  (write) => {
    test.each([true, false])(
      'hides the endless one when it has ended, flushed between: %s',
      async (flushed) => {
        await using db = await openMemory({ entities: [Session], clock });
        const sessions = db.repository(Session);
        await sessions.put({ ...key, state: 'endless', note: 'n' });
        if (flushed) await db.admin.flush('sessions');
        clock.advance(10);
        await sessions[write]({ ...key, state: 'short', life: 1000 });
        await sessions[write]({ ...key, state: 'longer', life: 5000 });
        await db.admin.flush('sessions');
        expect(await sessions.get(key)).toMatchObject({ state: 'longer' });
        clock.advance(20_000);
        expect(await sessions.get(key)).toBeNull();
        expect(await sessions.exists(key)).toBe(false);
        expect(await sessions.find({}, { fullScan: true }).all()).toEqual([]);
      },
    );
  },
);

test('an entity has ended for every reader in the second that its columns are left', async () => {
  await using db = await openMemory({ entities: [Session], clock });
  const sessions = db.repository(Session);
  await sessions.put({ ...key, state: 'new', life: 1000 });
  await sessions.update(key, { note: 'carries what remains' });
  clock.advance(1500);
  expect(await sessions.exists(key)).toBe(false);
  expect(await sessions.get(key)).toBeNull();
  expect(await sessions.find({}, { fullScan: true }).count()).toBe(0);
  expect(await sessions.find({ id: 'x' }).exists()).toBe(false);
});

test('rows that are written again with their times and lives stay', async () => {
  await using db = await openMemory({ entities: [Session], clock });
  const sessions = db.repository(Session);
  const timestamp = clock() - 1000;
  for (const state of ['once', 'twice'])
    await sessions.putMany([{ ...key, state, life: 5000 }], { timestamp });
  expect(await sessions.get(key)).toMatchObject({ state: 'twice' });
  await sessions.putMany([{ ...key, state: 'later', life: 5000 }], { timestamp: timestamp + 1 });
  expect(await sessions.get(key)).toMatchObject({ state: 'later' });
  clock.advance(5000);
  expect(await sessions.get(key)).toBeNull();
});
