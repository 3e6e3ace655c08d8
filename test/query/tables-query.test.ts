import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Column, Entity, rowKey, Table } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { part, salt, uint32 } from '../../src/key/index.js';
import type { TablesReader } from '../../src/repository/index.js';
import { scaled } from '../proof/scale.js';
import { openTestDatabase, type TestDatabase } from './test-database.js';

@Table({ name: 'days', families: { d: {} } })
class Days {}

@Entity({ table: Days })
class Event {
  static readonly key = rowKey(salt(3, ['source']), part('source'), part('no', uint32));
  source!: string;
  no!: number;
  @Column('d:k', text) kind!: string;
  @Column('d:n', int32) size?: number;
}

const NAMES = ['days_1', 'days_2', 'days_3'];
/** The rows of each day, in the order of the key. */
const STORED: readonly (readonly number[])[] = [[1, 2, 3, 4, 5], [], [3, 4, 7]];

let db: TestDatabase;
let days: TablesReader<typeof Event>;

beforeAll(async () => {
  db = await openTestDatabase([Event]);
  days = await db.readerIn(Event, NAMES);
  for (const [day, numbers] of STORED.entries()) {
    const repository = await db.repositoryIn(Event, NAMES[day]!);
    await repository.putMany(
      numbers.map((no) => ({ source: 's', no, kind: no % 2 ? 'odd' : 'even', size: day })),
    );
    await repository.put({ source: 'other', no: 99, kind: 'odd' });
  }
});
afterAll(() => db.dispose());

const named = (rows: readonly { no: number; size?: number }[]): string[] =>
  rows.map(({ no, size }) => `${size}.${no}`);

describe('queries over several tables named at run time', () => {
  it('give the rows of a plain list, whatever is asked', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          from: fc.nat(8),
          kind: fc.option(fc.constantFrom('odd', 'even')),
          reversed: fc.boolean(),
          limit: fc.option(fc.nat(9)),
          size: fc.integer({ min: 1, max: 5 }),
        }),
        async ({ from, kind, reversed, limit, size }) => {
          let query = days.find({ source: 's', no: { gte: from } });
          if (kind !== null) query = query.where({ kind });
          if (reversed) query = query.reverse();
          let wanted = STORED.flatMap((numbers, day) =>
            numbers
              .filter((no) => no >= from && (kind === null || (no % 2 ? 'odd' : 'even') === kind))
              .map((no) => `${day}.${no}`),
          );
          if (reversed) wanted.reverse();
          const paged: string[] = [];
          let cursor: string | undefined;
          do {
            const page = await query.page({ size, cursor });
            expect(page.items.length).toBeLessThanOrEqual(size);
            if (page.cursor !== undefined) expect(page.items).toHaveLength(size);
            paged.push(...named(page.items));
            cursor = page.cursor;
          } while (cursor !== undefined);
          expect(paged).toEqual(wanted);
          if (limit !== null) {
            query = query.limit(limit);
            wanted = wanted.slice(0, limit);
          }
          expect(named(await query.all())).toEqual(wanted);
          expect(named(await query.select('size').all())).toEqual(wanted);
          const streamed: Event[] = [];
          for await (const event of query) streamed.push(event);
          expect(named(streamed)).toEqual(wanted);
          expect(await query.count()).toBe(wanted.length);
          expect(await query.exists()).toBe(wanted.length > 0);
          const first = await query.first();
          expect(first === null ? undefined : named([first])[0]).toBe(wanted[0]);
          if (wanted.length > 1)
            await expect(query.all({ max: wanted.length - 1 })).rejects.toMatchObject({ code: 'ERR_QUERY' });
        },
      ),
      { numRuns: scaled(4, 60, 2000) },
    );
  });

  it('explain each table, and refuse what is none', async () => {
    const query = days.find({ source: 's' }).limit(3);
    expect(query.explain().map(({ table }) => table)).toEqual(NAMES);
    await expect(query.page({ size: 1 })).rejects.toThrow(/page\(\) and limit\(\)/);
    const all = days.find({ source: 's' });
    await expect(all.page(undefined as never)).rejects.toThrow(/page\(\{ size: 20 \}\)/);
    await expect(all.page({ size: 0 })).rejects.toThrow(/size/);
    await expect(all.page({ size: 1, back: true } as never)).rejects.toThrow(/no option "back"/);
    expect(() => query.limit(-1)).toThrow(/whole number/);
    for (const cursor of ['', 'x', '9.', '0', '-1.', '99999999.']) {
      await expect(days.find({ source: 's' }).page({ size: 1, cursor })).rejects.toMatchObject({
        code: 'ERR_QUERY',
      });
    }
    for (const names of [[], ['days_1', 'days_1'], 'days_1', undefined]) {
      await expect(db.readerIn(Event, names as never)).rejects.toMatchObject({ code: 'ERR_QUERY' });
    }
    await expect(db.readerIn(Event, ['no/name'])).rejects.toMatchObject({ code: 'ERR_SCHEMA' });
    expect(() => days.find({ source: 's' }, { limit: 3 } as never)).toThrow(/no option "limit"/);
    await expect(days.find({} as never).all()).rejects.toMatchObject({ code: 'ERR_FULL_SCAN' });
  });
});
