/** Columns that move and retired record types on a real HBase: what holds, and what is refused (docs/schema.md). */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { counter, int32, part, recordType, text } from '../../src/index.js';
import { Get, Scan } from '../../src/table/index.js';
import { scaled } from '../proof/scale.js';
import { openTestStore, type TestStore } from '../query/test-database.js';

const ROWS = scaled(20, 200, 2000);
const PATIENCE = 900_000;
const table = defineTable({ name: 'moved', families: { d: {}, e: {}, h: { versions: 3 } } });

const declare = (kind: 'before' | 'now' | 'settled') => {
  const before = kind === 'before';
  const was = <P extends string>(place: P) => (kind === 'now' ? { was: [place] } : {});
  return defineEntity({
    name: 'Thing',
    table,
    recordType: 1,
    key: [recordType(), part('id')],
    columns: (c) => ({
      name: c.column(before ? 'd:n' : 'e:name', text, was('d:n')).optional(),
      past: c.versions(before ? 'h:p' : 'h:past', int32, was('h:p')).optional(),
      more: c.columns(before ? 'd:m.' : 'e:m.', { value: int32, ...was('d:m.') }),
      hits: c.counter(before ? 'd:h' : 'e:hits', was('d:h')),
      tally: c.columns(before ? 'd:t.' : 'e:t.', { value: counter, ...was('d:t.') }),
    }),
  });
};
const Before = declare('before');
const Now = declare('now');
const Settled = declare('settled');

const other = (retired: boolean) =>
  defineEntity({
    name: 'Other',
    table,
    recordType: 2,
    retired,
    key: [recordType(), part('id')],
    columns: (c) => ({ name: c.column('d:n', text) }),
  });
const Other = other(false);
const Retired = other(true);

const idOf = (n: number): string => String(n).padStart(5, '0');
const ids = Array.from({ length: ROWS }, (_, n) => idOf(n));

let store: TestStore;
beforeAll(() => {
  store = openTestStore();
});
afterAll(() => store.dispose());

test(
  'columns are read at both places, written at the new one, and moved beside two programs; no count is lost',
  async () => {
    const before = await store.open(Before, Other);
    const old = before.repository(Before);
    await old.putMany(
      ids.map((id, n) => ({ id, name: `n${n}`, past: [{ value: n }], more: new Map([['k', n]]), hits: 5n })),
    );
    await before.repository(Other).putMany(ids.map((id) => ({ id, name: 'other' })));

    const db = await store.open(Now, Other);
    const things = db.repository(Now);
    const names = ids.map((_, n) => `n${n}`);
    const all = () => things.find({}, { fullScan: true });
    expect((await all().all()).map(({ name, hits }) => [name, hits])).toEqual(
      names.map((name) => [name, 5n]),
    );
    expect(await all().where({ name: 'n3' }).count()).toBe(1);

    // What would be one step on the embedded engine is refused, and says what to do.
    const refused = { code: 'ERR_UNSUPPORTED' };
    const key = { id: idOf(0) };
    await expect(things.append(key, { name: '!' })).rejects.toMatchObject(refused);
    await expect(things.check(key, { name: 'n0' }).update({ name: 'x' })).rejects.toMatchObject(refused);
    await expect(all().where({ name: 'n0' }).updateAll({ name: 'x' })).rejects.toMatchObject(refused);
    expect((await db.rekey(Now, Other as never).plan()).problems.join('\n')).toMatch(/a table of its own/);

    // Beside the job an old program counts, and a new one writes and counts.
    const counted = async (): Promise<void> => {
      for (const id of ids) await old.increment({ id }, { hits: 1, tally: new Map([['k', 1n]]) });
    };
    const written = async (): Promise<void> => {
      for (const id of ids) {
        await things.update({ id }, { name: `w${id}`, more: new Map([['l', 1]]) });
        await things.increment({ id }, { hits: 2, tally: new Map([['k', 2n]]) });
      }
    };
    const moving = db.schema.moveColumns(Now).catch((error: { code?: string }) => error.code ?? error);
    await Promise.all([counted(), written(), moving]);
    expect([undefined, 'ERR_CONFLICT']).toContain(
      typeof (await moving) === 'string' ? await moving : undefined,
    );
    await before.close();
    await db.schema.apply();
    await db.schema.moveColumns(Now);
    expect((await db.schema.plan()).steps).toEqual([]);
    await db.close();

    const after = await store.open(Settled, Other);
    const found = await after.repository(Settled).find({}, { fullScan: true }).all();
    expect(
      found.map(({ name, past, more, hits, tally }) => [
        name,
        past?.map(({ value }) => value),
        more,
        hits,
        tally,
      ]),
    ).toEqual(
      ids.map((id, n) => [
        `w${id}`,
        [n],
        new Map([
          ['k', n],
          ['l', 1],
        ]),
        8n,
        new Map([['k', 3n]]),
      ]),
    );
    // Nothing is left where it stood but counters, as zero.
    for await (const { row, cells } of after.engine.table('moved').scan(new Scan())) {
      if (row[0] !== 1) continue;
      for (const { family, qualifier, value } of cells) {
        if (family !== 'd') continue;
        const place = String(Buffer.from(qualifier));
        if (place !== '_')
          expect([place, Buffer.from(value).toString('hex')]).toEqual([place, '0'.repeat(16)]);
      }
    }
    await after.close();
  },
  PATIENCE,
);

test(
  'the rows of a retired record type are removed when that is allowed, and no others',
  async () => {
    const db = await store.open(Settled, Retired);
    const step = 'retire:moved/Other';
    expect((await db.schema.apply()).held.map(({ id }) => id)).toEqual([step]);
    await db.schema.apply({ allow: [`data-loss:${step}`] });
    expect((await db.schema.plan()).steps).toEqual([]);
    const left = new Set<number>();
    for await (const { row } of db.engine.table('moved').scan(new Scan())) left.add(row[0]!);
    expect([...left]).toEqual([1]);
    expect(await db.repository(Settled).find({}, { fullScan: true }).count()).toBe(ROWS);
    expect((await db.engine.table('moved').get(new Get(Uint8Array.of(2, 48)))).isEmpty).toBe(true);
    await db.close();
  },
  PATIENCE,
);
