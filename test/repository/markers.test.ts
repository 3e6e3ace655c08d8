/** How many markers puts leave, and what readings of the past see by them. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Column, Counter, Entity, part, RowKey, Table } from '../../decorators/index.js';
import { toBytes } from '../../src/bytes/index.js';
import { int32, text } from '../../src/codec/index.js';
import { Get, Put } from '../../src/table/index.js';
import { notOnBigtable, onBigtable, openTestDatabase, type TestDatabase } from '../query/test-database.js';

@Table({ name: 'markers', families: { d: { versions: 50, keepDeletedCells: 'TRUE' }, m: {} } })
class Notes {}

@RowKey(part('id'))
abstract class Note {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:a', text) a?: string | null;
  @Column('d:b', text) b?: string | null;
}

/** Its marker stands where its columns do. */
@Entity({ table: Notes })
class Kept extends Note {}

@Table({ name: 'markers_pinned', families: { d: { versions: 50, keepDeletedCells: 'TRUE' }, m: {} } })
class PinnedNotes {}

/** Its marker stands in a family that keeps one version. */
@Entity({ table: PinnedNotes, marker: 'm' })
class Pinned extends Note {}

const PUTS = 50;

describe.each([
  { target: Kept, family: 'd', left: PUTS },
  { target: Pinned, family: 'm', left: 1 },
])('a marker in $family', ({ target, family, left }) => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase([target]);
  });
  afterAll(() => db?.dispose());

  it(`is one of ${left} behind ${PUTS} puts`, async () => {
    const notes = db.repository(target);
    for (let i = 1; i <= PUTS; i++) await notes.put({ id: 'one', a: `a${i}` }, { timestamp: 1000 + i });
    const row = notes.schema.key.encode({ id: 'one' });
    const table = db.engine.table(notes.schema.table.descriptor.name);
    const found = await table.get(new Get(row).addColumn(family, toBytes('_')).readAllVersions());
    expect(found.cells).toHaveLength(left);
  });

  // What is deleted in Bigtable was never there, and the family of one marker keeps one version, of other engines until a flush.
  (onBigtable ? notOnBigtable : it)('has the past read right: by what was there at the time', async () => {
    const notes = db.repository(target);
    await notes.put({ id: 'two', a: 'old' }, { timestamp: 2000 });
    await notes.put({ id: 'two', a: 'new', b: 'later' }, { timestamp: 3000 });
    await notes.put({ id: 'two', a: null }, { timestamp: 4000 });
    // What a family keeps no longer is gone then.
    await db.admin.flush(notes.schema.table.descriptor.name);
    const before = notes.asOf(1999);
    const then = notes.asOf(2000);
    expect(await before.exists({ id: 'two' })).toBe(false);
    expect(await before.find({ id: 'two' }).count()).toBe(0);
    expect(await then.exists({ id: 'two' })).toBe(true);
    expect(await then.get({ id: 'two' })).toMatchObject({ a: 'old', b: undefined });
    expect(await then.find({ id: 'two' }).count()).toBe(1);
    expect(await then.find({ id: 'two' }).select('b').all()).toEqual([{ id: 'two', b: undefined }]);
    expect(await notes.asOf(3500).find({ id: 'two' }).where({ b: 'later' }).select('a').all()).toEqual([
      { id: 'two', a: 'new' },
    ]);
    expect(await notes.find({ id: 'two' }).asOf(2500).exists()).toBe(true);
  });
});

/** Any of its cells says that it is there; what is checked stands behind others of both families. */
@Entity({ table: { name: 'unmarked', families: { d: {}, m: {} } }, marker: false })
@RowKey(part('id'))
class Unmarked {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:a', text) a?: string | null;
  @Column('d:b', text) b?: string | null;
  @Column('m:a', text) c?: string | null;
  @Column('m:q', int32) quantity?: number | null;
}

describe('a row without a marker', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase([Unmarked]);
  });
  afterAll(() => db?.dispose());

  it('is checked by every one of its cells, wherever they stand', async () => {
    const rows = db.repository(Unmarked);
    await rows.put({ id: 'r', a: 'a', b: 'b', c: 'c', quantity: 3 });
    expect(await rows.check({ id: 'r' }, { quantity: { gte: 3 } }).update({ a: 'x' })).toMatchObject({
      ok: true,
    });
    expect(await rows.check({ id: 'r' }, { quantity: { gte: 4 } }).update({ a: 'y' })).toMatchObject({
      ok: false,
    });
    expect(await rows.find({ id: 'r' }).where({ quantity: 3 }).updateAll({ b: 'all' })).toMatchObject({
      changed: 1,
    });
    expect(await rows.get({ id: 'r' })).toMatchObject({ a: 'x', b: 'all' });
    await rows.delete({ id: 'r' });
    await expect(rows.update({ id: 'r' }, { a: 'gone' })).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' });
  });
});

@Table({
  name: 'visitors',
  families: { info: { versions: 1000 }, visits: { versions: 1000 }, brief: { ttl: 1000 } },
})
class Visitors {}

/** Families are kept apart so that visits leave the profile alone. */
@Entity({ table: Visitors, marker: 'info' })
@RowKey(part('id'))
class Visitor {
  declare static readonly key: ['id'];
  id!: string;
  @Column('info:n', text) name?: string | null;
  @Column('visits:l', text) last?: string | null;
  @Counter('visits:c') count?: bigint;
}

@Entity({
  table: { name: 'brief_visitors', families: { brief: { ttl: 1000 }, visits: {} } },
  marker: 'brief',
})
@RowKey(part('id'))
class Brief {
  declare static readonly key: ['id'];
  id!: string;
  @Column('visits:b', text) last?: string | null;
}

describe('writes of another family than the marker', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase([Visitor, Brief]);
  });
  afterAll(() => db?.dispose());

  const cellsOf = async (id: string, family: string, table = 'visitors') => {
    const get = new Get(db.repository(Visitor).schema.key.encode({ id })).addFamily(family).readAllVersions();
    return (await db.engine.table(table).get(get)).cells;
  };

  it('leave it as it is, where the row has it', async () => {
    const visitors = db.repository(Visitor);
    await visitors.insert({ id: 'a', name: 'Ada' });
    for (let i = 0; i < 20; i++) await visitors.update({ id: 'a' }, { last: `day ${i}` });
    await visitors.batch((b) =>
      b.update({ id: 'a' }, { last: 'day 20' }).update({ id: 'a' }, { last: 'day 21' }),
    );
    expect((await visitors.check({ id: 'a' }, { name: 'Ada' }).update({ last: 'day 22' })).ok).toBe(true);
    expect((await visitors.check({ id: 'a' }, { name: 'Eve' }).update({ last: 'day 23' })).ok).toBe(false);
    expect(await cellsOf('a', 'info')).toHaveLength(2);
    expect((await visitors.get({ id: 'a' }))?.last).toBe('day 22');
    // What does not read the row cannot know on HBase that it has one.
    for (let i = 0; i < 20; i++) await visitors.increment({ id: 'a' }, { count: 1n });
    await visitors.mutate({ id: 'a' }, (change) => change.set({ last: 'day 24' }));
    if (db.engine.name === 'embedded') expect(await cellsOf('a', 'info')).toHaveLength(2);
    expect((await visitors.get({ id: 'a' }))?.count).toBe(20n);
  });

  it('write it where the row has none, or one of another version', async () => {
    const visitors = db.repository(Visitor);
    await expect(visitors.update({ id: 'b' }, { last: 'never' })).rejects.toMatchObject({
      code: 'ERR_NOT_FOUND',
    });
    const [outcome] = await visitors.batch((b) => b.update({ id: 'b' }, { last: 'never' }));
    expect(outcome).toMatchObject({ ok: false, error: { code: 'ERR_NOT_FOUND' } });
    await visitors.increment({ id: 'b' }, { count: 1n });
    expect(await visitors.get({ id: 'b' })).toMatchObject({ id: 'b', count: 1n });
    const row = visitors.schema.key.encode({ id: 'b' });
    await db.engine.table('visitors').put(new Put(row).addColumn('info', toBytes('_'), Uint8Array.of(9)));
    await visitors.update({ id: 'b' }, { last: 'today' });
    expect([...(await cellsOf('b', 'info'))[0]!.value]).toEqual([...visitors.schema.marker!.value]);
    await db.engine.table('visitors').put(new Put(row).addColumn('info', toBytes('_'), Uint8Array.of(9)));
    await visitors.batch((b) => b.update({ id: 'b' }, { last: 'tomorrow' }));
    expect([...(await cellsOf('b', 'info'))[0]!.value]).toEqual([...visitors.schema.marker!.value]);
    expect((await visitors.get({ id: 'b' }))?.last).toBe('tomorrow');
  });

  it('write it where it would end by itself', async () => {
    const briefs = db.repository(Brief);
    await briefs.put({ id: 'c', last: 'x' });
    const [first] = await cellsOf('c', 'brief', 'brief_visitors');
    for (;;) {
      await briefs.update({ id: 'c' }, { last: 'y' });
      const [again] = await cellsOf('c', 'brief', 'brief_visitors');
      if (again!.timestamp > first!.timestamp) break;
    }
  });
});
