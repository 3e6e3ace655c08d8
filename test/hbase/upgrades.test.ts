/** Entities of an older version on a real HBase: whoever reads sees the present one, whoever writes upgrades the row first. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { defineEntity, defineTable, upgrade } from '../../decorators/index.js';
import { int64, part, text } from '../../src/index.js';
import { scaled } from '../proof/scale.js';
import { openTestStore, type TestStore } from '../query/test-database.js';

const ROWS = scaled(40, 400, 4000);
const table = defineTable({ name: 'upgraded', families: { d: {} } });

const Old = defineEntity({
  name: 'Person',
  table,
  key: [part('id')],
  columns: (c) => ({ name: c.column('d:n', text).optional(), seen: c.column('d:s', int64).optional() }),
});

const halves = upgrade(
  1,
  { old: (c) => ({ name: c.column('d:n', text).optional() }), sets: ['first', 'last'] },
  ({ name }) => {
    const [first, last] = name?.split(' ') ?? [];
    return { first, last };
  },
);

const declare = (upgrades: readonly (typeof halves)[]) =>
  defineEntity({
    name: 'Person',
    table,
    key: [part('id')],
    schemaVersion: 2,
    upgrades: [...upgrades],
    columns: (c) => ({
      first: c.column('d:f', text).optional(),
      last: c.column('d:l', text).optional(),
      seen: c.column('d:s', int64).optional(),
    }),
  });

const idOf = (n: number): string => String(n).padStart(5, '0');
const present = (n: number) => ({ id: idOf(n), first: `F${n % 7}`, last: `L${n}` });

let store: TestStore;
beforeAll(() => {
  store = openTestStore();
});
afterAll(() => store.dispose());

test('rows of before are read, asked for, written by two programs at once and upgraded, each once', async () => {
  const before = await store.open(Old);
  await before
    .repository(Old)
    .putMany(Array.from({ length: ROWS }, (_, n) => ({ id: idOf(n), name: `F${n % 7} L${n}`, seen: 0n })));
  await before.close();

  const Person = declare([halves]);
  const programs = [await store.open(Person), await store.open(Person)] as const;
  const one = programs[0].repository(Person);
  const other = programs[1].repository(Person);
  const all = Array.from({ length: ROWS }, (_, n) => ({ ...present(n), seen: 0n }));
  expect(await one.find({}, { fullScan: true }).all()).toEqual(all);
  expect(await one.find({}, { fullScan: true }).where({ first: 'F3' }).count()).toBe(
    all.filter(({ first }) => first === 'F3').length,
  );
  expect(await other.get({ id: idOf(5) })).toEqual(all[5]);

  // Both write every row, beside the job that upgrades all.
  const job = programs[0].schema;
  const writes = async (repo: typeof one, odd: number): Promise<void> => {
    for (let n = odd; n < ROWS; n += 2) await repo.update({ id: idOf(n) }, { seen: BigInt(n + 1) });
    for (let n = 1 - odd; n < ROWS; n += 2) await repo.update({ id: idOf(n) }, { last: `L${n}` });
  };
  await Promise.all([writes(one, 0), writes(other, 1), job.upgradeRows(Person)]);
  const written = Array.from({ length: ROWS }, (_, n) => ({ ...present(n), seen: BigInt(n + 1) }));
  expect(await other.find({}, { fullScan: true }).all()).toEqual(written);
  for (const db of programs) await db.close();

  const Settled = declare([]);
  const after = await store.open(Settled);
  expect(await after.repository(Settled).find({}, { fullScan: true }).all()).toEqual(written);
  await after.close();
});
