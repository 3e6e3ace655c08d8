/** Entities as values of JSON, as an HTTP handler answers and takes them. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Column, Columns, Counter, Entity, part, RowKey, Table } from '../../decorators/index.js';
import { bytes, date, int32, text } from '../../src/codec/index.js';
import type { Repository } from '../../src/repository/index.js';
import { openTestDatabase, type TestDatabase } from '../query/test-database.js';

@Table({ name: 'plain_pages', families: { d: {}, m: {} } })
class Pages {}

@Entity({ table: Pages })
@RowKey(part('id'))
class Page {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:t', text) title?: string | null;
  @Column('d:a', date) at?: Date | null;
  @Column('d:b', bytes) image?: Uint8Array | null;
  @Counter('d:n') views?: bigint;
  @Columns('m:', { key: text, value: int32 }) scores?: Map<string, number | null>;
}

let database: TestDatabase;
let pages: Repository<typeof Page>;

beforeAll(async () => {
  database = await openTestDatabase([Page]);
  pages = database.repository(Page);
});
afterAll(() => database.dispose());

describe('toPlain and fromPlain of a repository', () => {
  const at = new Date('2026-01-02T03:04:05.678Z');
  const plain = {
    id: 'a',
    title: 'A page',
    at: '2026-01-02T03:04:05.678Z',
    image: 'AQI=',
    views: '9007199254740993',
    scores: [['x', 1]],
  };

  test('an entity with a counter goes through JSON and back', async () => {
    await pages.put({
      id: 'a',
      title: 'A page',
      at,
      image: Uint8Array.of(1, 2),
      scores: new Map([['x', 1]]),
    });
    await pages.increment({ id: 'a' }, { views: 2n ** 53n + 1n });
    const page = (await pages.get({ id: 'a' }))!;
    expect(() => JSON.stringify(page)).toThrow(TypeError);
    const sent = JSON.stringify(pages.toPlain(page));
    expect(JSON.parse(sent)).toEqual(plain);
    const back = pages.fromPlain(JSON.parse(sent));
    expect(back).toBeInstanceOf(Page);
    expect(back).toEqual(page);
  });

  test('what select left of one', async () => {
    await pages.put({ id: 'b', title: 'B' });
    for await (const page of pages.find({ id: 'b' }).select('title')) {
      expect(pages.toPlain(page)).toEqual({ id: 'b', title: 'B' });
    }
  });

  test('wrong input is named', () => {
    expect(() => pages.fromPlain({ ...plain, admin: true } as never)).toThrow(/"admin".*not stored/);
    expect(() => pages.fromPlain({ ...plain, views: 'many' })).toThrow(/property "views"/);
    expect(() => pages.toPlain({ id: 'a', title: Symbol('t') as never })).toThrow(/property "title"/);
    for (const wrong of [null, undefined, 5, 'a', [plain]]) {
      const code = { code: 'ERR_INVALID_ARGUMENT' };
      expect(() => pages.fromPlain(wrong as never)).toThrow(expect.objectContaining(code));
      expect(() => pages.toPlain(wrong as never)).toThrow(expect.objectContaining(code));
    }
  });
});
