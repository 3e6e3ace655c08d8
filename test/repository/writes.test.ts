/** What every way of writing has in common, on both engines. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  AfterDelete,
  AfterPut,
  AfterUpdate,
  BeforeDelete,
  BeforePut,
  BeforeUpdate,
  Column,
  Columns,
  Counter,
  CreatedAt,
  Default,
  defineEntity,
  defineTable,
  Entity,
  part,
  Required,
  RowKey,
  salt,
  Table,
  Ttl,
  UpdatedAt,
  Version,
} from '../../decorators/index.js';
import { toStringBinary } from '../../src/bytes/index.js';
import { bytes, date, int32, text, uint32 } from '../../src/codec/index.js';
import type { Repository } from '../../src/repository/index.js';
import { newUlid, newUuid } from '../../src/schema/index.js';
import { Get, Put } from '../../src/table/index.js';
import {
  notOnBigtable,
  onBigtable,
  onServer,
  openTestDatabase,
  type TestDatabase,
} from '../query/test-database.js';

@Table({ name: 'writes_pages', families: { d: {}, m: {}, x: {} } })
class Pages {}

@Entity({ table: Pages })
@RowKey(part('id'))
class Page {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:t', text) title?: string | null;
  @Column('d:s', text) state?: string | null;
  @Version('d:v') version?: number;
  @CreatedAt('d:c') createdAt?: Date;
  @UpdatedAt('d:u') updatedAt?: Date;
  @Counter('d:n') views?: bigint;
  @Columns('m:', { key: date, value: int32 }) days?: Map<Date, number | null>;
}

@Table({ name: 'writes_bags', families: { d: {} } })
class Bags {}

@Entity({ table: Bags })
@RowKey(part('id'))
class Bag {
  declare static readonly key: ['id'];
  id!: string;
  @Columns('d:', { key: bytes, value: text }) things?: Map<Uint8Array, string | null>;
}

@Table({ name: 'writes_lines', families: { d: {} } })
class Lines {}

@Entity({ table: Lines })
@RowKey(salt(3, ['cart']), part('cart'), part('line', uint32))
class Line {
  declare static readonly key: ['cart', 'line'];
  cart!: string;
  line!: number;
  @Column('d:a', text) article?: string | null;
}

@Table({ name: 'writes_sessions', families: { d: {}, e: {} } })
class Sessions {}

@Entity({ table: Sessions })
@RowKey(part('id'))
class Session {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:u', text) user!: string;
  @Column('e:t', text) theme?: string | null;
  @Counter('e:n') hits?: bigint;
  @Ttl() expiresIn?: number;
}

@Table({ name: 'writes_tickets', families: { d: {} } })
class Tickets {}

const calls: string[] = [];

@Entity({ table: Tickets })
@RowKey(part('id'))
class Ticket {
  declare static readonly key: ['id'];
  @Default(newUuid) id!: string;
  @Required() @Column('d:t', text) title!: string;
  @Default(() => 'open') @Column('d:s', text) state!: string;
  @Column('d:k', text) key?: string | null;

  @BeforePut() shout(): void {
    if (this.title === 'refused') throw new Error('refused');
    this.key = `${this.title}/${this.state}`;
  }
  @AfterPut() stored(): void {
    calls.push(`stored ${this.id}`);
    if (this.title === 'late') throw new Error('too late');
  }
  @BeforeUpdate() async changing(): Promise<void> {
    await null;
    if (this.state !== undefined) this.key = `changed/${this.state}`;
  }
  @AfterUpdate() changed(): void {
    calls.push(`changed ${this.id} ${this.state}`);
  }
  @BeforeDelete() deleting(): void {
    if (this.id === 'keep') throw new Error('kept');
  }
  @AfterDelete() deleted(): void {
    calls.push(`deleted ${this.id}`);
  }
}

const Invoice = defineEntity({
  name: 'Invoice',
  table: defineTable({ name: 'writes_invoices', families: { d: {} } }),
  key: [part('no')],
  columns: (c) => ({ total: c.column('d:t', int32), note: c.column('d:n', text).optional() }),
});

/** Milliseconds that the clock of an embedded store is ahead. */
let ahead = 0;
let database: TestDatabase;
let pages: Repository<typeof Page>;
let bags: Repository<typeof Bag>;
let sessions: Repository<typeof Session>;
let tickets: Repository<typeof Ticket>;

beforeAll(async () => {
  database = await openTestDatabase([Page, Bag, Line, Session, Ticket, Invoice], () => Date.now() + ahead);
  pages = database.repository(Page);
  bags = database.repository(Bag);
  sessions = database.repository(Session);
  tickets = database.repository(Ticket);
});
afterAll(() => database.dispose());

describe('@Version', () => {
  test('is kept by replace, of a new entity and of a known one', async () => {
    const page: Page = Object.assign(new Page(), { id: 'replace', title: 'a', state: 'x' });
    await pages.replace(page);
    expect(page.version).toBe(1);
    await pages.replace({ id: 'replace', title: 'b', version: 1 });
    expect(await pages.get({ id: 'replace' })).toMatchObject({ title: 'b', state: undefined, version: 2 });
    await expect(pages.replace({ id: 'replace', title: 'c' })).rejects.toMatchObject({
      code: 'ERR_CONFLICT',
    });
  });

  test('a conflict names the entity and its key, as that of insert does', async () => {
    await pages.put({ id: 'named', title: 'a' });
    const details = { entity: 'Page', key: { id: 'named' } };
    const refused = { code: 'ERR_CONFLICT', details: { ...details, property: 'version' } };
    const stale = { id: 'named', title: 'b', version: 7 };
    await expect(pages.put(stale)).rejects.toMatchObject(refused);
    await expect(pages.update({ id: 'named' }, { title: 'b', version: 7 })).rejects.toMatchObject(refused);
    await expect(pages.insert({ id: 'named' })).rejects.toMatchObject({ code: 'ERR_CONFLICT', details });
  });

  test('is held and counted behind checks', async () => {
    await pages.put({ id: 'check', state: 'open' });
    await pages.update({ id: 'check' }, { title: 'two' });
    const stale = await pages
      .check({ id: 'check' }, { state: 'open' })
      .put({ id: 'check', state: 'void', version: 1 });
    expect(stale).toMatchObject({ ok: false, current: { version: 2, state: 'open' } });
    expect(await pages.check({ id: 'check' }, { state: 'open' }).update({ title: 'three' })).toEqual({
      ok: true,
    });
    expect(await pages.check({ id: 'check' }, { state: 'shut' }).update({ title: 'no' })).toMatchObject({
      ok: false,
    });
    expect(await pages.get({ id: 'check' })).toMatchObject({ title: 'three', version: 3 });
  });

  test('begins with the first update of a row that was made beneath it', async () => {
    await pages.mutate({ id: 'beneath' }, (row) => row.set({ title: 'a' }));
    await pages.update({ id: 'beneath' }, { title: 'b' });
    expect(await pages.get({ id: 'beneath' })).toMatchObject({ title: 'b', version: 1 });
  });

  test('forty updates at once all succeed', async () => {
    await pages.put({ id: 'busy', title: '' });
    await Promise.all(Array.from({ length: 40 }, (_, i) => pages.update({ id: 'busy' }, { title: `${i}` })));
    expect((await pages.get({ id: 'busy' }))?.version).toBe(41);
  });

  test('putMany tells the stale one, and stores the others', async () => {
    const many = Array.from({ length: 50 }, (_, i) =>
      Object.assign(new Page(), { id: `many${i}`, title: `${i}` }),
    );
    await pages.putMany(many);
    await pages.putMany(many);
    expect(many.every(({ version }) => version === 2)).toBe(true);
    many[7]!.version = 1;
    await expect(pages.putMany(many)).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
    expect(many.map(({ version }) => version).filter((version) => version === 3)).toHaveLength(49);
    expect(many[7]!.version).toBe(1);
  });

  test('atomic batches take everything that there is, or are refused before anything is written', async () => {
    const key = { id: 'atomic' };
    if (onServer) {
      const batch = pages.batch((batch) => batch.put({ id: 'atomic0', title: 'put' }).delete(key), {
        atomic: true,
      });
      await expect(batch).rejects.toMatchObject({ code: 'ERR_UNSUPPORTED' });
      expect(await pages.exists({ id: 'atomic0' })).toBe(false);
      return;
    }
    await pages.batch(
      (batch) =>
        batch
          .put({ id: 'atomic0', title: 'put' })
          .insert({ id: 'atomic', title: 'insert' })
          .update(key, { title: 'update' })
          .mutate(key, (row) => row.increment({ views: 2 })),
      { atomic: true },
    );
    expect(await pages.get(key)).toMatchObject({ title: 'update', version: 2, views: 2n });
    const refused = pages.batch(
      (batch) => batch.put({ id: 'atomic1', title: 'no' }).insert({ id: 'atomic', title: 'no' }),
      { atomic: true },
    );
    await expect(refused).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
    expect(await pages.exists({ id: 'atomic1' })).toBe(false);
    await pages.batch((batch) => batch.delete(key).insert({ id: 'atomic', state: 'new' }), { atomic: true });
    expect(await pages.get(key)).toMatchObject({
      title: undefined,
      state: 'new',
      version: 1,
      views: undefined,
    });
  });
});

describe('what a write leaves on the entity', () => {
  test('nothing when it fails', async () => {
    await pages.put({ id: 'twice', title: 'a' });
    const page: Page = Object.assign(new Page(), { id: 'twice', title: 'b' });
    await expect(pages.insert(page)).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
    expect([page.createdAt, page.updatedAt, page.version]).toEqual([undefined, undefined, undefined]);
    await pages.batch((batch) => batch.insert(page));
    expect(page.createdAt).toBeUndefined();
  });

  test('nothing when it is frozen', async () => {
    const page = Object.freeze(Object.assign(new Page(), { id: 'frozen', title: 'a' }));
    await pages.insert(page);
    expect(await pages.get({ id: 'frozen' })).toMatchObject({ version: 1, createdAt: expect.any(Date) });
  });
});

describe('replace', () => {
  test('keeps the entries of Maps by what their keys are, not by which object', async () => {
    const at = (day: number): Date => new Date(86_400_000 * day);
    await pages.replace({
      id: 'days',
      days: new Map([
        [at(1), 1],
        [at(2), 2],
      ]),
    });
    await pages.replace({ id: 'days', version: 1, days: new Map([[at(2), 3]]) });
    expect([...(await pages.get({ id: 'days' }))!.days!]).toEqual([[at(2), 3]]);
    await bags.replace({
      id: 'b',
      things: new Map([
        [Uint8Array.of(1), 'a'],
        [Uint8Array.of(2), 'b'],
      ]),
    });
    await bags.replace({ id: 'b', things: new Map([[Uint8Array.of(1), 'c']]) });
    expect([...(await bags.get({ id: 'b' }))!.things!.values()]).toEqual(['c']);
  });

  test('keeps what no declaration speaks of, and removes it where that is asked', async () => {
    const table = database.engine.table('writes_pages');
    const row = Buffer.from('unknown');
    const names = async (): Promise<string[]> => {
      const { cells } = await table.get(new Get(row));
      return cells.map(({ family, qualifier }) => `${family}:${toStringBinary(qualifier)}`).sort();
    };
    const strange = (): Promise<void> =>
      table.put(
        new Put(row)
          .addColumn('d', Buffer.from('old'), Buffer.from('x'))
          .addColumn('x', Buffer.from('y'), Buffer.from('z')),
      );
    const page = (version?: number) => ({
      id: 'unknown',
      title: 'a',
      days: new Map([[new Date(86_400_000), 1]]),
      ...(version !== undefined && { version }),
    });
    await pages.replace(page());
    const known = await names();
    const all = [...known, 'd:old', 'x:y'].sort();
    await strange();
    await pages.replace(page(1));
    expect(await names()).toEqual(all);
    await pages.replace(page(2), { unknown: 'keep' });
    expect(await names()).toEqual(all);
    await pages.replace(page(3), { unknown: 'remove' });
    // Another family is not the entity's.
    expect(await names()).toEqual([...known, 'x:y']);
    await strange();
    const outcomes = await pages.batch((batch) => batch.replace(page(4), { unknown: 'remove' }));
    expect(outcomes).toMatchObject([{ ok: true }]);
    expect(await names()).toEqual([...known, 'x:y']);
    expect(await pages.get({ id: 'unknown' })).toMatchObject({ title: 'a', version: 5 });

    const wrong = pages.replace(page(5), { unknown: 'drop' as 'keep' });
    await expect(wrong).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
      message: /'keep' or 'remove'/,
    });
    await expect(pages.put(page(5), { unknown: 'remove' } as object)).rejects.toThrow(
      'has no option "unknown"',
    );
  });
});

// Bigtable has no lives of single cells, and refuses such writes.
(onBigtable ? notOnBigtable : describe)('an entity lives and dies as one', () => {
  const LIFE = 3_600_000;
  const LEFT = 5000;
  /** So long ago that some seconds are left, for what is to be done before the end. */
  const longAgo = (): number => Date.now() - LIFE + LEFT;
  const gone = async (id: string): Promise<void> => {
    await expect.poll(() => sessions.get({ id }), { timeout: 30_000, interval: 100 }).toBeNull();
    expect(await sessions.exists({ id }), id).toBe(false);
  };

  const writes: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
    nothing: async () => undefined,
    update: (id) => sessions.update({ id }, { theme: 'dark' }),
    increment: (id) => sessions.increment({ id }, { hits: 1n }),
    'put of what was read': async (id) => sessions.put((await sessions.get({ id }))!),
    replace: (id) => sessions.replace({ id, user: 'eve' }),
    batch: (id) => sessions.batch((batch) => batch.update({ id }, { theme: 'dark' })),
    check: (id) => sessions.check({ id }, { user: 'ann' }).update({ theme: 'dark' }),
    mutate: (id) => sessions.mutate({ id }, (row) => row.set({ theme: 'dark' }).increment({ hits: 1n })),
  };

  test('whatever is written; a write that says a time begins the life of the whole row anew', async () => {
    const names = Object.keys(writes);
    const session = (id: string): Session =>
      Object.assign(new Session(), { id, user: 'ann', theme: 'light', expiresIn: LIFE });
    await sessions.putMany([...names, 'renewed'].map(session), { timestamp: longAgo() });
    await Promise.all(names.map((name) => writes[name]!(name)));
    await sessions.update({ id: 'renewed' }, { theme: 'dark' }, { ttl: LIFE });
    const times = new Map([
      ['back1', longAgo()],
      ['back2', Date.now()],
    ]);
    await sessions.putMany([...times.keys()].map(session), { timestamp: ({ id }) => times.get(id)! });
    // On a server the seconds pass.
    ahead += LEFT;
    for (const id of [...names, 'back1']) await gone(id);
    expect(await sessions.exists({ id: 'back2' })).toBe(true);
    expect(await sessions.get({ id: 'renewed' })).toMatchObject({ user: 'ann', theme: 'dark' });
    await expect(sessions.update({ id: 'update' }, { theme: 'x' })).rejects.toMatchObject({
      code: 'ERR_NOT_FOUND',
    });
  });
});

test('deletePrefix deletes what begins so, and nothing else', async () => {
  const lines = database.repository(Line);
  const many = (cart: string, count: number) =>
    Array.from({ length: count }, (_, line) => ({ cart, line, article: 'a' }));
  await lines.putMany([...many('a', 1100), ...many('a1', 3), ...many('b', 3)]);
  expect(await lines.deletePrefix({ cart: 'a' })).toBe(1100);
  expect(await lines.find({ cart: 'a' }).all()).toEqual([]);
  expect(await lines.find({ cart: 'a1' }).count()).toBe(3);
  expect(await lines.deletePrefix({ cart: 'b', line: { gte: 1 } })).toBe(2);
  expect(await lines.deletePrefix({ cart: 'none' })).toBe(0);
  await expect(lines.deletePrefix({})).rejects.toMatchObject({
    code: 'ERR_FULL_SCAN',
    message:
      'Line.deletePrefix: what is given is no prefix of the key, so every row would be read. Give at least "cart"; to delete every Line, write find({}, { fullScan: true }).deleteAll().',
  });
});

test('deletePrefix reads the keys and no columns', async () => {
  const lines = database.repository(Line);
  await lines.putMany([0, 1].map((line) => ({ cart: 'broken', line, article: 'a' })));
  // Bytes that no text has.
  const [[{ row }]] = (await lines.mutationsOf([{ cart: 'broken', line: 0 }])) as [[Put]];
  await database.engine.table('writes_lines').put(new Put(row).addColumn('d', 'a', Uint8Array.of(0xff)));
  await expect(lines.find({ cart: 'broken' }).all()).rejects.toMatchObject({ code: 'ERR_CODEC' });
  expect(await lines.deletePrefix({ cart: 'broken' })).toBe(2);
  expect(await lines.find({ cart: 'broken' }).all()).toEqual([]);
});

describe('hooks, defaults and required columns', () => {
  test('run around every way of writing', async () => {
    calls.length = 0;
    await tickets.insert({ id: 'h', title: 'a' } as Ticket);
    expect(await tickets.get({ id: 'h' })).toMatchObject({ state: 'open', key: 'a/open' });
    await tickets.update({ id: 'h' }, { state: 'shut' });
    expect(await tickets.get({ id: 'h' })).toMatchObject({ title: 'a', key: 'changed/shut' });
    await tickets.batch((batch) => batch.update({ id: 'h' }, { state: 'open' }));
    await tickets.check({ id: 'h' }, { state: 'open' }).put({ id: 'h', title: 'b', state: 'void' });
    expect(await tickets.get({ id: 'h' })).toMatchObject({ key: 'b/void' });
    await tickets.deleteMany([{ id: 'h' }, { id: 'none' }]);
    expect(calls).toEqual([
      'stored h',
      'changed h shut',
      'changed h open',
      'stored h',
      'deleted h',
      'deleted none',
    ]);
    await expect(tickets.delete({ id: 'keep' })).rejects.toThrow('kept');
  });

  test('one that throws after the write says that the write stands', async () => {
    await expect(tickets.put({ id: 'l', title: 'late', state: 's' })).rejects.toMatchObject({
      code: 'ERR_HOOK',
    });
    expect(await tickets.exists({ id: 'l' })).toBe(true);
    const outcomes = await tickets.batch((batch) =>
      batch.put({ id: 'l1', title: 'late', state: 's' }).put({ id: 'l2', title: 'good', state: 's' }),
    );
    expect(outcomes).toMatchObject([{ ok: true, hookError: { code: 'ERR_HOOK' } }, { ok: true }]);
    expect(await tickets.exists({ id: 'l2' })).toBe(true);
  });

  test('generated ids are given to the entity, and rise', async () => {
    const ticket = Object.assign(new Ticket(), { title: 'g' });
    await tickets.insert(ticket);
    expect(ticket.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(await tickets.exists({ id: ticket.id })).toBe(true);
    for (const make of [newUuid, newUlid]) {
      const ids = Array.from({ length: 2000 }, make);
      expect([...ids].sort()).toEqual(ids);
      expect(new Set(ids).size).toBe(2000);
    }
    expect(newUlid()).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/);
  });

  test('hold for callers without types', async () => {
    const untyped = tickets as unknown as {
      put(entity: unknown): Promise<void>;
      putMany(entities: unknown): Promise<void>;
      update(key: unknown, patch: unknown, options?: unknown): Promise<void>;
    };
    const refused = { code: 'ERR_INVALID_ARGUMENT' };
    for (const wrong of [undefined, null, 5, 'x', []]) {
      await expect(untyped.put(wrong)).rejects.toMatchObject(refused);
      await expect(untyped.update({ id: 'u' }, wrong)).rejects.toMatchObject(refused);
    }
    await expect(untyped.put({ id: 'u', state: 's' })).rejects.toThrow(/title is required/);
    await expect(untyped.put({ id: 'u', title: null })).rejects.toThrow(/title is required/);
    await expect(untyped.putMany({})).rejects.toMatchObject(refused);
    await expect(untyped.update({ id: 'u' }, { title: null })).rejects.toThrow(/title is required/);
    await expect(untyped.update({ id: 'u' }, { title: 't' }, { tttl: 5 })).rejects.toThrow(/no option/);
    await expect(untyped.update({ id: 'u' }, { titel: 't' })).rejects.toThrow(
      /^set: \w+ has no property "titel"\. It has id, /,
    );
    await expect(tickets.mutate({ id: 'u' }, (row) => row.unset('titel' as never))).rejects.toThrow(
      /^unset: \w+ has no property "titel"/,
    );
    await expect(tickets.mutate({ id: 'u' }, (row) => row.unset('title'))).rejects.toThrow(
      /title is required/,
    );
    const invoices = database.repository(Invoice) as unknown as typeof untyped;
    await expect(invoices.put({ no: '1' })).rejects.toThrow(/total is required/);
    await invoices.put({ no: '1', total: 5 });
  });

  test('upsert inserts or updates, whatever others do', async () => {
    const upsert = (i: number): Promise<string> =>
      pages.upsert({ id: 'up', title: 'first' }, { title: `later ${i}` });
    const outcomes = await Promise.all(Array.from({ length: 8 }, (_, i) => upsert(i)));
    expect(outcomes.filter((outcome) => outcome === 'inserted')).toHaveLength(1);
    expect((await pages.get({ id: 'up' }))?.version).toBe(8);
  });
});

(onBigtable ? notOnBigtable : test)('a marker of an entity that ends tells when', async () => {
  await sessions.put({ id: 'marked', user: 'ann', expiresIn: 5_000 }, { timestamp: 1_000_000_000_000 });
  await sessions.put({ id: 'marked', user: 'ann', expiresIn: 3_600_000 });
  const table = database.engine.table('writes_sessions');
  const marker = (await table.get(new Get('marked'))).getValue('d', '_')!;
  expect(marker[0]).toBe(1);
  const end = Number(Buffer.from(marker).readBigUInt64BE(1));
  expect(Math.abs(end - Date.now() - 3_600_000)).toBeLessThan(600_000);
});
