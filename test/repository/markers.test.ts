/** How many markers puts leave, and what readings of the past see by them. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Column, Entity, part, RowKey, Table } from '../../decorators/index.js';
import { toBytes } from '../../src/bytes/index.js';
import { int32, text } from '../../src/codec/index.js';
import { Get } from '../../src/table/index.js';
import { openTestDatabase, type TestDatabase } from '../query/test-database.js';

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

  it('has the past read right: by what was there at the time', async () => {
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
