/** `deleteAll` of collections: of rows of several classes under one prefix. */

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  Column,
  DeletedAt,
  Entity,
  Packed,
  part,
  Reference,
  recordType,
  rowKey,
  timeBucket,
} from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { uint32 } from '../../src/key/index.js';
import type { BulkProgress } from '../../src/query/bulk-change.js';
import { scaled } from '../proof/scale.js';
import { Random } from '../query/model/random.js';
import { openTestDatabase, type TestDatabase } from '../query/test-database.js';

const table = { name: 'households', families: { d: {} } };

@Entity({ table, recordType: 1 })
class Household {
  static readonly key = rowKey('id', recordType());
  id!: string;
  @Column('d:n', text) name?: string | null;
}

@Entity({ table, recordType: 2 })
class Member {
  static readonly key = rowKey('id', recordType(), part('no', uint32));
  id!: string;
  no!: number;
  @Column('d:s', text) status?: string | null;
  @Reference(() => Household, { id: 'id' }, { onDelete: 'restrict' }) household?: Household | null;
}

@Entity({ table, recordType: 3 })
class Letter {
  static readonly key = rowKey('id', recordType(), part('no', uint32));
  id!: string;
  no!: number;
  @Column('d:s', text) status?: string | null;
  @DeletedAt('d:x') deletedAt?: Date | null;
}

@Entity({ table, recordType: 4 })
class Reading {
  static readonly key = rowKey('id', recordType(), timeBucket('at', '1h'));
  id!: string;
  at!: Date;
  @Packed('d:p.', { part: 'at', value: int32 }) points!: Map<number, number>;
}

let db: TestDatabase;
beforeAll(async () => {
  db = await openTestDatabase([Household, Member, Letter, Reading]);
});
afterAll(() => db.dispose());
beforeEach(async () => {
  await db.collection([Household, Member, Letter], { id: { startsWith: 'h' } }).deleteAll();
});

const collection = (id = 'h1') => db.collection([Household, Member, Letter], { id });

async function fill(members: number, letters: number, id = 'h1'): Promise<void> {
  await db.repository(Household).put({ id, name: 'n' });
  const row = (no: number) => ({ id, no, status: no % 2 === 0 ? 'even' : 'odd' });
  await db.repository(Member).putMany(Array.from({ length: members }, (_, no) => row(no)));
  await db.repository(Letter).putMany(Array.from({ length: letters }, (_, no) => row(no)));
}

test('rows go class by class, those that refer to another before it; others stay', async () => {
  await fill(5, 3);
  await fill(2, 1, 'h2');
  const wrongOrder = db.collection([Member, Household], { id: 'h1' }).deleteAll();
  await expect(wrongOrder).rejects.toMatchObject({ code: 'ERR_REFERENCE' });
  expect(await collection().deleteAll()).toEqual({ matched: 9, changed: 9, cursor: undefined });
  expect(await collection().count()).toBe(0);
  expect(await collection('h2').count()).toBe(4);
  const letter = await db.repository(Letter).get({ id: 'h1', no: 0 }, { withDeleted: true });
  expect(letter?.deletedAt).toBeInstanceOf(Date);
  expect(await collection().deleteAll()).toEqual({ matched: 0, changed: 0, cursor: undefined });
});

test('conditions hold for the rows of their class', async () => {
  await fill(5, 3);
  await db.collection([Member, Letter], { id: 'h1' }).where(Member, { status: 'odd' }).deleteAll();
  const left = await db.repository(Member).find({ id: 'h1' }).all();
  expect(left.map(({ no }) => no)).toEqual([0, 2, 4]);
  expect(await db.repository(Letter).find({ id: 'h1' }).count()).toBe(0);
  expect(await db.repository(Household).exists({ id: 'h1' })).toBe(true);
});

test('an interrupted delete continues from any cursor, and counts each row once', async () => {
  for (let seed = 1; seed <= scaled(4, 20, 200); seed++) {
    const random = new Random(seed);
    const [members, letters] = [random.below(6), random.below(6)];
    await fill(members, letters);
    let cursor: string | undefined;
    let matched = 0;
    for (;;) {
      let last: BulkProgress | undefined;
      const ends = random.chance(0.6);
      const onProgress = (progress: BulkProgress): void => {
        last = progress;
        if (ends && progress.cursor !== undefined) throw new Error('cut off');
      };
      const batch = 1 + random.below(4);
      try {
        const done = await collection().deleteAll({ batch, cursor, onProgress });
        matched += done.matched;
        expect(done.cursor, `seed ${seed}`).toBeUndefined();
        break;
      } catch (error) {
        expect((error as Error).message).toBe('cut off');
        matched += last!.matched;
        cursor = last!.cursor;
      }
    }
    expect([matched, await collection().count()], `seed ${seed}`).toEqual([1 + members + letters, 0]);
  }
});

test('what cannot be deleted by a query is refused before anything is deleted', async () => {
  await fill(2, 2);
  await expect(collection().limit(2).deleteAll()).rejects.toThrow('Leave out limit()');
  await expect(collection().deleteAll({ cursor: '7.x' })).rejects.toThrow('is not one of this collection');
  await expect(collection().deleteAll({ cursor: 'x' })).rejects.toThrow('is not one of this collection');
  await expect(collection().deleteAll({ batches: 2 } as never)).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
  });
  const windows = db.collection([Reading, Letter], { id: 'h1' });
  await expect(windows.deleteAll()).rejects.toThrow('a row is a whole window of time');
  expect(await collection().count()).toBe(5);
});
