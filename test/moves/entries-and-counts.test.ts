/**
 * Maps, packed rows, counters and Avro whose columns are moving, beside twins that never stood elsewhere: the same writes by new
 * and by old programs, and every way of reading answers the same. With steps and without them, as on HBase.
 */

import { expect, test } from 'vitest';
import { defineEntity, defineTable, formerly } from '../../decorators/index.js';
import { avro, counter, float64, int32, text } from '../../src/codec/index.js';
import { Database } from '../../src/database.js';
import { part, timeBucket } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { openEmbedded } from '../../src/store/engine.js';
import { type Engine, Scan } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { settableClock } from '../../src/testing/open-memory.js';
import { scaled } from '../proof/scale.js';
import { stepless } from '../proof/stepless.js';
import { Random } from '../query/model/random.js';

const ROUNDS = scaled(1, 20, 200);
const STEPS = scaled(10, 60, 120);

type Row = Record<string, unknown>;
type Kind = 'old' | 'now' | 'settled' | 'twin';

const HOUR = 3_600_000;
const Line = avro.record('Line', { s: avro.string });

function declare(kind: Kind): KeyedClass {
  const old = kind === 'old';
  const was = (...places: readonly unknown[]) => (kind === 'now' ? { was: places as never } : undefined);
  return defineEntity({
    name: 'Thing',
    table: defineTable({
      name: kind === 'twin' ? 'twins' : 'things',
      families: { d: {}, e: {}, f: {}, g: {} },
    }),
    marker: 'g',
    key: [part('a'), timeBucket('at', '1h')],
    columns: (c) => ({
      more: old
        ? (c.columns('d:m.', { value: text }) as never)
        : c.columns('e:', { value: int32, ...was(formerly('d:m.', text, Number)) }),
      plain: c.columns(old ? 'd:p.' : 'd:q.', { value: int32, ...was('d:p.') }),
      points: c.packed(old ? 'f:' : 'd:t.', { part: 'at', value: float64, ...was('f:') }),
      hits: c.counter(old ? 'd:h' : 'd:hits', was('d:h', 'd:hh')),
      tally: c.columns(old ? 'd:c.' : 'd:counts.', { value: counter, ...was('d:c.') }),
      line: c.avro(old ? 'd:l' : 'd:line', Line, was('d:l')).optional(),
      note: c.column('d:n', text).optional(),
    }),
  }) as unknown as KeyedClass;
}

const Old = declare('old');
const Now = declare('now');
const Settled = declare('settled');
const Twin = declare('twin');

function drawRow(random: Random, nulls: boolean): Row {
  const row: Row = { a: random.pick(['x', 'y', 'z']), at: new Date(random.below(2) * HOUR) };
  const at = (row['at'] as Date).getTime();
  const entry = (): number | null => (nulls && random.chance(0.3) ? null : random.below(9));
  if (random.chance(0.6))
    row['more'] = new Map([
      [random.pick(['k', 'l', '']), entry()],
      ['m', 1],
    ]);
  if (random.chance(0.4)) row['plain'] = new Map([[random.pick(['k', 'l']), entry()]]);
  if (random.chance(0.5)) row['points'] = new Map([[at + random.below(3) * 1000, entry()]]);
  if (random.chance(0.3)) row['line'] = { s: random.pick(['p', 'q']) };
  if (random.chance(0.3)) row['note'] = 'n';
  return row;
}

/** As an old program has it. */
function oldRow(row: Row): Row {
  const more = row['more'] as Map<string, number> | undefined;
  return more === undefined
    ? row
    : { ...row, more: new Map([...more].map(([key, value]) => [key, String(value)])) };
}

async function write(db: Database, target: KeyedClass, kind: string, given: Row): Promise<unknown> {
  const things = db.repository(target);
  const row = { ...given };
  const key = { a: row['a'], at: row['at'] } as never;
  const { a: _a, at: _at, ...patch } = row;
  try {
    switch (kind) {
      case 'put':
        return await things.put(row as never);
      case 'set':
        return await things.put({ ...row, hits: 5n } as never);
      case 'replace':
        return await things.replace({ ...row, hits: 2n } as never);
      case 'update':
        return await things.update(key, { ...patch, note: 'u' } as never);
      case 'delete':
        return await things.delete(key);
      case 'mutate':
        return await things.mutate(
          key,
          (change) =>
            change
              .set({ note: 'm' } as never)
              .increment({ hits: 2, tally: new Map([['k', 2n]]) } as never) as never,
        );
      default:
        return await things.increment(key, { hits: 3, tally: new Map([[String(row['a']), 1n]]) } as never);
    }
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === undefined) throw error;
    return code;
  }
}

const WRITES = ['put', 'put', 'set', 'replace', 'update', 'delete', 'mutate', 'increment', 'increment'];

async function answers(db: Database, target: KeyedClass): Promise<unknown> {
  const things = db.repository(target);
  const all = () => things.find({} as never, { fullScan: true });
  const where = (condition: object) => all().where(condition as never);
  return {
    all: await all().all(),
    get: await things.get({ a: 'x', at: new Date(0) } as never),
    maps: await all()
      .select(...(['more', 'points'] as never[]))
      .all(),
    counts: await all()
      .select('hits' as never)
      .all(),
    entry: await all()
      .where((w) => w.entry('more' as never, 'k' as never, { gte: 4 } as never))
      .all(),
    slice: await all()
      .slice('more' as never, { gte: 'k', lt: 'm' } as never)
      .all(),
    hits: await where({ hits: { gte: 5n } }).count(),
    sum: await all().sum('hits' as never),
    reverse: await all().reverse().limit(2).all(),
  };
}

async function round(seed: number, steps: boolean): Promise<void> {
  const random = new Random(seed);
  const clock = settableClock();
  const store = await openEmbedded('/m', { fileSystem: new MemoryFileSystem(), background: 'inline', clock });
  const engine: Engine = steps ? store : stepless(store);
  const open = async (...entities: KeyedClass[]): Promise<Database> => {
    const db = new Database(compileSchema(entities), engine, 'create');
    await db.ready();
    return db;
  };
  const old = await open(Old);
  const twins = await open(Twin);
  const both = async (kind: string, row: Row, now: Database | undefined): Promise<void> => {
    clock.advance(5);
    const wanted = await write(twins, Twin, kind, row);
    const found =
      now === undefined ? await write(old, Old, kind, oldRow(row)) : await write(now, Now, kind, row);
    // What an old program has counted is a part of the sum.
    if (now !== undefined || wanted === undefined || typeof wanted === 'string')
      expect(found, `seed ${seed}, ${kind}`).toEqual(wanted);
  };
  for (let i = 0; i < 8; i++)
    await both(random.pick(['put', 'increment', 'set']), drawRow(random, false), undefined);
  const db = await open(Now);
  for (let step = 0; step < STEPS; step++) {
    const byOld = random.chance(0.25);
    await both(
      byOld ? random.pick(['put', 'increment', 'delete']) : random.pick(WRITES),
      drawRow(random, !byOld),
      byOld ? undefined : db,
    );
    if (random.chance(0.06)) await store.admin.flush('things');
    if (random.chance(0.05)) {
      const ended = new AbortController();
      await db.schema
        .moveColumns(Now, {
          batchRows: 1,
          signal: ended.signal,
          onProgress: () => random.chance(0.5) && ended.abort(),
        })
        .catch((error: { code: string }) => expect(error.code).toBe('ERR_ABORTED'));
    }
    if (random.chance(0.3))
      expect(await answers(db, Now), `seed ${seed}, step ${step}`).toEqual(await answers(twins, Twin));
  }
  clock.advance(5);
  await db.schema.apply();
  await db.schema.moveColumns(Now);
  expect(await answers(db, Now), `seed ${seed}, moved`).toEqual(await answers(twins, Twin));
  expect((await db.schema.plan()).steps).toEqual([]);
  const places = new Set<string>();
  for await (const { cells } of store.table('things').scan(new Scan())) {
    for (const { family, qualifier } of cells) places.add(`${family}:${Buffer.from(qualifier)}`);
  }
  // Without steps a counter stays where it stood, as zero.
  expect(
    [...places].filter(
      (name) => /^(d:(m\.|p\.|l$|hh$)|f:)/.test(name) || (steps && /^d:(h$|c\.)/.test(name)),
    ),
  ).toEqual([]);
  const settled = await open(Settled);
  expect(await answers(settled, Settled), `seed ${seed}, settled`).toEqual(await answers(twins, Twin));
  await store.close();
}

test.each([true, false])(
  'they are read and written as if they had never stood elsewhere; in steps: %s',
  async (steps) => {
    for (let seed = 1; seed <= ROUNDS; seed++) await round(seed, steps);
  },
);

test.each([true, false])(
  'no increment is lost or doubled beside two moves and an old program; in steps: %s',
  async (steps) => {
    const store = await openEmbedded('/m', { fileSystem: new MemoryFileSystem(), background: 'inline' });
    const engine: Engine = steps ? store : stepless(store);
    const old = new Database(compileSchema([Old]), engine, 'create');
    await old.ready();
    const keys = ['x', 'y'].map((a) => ({ a, at: new Date(0) }) as never);
    for (const key of keys) await old.repository(Old).increment(key, { hits: 7 } as never);
    const programs = [0, 1].map(() => new Database(compileSchema([Now]), engine, 'ignore'));
    let moving = true;
    let added = 0;
    const counting = async (db: Database, target: KeyedClass): Promise<void> => {
      while (moving || added < 40) {
        for (const key of keys)
          await db.repository(target).increment(key, { hits: 1, tally: new Map([['k', 1n]]) } as never);
        added++;
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const counters = [counting(programs[0]!, Now), counting(programs[1]!, Now), counting(old, Old)];
    for (let i = 0; i < 5; i++) {
      // An old program that goes on counting is told of in the end; what it counts is not lost.
      const moved = programs.map((db) =>
        db.schema.moveColumns(Now).catch((error: { code: string }) => error.code),
      );
      for (const outcome of await Promise.all(moved)) {
        if (typeof outcome === 'string')
          expect(['ERR_CONFLICT', 'ERR_BUSY', 'ERR_LOCKED']).toContain(outcome);
      }
    }
    moving = false;
    await Promise.all(counters);
    await programs[0]!.schema.moveColumns(Now);
    const things = await programs[0]!
      .repository(Now)
      .find({} as never, { fullScan: true })
      .all();
    expect(things.map((thing) => (thing as Row)['hits'])).toEqual(keys.map(() => BigInt(7 + added)));
    expect(things.map((thing) => (thing as Row)['tally'])).toEqual(
      keys.map(() => new Map([['k', BigInt(added)]])),
    );
    await store.close();
  },
);

/** What moves the values of a row while an old program writes it, all in one millisecond. */
const moves: Record<string, (db: Database, key: never) => Promise<unknown>> = {
  'a move of all rows': (db) => db.schema.moveColumns(Now),
  'an increment': (db, key) => db.repository(Now).increment(key, { hits: 0 } as never),
  'a transaction': (db, key) =>
    db.transaction(async (tx) => void (await tx.repository(Now).increment(key, { hits: 0 } as never))),
};

test.each(Object.keys(moves))('what an old program writes in the millisecond of %s stands', async (name) => {
  const clock = settableClock();
  const store = await openEmbedded('/m', { fileSystem: new MemoryFileSystem(), clock });
  const old = new Database(compileSchema([Old]), store, 'create');
  await old.ready();
  const db = new Database(compileSchema([Now]), store, 'create');
  await db.ready();
  const key = { a: 'x', at: new Date(0) } as never;
  for (let count = 1; count <= 3; count++) {
    await old.repository(Old).increment(key, { hits: 1, tally: new Map([['k', 1n]]) } as never);
    await old.repository(Old).update(key, { plain: new Map([['k', count]]) } as never);
    const expected = { hits: BigInt(count), tally: new Map([['k', BigInt(count)]]) };
    const plain = new Map([['k', count]]);
    expect(await db.repository(Now).get(key), 'before').toMatchObject({ ...expected, plain });
    await moves[name]!(db, key);
    expect(await db.repository(Now).get(key), 'moved').toMatchObject({ ...expected, plain });
  }
  await store.close();
});
