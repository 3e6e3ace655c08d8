/**
 * Entities of an older version beside twins that were always of the present one, under the same writes of every kind,
 * flushes, compactions, reopenings and half-finished upgrades: every way of reading answers the same.
 */

import { expect, test } from 'vitest';
import { defineEntity, defineTable, upgrade } from '../../decorators/index.js';
import { int32, int64, text } from '../../src/codec/index.js';
import { Database, open } from '../../src/database.js';
import { part, recordType } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { Repository } from '../../src/repository/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { Scan } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { settableClock } from '../../src/testing/open-memory.js';
import { scaled } from '../proof/scale.js';
import { Random } from '../query/model/random.js';
import { type Condition, plain, readings } from './readings.js';

const ROUNDS = scaled(2, 6, 400);
const STEPS = scaled(12, 50, 120);

type Row = Record<string, unknown>;

interface Shape {
  readonly indexed: boolean;
  readonly version: boolean;
  readonly life: number | undefined;
  readonly writeBack: boolean;
}

type Kind = 'first' | 'second' | 'now' | 'settled' | 'twin';

/** "Ann Lee" and the total in euros as text; then two names and an int32 in the same place; then cents in another family. */
function declare(kind: Kind, { indexed, version, life, writeBack }: Shape): KeyedClass {
  const isNow = kind === 'now' || kind === 'settled' || kind === 'twin';
  const upgrades = [
    upgrade(
      1,
      {
        old: (c) => ({ name: c.column('d:name', text).optional(), total: c.column('d:t', text).optional() }),
        sets: ['first', 'last', 'total'],
        writeBack,
      },
      ({ name, total }) => {
        const [first, last] = name?.split(' ') ?? [];
        return { first, last, total: total == null ? null : Number(total) };
      },
    ),
    upgrade(
      2,
      {
        old: (c) => ({
          total: c.column('d:t', int32).optional(),
          first: c.column('d:f', text).optional(),
          last: c.column('d:l', text).optional(),
        }),
        sets: ['cents', 'initials'],
      },
      ({ total, first, last }) => ({
        cents: total == null ? undefined : BigInt(total) * 100n,
        initials: first == null || last == null ? undefined : first.slice(0, 1) + last.slice(0, 1),
      }),
    ),
  ];
  return defineEntity({
    name: 'Person',
    table: defineTable({ name: 'people', families: { d: {}, e: {} } }),
    recordType: 1,
    key: [part('a'), recordType(), part('b')],
    ...(life === undefined ? {} : { ttl: life }),
    ...(kind === 'first' || kind === 'twin' ? {} : { schemaVersion: kind === 'second' ? 2 : 3 }),
    upgrades: kind === 'second' ? upgrades.slice(0, 1) : kind === 'now' ? upgrades : [],
    columns: (c) => ({
      ...(kind === 'first'
        ? { name: c.column('d:name', text).optional(), total: c.column('d:t', text).optional() }
        : { first: c.column('d:f', text).optional(), last: c.column('d:l', text).optional() }),
      ...(kind === 'second' ? { total: c.column('d:t', int32).optional() } : {}),
      ...(isNow
        ? { cents: c.column('e:c', int64).optional(), initials: c.column('d:i', text).optional() }
        : {}),
      plain: c.column('d:z', int32).optional(),
      more: c.columns('e:m.', { value: int32 }),
      ...(version ? { version: c.version('d:v') } : {}),
    }),
    indexes: (indexed && isNow
      ? {
          byLast: { on: [part('last', text)], include: ['cents'] },
          byCents: { on: [part('cents', int64)], where: { first: { exists: true } } },
        }
      : {}) as never,
  }) as unknown as KeyedClass;
}

const NAMES = ['Ann Lee', 'Bob Orr', 'Cy Lee', 'Ann Ork'];

/** As the oldest program has it; each property is left alone, or given, or where `nulls` deleted. */
function drawFirst(random: Random, nulls: boolean): Row {
  const row: Row = { a: random.pick(['x', 'y']), b: random.pick(['1', '2', '3', '4']) };
  const set = (property: string, value: () => unknown): void => {
    const turn = random.next();
    if (turn < 0.5) row[property] = value();
    else if (turn < 0.6 && nulls) row[property] = null;
  };
  set('name', () => random.pick(NAMES));
  set('total', () => String(random.pick([-7, 0, 3, 12])));
  set('plain', () => random.below(5));
  if (random.chance(0.3)) row['more'] = new Map([[random.pick(['k', 'l']), random.below(9)]]);
  return row;
}

/** The same as the second and the present program have it. */
function later({ name, total, ...row }: Row, kind: 'second' | 'now'): Row {
  const out: Row = { ...row };
  if (name !== undefined) {
    const [first, last] = (name as string | null)?.split(' ') ?? [null, null];
    Object.assign(out, { first, last });
    if (kind === 'now') out['initials'] = first && last ? first.slice(0, 1) + last.slice(0, 1) : null;
  }
  if (total === undefined) return out;
  if (kind === 'second') out['total'] = total === null ? null : Number(total);
  else out['cents'] = total === null ? null : BigInt(total as string) * 100n;
  return out;
}

const isSet = (row: Row): boolean => Object.keys(row).length > 2;

function drawCondition(random: Random): Condition {
  return random.pick<Condition>([
    { last: 'Lee' },
    { first: { startsWith: 'A' } },
    { last: { ne: 'Lee' } },
    { cents: { gte: 0n } },
    { cents: { in: [300n, 1200n] }, plain: { lt: 4 } },
    { cents: { exists: false } },
    { initials: 'AL' },
    { plain: { gt: 2 } },
  ]);
}

const WRITES = [
  'put',
  'put',
  'putMany',
  'insert',
  'replace',
  'update',
  'update',
  'delete',
  'append',
  'mutate',
  'check',
  'updateAll',
];

async function write(people: Repository<KeyedClass>, kind: string, row: Row, condition: Condition) {
  const { a, b, ...patch } = row;
  const key = { a, b } as never;
  const all = () => people.find({} as never, { fullScan: true }).where(condition as never);
  const run = async (): Promise<unknown> => {
    switch (kind) {
      case 'put':
        return people.put({ ...row } as never);
      case 'putMany':
        return people.putMany([{ ...row }, { ...row, b: '5' }, { a, b, plain: 4 }] as never);
      case 'insert':
        return people.insert({ ...row } as never);
      case 'replace':
        return people.replace({ ...row } as never);
      case 'update':
        return people.update(key, patch as never);
      case 'delete':
        return people.delete(key);
      case 'append':
        return people.append(key, { last: '+' } as never);
      case 'mutate':
        return people.mutate(
          key,
          (change) => change.set({ plain: 1 } as never).unset('first' as never) as never,
        );
      case 'check':
        return (await people.check(key, condition as never).update({ plain: 9 } as never)).ok;
      default:
        return all().updateAll({ cents: 7n } as never);
    }
  };
  try {
    return plain(await run());
  } catch (error) {
    return (error as { code?: string }).code ?? error;
  }
}

async function answers(db: Database, target: KeyedClass, condition: Condition, indexed: boolean) {
  const people = db.repository(target);
  const columns = { some: ['last', 'cents'], narrow: 'plain', number: 'cents', text: 'last' } as const;
  const read: Row = {
    ...(await readings(db, target, condition, columns)),
    initials: await people
      .find({} as never, { fullScan: true })
      .select('initials' as never)
      .all(),
  };
  if (indexed) {
    read['byLast'] = await people
      .by('byLast' as never)
      .find({ last: 'Lee' } as never)
      .all();
    read['byCents'] = await people
      .by('byCents' as never)
      .find({ cents: { gte: 0n } } as never)
      .all();
    read['verified'] = await db.index(target, 'byLast' as never).verify();
  }
  return plain(read);
}

async function round(seed: number): Promise<void> {
  const random = new Random(seed);
  const shape: Shape = {
    indexed: random.chance(0.5),
    version: random.chance(0.4),
    life: random.chance(0.4) ? 400 : undefined,
    writeBack: random.chance(0.5),
  };
  const clock = settableClock();
  const place = { path: '/m', fileSystem: new MemoryFileSystem(), background: 'inline' as const, clock };
  const twinPlace = { ...place, fileSystem: new MemoryFileSystem() };
  const twin = declare('twin', shape);
  const twins = await open({ ...twinPlace, entities: [twin] });
  // The old programs' rows.
  for (const kind of ['first', 'second'] as const) {
    const old = declare(kind, shape);
    const db = await open({ ...place, entities: [old] });
    for (let i = 0; i < 10; i++) {
      clock.advance(5);
      const row = drawFirst(random, true);
      if (!isSet(row)) continue;
      const { a, b, ...patch } = row;
      const verb = random.pick(['put', 'update', 'delete', 'put']);
      const had = verb === 'put' || (await db.repository(old).exists({ a, b } as never));
      const same = kind === 'first' ? patch : later(patch, 'second');
      const asked = { a, b, ...same };
      const want = { a, b, ...later(patch, 'now') };
      const versioned =
        shape.version && had ? ((await db.repository(old).get({ a, b } as never)) as Row | null) : null;
      const version = versioned === null ? {} : { version: versioned['version'] };
      const did = await write(db.repository(old), verb, { ...asked, ...version }, {});
      expect(await write(twins.repository(twin), verb, { ...want, ...version }, {}), `seed ${seed}`).toEqual(
        did,
      );
      if (random.chance(0.2)) await db.engine.admin.flush('people');
    }
    await db.close();
  }
  const now = declare('now', shape);
  let db = await open({ ...place, entities: [now] });
  const build = async (): Promise<void> => {
    if (!shape.indexed) return;
    for (const name of ['byLast', 'byCents'] as never[]) {
      await db.index(now, name).build();
      await twins.index(twin, name).build();
    }
  };
  await build();
  for (let step = 0; step < STEPS; step++) {
    clock.advance(5);
    const where = `seed ${seed}, step ${step} ${JSON.stringify(shape)}`;
    const row = later(drawFirst(random, true), 'now');
    const condition = drawCondition(random);
    const kind = random.pick(WRITES);
    if (random.chance(0.6)) {
      const stored = (await twins.repository(twin).get({ a: row['a'], b: row['b'] } as never)) as Row | null;
      const version = shape.version && stored !== null ? { version: stored['version'] } : {};
      const did = await write(db.repository(now), kind, { ...row, ...version }, condition);
      const wanted = await write(twins.repository(twin), kind, { ...row, ...version }, condition);
      expect(did, `${where} ${kind}`).toEqual(wanted);
    }
    if (random.chance(0.1)) await db.engine.admin.flush('people');
    if (random.chance(0.04)) {
      for (const { engine } of [db, twins]) {
        await engine.admin.flush('people');
        await engine.admin.majorCompact('people');
      }
    }
    if (random.chance(0.05)) {
      const ended = new AbortController();
      await db.schema
        .upgradeRows(now, {
          batchRows: 1,
          signal: ended.signal,
          onProgress: () => random.chance(0.5) && ended.abort(),
        })
        .catch((error: { code: string }) => expect(error.code).toBe('ERR_ABORTED'));
    }
    if (random.chance(0.03)) {
      await db.close();
      db = await open({ ...place, entities: [now] });
    }
    if (!random.chance(0.3)) continue;
    const asked = drawCondition(random);
    const wanted = await answers(twins, twin, asked, shape.indexed);
    expect(await answers(db, now, asked, shape.indexed), `${where} ${Object.keys(asked).join()}`).toEqual(
      wanted,
    );
  }
  await db.schema.apply();
  expect((await db.schema.plan()).steps).toEqual([]);
  const places = new Set<string>();
  for await (const { cells } of db.engine.table('people').scan(new Scan())) {
    for (const cell of cells) places.add(`${cell.family}:${Buffer.from(cell.qualifier)}`);
  }
  expect([...places].filter((at) => at === 'd:name' || at === 'd:t')).toEqual([]);
  await db.close();
  // Then programs need not know of what there was.
  const settled = declare('settled', shape);
  db = await open({ ...place, entities: [settled] });
  expect((await db.schema.plan()).steps).toEqual([]);
  const asked = drawCondition(random);
  const wanted = await answers(twins, twin, asked, shape.indexed);
  expect(await answers(db, settled, asked, shape.indexed), `seed ${seed}, settled`).toEqual(wanted);
  await db.close();
  await twins.close();
}

test('rows of older versions are read and written as if they had always been of the present one', async () => {
  for (let seed = 1; seed <= ROUNDS; seed++) await round(seed);
});

test('an old program beside a new one: the new one reads both, the newest counting', async () => {
  const shape: Shape = { indexed: false, version: false, life: undefined, writeBack: true };
  const [first, now] = [declare('first', shape), declare('now', shape)];
  const place = { path: '/m', fileSystem: new MemoryFileSystem(), background: 'inline' as const };
  const begun = await open({ ...place, entities: [first] });
  await begun.repository(first).put({ a: 'x', b: '1', name: 'Ann Lee', plain: 1 } as never);
  await begun.close();
  const db = await open({ ...place, entities: [now] });
  const old = new Database(compileSchema([first]), db.engine).repository(first);
  const people = db.repository(now);
  const key = { a: 'x', b: '1' } as never;
  const read = async () => {
    const { first: one, last, cents, plain: other } = (await people.get(key)) as unknown as Row;
    return [one, last, cents, other];
  };
  await people.update(key, { last: 'Orr' } as never);
  await old.put({ a: 'x', b: '1', plain: 2 } as never);
  expect(await read()).toEqual(['Ann', 'Orr', undefined, 2]);
  await old.put({ a: 'x', b: '1', total: '3' } as never);
  expect(await read()).toEqual(['Ann', 'Orr', 300n, 2]);
  await old.put({ a: 'x', b: '1', name: 'Cy Ork' } as never);
  expect(await read()).toEqual(['Cy', 'Ork', 300n, 2]);
  await db.close();
});

test.each(['an upgrade of all rows', 'an update'])(
  'what an old program writes in the millisecond of %s stands',
  async (how) => {
    const shape: Shape = { indexed: false, version: false, life: undefined, writeBack: false };
    const [first, now] = [declare('first', shape), declare('now', shape)];
    const place = {
      path: '/m',
      fileSystem: new MemoryFileSystem(),
      background: 'inline' as const,
      clock: settableClock(),
    };
    const begun = await open({ ...place, entities: [first] });
    await begun.close();
    const db = await open({ ...place, entities: [now] });
    const old = new Database(compileSchema([first]), db.engine).repository(first);
    const key = { a: 'x', b: '1' } as never;
    for (const name of ['Ann Lee', 'Bo Lee', 'Cy Lee']) {
      await old.put({ a: 'x', b: '1', name } as never);
      if (how === 'an update') await db.repository(now).update(key, { plain: 1 } as never);
      else await db.schema.upgradeRows(now);
      const [one, last] = name.split(' ');
      expect(await db.repository(now).get(key)).toMatchObject({ first: one, last });
    }
    await db.close();
  },
);
