/** `@DeletedAt`: rows that are deleted and left, on both engines. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  AfterDelete,
  Column,
  DeletedAt,
  defineEntity,
  defineTable,
  Entity,
  rowKey,
  Table,
  Ttl,
  Version,
} from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { part, recordType, salt } from '../../src/key/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { Repository } from '../../src/repository/index.js';
import { onBigtable, onServer, openTestDatabase, type TestDatabase } from '../query/test-database.js';

@Table({ name: 'left', families: { d: { versions: 3 } } })
class Left {}

const deletions: string[] = [];

@Entity({ table: Left, recordType: 1 })
class Note {
  static readonly key = rowKey(salt(4, ['owner']), part('owner'), recordType(), part('id'));
  owner!: string;
  id!: string;
  @Column('d:t', text) text?: string | null;
  @DeletedAt('d:x') deletedAt?: Date | null;
  @AfterDelete() noted(): void {
    deletions.push(this.id);
  }
}

@Entity({ table: Left, recordType: 2 })
class Draft {
  static readonly key = rowKey(salt(4, ['owner']), part('owner'), recordType(), part('id'));
  owner!: string;
  id!: string;
  @Column('d:t', text) text?: string | null;
  @Version('d:v') version?: number;
  @DeletedAt('d:x') deletedAt?: Date | null;
  @Ttl() expiresIn?: number;
}

const Member = defineEntity({
  name: 'Member',
  table: defineTable({ name: 'left_members', families: { d: {} } }),
  key: [part('id', text)],
  columns: (c) => ({
    email: c.column('d:e', text),
    age: c.column('d:a', int32).optional(),
    deletedAt: c.deletedAt('d:x'),
  }),
  indexes: { byEmail: { on: [part('email')], unique: true }, byAge: { on: [part('age', int32)] } },
});

let db: TestDatabase;
let notes: Repository<typeof Note>;
let drafts: Repository<typeof Draft>;

beforeAll(async () => {
  db = await openTestDatabase([Note, Draft, Member]);
  notes = db.repository(Note);
  drafts = db.repository(Draft);
});
afterAll(() => db.dispose());

async function threeNotes(owner: string): Promise<void> {
  for (const id of ['a', 'b', 'c']) await notes.put({ owner, id, text: `text ${id}` });
  await notes.delete({ owner, id: 'b' });
}

describe('an entity that was deleted and left', () => {
  test('is passed over by every read that does not ask for it', async () => {
    await threeNotes('o1');
    const key = { owner: 'o1', id: 'b' };
    expect(await notes.get(key)).toBeNull();
    expect(await notes.getMany([{ owner: 'o1', id: 'a' }, key])).toMatchObject([{ id: 'a' }, null]);
    expect(await notes.exists(key)).toBe(false);
    expect(await notes.exists({ owner: 'o1', id: 'a' })).toBe(true);
    const query = notes.find({ owner: 'o1' });
    expect((await query.all()).map(({ id }) => id)).toEqual(['a', 'c']);
    expect((await query.select('text').all()).map(({ id }) => id)).toEqual(['a', 'c']);
    expect(await query.count()).toBe(2);
    expect((await query.page({ size: 5 })).items).toHaveLength(2);
    expect(await query.aggregate((on) => ({ rows: on.count(), last: on.max('id') }))).toEqual({
      rows: 2,
      last: 'c',
    });
    expect(await notes.find(key).first()).toBeNull();
    expect((await db.collection([Note, Draft], { owner: 'o1' }).all()).map(({ id }) => id)).toEqual([
      'a',
      'c',
    ]);
    const [one, other] = await notes.batch((batch) => batch.get(key).get({ owner: 'o1', id: 'c' }));
    expect([one, other]).toMatchObject([{ value: null }, { value: { id: 'c' } }]);
    expect(query.explain().filters.pushed).toHaveLength(1);
  });

  test('is read where that is asked for, with the time of its deletion', async () => {
    await threeNotes('o2');
    const key = { owner: 'o2', id: 'b' };
    const left = await notes.get(key, { withDeleted: true });
    expect(left).toMatchObject({ text: 'text b', deletedAt: expect.any(Date) });
    expect(await notes.exists(key, { withDeleted: true })).toBe(true);
    expect(await notes.find({ owner: 'o2' }, { withDeleted: true }).count()).toBe(3);
    const all = notes.reading({ withDeleted: true });
    expect((await all.getMany([key]))[0]).toMatchObject({ id: 'b' });
    const only = all.find({ owner: 'o2' }).where({ deletedAt: { exists: true } });
    expect((await only.all()).map(({ id }) => id)).toEqual(['b']);
    expect(await db.collection([Note], { owner: 'o2' }, { withDeleted: true }).count()).toBe(3);
    await expect(notes.get(key, { withDeleted: 'yes' as never })).rejects.toThrow(
      /withDeleted is true or false/,
    );
  });

  test('takes no change but by restore, purge and a put', async () => {
    await threeNotes('o3');
    const key = { owner: 'o3', id: 'b' };
    await expect(notes.update(key, { text: 'x' })).rejects.toMatchObject({
      code: 'ERR_NOT_FOUND',
      message: expect.stringMatching(/soft-deleted is brought back by restore/) as string,
    });
    await expect(notes.insert({ ...key, text: 'x' })).rejects.toThrow(/restore brings it back/);
    await expect(notes.upsert({ ...key, text: 'x' }, { text: 'y' })).rejects.toThrow(
      /restore brings it back/,
    );
    expect(await notes.check(key, { text: 'text b' }).update({ text: 'x' })).toEqual({
      ok: false,
      current: null,
    });
    expect(await notes.check(key, { text: 'text b' }).delete()).toEqual({ ok: false, current: null });
    expect(await notes.find({ owner: 'o3' }).updateAll({ text: 'all' })).toMatchObject({ changed: 2 });
    expect(await notes.get(key, { withDeleted: true })).toMatchObject({ text: 'text b' });
    await notes.restore(key);
    expect(await notes.get(key)).toMatchObject({ text: 'text b', deletedAt: undefined });
    await notes.restore(key);
    await notes.delete(key);
    await notes.put({ ...key, text: 'again' });
    expect(await notes.get(key)).toMatchObject({ text: 'again', deletedAt: undefined });
    await notes.delete(key);
    await notes.replace({ ...key, text: 'anew' });
    expect(await notes.get(key)).toMatchObject({ text: 'anew' });
    await notes.delete(key);
    await notes.purge(key);
    expect(await notes.get(key, { withDeleted: true })).toBeNull();
    await expect(notes.restore(key)).rejects.toThrow(/There is no Note .*\. Use insert to store it\.$/);
    await notes.insert({ ...key, text: 'new' });
    expect(await notes.get(key)).toMatchObject({ text: 'new' });
  });

  test('keeps the time of its first deletion; what was never there does not come to be', async () => {
    await threeNotes('o4');
    const key = { owner: 'o4', id: 'b' };
    const first = (await notes.get(key, { withDeleted: true }))!.deletedAt;
    deletions.length = 0;
    await notes.delete(key);
    await notes.delete({ owner: 'o4', id: 'none' });
    await notes.deleteMany([
      { owner: 'o4', id: 'a' },
      { owner: 'o4', id: 'none' },
    ]);
    expect(deletions).toEqual(['b', 'none', 'a', 'none']);
    expect((await notes.get(key, { withDeleted: true }))!.deletedAt).toEqual(first);
    const all = await notes.find({ owner: 'o4' }, { withDeleted: true }).all();
    expect(all.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect(await notes.deletePrefix({ owner: 'o4' })).toBe(1);
    expect(await notes.find({ owner: 'o4' }).count()).toBe(0);
    expect(await notes.find({ owner: 'o4' }, { withDeleted: true }).count()).toBe(3);
    await notes.restore({ owner: 'o4', id: 'a' });
    expect(await notes.find({ owner: 'o4' }).deleteAll()).toMatchObject({ matched: 1, changed: 1 });
  });

  test('loaded with its deletion and put again stays deleted', async () => {
    await threeNotes('o5');
    const left = (await notes.get({ owner: 'o5', id: 'b' }, { withDeleted: true }))!;
    await notes.put(Object.assign(left, { text: 'changed' }));
    expect(await notes.get({ owner: 'o5', id: 'b' })).toBeNull();
    left.deletedAt = null;
    await notes.put(left);
    expect(await notes.get({ owner: 'o5', id: 'b' })).toMatchObject({ text: 'changed' });
  });

  test('has its version counted up, so that who read it before does not bring it back', async () => {
    const draft = Object.assign(new Draft(), { owner: 'o6', id: 'd', text: 'one' });
    await drafts.put(draft);
    await drafts.delete(draft);
    await expect(drafts.put(draft)).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
    expect(await drafts.get(draft)).toBeNull();
    await drafts.restore(draft);
    const restored = (await drafts.get(draft))!;
    expect(restored).toMatchObject({ text: 'one', version: 3 });
    await drafts.put(restored);
    expect(restored.version).toBe(4);
  });

  test('lives as long as it would have', async () => {
    const put = drafts.put({ owner: 'o7', id: 't', text: 'x', expiresIn: 3_600_000 });
    // Bigtable has no lives of single cells.
    if (onBigtable) return expect(put).rejects.toMatchObject({ code: 'ERR_UNSUPPORTED' });
    await put;
    await drafts.delete({ owner: 'o7', id: 't' });
    expect(await drafts.get({ owner: 'o7', id: 't' })).toBeNull();
    await drafts.restore({ owner: 'o7', id: 't' });
    expect(await drafts.get({ owner: 'o7', id: 't' })).toMatchObject({ text: 'x' });
  });

  test('is passed over by indexes, and in transactions', async () => {
    const members = db.repository(Member);
    for (const [id, email, age] of [
      ['m1', 'a@x', 30],
      ['m2', 'b@x', 30],
      ['m3', 'c@x', 31],
    ] as const)
      await members.put({ id, email, age });
    await members.delete({ id: 'm2' });
    const of30 = members.by('byAge').find({ age: 30 });
    expect((await of30.all()).map(({ id }) => id)).toEqual(['m1']);
    expect(await of30.count()).toBe(1);
    expect(await members.by('byEmail').find({ email: 'b@x' }).first()).toBeNull();
    expect(await members.by('byEmail').find({ email: 'b@x' }, { withDeleted: true }).first()).toMatchObject({
      id: 'm2',
    });
    await expect(members.insert({ id: 'm4', email: 'b@x' })).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
    await members.deleteMany([{ id: 'm2' }, { id: 'none' }]);
    expect(await db.index(Member, 'byAge').verify()).toMatchObject({
      rows: 3,
      missing: 0,
      extra: 0,
      unverified: 0,
    });
    if (onServer) return;
    await db.transaction(async (tx) => {
      const inside = tx.repository(Member);
      expect(await inside.get({ id: 'm2' })).toBeNull();
      await inside.delete({ id: 'm1' });
      expect((await inside.find({}, { fullScan: true }).all()).map(({ id }) => id)).toEqual(['m3']);
      await inside.restore({ id: 'm2' });
    });
    expect((await of30.all()).map(({ id }) => id)).toEqual(['m2']);
    expect(await db.index(Member, 'byAge').verify()).toMatchObject({ missing: 0 });
  });
});

describe('declarations', () => {
  test('without a marker, twice, or without @DeletedAt are refused where they would do nothing', async () => {
    const table = defineTable({ name: 'x', families: { d: {} } });
    const unmarked = defineEntity({
      name: 'U',
      table,
      marker: false,
      key: [part('id', text)],
      columns: (c) => ({ gone: c.deletedAt('d:x') }),
    });
    expect(() => compileSchema([unmarked])).toThrow(/@DeletedAt and no marker/);
    const twice = defineEntity({
      name: 'T',
      table,
      key: [part('id', text)],
      columns: (c) => ({ a: c.deletedAt('d:a'), b: c.deletedAt('d:b') }),
    });
    expect(() => compileSchema([twice])).toThrow(
      /second property with @deletedAt|second property with @DeletedAt/,
    );
    const drawn = defineEntity({
      name: 'V',
      table,
      key: [salt(2, { assign: 'random' }), part('id', text)],
      columns: (c) => ({ v: c.version('d:v') }),
    });
    expect(() => compileSchema([drawn])).toThrow(/@Version, and the salt of its key is drawn at random/);
  });

  test('of entities that are deleted for good have neither restore nor purge', async () => {
    @Entity({ table: defineTable({ name: 'plain_left', families: { d: {} } }) })
    class Plain {
      static readonly key = rowKey(part('id'));
      id!: string;
      @Column('d:a', text) a?: string;
    }
    if (onServer) return;
    const other = await openTestDatabase([Plain]);
    try {
      const plain = other.repository(Plain);
      await expect(plain.restore({ id: 'a' })).rejects.toMatchObject({ code: 'ERR_UNSUPPORTED' });
      await expect(plain.purge({ id: 'a' })).rejects.toThrow(/has no @DeletedAt/);
    } finally {
      await other.dispose();
    }
  });
});
