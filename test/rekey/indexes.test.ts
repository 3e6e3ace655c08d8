/** Keys of entities with indexes that are changed: what stands in the new layout's indexes, whoever has written the rows. */

import { expect, it } from 'vitest';
import { type ColumnBuilder, defineEntity, defineTable } from '../../decorators/index.js';
import { text } from '../../src/codec/index.js';
import { indexTableName } from '../../src/features/indexes/entry.js';
import { type KeyElement, part, salt } from '../../src/key/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { Scan } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { openMemory } from '../../src/testing/open-memory.js';

interface Declared {
  readonly on: readonly KeyElement[];
  readonly unique?: boolean;
}

function entity(
  name: string,
  key: readonly KeyElement[],
  indexes: Readonly<Record<string, Declared>>,
  summaries: object = {},
) {
  return defineEntity({
    name,
    table: defineTable({ name: name.toLowerCase(), families: { d: {} } }),
    key,
    columns: (c: ColumnBuilder<string>) => ({
      x: c.column('d:x', text).optional(),
      y: c.column('d:y', text).optional(),
    }),
    indexes,
    summaries,
  } as never) as unknown as KeyedClass;
}

type Opened = Awaited<ReturnType<typeof openMemory>>;

const idsOf = async (db: Opened, target: KeyedClass, x: string): Promise<string[]> => {
  const found = await db
    .repository(target)
    .by('byX' as never)
    .find({ x } as never)
    .all();
  return (found as unknown as { id: string }[]).map(({ id }) => id).sort();
};

const byX = { byX: { on: [part('x')] } };
const salted = [salt(4), part('id')];

it('indexes of both are asked and kept, whichever is written', async () => {
  const [source, target] = [entity('From', [part('id')], byX), entity('To', salted, byX)];
  const db = await openMemory({ entities: [source, target] });
  const [olds, news] = [db.repository(source), db.repository(target)];
  await olds.putMany([1, 2, 3].map((i) => ({ id: `${i}`, x: 'a' })) as never);
  const rekey = db.rekey(source, target);
  expect(await rekey.run()).toMatchObject({ state: 'ready', differences: { rows: 3, entries: 0 } });
  expect(await idsOf(db, target, 'a')).toEqual(['1', '2', '3']);
  await olds.update({ id: '1' } as never, { x: 'b' } as never);
  await news.update({ id: '2' } as never, { x: 'b' } as never);
  await news.delete({ id: '3' } as never);
  await db.transaction((tx) => tx.repository(source).put({ id: '4', x: 'b' } as never));
  for (const each of [source, target]) {
    expect(await idsOf(db, each, 'a')).toEqual([]);
    expect(await idsOf(db, each, 'b')).toEqual(['1', '2', '4']);
  }
  await rekey.cutOver();
  await rekey.cleanup();
  for await (const entry of db.engine.table(indexTableName('from')).scan(new Scan()))
    expect(entry).toBe('none');
  expect(await idsOf(db, target, 'b')).toEqual(['1', '2', '4']);
  await db.close();
});

it('a unique index of the new layout alone holds for both', async () => {
  const unique = { byX: { on: [part('x')], unique: true } };
  const [source, target] = [entity('From', [part('id')], {}), entity('To', salted, unique)];
  const db = await openMemory({ entities: [source, target] });
  const olds = db.repository(source);
  await olds.putMany([
    { id: '1', x: 'a' },
    { id: '2', x: 'a' },
  ] as never);
  const rekey = db.rekey(source, target);
  await expect(rekey.run()).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
  await olds.update({ id: '2' } as never, { x: 'b' } as never);
  await rekey.run();
  expect(await idsOf(db, target, 'a')).toEqual(['1']);
  await expect(olds.put({ id: '3', x: 'a' } as never)).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
  expect(await olds.get({ id: '3' } as never)).toBeNull();
  await db.close();
});

it('an index that was not built before is built on the way', async () => {
  const table = 'to';
  const [source, before] = [entity('From', [part('id')], {}), entity('To', salted, {})];
  const disk = new MemoryFileSystem();
  const first = await openMemory({ disk, entities: [source, before] });
  await first.repository(source).put({ id: '1', x: 'a' } as never);
  await first.repository(before).put({ id: '9', x: 'a' } as never);
  await first.close();
  const target = entity('To', salted, byX);
  const db = await openMemory({ disk, entities: [source, target] });
  expect(db.index(target, 'byX' as never).state).toBe('building');
  await db.repository(target).delete({ id: '9' } as never);
  await db.engine.admin.majorCompact(table);
  await db.rekey(source, target).run();
  expect(await idsOf(db, target, 'a')).toEqual(['1']);
  await db.close();
});

it('copies that were flushed alone have their entries when the process was lost behind it', async () => {
  const rows = 60;
  const where = { byX: { on: [part('x')], where: { y: null } } };
  const [source, target] = [entity('From', [part('id')], where), entity('To', salted, where)];
  const disk = new MemoryFileSystem();
  const db = await openMemory({ disk, entities: [source, target] });
  const olds = db.repository(source);
  const row = (i: number) => ({ id: String(i), x: 'a', ...(i % 3 === 0 ? { y: 'y' } : {}) });
  await olds.putMany(Array.from({ length: rows }, (_, i) => row(i)) as never);
  const rekey = db.rekey(source, target);
  let copied = 0;
  db.engine.observe('to', {
    before: () => {
      if (++copied > rows / 2) throw new Error('far enough');
      return undefined;
    },
  });
  await expect(rekey.run({ batchRows: 5 })).rejects.toThrow('far enough');
  await db.engine.admin.flush('to');
  const lost = disk.crash({ keepUnsynced: 0, random: () => 0 });
  await db.close();
  const again = await openMemory({ disk: lost, entities: [source, target] });
  expect((await again.rekey(source, target).status())?.state).toBe('backfill');
  expect(await again.rekey(source, target).run()).toMatchObject({ differences: { rows, entries: 0 } });
  expect(await idsOf(again, target, 'a')).toHaveLength((rows * 2) / 3);
  await again.close();
});

it('a transaction that writes a row under both keys sees its writes under both, and indexes and summaries agree with the rows', async () => {
  const summaries = { perX: { by: ['x'], figures: { rows: 'count' } } };
  const both = (name: string, key: readonly KeyElement[]) =>
    entity(name, key, { byX: { on: [part('x')], unique: true } }, summaries);
  const [source, target] = [both('From', [part('id')]), both('To', salted)];
  const db = await openMemory({ entities: [source, target] });
  await db.repository(source).put({ id: '1', x: 'a', y: 'a' } as never);
  await db.rekey(source, target).run();
  await db.transaction(async (tx) => {
    const [olds, news] = [tx.repository(source), tx.repository(target)];
    await news.put({ id: '1', x: 'b' } as never);
    expect(await olds.get({ id: '1' } as never)).toMatchObject({ x: 'b', y: 'a' });
    const taken = olds.put({ id: '2', x: 'b' } as never);
    await expect(taken).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
    await olds.put({ id: '1', x: 'c' } as never);
    expect(await news.get({ id: '1' } as never)).toMatchObject({ x: 'c', y: 'a' });
    await news.delete({ id: '3' } as never);
    await olds.put({ id: '3', x: 'd' } as never);
    expect(await news.find({} as never, { fullScan: true }).count()).toBe(2);
  });
  for (const each of [source, target]) {
    expect(await idsOf(db, each, 'c')).toEqual(['1']);
    expect(await db.index(each, 'byX' as never).verify()).toMatchObject({ missing: 0, extra: 0, stale: 0 });
    const groups = await db.summary(each, 'perX' as never).check();
    expect(groups).toMatchObject({ groups: 2, stale: 0, missing: 0, extra: 0 });
  }
  const undone = db.transaction(async (tx) => {
    await tx.repository(source).delete({ id: '1' } as never);
    expect(await tx.repository(target).get({ id: '1' } as never)).toBeNull();
    throw new Error('undone');
  });
  await expect(undone).rejects.toThrow('undone');
  expect(await db.repository(target).get({ id: '1' } as never)).toMatchObject({ x: 'c' });
  await db.close();
});

it('an index that is declared after the copying is built before the rows are compared', async () => {
  const disk = new MemoryFileSystem();
  const key = [part('y'), part('id')];
  const declared = (indexes: Readonly<Record<string, Declared>>) => {
    const columns = (c: ColumnBuilder<string>) => ({ x: c.column('d:x', text).optional() });
    const table = defineTable({ name: 'to', families: { d: {} } });
    const target = defineEntity({ name: 'To', table, key, columns, indexes } as never);
    return [entity('From', [part('id')], {}), target as unknown as KeyedClass] as const;
  };
  const [source, target] = declared({});
  const db = await openMemory({ entities: [source, target], disk });
  await db.repository(source).putMany([{ id: '1', x: 'a', y: 'a' }, { id: '2' }] as never);
  await expect(db.rekey(source, target).run()).rejects.toThrow(/1 without a value/);
  await db.repository(source).put({ id: '2', x: 'a', y: 'b' } as never);
  await db.close();
  const [from, to] = declared(byX);
  const later = await openMemory({ entities: [from, to], disk });
  expect(later.index(to, 'byX' as never).state).toBe('building');
  expect(await later.rekey(from, to).run()).toMatchObject({ state: 'ready', differences: { entries: 0 } });
  expect(await idsOf(later, to, 'a')).toEqual(['1', '2']);
  await later.close();
});
