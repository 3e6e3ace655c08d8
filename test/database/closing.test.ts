/** The end of a database: what it waits for, and what it leaves behind. */

import { createHook } from 'node:async_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { part } from '../../src/key/index.js';
import { openMemory } from '../../src/testing/index.js';

const Thing = defineEntity({
  name: 'Thing',
  table: defineTable({ name: 'things', families: { d: {} } }),
  key: [part('id')],
  columns: (c) => ({ name: c.column('d:n', text).optional() }),
});

/** The parts of a database that its end waits for. */
interface Inside {
  readonly wiring: {
    readonly contexts: { rest(): Promise<unknown> };
    readonly features: { end(): Promise<unknown> };
  };
}
const inside = (db: Database): Inside['wiring'] => (db as unknown as Inside).wiring;
const never = (): Promise<never> => new Promise(() => undefined);

afterEach(() => {
  vi.useRealTimers();
});

test('close ends though what it waits for does not', async () => {
  const db = await openMemory({ entities: [Thing] });
  const { contexts, features } = inside(db);
  vi.spyOn(contexts, 'rest').mockImplementation(never);
  vi.spyOn(features, 'end').mockImplementation(never);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const closing = db.close();
  await vi.advanceTimersByTimeAsync(6000);
  await closing;
  await expect(db.repository(Thing).put({ id: 'a' })).rejects.toMatchObject({ code: 'ERR_CLOSED' });
});

test('close closes the engine though a feature fails to end', async () => {
  const db = await openMemory({ entities: [Thing] });
  vi.spyOn(inside(db).features, 'end').mockRejectedValue(new Error('no end'));
  await expect(db.close()).rejects.toThrow('no end');
  await expect(db.repository(Thing).put({ id: 'a' })).rejects.toMatchObject({ code: 'ERR_CLOSED' });
});

test('close leaves no timer behind', async () => {
  const db = await openMemory({ entities: [Thing] });
  const timers = new Set<number>();
  const hook = createHook({
    init(id, type) {
      if (type === 'Timeout' && new Error().stack!.includes('/database/database.')) timers.add(id);
    },
    destroy: (id) => void timers.delete(id),
  }).enable();
  await db.close();
  await turn();
  await turn();
  hook.disable();
  expect(timers.size).toBe(0);
});
