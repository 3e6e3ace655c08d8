/** Entities as values of JSON, as an HTTP handler answers and takes them. */

import { Exclude, Expose, Transform } from 'class-transformer';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  Column,
  Columns,
  Counter,
  Embedded,
  Entity,
  Json,
  part,
  Reference,
  References,
  RowKey,
  Table,
  Versions,
} from '../../decorators/index.js';
import { bytes, date, int32, text, transformed } from '../../src/codec/index.js';
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
  database = await openTestDatabase([Page, Account, Link, Owner]);
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

class Contact {
  @Column('m', text) mail!: string;
  @Exclude() @Column('p', text) phone?: string | null;
  @Column('k', bytes) key?: Uint8Array;
}

class Note {
  text!: string;
  @Exclude() author?: string;
}

@Table({ name: 'plain_accounts', families: { d: { versions: 3 }, m: {} } })
class Accounts {}

@Entity({ table: Accounts })
@RowKey(part('id'))
class Account {
  declare static readonly key: ['id'];
  id!: string;
  @Exclude() @Column('d:p', text) password?: string | null;
  @Expose({ name: 'title' }) @Column('d:n', text) name?: string | null;
  @Expose({ groups: ['admin'] }) @Column('d:c', text) comment?: string | null;
  @Transform(({ value, obj }) => (obj.vip ? value : '***'))
  @Column('d:card', text)
  card?: string | null;
  @Column('d:vip', int32) vip?: number | null;
  @Transform(({ value }) => value?.getFullYear()) @Column('d:a', date) since?: Date | null;
  @Column('d:b', bytes) image?: Uint8Array | null;
  @Counter('d:v') views?: bigint;
  @Columns('m:s:', { key: text, value: int32 }) scores?: Map<string, number | null>;
  @Transform(({ value }) => Object.fromEntries(value ?? []))
  @Columns('m:t:', { key: text, value: int32 })
  totals?: Map<string, number | null>;
  @Versions('d:h', date) history?: { value: Date; timestamp?: number }[];
  @Embedded('d', () => Contact, { prefix: 'x.' }) contact?: Contact | null;
  @Json('d:j', () => [Note]) notes?: Note[];
  @Json('d:free') free?: unknown;
  @Expose() get label(): string {
    return `${this.name} (${this.id})`;
  }
}

@Entity({ table: { name: 'plain_links', families: { d: {} } } })
@RowKey(part('accountId'), part('no'))
class Link {
  declare static readonly key: ['accountId', 'no'];
  accountId!: string;
  no!: string;
  @Column('d:u', text) url?: string | null;
  @Reference(() => Account, { id: 'accountId' }) account?: Account | null;
}

@Entity({ table: { name: 'plain_owners', families: { d: {} } } })
@RowKey(part('id'))
class Owner {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:n', int32) n?: number | null;
  @References(() => Link, { accountId: 'id' }) links?: Link[];
}

describe('toPlain of classes with decorators of class-transformer', () => {
  const accounts = () => database.repository(Account);
  const values = {
    id: 'a',
    password: 'secret',
    name: 'Ann',
    comment: 'owes',
    card: '4111',
    since: new Date('2020-05-05T00:00:00Z'),
    image: Uint8Array.of(1, 2),
    views: 7n,
    scores: new Map([['x', 1]]),
    totals: new Map([['y', 2]]),
    history: [{ value: new Date(5), timestamp: 6 }],
    contact: Object.assign(new Contact(), { mail: 'a@x', phone: '555', key: Uint8Array.of(3) }),
    notes: [Object.assign(new Note(), { text: 't', author: 'secret' })],
    free: { a: [1, { b: null }] },
  };
  const shown = {
    id: 'a',
    title: 'Ann',
    card: '***',
    since: 2020,
    image: 'AQI=',
    views: '7',
    scores: [['x', 1]],
    totals: { y: 2 },
    history: [{ value: '1970-01-01T00:00:00.005Z', timestamp: 6 }],
    contact: { mail: 'a@x', key: 'Aw==' },
    notes: [{ text: 't' }],
    free: { a: [1, { b: null }] },
    label: 'Ann (a)',
  };

  test('what they hide is in no answer, what they rename, add and change is', () => {
    const given = Object.assign(new Account(), values);
    expect(accounts().toPlain(given)).toEqual(shown);
    // Also of an object that is no instance.
    expect(accounts().toPlain(values as never)).toEqual(shown);
    expect(JSON.stringify(accounts().toPlain(given))).not.toContain('secret');
    expect(accounts().toPlain(Object.assign(new Account(), values, { vip: 1 }))).toMatchObject({
      card: '4111',
    });
  });

  test('an entity as it was stored', async () => {
    const { history: _, notes: __, views: ___, ...stored } = values;
    await accounts().put({ ...stored } as never);
    const { history: h, notes: n, views: v, ...expected } = shown;
    expect(accounts().toPlain((await accounts().get({ id: 'a' }))!)).toEqual({ ...expected, history: [] });
    const some = await accounts().find({ id: 'a' }).select('password', 'vip').first();
    expect(accounts().toPlain(some as never)).toMatchObject({ id: 'a', label: 'undefined (a)' });
    expect(accounts().toPlain(some as never)).not.toHaveProperty('password');
  });

  test('options are those of class-transformer', () => {
    const given = Object.assign(new Account(), values);
    expect(accounts().toPlain(given, { groups: ['admin'] })).toMatchObject({ comment: 'owes' });
    expect(accounts().toPlain(given, { strategy: 'excludeAll' })).toEqual({ title: 'Ann', label: 'Ann (a)' });
    expect(accounts().toPlain(given, { ignoreDecorators: true })).toMatchObject({
      password: 'secret',
      contact: { phone: '555' },
    });
    for (const wrong of [null, 5, [], { group: [] }]) {
      expect(() => accounts().toPlain(given, wrong as never)).toThrow(
        expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT' }),
      );
    }
  });

  test('a value object keeps its stored form, though it has a function of its own', async () => {
    const mail = transformed(text, {
      to: (one: { readonly v: string; size(): number }) => one.v,
      from: (v) => ({ v, size: () => v.length }),
    });
    @Entity({ table: { name: 'plain_mails', families: { d: {} } } })
    @RowKey(part('id'))
    class Mail {
      declare static readonly key: ['id'];
      id!: string;
      @Column('d:m', mail) mail?: { readonly v: string; size(): number };
    }
    await database.add(Mail);
    const given = { id: 'a', mail: { v: 'a@x', size: () => 3 } };
    expect(database.repository(Mail).toPlain(given)).toEqual({ id: 'a', mail: 'a@x' });
  });

  test('a transformation that answers no value of JSON is named', async () => {
    @Entity({ table: { name: 'plain_odd', families: { d: {} } } })
    @RowKey(part('id'))
    class Odd {
      declare static readonly key: ['id'];
      id!: string;
      @Transform(() => Symbol('s')) @Column('d:x', text) x?: string;
    }
    await database.add(Odd);
    expect(() => database.repository(Odd).toPlain({ id: 'a', x: 'x' })).toThrow(/"x" is no value of JSON/);
  });

  test('loaded relations are shown, by the decorators of their own classes', async () => {
    const links = database.repository(Link);
    await accounts().put({ id: 'b', password: 'secret', name: 'Bob', scores: new Map([['s', 1]]) });
    await links.put({ accountId: 'b', no: 'l', url: 'u' });
    const link = await links.find({ accountId: 'b', no: 'l' }).with('account').first();
    expect(links.toPlain(link!)).toEqual({
      accountId: 'b',
      no: 'l',
      url: 'u',
      account: expect.objectContaining({ id: 'b', title: 'Bob', scores: [['s', 1]] }),
    });
    expect(JSON.stringify(links.toPlain(link!))).not.toContain('secret');
    const owner = await database.repository(Owner).find({ id: 'b' }).with('links').first();
    expect(owner).toBeNull();
    await database.repository(Owner).put({ id: 'b', n: 1 });
    const found = await database.repository(Owner).find({ id: 'b' }).with('links').first();
    expect(database.repository(Owner).toPlain(found!)).toEqual({
      id: 'b',
      n: 1,
      links: [{ accountId: 'b', no: 'l', url: 'u' }],
    });
    const round: Record<string, unknown> = { id: 'b' };
    round['links'] = [{ ...found!.links[0], account: round }];
    expect(() => database.repository(Owner).toPlain(round)).toThrow(/"account" leads back/);
    round['links'] = [round];
    expect(() => database.repository(Owner).toPlain(round)).toThrow(/"links" leads back/);
  });
});
