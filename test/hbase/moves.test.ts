/** Columns that move, columns that go and retired record types on a real HBase: what holds, and what is refused (docs/schema.md). */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import type { Database } from '../../src/database.js';
import { avro, counter, float64, int32, part, recordType, text, timeBucket } from '../../src/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import type { EntityClass } from '../../src/schema/types.js';
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

/** Moves the columns while others write, which may be refused as long as a program of before is there; then all is as declared. */
async function moveBeside(
  db: Database,
  entity: EntityClass,
  before: Database,
  others: readonly Promise<void>[],
): Promise<void> {
  const moving = db.schema.moveColumns(entity).then(
    () => undefined,
    (error: { code?: string }) => error.code ?? error,
  );
  await Promise.all(others);
  expect([undefined, 'ERR_CONFLICT']).toContain(await moving);
  await before.close();
  await db.schema.apply();
  await db.schema.moveColumns(entity);
  expect((await db.schema.plan()).steps).toEqual([]);
}

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
    await moveBeside(db, Now, before, [counted(), written()]);
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

test(
  'what stands in columns that are declared no more is removed when that is allowed, and nothing else',
  async () => {
    const Rest = defineEntity({
      name: 'Thing',
      table,
      recordType: 1,
      key: [recordType(), part('id')],
      columns: (c) => ({
        past: c.versions('h:past', int32).optional(),
        hits: c.counter('e:hits'),
        tally: c.columns('e:t.', { value: counter }),
      }),
    });
    const places = async (): Promise<Set<string>> => {
      const found = new Set<string>();
      for await (const { cells } of db.engine.table('moved').scan(new Scan().readAllVersions()))
        for (const { family, qualifier } of cells) found.add(`${family}:${Buffer.from(qualifier)}`);
      return found;
    };
    const db = await store.open(Rest);
    const before = await places();
    expect(before).toContain('e:name');
    const steps = ['drop-column:moved/Thing/e:m.', 'drop-column:moved/Thing/e:name'];
    expect((await db.schema.apply()).held.map(({ id }) => id)).toEqual(steps);
    expect(await places()).toEqual(before);
    await db.schema.apply({ allow: steps.map((step) => `data-loss:${step}` as const) });
    expect((await db.schema.plan()).steps).toEqual([]);
    const left = [...before].filter((place) => place !== 'e:name' && !place.startsWith('e:m.'));
    expect(await places()).toEqual(new Set(left));
    expect(await db.repository(Rest).find({}, { fullScan: true }).count()).toBe(ROWS);
    await db.close();
  },
  PATIENCE,
);

const HOUR = 3_600_000;
const Line = avro.record('Line', { s: avro.string });
const LineOfToday = avro.record('Line', { s: avro.string, n: avro.withDefault(avro.int, 1) });

/** Packed rows and Avro; the schema of `line` is another one since it stands elsewhere. */
const series = (kind: 'before' | 'now' | 'settled') => {
  const before = kind === 'before';
  const was = <P extends string>(place: P) => (kind === 'now' ? { was: [place] } : {});
  return defineEntity({
    name: 'Series',
    table: defineTable({ name: 'moved_series', families: { d: {}, e: {}, p: {} } }),
    marker: 'd',
    key: [part('id'), timeBucket('at', '1h')],
    columns: (c) => ({
      points: c.packed(before ? 'p:' : 'e:t.', { part: 'at', value: float64, ...was('p:') }),
      line: c.avro(before ? 'd:l' : 'e:line', before ? Line : LineOfToday, was('d:l')).optional(),
    }),
  }) as unknown as KeyedClass;
};

test(
  'packed rows and Avro are moved beside an old program and a new one that write both, and no point is lost',
  async () => {
    const [Before, Now, Settled] = [series('before'), series('now'), series('settled')] as const;
    const key = (id: string) => ({ id, at: new Date(HOUR) });
    const points = (...of: readonly (readonly [second: number, value: number | null])[]) =>
      new Map(of.map(([second, value]) => [HOUR + 1000 * second, value] as const));
    /** Of even rows the new program writes the line, of odd ones the old one. */
    const line = (n: number, s: string) => ({ s: `${s}${n}` });
    const before = await store.open(Before);
    const old = before.repository(Before);
    await old.putMany(
      ids.map((id, n) => ({
        ...key(id),
        points: points([0, n], [1, 1], [2, 2]),
        line: line(n, 'a'),
      })) as never,
    );

    const db = await store.open(Now);
    const now = db.repository(Now);
    const all = () => now.find({} as never, { fullScan: true });
    const shown = (rows: readonly object[]) =>
      (rows as readonly { id: string; points: Map<number, number>; line: object }[]).map((row) => [
        row.id,
        [...row.points].map(([at, value]) => [(at - HOUR) / 1000, value]),
        { ...row.line },
      ]);
    expect(shown(await all().all())).toEqual(
      ids.map((id, n) => [
        id,
        [
          [0, n],
          [1, 1],
          [2, 2],
        ],
        { s: `a${n}`, n: 1 },
      ]),
    );

    const byOld = async (): Promise<void> => {
      for (const [n, id] of ids.entries()) {
        const change = n % 2 === 1 ? { line: line(n, 'old') } : {};
        await old.update(key(id) as never, { points: points([20, 5]), ...change } as never);
      }
    };
    const byNew = async (): Promise<void> => {
      for (const [n, id] of ids.entries()) {
        const change = n % 2 === 0 ? { line: { ...line(n, 'new'), n } } : {};
        await now.update(
          key(id) as never,
          { points: points([1, null], [2, 9], [30, 6]), ...change } as never,
        );
      }
    };
    await moveBeside(db, Now, before, [byOld(), byNew()]);
    const wanted = ids.map((id, n) => [
      id,
      [
        [0, n],
        [2, 9],
        [20, 5],
        [30, 6],
      ],
      n % 2 === 0 ? { s: `new${n}`, n } : { s: `old${n}`, n: 1 },
    ]);
    expect(shown(await all().all())).toEqual(wanted);
    await db.close();

    const after = await store.open(Settled);
    const found = await after
      .repository(Settled)
      .find({} as never, { fullScan: true })
      .all();
    expect(shown(found)).toEqual(wanted);
    const places = new Set<string>();
    for await (const { cells } of after.engine.table('moved_series').scan(new Scan())) {
      for (const { family, qualifier } of cells) places.add(`${family}:${Buffer.from(qualifier)}`);
    }
    expect([...places].filter((place) => place.startsWith('p:') || place === 'd:l')).toEqual([]);
    await after.close();
  },
  PATIENCE,
);
