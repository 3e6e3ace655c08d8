/**
 * Entities whose columns are moving, beside twins that never stood elsewhere, under the same writes of every kind, old
 * programs beside new ones, flushes, compactions, reopenings and half-finished moves: every way of reading answers the same.
 */

import { expect, test } from 'vitest';
import type { ColumnBuilder } from '../../decorators/column-builder.js';
import { defineEntity, defineTable, formerly } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
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
import { type Condition, gathered, plain, readings } from './readings.js';

const ROUNDS = scaled(1, 10, 400);
const STEPS = scaled(12, 60, 120);

type Row = Record<string, unknown>;
type Any = Repository<KeyedClass>;

/** Which properties have moved in a round. */
interface Shape {
  readonly moved: ReadonlySet<string>;
  readonly versions: number;
  readonly indexed: boolean;
  readonly marker: boolean;
}

/** The same properties three times: where they stood, where they stand and stood, and where they always stood. */
function declare({ moved, versions, indexed, marker }: Shape) {
  const families = { d: { versions }, e: { versions } };
  const tables = {
    old: defineTable({ name: 'things', families }),
    now: defineTable({ name: 'things', families }),
    twin: defineTable({ name: 'twins', families }),
  };
  const entity = (kind: 'old' | 'now' | 'twin', type: number) => {
    const isOld = (property: string): boolean => kind === 'old' && moved.has(property);
    const was = (property: string, ...from: readonly unknown[]) =>
      kind === 'now' && moved.has(property) ? { was: from as never } : undefined;
    const indexes = {
      byName: { on: [part('name', text)], include: ['qty'] },
      byQty: { on: [part('qty', int32)], where: { name: { exists: true } } },
    };
    return defineEntity({
      name: `Thing${type}`,
      table: tables[kind],
      recordType: type,
      marker: marker ? 'd' : false,
      key: [part('a'), recordType(), part('b')],
      columns: (c: ColumnBuilder<string>) => ({
        name: c.column(isOld('name') ? 'd:name' : 'd:n', text, was('name', 'd:name')).optional(),
        qty: isOld('qty')
          ? (c.column('d:amount', text).optional() as never)
          : c
              .column(
                'e:q',
                int32,
                was(
                  'qty',
                  formerly('d:amount', text, (old) => Number(old.slice(1))),
                ),
              )
              .optional(),
        note: c.column(isOld('note') ? 'e:note' : 'd:note', text, was('note', 'e:note', 'd:no')).optional(),
        tags: c.json(isOld('tags') ? 'd:tags' : 'e:t', undefined, was('tags', 'd:tags') ?? {}).optional(),
        prices: c
          .versions(isOld('prices') ? 'd:price' : 'e:price', int32, was('prices', 'd:price'))
          .optional(),
        home: c
          .embedded(
            'd' as never,
            (inner: ColumnBuilder<string>) => ({
              city: inner.column(isOld('city') ? 'town' : 'city', text, was('city', 'd:h.town')).optional(),
            }),
            { prefix: 'h.' },
          )
          .optional(),
        plain: c.column('d:z', int32).optional(),
        more: c.columns('e:m.', { value: int32 }).optional(),
      }),
      ...(indexed && kind !== 'old' ? { indexes } : {}),
    } as never) as unknown as KeyedClass;
  };
  return {
    old: [entity('old', 1), entity('old', 2)],
    now: [entity('now', 1), entity('now', 2), entity('twin', 1), entity('twin', 2)],
  };
}

const PROPERTIES = ['name', 'qty', 'note', 'tags', 'prices', 'city'];

function drawRow(random: Random, time: number, nulls: boolean): Row {
  const row: Row = { a: random.pick(['x', 'y']), b: random.pick(['1', '2', '3', '4']) };
  const set = (property: string, value: () => unknown): void => {
    const turn = random.next();
    if (turn < 0.5) row[property] = value();
    else if (turn < 0.6 && nulls) row[property] = null;
  };
  set('name', () => random.pick(['', 'ann', 'bob', 'b\0c']));
  set('qty', () => random.pick([-7, 0, 3, 12]));
  set('note', () => random.pick(['n', 'nn', 'é']));
  set('tags', () => random.some(['p', 'q', 'r']));
  set('plain', () => random.below(5));
  if (random.chance(0.3)) row['home'] = { city: random.pick(['Ulm', 'Bonn']) };
  if (random.chance(0.3)) row['prices'] = [{ value: random.below(9), timestamp: time - random.below(50) }];
  if (random.chance(0.3)) row['more'] = new Map([[random.pick(['k', 'l']), random.below(9)]]);
  return row;
}

/** As an old program has it. */
function oldRow(row: Row, moved: ReadonlySet<string>): Row {
  const { qty } = row;
  return moved.has('qty') && typeof qty === 'number' ? { ...row, qty: `#${qty}` } : row;
}

const isSet = (row: Row): boolean => Object.keys(row).some((name) => name !== 'a' && name !== 'b');

function drawCondition(random: Random): Condition {
  return random.pick<Condition>([
    { name: random.pick(['', 'ann', 'bob']) },
    { name: { startsWith: 'b' } },
    { name: { ne: 'ann' } },
    { qty: { gte: 0 } },
    { qty: { in: [3, 12] }, plain: { lt: 4 } },
    { qty: { exists: false } },
    { note: { contains: 'n' } },
    { 'home.city': 'Ulm' },
    { name: { exists: true }, qty: { lt: 5 } },
    { plain: { gt: 2 } },
  ]);
}

/** Every write of one kind, on a repository: the answer, or the code of the error. */
async function write(things: Any, kind: string, row: Row, condition: Condition): Promise<unknown> {
  const key = { a: row['a'], b: row['b'] } as never;
  const { a: _a, b: _b, ...patch } = row;
  const run = async (): Promise<unknown> => {
    switch (kind) {
      case 'put':
        return things.put({ ...row } as never);
      case 'putMany':
        return things.putMany([{ ...row }, { ...row, b: '5' }] as never);
      case 'replace':
        return things.replace({ ...row } as never);
      case 'update':
        return things.update(key, patch as never);
      case 'delete':
        return things.delete(key);
      case 'append':
        return things.append(key, { note: '+' } as never);
      case 'mutate':
        return things.mutate(
          key,
          (change) => change.set({ plain: 1 } as never).append({ name: '!' } as never) as never,
        );
      case 'check': {
        const outcome = await things
          .check(key, condition as never)
          .update({ note: 'checked', plain: 9 } as never);
        return outcome.ok;
      }
      case 'updateAll':
        return things
          .find({} as never, { fullScan: true })
          .where(condition as never)
          .updateAll({ qty: 12 } as never);
      default:
        return things
          .find({} as never, { fullScan: true })
          .where(condition as never)
          .deleteAll();
    }
  };
  try {
    return plain(await run());
  } catch (error) {
    const { code } = error as { code?: string };
    return code ?? error;
  }
}

const WRITES = [
  'put',
  'put',
  'put',
  'putMany',
  'replace',
  'update',
  'update',
  'delete',
  'append',
  'mutate',
  'check',
];

async function answers(db: Database, classes: readonly KeyedClass[], condition: Condition, indexed: boolean) {
  const things = db.repository(classes[0]!);
  const all = () => things.find({} as never, { fullScan: true });
  const page = await all().page({ size: 2 } as never);
  const next = page.cursor === undefined ? [] : await all().page({ size: 3, cursor: page.cursor } as never);
  const key = { a: 'x', b: '1' } as never;
  const columns = { some: ['name', 'qty'], narrow: 'note', number: 'qty', text: 'name' } as const;
  const read: Record<string, unknown> = {
    ...(await readings(db, classes[0]!, condition, columns)),
    page,
    next,
    together: await db.collection(classes as never, { a: 'x' } as never).all(),
    history: await things.history(key, 'name' as never).catch((error: { code: string }) => error.code),
  };
  if (indexed) {
    read['byName'] = await things
      .by('byName' as never)
      .find({ name: 'ann' } as never)
      .all();
    read['byQty'] = await things
      .by('byQty' as never)
      .find({ qty: { gte: 0 } } as never)
      .all();
    read['verified'] = await db.index(classes[0]!, 'byName' as never).verify();
  }
  return plain(read) as Record<string, unknown>;
}

/**
 * Stores that hide the same: what was deleted hides what is written at an earlier time until a merge of all files of a family
 * drops the deletes, and the entities and their twins have other files. They drop deletes when both are told to, or never.
 */
const HIDING = [{ automatic: false, flushOnClose: true }, { timeToPurgeDeletes: 1e12 }];

async function round(seed: number): Promise<void> {
  const random = new Random(seed);
  const shape: Shape = {
    moved: new Set(PROPERTIES.filter(() => random.chance(0.7))),
    versions: random.pick([1, 1, 3]),
    indexed: random.chance(0.4),
    marker: random.chance(0.8),
  };
  const declared = declare(shape);
  const disk = new MemoryFileSystem();
  const clock = settableClock();
  const hiding = random.pick(HIDING);
  const place = { path: '/m', fileSystem: disk, background: 'inline' as const, clock, ...hiding };
  const before = await open({ ...place, entities: declared.old });
  const twinsBefore = await open({ ...place, path: '/t', entities: declared.now.slice(2) });
  for (let i = 0; i < 12; i++) {
    clock.advance(5);
    const type = random.below(2);
    const row = drawRow(random, clock(), false);
    if (!isSet(row)) continue;
    await before.repository(declared.old[type]!).put(oldRow(row, shape.moved) as never);
    await twinsBefore.repository(declared.now[2 + type]!).put(row as never);
    if (random.chance(0.2)) await before.engine.admin.flush('things');
  }
  await before.close();
  let db = await open({ ...place, entities: declared.now.slice(0, 2) });
  const twins = twinsBefore;
  const things = declared.now.slice(0, 2);
  const twinClasses = declared.now.slice(2);
  if (shape.indexed) {
    for (const at of [0, 1]) {
      for (const name of ['byName', 'byQty']) {
        await db.index(things[at]!, name as never).build();
        await twins.index(twinClasses[at]!, name as never).build();
      }
    }
  }
  // An old program on the same engine: its writes go where they always went.
  let beside = new Database(compileSchema(declared.old), db.engine);
  for (let step = 0; step < STEPS; step++) {
    clock.advance(5);
    const type = random.below(2);
    const where = `seed ${seed}, step ${step}`;
    if (!shape.indexed && random.chance(0.2)) {
      const row = drawRow(random, clock(), false);
      if (!isSet(row)) continue;
      await beside.repository(declared.old[type]!).put(oldRow(row, shape.moved) as never);
      await twins.repository(twinClasses[type]!).put(row as never);
    } else {
      const row = drawRow(random, clock(), true);
      const condition = drawCondition(random);
      const kind = random.chance(0.08) ? random.pick(['updateAll', 'deleteAll']) : random.pick(WRITES);
      const now = await write(db.repository(things[type]!), kind, { ...row }, condition);
      const twin = await write(twins.repository(twinClasses[type]!), kind, { ...row }, condition);
      expect(now, `${where} ${kind}`).toEqual(twin);
    }
    if (random.chance(0.06)) await db.engine.admin.flush('things');
    if (random.chance(0.03)) {
      // Both, see HIDING.
      for (const [engine, name] of [
        [db.engine, 'things'],
        [twins.engine, 'twins'],
      ] as const) {
        await engine.admin.flush(name);
        await engine.admin.majorCompact(name);
      }
    }
    if (random.chance(0.04) && shape.moved.size > 0) {
      const ended = new AbortController();
      await db.schema
        .moveColumns(things[type]!, {
          batchRows: 1,
          signal: ended.signal,
          onProgress: () => random.chance(0.5) && ended.abort(),
        })
        .catch((error: { code: string }) => expect(error.code).toBe('ERR_ABORTED'));
    }
    if (random.chance(0.02)) {
      await db.close();
      db = await open({ ...place, entities: things });
      beside = new Database(compileSchema(declared.old), db.engine);
    }
    if (!random.chance(0.3)) continue;
    const condition = drawCondition(random);
    const pair = random.chance(0.5) ? [0, 1] : [1, 0];
    const found = await answers(
      db,
      pair.map((at) => things[at]!),
      condition,
      shape.indexed,
    );
    const wanted = await answers(
      twins,
      pair.map((at) => twinClasses[at]!),
      condition,
      shape.indexed,
    );
    // Cursors are of their tables.
    for (const each of [found, wanted]) Object.assign(each['page'] as object, { cursor: undefined });
    expect(found, `${where}, moved ${[...shape.moved].join(' ')} ${JSON.stringify(condition)}`).toEqual(
      wanted,
    );
  }
  // Once the plan is applied nothing stands where it stood, and programs need not know of it.
  await db.schema.apply();
  // Old programs may have written after a move that was noted as done.
  if (shape.moved.size > 0) for (const target of things) await db.schema.moveColumns(target);
  expect((await db.schema.plan()).steps).toEqual([]);
  const left = await gathered(db.engine.table('things').scan(new Scan()));
  const places = left.flatMap(({ cells }) =>
    cells.map((cell) => `${cell.family}:${Buffer.from(cell.qualifier)}`),
  );
  const gone = {
    name: 'd:name',
    qty: 'd:amount',
    note: 'e:note',
    tags: 'd:tags',
    prices: 'd:price',
    city: 'd:h.town',
  };
  for (const [property, at] of Object.entries(gone)) {
    if (shape.moved.has(property)) expect(places, `seed ${seed}`).not.toContain(at);
  }
  await db.close();
  const settled = declare({ ...shape, moved: new Set() });
  const after = await open({ ...place, entities: settled.now.slice(0, 2) });
  const condition = drawCondition(random);
  const found = await answers(after, settled.now.slice(0, 2), condition, shape.indexed);
  const wanted = await answers(twins, twinClasses, condition, shape.indexed);
  for (const each of [found, wanted]) Object.assign(each['page'] as object, { cursor: undefined });
  expect(found, `seed ${seed}, settled`).toEqual(wanted);
  await after.close();
  await twins.close();
}

test('moving columns are read and written as if they had never stood elsewhere', async () => {
  for (let seed = 1; seed <= ROUNDS; seed++) await round(seed);
});
