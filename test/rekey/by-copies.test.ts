/** Keys that are changed as on HBase, where a write and its copy are two steps; here on the embedded engine, whose calls are as fast as tests need. */

import { describe, expect, it, test } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { Rekeying } from '../../src/database/rekeying.js';
import type { Database } from '../../src/database.js';
import { type KeyElement, part, salt } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import { type Engine, Put } from '../../src/table/index.js';
import { openMemory } from '../../src/testing/open-memory.js';
import { scaled } from '../proof/scale.js';
import { changeUnderWriters, declareLayouts } from './copied-keys.js';

const SEEDS = scaled(1, 8, 100);
const NO_INDEXES = {
  of: () => undefined,
  handle: () => {
    throw new Error('there are none');
  },
};

/** The changes of keys of an engine that says it has no steps over rows. */
function withoutSteps(
  { engine }: Database<EmbeddedEngine>,
  entities: readonly KeyedClass[],
  observes = true,
): Rekeying {
  const remote = new Proxy(engine, {
    get: (target, name) => {
      if (name === 'observe' && !observes) return () => () => undefined;
      if (name === 'capabilities') return { ...target.capabilities, sync: false };
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  }) as Engine;
  const schema = compileSchema(entities);
  return new Rekeying(remote, () => schema, NO_INDEXES);
}

test('keys are changed by copies under writers, pauses and aborts, and nothing is lost', async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const layouts = declareLayouts(seed);
    const db = await openMemory({ entities: [layouts.from, layouts.to] });
    const rekeying = withoutSteps(db, [layouts.from, layouts.to]);
    await changeUnderWriters(db, layouts, rekeying.of(layouts.from, layouts.to), seed);
    await db.close();
  }
});

interface Given {
  readonly key?: readonly KeyElement[];
  readonly columns?: object;
  readonly table?: string;
  readonly more?: object;
}

function entity(name: string, { key = [part('id')], table = name.toLowerCase(), columns, more }: Given = {}) {
  return defineEntity({
    name,
    table: defineTable({ name: table, families: { d: {} } }),
    key,
    columns: (c: { column: (...of: unknown[]) => { optional(): unknown } }) =>
      columns ?? { x: c.column('d:x', text).optional() },
    ...more,
  } as never) as unknown as KeyedClass;
}

const salted = { key: [salt(4), part('id')] };

describe('what is refused', () => {
  it.each<[string, Given, Given, RegExp]>([
    ['indexes', {}, { ...salted, more: { indexes: { byX: { on: [part('x')] } } } }, /has indexes/],
    ['rows that end', { more: { ttl: 1000 } }, { ...salted, more: { ttl: 1000 } }, /end by themselves/],
    [
      'a column that becomes a part',
      {},
      { key: [part('x'), part('id')], columns: {} },
      /is a column of the other/,
    ],
  ])('%s', async (_, from, to, message) => {
    const both = [entity('From', from), entity('To', to)] as const;
    const db = await openMemory({ entities: both });
    const rekey = withoutSteps(db, both).of(...both);
    expect((await rekey.plan()).problems.join('\n')).toMatch(message);
    await expect(rekey.run()).rejects.toMatchObject({ code: 'ERR_SCHEMA' });
    await db.close();
  });
});

it('what was written past the copying keeps the cut-over out, and writes go on', async () => {
  const both = [entity('From'), entity('To', salted)] as const;
  const db = await openMemory({ entities: both });
  const [olds, news] = [db.repository(both[0]), db.repository(both[1])];
  await olds.put({ id: 'a', x: '1' } as never);
  // As a program that does not know of the change: its writes of the new table are not refused.
  const rekey = withoutSteps(db, both, false).of(...both);
  await rekey.run();
  // A row of the old table with a time that was copied long ago is copied again; one that only the new table has is nobody's.
  await olds.put({ id: 'b', x: '2' } as never, { timestamp: 1 });
  const stray = db.schema.entity(both[1]).key.encode({ id: 'z' });
  const marker = db.schema.entity(both[1]).marker!;
  await db.engine
    .table('to')
    .put(new Put(stray).addColumn(marker.family, marker.qualifier, Uint8Array.of(1)));
  await expect(rekey.cutOver()).rejects.toMatchObject({
    code: 'ERR_CONFLICT',
    details: { missing: 0, different: 0, extra: 1 },
  });
  await olds.put({ id: 'c', x: '3' } as never);
  await rekey.abort();
  expect(await news.find({} as never, { fullScan: true }).all()).toEqual([]);
  await rekey.run();
  expect(await rekey.cutOver()).toMatchObject({ state: 'cut-over', differences: { rows: 3 } });
  expect(await news.get({ id: 'b' } as never)).toMatchObject({ x: '2' });
  await db.close();
});

it('a delete is copied though the old table was compacted, and an abort leaves the table as it was', async () => {
  const both = [entity('From'), entity('To', salted)] as const;
  const db = await openMemory({ entities: both });
  const [olds, news] = [db.repository(both[0]), db.repository(both[1])];
  await olds.putMany([{ id: 'a' }, { id: 'b' }] as never);
  const rekey = withoutSteps(db, both).of(...both);
  await rekey.run();
  await olds.delete({ id: 'a' } as never);
  const compacted = async (): Promise<void> => {
    await db.engine.admin.flush('from');
    await db.engine.admin.majorCompact('from');
  };
  await compacted();
  await rekey.abort();
  expect((await db.engine.admin.getDescriptor('from')).families).toMatchObject([
    { keepDeletedCells: 'FALSE' },
  ]);
  await rekey.run();
  await olds.delete({ id: 'b' } as never);
  await compacted();
  await rekey.cutOver({ compare: false });
  expect(await news.find({} as never, { fullScan: true }).all()).toEqual([]);
  await db.close();
});
