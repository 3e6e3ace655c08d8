/** What a change of keys refuses, and what it carries over beside values. */

import { describe, expect, it } from 'vitest';
import { type ColumnBuilder, defineEntity, defineTable } from '../../decorators/index.js';
import { date, text } from '../../src/codec/index.js';
import { mappingProblems } from '../../src/features/rekey/jobs/row-mapping.js';
import { hash, type KeyElement, part, recordType, salt } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { openEmbedded } from '../../src/store/engine.js';
import { CellWithTtl, Get, Put, Scan } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { openMemory, settableClock } from '../../src/testing/open-memory.js';

interface Given {
  readonly key?: readonly KeyElement[];
  readonly columns?: (c: ColumnBuilder<string>) => object;
  readonly more?: object;
}

function entity(name: string, { key, columns, more }: Given = {}): KeyedClass {
  return defineEntity({
    name,
    table: defineTable({ name: name.toLowerCase(), families: { d: {} } }),
    key: key ?? [part('id')],
    columns: columns ?? ((c: ColumnBuilder<string>) => ({ x: c.column('d:x', text).optional() })),
    ...more,
  } as never) as unknown as KeyedClass;
}

const salted = { key: [salt(4), part('id')] };

describe('what cannot be', () => {
  it.each<[string, Given, Given, RegExp]>([
    ['a part that is not kept', { key: [part('id'), part('b')] }, salted, /contains "b"/],
    ['a property of one alone', {}, { ...salted, columns: () => ({}) }, /"x" is a property of From/],
    [
      'another column',
      {},
      { ...salted, columns: (c) => ({ x: c.column('d:other', text).optional() }) },
      /"x" has different columns or codecs/,
    ],
    ['random salts', {}, { key: [salt(4, { assign: 'random' }), part('id')] }, /salt of \w+ is random/],
    [
      'feeds of changes of one alone',
      {},
      { ...salted, more: { changes: { keep: 60_000 } } },
      /records its changes/,
    ],
    [
      'columns that are moving',
      { columns: (c) => ({ x: c.column('d:x', text, { was: ['d:old'] }).optional() }) },
      salted,
      /are being moved/,
    ],
    [
      'mutual links of one alone',
      { key: [part('id'), part('b')], more: { mutual: ['id', 'b'] } },
      { key: [salt(4), part('id'), part('b')] },
      /Declare the same `mutual`/,
    ],
    ['other versions of rows', { more: { schemaVersion: 2 } }, salted, /Declare the same `schemaVersion`/],
    [
      'soft deletes of one alone',
      { columns: (c) => ({ x: c.deletedAt('d:x') }) },
      { ...salted, columns: (c) => ({ x: c.column('d:x', date).optional() }) },
      /Declare the same @DeletedAt/,
    ],
    ['a time to live in one alone', { more: { ttl: 1000 } }, salted, /expire as a whole/],
    ['a marker in one alone', { more: { marker: false } }, salted, /marker/],
    [
      'a part made of a column where rows end',
      { columns: (c) => ({ x: c.column('d:x', text).optional() }), more: { ttl: 1000 } },
      { key: [part('x'), part('id')], columns: () => ({}), more: { ttl: 1000 } },
      /rows expire/,
    ],
  ])('%s', async (_, from, to, message) => {
    const [source, target] = [entity('From', from), entity('To', to)];
    const db = await openMemory({ entities: [source, target] });
    const rekey = db.rekey(source, target);
    expect((await rekey.plan()).problems.join('\n')).toMatch(message);
    await expect(rekey.run()).rejects.toMatchObject({ code: 'ERR_SCHEMA' });
    expect(await rekey.status()).toBeUndefined();
    await db.close();
  });

  it('entities that others copy', () => {
    const schema = compileSchema([entity('From'), entity('To', salted), entity('Other')]);
    const [source, target, other] = schema.entities;
    const copies = [{ target: () => source!.target, via: [], index: undefined, fields: [], fanOut: 1 }];
    const problems = mappingProblems(source!, target!, [source!, target!, { ...other!, copies }]);
    expect(problems.join('\n')).toMatch(/Other copies From/);
    expect(mappingProblems(source!, target!, schema.entities)).toEqual([]);
  });

  it.each(['nothing', 'an entity', 'other rows'])(
    'deletes of an abort that the table keeps, beside %s',
    async (beside) => {
      const table = defineTable({ name: 'kept', families: { d: { keepDeletedCells: 'TRUE', versions: 3 } } });
      const source = entity('From');
      const target = entity('To', { key: [part('id'), recordType()], more: { table, recordType: 1 } });
      const other = entity('Other', { key: [part('id'), recordType()], more: { table, recordType: 2 } });
      const entities = [source, target, ...(beside === 'an entity' ? [other] : [])];
      const db = await openMemory({ entities });
      const [olds, news] = [db.repository(source), db.repository(target)];
      await olds.putMany([{ id: 'a', x: '1' }, { id: 'b' }] as never);
      const kept = db.engine.table('kept');
      if (beside === 'other rows') await kept.put(new Put('other').addColumn('d', 'x', '2'));
      const rekey = db.rekey(source, target);
      await rekey.run();
      await rekey.abort();
      if (beside === 'nothing') {
        expect(await rekey.run()).toMatchObject({ state: 'ready', differences: { rows: 2, missing: 0 } });
        expect(await news.get({ id: 'a' } as never)).toMatchObject({ x: '1' });
        await olds.put({ id: 'c' } as never);
        expect(await news.exists({ id: 'c' } as never)).toBe(true);
      } else {
        const refused = { code: 'ERR_CONFLICT', message: expect.stringContaining('delete markers') };
        await expect(rekey.run()).rejects.toMatchObject(refused);
        if (beside === 'other rows') expect((await kept.get(new Get('other'))).isEmpty).toBe(false);
      }
      await db.close();
    },
  );

  it('steps out of turn, a new layout with rows, and two at once', async () => {
    const [source, target] = [entity('From'), entity('To', salted)];
    const db = await openMemory({ entities: [source, target] });
    const rekey = db.rekey(source, target);
    await expect(rekey.cutOver()).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
    await db.repository(target).put({ id: 'a', x: '1' } as never);
    await expect(rekey.run()).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
    await db.repository(target).delete({ id: 'a' } as never);
    const running = rekey.run();
    await expect(rekey.run()).rejects.toMatchObject({ code: 'ERR_BUSY' });
    expect(await running).toMatchObject({ state: 'ready', differences: { rows: 0 } });
    await expect(rekey.cleanup()).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
    await rekey.cutOver();
    await rekey.cleanup();
    await expect(rekey.abort()).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
    await db.close();
  });

  /** A change that was cut over, and then written past by a tool that knows nothing of it. */
  async function writtenPast() {
    const [source, target] = [entity('From'), entity('To', salted)];
    const disk = new MemoryFileSystem();
    const opened = () => openMemory({ disk, entities: [source, target] });
    const db = await opened();
    for (const id of ['a', 'b', 'c', 'e']) await db.repository(source).put({ id, x: '1' } as never);
    await db.rekey(source, target).run();
    await db.rekey(source, target).cutOver();
    await db.close();

    // A row, a cell of another one, another value at a time that there is, and a cell of one under the new key.
    const tool = await openEmbedded('/memory', { fileSystem: disk, background: 'inline' });
    const [old, now] = [tool.table('from'), tool.table('to')];
    const { cells } = await old.get(new Get('e').addColumn('d', 'x'));
    await old.put(new Put('d').addColumn('d', 'x', 'new row'));
    await old.put(new Put('b').addColumn('d', 'x', 'new cell'));
    await old.put(new Put('e').addColumn('d', 'x', 'new value', cells[0]!.timestamp));
    for await (const { row } of now.scan(new Scan()))
      if (Buffer.from(row).toString('latin1', 1) === 'c')
        await now.put(new Put(row).addColumn('d', 'x', 'of the new'));
    await tool.close();

    const again = await opened();
    const [olds, news] = [again.repository(source), again.repository(target)];
    const found = async () =>
      (await news.find({} as never, { fullScan: true }).all()).map((row) => Object.values(row)).sort();
    return { db: again, olds, found, rekey: again.rekey(source, target) };
  }

  it('the removal of rows and cells that are in the old layout alone', async () => {
    const { db, olds, found, rekey } = await writtenPast();
    await expect(rekey.cleanup()).rejects.toMatchObject({
      code: 'ERR_CONFLICT',
      details: { missing: 1, different: 2, unkeyed: 0 },
    });
    expect(await rekey.status()).toMatchObject({ state: 'cut-over' });
    for (const id of ['b', 'd', 'e'])
      await olds.put({ id, x: ((await olds.get({ id } as never)) as unknown as { x: string }).x } as never);
    expect(await rekey.cleanup()).toMatchObject({ state: 'done' });
    expect(await found()).toEqual([
      ['a', '1'],
      ['b', 'new cell'],
      ['c', 'of the new'],
      ['d', 'new row'],
      ['e', 'new value'],
    ]);
    await db.close();
  });

  it('nothing of that when it is told not to look', async () => {
    const { db, found, rekey } = await writtenPast();
    expect(await rekey.cleanup({ compare: false })).toMatchObject({ state: 'done' });
    expect((await found()).map(([id]) => id)).toEqual(['a', 'b', 'c', 'e']);
    await db.close();
  });

  it('an opening without both entities, or with another key', async () => {
    const [source, target] = [entity('From'), entity('To', salted)];
    const disk = new MemoryFileSystem();
    const db = await openMemory({ disk, entities: [source, target] });
    await db.rekey(source, target).run();
    await db.close();
    await expect(openMemory({ disk, entities: [source] })).rejects.toThrow(/not declared/);
    const again = await openMemory({ disk, entities: [source, target] });
    await again.repository(source).put({ id: 'a', x: '1' } as never);
    expect(await again.repository(target).get({ id: 'a' } as never)).toMatchObject({ x: '1' });
    await again.rekey(source, target).abort();
    await again.close();
    await (await openMemory({ disk, entities: [source] })).close();
  });
});

describe('what is carried over', () => {
  it('lives that end, in copies of both kinds', async () => {
    const ends = { more: { ttl: 60_000 } };
    const [source, target] = [entity('From', ends), entity('To', { ...salted, ...ends })];
    const clock = settableClock();
    const db = await openMemory({ entities: [source, target], clock });
    await db.repository(source).put({ id: 'before', x: '1' } as never);
    clock.advance(30_000);
    await db.rekey(source, target).run();
    await db.repository(source).put({ id: 'after', x: '2' } as never);
    const raw = db.engine.table('to').scan(new Scan().setRaw(true));
    for await (const { cells } of raw) {
      expect(cells.map((cell) => cell instanceof CellWithTtl && cell.ttl)).toEqual([60_000, 60_000]);
    }
    clock.advance(30_001);
    expect(await db.repository(target).get({ id: 'before' } as never)).toBeNull();
    expect(await db.repository(target).get({ id: 'after' } as never)).toMatchObject({ x: '2' });
    await db.close();
  });

  it('a part made of a column, which cannot be changed from then on', async () => {
    const key = [part('x'), part('id')];
    const [source, target] = [entity('From'), entity('To', { key, columns: () => ({}) })];
    const db = await openMemory({ entities: [source, target] });
    const [olds, news] = [db.repository(source), db.repository(target)];
    await olds.put({ id: 'a', x: '1' } as never);
    await olds.put({ id: 'b' } as never);
    const rekey = db.rekey(source, target);
    await expect(rekey.run()).rejects.toThrow(/1 without a value/);
    await expect(olds.put({ id: 'a', x: '2' } as never)).rejects.toMatchObject({ code: 'ERR_UNSUPPORTED' });
    await expect(olds.update({ id: 'a' } as never, { x: null } as never)).rejects.toMatchObject({
      code: 'ERR_UNSUPPORTED',
    });
    await olds.put({ id: 'b', x: '3' } as never);
    await olds.delete({ id: 'a' } as never);
    await olds.put({ id: 'a', x: '2' } as never);
    expect(await rekey.run()).toMatchObject({ state: 'ready', differences: { rows: 2, unkeyed: 0 } });
    const found = await news.find({} as never, { fullScan: true }).all();
    expect(found).toMatchObject([
      { x: '2', id: 'a' },
      { x: '3', id: 'b' },
    ]);
    await news.put({ x: '9', id: 'c' } as never);
    expect(await olds.get({ id: 'c' } as never)).toMatchObject({ x: '9' });
    await db.close();
  });

  it('a part of which the new key keeps a digest becomes its column', async () => {
    const key = [hash('id', { bytes: 8 })];
    const columns = (c: ColumnBuilder<string>) => ({
      id: c.column('d:id', text),
      x: c.column('d:x', text).optional(),
    });
    const [source, target] = [entity('From'), entity('To', { key, columns })];
    const db = await openMemory({ entities: [source, target] });
    await db.repository(source).put({ id: 'a', x: '1' } as never);
    await db.rekey(source, target).run();
    await db.repository(source).update({ id: 'a' } as never, { x: '2' } as never);
    expect(await db.repository(target).get({ id: 'a' } as never)).toMatchObject({ id: 'a', x: '2' });
    await db.close();
  });
});

it('an old entity that is added when its rows are gone takes no writes', async () => {
  const [source, target] = [entity('From'), entity('To', salted)];
  const disk = new MemoryFileSystem();
  const before = await openMemory({ disk, entities: [source, target] });
  await before.repository(source).put({ id: 'a', x: '1' } as never);
  for (const stage of ['run', 'cutOver', 'cleanup'] as const) await before.rekey(source, target)[stage]();
  await before.close();
  const db = await openMemory({ disk, entities: [target] });
  await db.add(source);
  await expect(db.repository(source).put({ id: 'b', x: '2' } as never)).rejects.toMatchObject({
    code: 'ERR_UNSUPPORTED',
    message: expect.stringContaining('Write To'),
  });
  await db.repository(target).put({ id: 'b', x: '2' } as never);
  await db.close();
});

it('a change that was never begun is read without a table for its record', async () => {
  const [from, to] = [entity('From'), entity('To', salted)];
  await using db = await openMemory({ entities: [from, to] });
  const names = async () => (await db.engine.admin.listTables()).map(({ name }) => name);
  const before = await names();
  const rekey = db.rekey(from, to);
  expect(await rekey.status()).toBeUndefined();
  expect(await rekey.plan()).toMatchObject({ problems: [], record: undefined });
  for (const step of ['pause', 'cutOver', 'cleanup', 'abort'] as const)
    await expect(rekey[step]()).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
  expect(await names()).toEqual(before);
});
