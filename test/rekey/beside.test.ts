/**
 * Keys that are changed beside the other features: rows that end, versions that are checked, soft deletes, stamps, counters,
 * maps, hooks, conditions, batches and transactions, written through either layout, read through both.
 */

import { expect, it } from 'vitest';
import { type ColumnBuilder, defineEntity, defineTable } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { type KeyElement, part, salt } from '../../src/key/index.js';
import type { Repository } from '../../src/repository/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { Scan } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { openMemory, settableClock } from '../../src/testing/open-memory.js';
import { scaled } from '../proof/scale.js';
import { Random } from '../query/model/random.js';

const SEEDS = scaled(1, 40, 400);
const START = 1_700_000_000_000;
const IDS = Array.from({ length: 8 }, (_, i) => `id${i}`);

type Any = Repository<KeyedClass>;
type Opened = Awaited<ReturnType<typeof openMemory>>;

function entity(name: string, key: readonly KeyElement[], more: object): KeyedClass {
  const stamp = (row: object): void => {
    const values = row as { x?: string; hooked?: string };
    values.hooked = `${values.x}!`;
  };
  return defineEntity({
    name,
    table: defineTable({ name: name.toLowerCase(), families: { d: { versions: 2 }, e: {} } }),
    key,
    columns: (c: ColumnBuilder<string>) => ({
      x: c.column('d:x', text).optional(),
      hooked: c.column('d:h', text).optional(),
      n: c.counter('e:n'),
      version: c.version('d:v'),
      created: c.createdAt('d:c'),
      updated: c.updatedAt('e:u'),
      deleted: c.deletedAt('d:g'),
      ttl: c.ttl(),
      map: c.columns('e:m.', { key: text, value: int32 }),
    }),
    hooks: { beforePut: stamp, beforeUpdate: stamp },
    indexes: {
      byX: { on: [part('x')], include: ['hooked'] },
      byMap: { on: [part('map')], each: 'keys' },
      some: { on: [part('hooked')], where: { x: { lt: '5' } } },
      soon: { on: [part('x')], consistency: 'eventual' },
    },
    summaries: {
      perX: { by: ['x'], figures: { rows: 'count', total: { sum: 'n' } } },
      all: { by: [], figures: { rows: 'count', last: { max: 'x' } } },
    },
    ...more,
  } as never) as unknown as KeyedClass;
}

/** What a repository says of all its rows, but for what is left of their lives. */
async function all(things: Any): Promise<string[]> {
  const rows = await things.find({} as never, { fullScan: true, withDeleted: true }).all();
  return rows
    .map((row) => {
      const {
        ttl: _,
        map,
        ...values
      } = row as unknown as { map?: Map<string, number> } & Record<string, unknown>;
      return JSON.stringify(
        [Object.entries(values).sort(), [...(map ?? [])].sort()],
        (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
      );
    })
    .sort();
}

/** What is made of the rows of an entity agrees with them. */
async function checkDerived(db: Opened, of: KeyedClass): Promise<void> {
  const { name: entity, indexes, summaries } = db.schema.entity(of);
  for (const { name, eventual } of indexes) {
    const index = db.index(of, name as never);
    if (eventual) await index.drain();
    const found = await index.verify();
    expect({ entity, name, ...found }).toMatchObject({ missing: 0, stale: 0, extra: 0, pending: 0 });
  }
  for (const { name } of summaries) {
    const found = await db.summary(of, name as never).check();
    expect({ entity, name, ...found }).toMatchObject({ missing: 0, stale: 0, extra: 0, entries: 0 });
  }
}

const code = (error: { code: string }): string => error.code;

/** One write, in one of the ways that there are. What is refused by a check is no fault. */
async function write(db: Opened, things: Any, target: KeyedClass, random: Random): Promise<unknown> {
  const id = random.pick(IDS);
  const key = { id } as never;
  const x = `${random.below(100)}`;
  const life = random.chance(0.3) ? { ttl: 500 + random.below(5000) } : {};
  const fresh = { id, x, map: new Map([[`${random.below(3)}`, random.below(9)]]), ...life } as never;
  switch (random.below(10)) {
    case 0:
      return things.insert(fresh).catch(code);
    case 1:
      return things.delete(key).catch(code);
    case 2:
      return things.restore(key).catch(code);
    case 3:
      return things.purge(key).catch(code);
    case 4:
      return things.increment(key, { n: 2 } as never).catch(code);
    case 5:
      return things.check(key, { x: { ne: null } } as never).update({ x } as never);
    case 6: {
      const known = await things.get(key);
      return known && things.put(Object.assign(known, { x, ...life }) as never).catch(code);
    }
    case 7:
      return things.batch((batch) => batch.put(fresh).update(key, { x: `${x}b` } as never));
    case 8:
      return db.transaction((tx) => tx.repository(target).update(key, { x: `${x}t` } as never)).catch(code);
    default:
      return things.upsert(fresh, { x } as never).catch(code);
  }
}

async function round(seed: number): Promise<void> {
  const random = new Random(seed);
  const more = random.chance(0.5) ? { ttl: 20_000, renewTtl: random.chance(0.5) } : {};
  const [source, target] = [entity('From', [part('id')], more), entity('To', [salt(4), part('id')], more)];
  const clock = settableClock(START);
  const disk = new MemoryFileSystem();
  const reopen = () => openMemory({ disk, clock, entities: [source, target] });
  let db = await reopen();
  const writes = async (through: readonly KeyedClass[], count: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      clock.advance(random.chance(0.1) ? 2000 : 1 + random.below(50));
      const at = random.pick(through);
      await write(db, db.repository(at), at, random);
    }
  };
  const alike = async (): Promise<void> => {
    expect(await all(db.repository(target)), `seed ${seed}`).toEqual(await all(db.repository(source)));
  };
  const derived = async (): Promise<void> => {
    for (const of of [source, target]) await checkDerived(db, of);
  };
  await writes([source], 25);
  if (random.chance(0.5)) await db.admin.flush('from');
  await Promise.all([db.rekey(source, target).run({ batchRows: 1 }), writes([source], 25)]);
  await alike();
  await derived();
  for (let turn = 0; turn < 4; turn++) {
    await writes([source, target], 10);
    await alike();
    if (turn === 1) {
      await db.rekey(source, target).cutOver();
      await db.close();
      db = await reopen();
    }
  }
  await derived();
  // What is left of each life is the same.
  for (let i = 0; i < 6; i++) {
    clock.advance(1000 * i);
    await alike();
  }
  await derived();
  const left = await all(db.repository(target));
  await db.rekey(source, target).cleanup();
  expect(await all(db.repository(target))).toEqual(left);
  await derived();
  await db.close();
}

it('whichever layout is written, both say the same of it', async () => {
  for (let seed = 1; seed <= SEEDS; seed++) await round(seed);
});

it('a version that was read of one layout is checked against writes of the other', async () => {
  const [source, target] = [entity('From', [part('id')], {}), entity('To', [salt(4), part('id')], {})];
  const db = await openMemory({ entities: [source, target] });
  const [olds, news] = [db.repository(source), db.repository(target)];
  await olds.put({ id: 'a', x: '1' } as never);
  await db.rekey(source, target).run();
  const known = (await olds.get({ id: 'a' } as never))!;
  await news.update({ id: 'a' } as never, { x: '2' } as never);
  await expect(olds.put(Object.assign(known, { x: '3' }) as never)).rejects.toMatchObject({
    code: 'ERR_CONFLICT',
  });
  expect(await olds.get({ id: 'a' } as never)).toMatchObject({ x: '2' });
  await db.close();
});

it('a transaction that was begun before is written to both when it is committed', async () => {
  const [source, target] = [entity('From', [part('id')], {}), entity('To', [salt(4), part('id')], {})];
  const db = await openMemory({ entities: [source, target] });
  await db.repository(source).put({ id: 'a', x: '1' } as never);
  await db.transaction(async (tx) => {
    const own = tx.repository(source);
    await own.put({ id: 'b', x: '2' } as never);
    await own.update({ id: 'a' } as never, { x: '3' } as never);
    await db.rekey(source, target).run();
  });
  const found = await all(db.repository(target));
  expect(found).toHaveLength(2);
  expect(found).toEqual(await all(db.repository(source)));
  await db.close();
});

it('what would not have been begun is not gone on with at an opening', async () => {
  const disk = new MemoryFileSystem();
  const salted = [salt(4), part('id')];
  const plain = (name: string, key: readonly KeyElement[], more: object = {}) =>
    defineEntity({
      name,
      table: defineTable({ name: name.toLowerCase(), families: { d: {} } }),
      key,
      columns: (c: ColumnBuilder<string>) => ({ x: c.column('d:x', text).optional() }),
      ...more,
    } as never) as unknown as KeyedClass;
  const [source, target] = [plain('From', [part('id')]), plain('To', salted)];
  const db = await openMemory({ disk, entities: [source, target] });
  await db.repository(source).put({ id: 'a', x: '1' } as never);
  await db.rekey(source, target).run();
  await db.close();
  const fed = plain('To', salted, { changes: { keep: 60_000 } });
  await expect(openMemory({ disk, entities: [source, fed] })).rejects.toMatchObject({
    code: 'ERR_SCHEMA',
    message: expect.stringContaining('changes'),
  });
  const again = await openMemory({ disk, entities: [source, target] });
  await again.rekey(source, target).cutOver();
  await again.rekey(source, target).cleanup();
  await again.close();
  await (await openMemory({ disk, entities: [fed] })).close();
});

it.each(['from', 'to'])(
  'what a flush of "%s" brings back of an expired row is no difference',
  async (table) => {
    const [source, target] = [entity('From', [part('id')], {}), entity('To', [salt(4), part('id')], {})];
    const clock = settableClock(START);
    const db = await openMemory({ clock, entities: [source, target] });
    const things = db.repository(source) as Repository<KeyedClass>;
    const key = { id: 'a' } as never;
    /** The cells of its row. */
    const cellsIn = async (name: string): Promise<string[]> => {
      const cells: string[] = [];
      for await (const { row, cells: own } of db.engine.table(name).scan(new Scan())) {
        if (!Buffer.from(row).toString('latin1').endsWith('a')) continue;
        cells.push(...own.map(({ family, qualifier }) => `${family}:${Buffer.from(qualifier).toString()}`));
      }
      return cells;
    };
    await things.put({ id: 'a', x: 'endless' } as never);
    for (let i = 0; i < 100; i++) await things.put({ id: `b${i}` } as never);
    const rekey = db.rekey(source, target);
    const running = rekey.run({ batchRows: 1 });
    const until = async (isSo: () => Promise<boolean>): Promise<void> => {
      while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve));
    };
    await until(async () => (await cellsIn('to')).length > 0);
    await db.admin.flush(table);
    clock.advance(10);
    const known = await things.get(key);
    await things.put(Object.assign(known!, { x: 'ends', ttl: 1000 }) as never);
    clock.advance(10);
    await things.update(key, { x: 'later' } as never);
    // Of `updated`, in a family of one version, it keeps the newest put, and not the delete of the endless one behind it.
    await db.admin.flush(table);
    clock.advance(10_000);
    expect(await cellsIn(table)).toEqual(['e:u']);
    expect(await cellsIn(table === 'to' ? 'from' : 'to')).toEqual([]);
    expect(await things.get(key)).toBeNull();
    expect(await running).toMatchObject({ state: 'ready', differences: { missing: 0, extra: 0 } });
    await rekey.cutOver();
    expect(await rekey.cleanup()).toMatchObject({ state: 'done' });
    await db.close();
  },
);
