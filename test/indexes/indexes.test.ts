/** Indexes on both engines: kept by every way of writing, and asked in every way. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '../../src/database.js';
import {
  Column,
  date,
  defineEntity,
  defineTable,
  Entity,
  enumeration,
  Index,
  int32,
  part,
  RowKey,
  reverseTimestamp,
  salt,
  Table,
  text,
  type Where,
} from '../../src/index.js';
import { raw, rawDecimal } from '../../src/public/codecs.js';
import type { Repository } from '../../src/repository/index.js';
import { Put, Scan } from '../../src/table/index.js';
import { openMemory } from '../../src/testing/index.js';
import { scaled } from '../proof/scale.js';
import { Random } from '../query/model/random.js';
import { onBigtable, onServer, openTestDatabase } from '../query/test-database.js';
import { Person } from './entities.js';

let db: Database;
let end: () => Promise<void>;
let people: Repository<typeof Person>;

beforeEach(async () => {
  if (onServer) {
    const opened = await openTestDatabase([Person]);
    db = opened;
    end = () => opened.dispose();
  } else {
    db = await openMemory({ entities: [Person] });
    end = () => db.close();
  }
  people = db.repository(Person);
});
afterEach(() => end());

const ids = (list: readonly { readonly id: string }[]): string[] => list.map(({ id }) => id);

async function entries(): Promise<number> {
  // On HBase entries are removed after the answer; a check waits for that.
  await db.index(Person, 'byStatus').verify();
  let count = 0;
  for await (const _ of db.engine.table('shop:people_idx').scan(new Scan())) count++;
  return count;
}

describe('an index', () => {
  test('finds what was put, updated, replaced, mutated, and not what was deleted', async () => {
    await people.put({ id: 'a', email: 'a@x', status: 'open', placedAt: new Date(5), total: 3 });
    await people.put({ id: 'b', email: 'b@x', status: 'open', placedAt: new Date(9), total: 4 });
    expect(ids(await people.by('byEmail').find({ email: 'a@x' }).all())).toEqual(['a']);
    expect(ids(await people.by('byStatus').find({ status: 'open' }).all())).toEqual(['b', 'a']);
    expect(
      ids(
        await people
          .by('byStatus')
          .find({ status: 'open', placedAt: { lt: new Date(9) } })
          .all(),
      ),
    ).toEqual(['a']);
    await people.update({ id: 'b' }, { status: 'sent' });
    expect(ids(await people.by('byStatus').find({ status: 'open' }).all())).toEqual(['a']);
    expect(ids(await people.by('byStatus').find({ status: 'sent' }).all())).toEqual(['b']);
    await people.replace({ id: 'b', status: 'sent' });
    expect(ids(await people.by('byStatus').find({ status: 'sent' }).all())).toEqual([]);
    expect(ids(await people.by('spread').find({ status: 'sent' }).all())).toEqual(['b']);
    await people.mutate({ id: 'b' }, (row) => row.set({ placedAt: new Date(1) }));
    expect(ids(await people.by('byStatus').find({ status: 'sent' }).all())).toEqual(['b']);
    await people.delete({ id: 'a' });
    await people.delete({ id: 'b' });
    expect(await entries()).toBe(0);
  });

  test('of a list or of the keys of a Map has an entry for each', async () => {
    await people.put({
      id: 'a',
      tags: ['x', 'y', 'x'],
      members: new Map([
        ['u1', 'admin'],
        ['u2', 'guest'],
      ]),
    });
    await people.put({ id: 'b', tags: ['y'], members: new Map([['u2', 'admin']]) });
    expect(ids(await people.by('byTag').find({ tags: 'y' }).all())).toEqual(['a', 'b']);
    expect(
      ids(
        await people
          .by('byTag')
          .find({ tags: { gte: 'a' } })
          .all(),
      ),
    ).toEqual(['a', 'b']);
    expect(
      ids(
        await people
          .by('byTag')
          .find({ tags: { gte: 'a' } })
          .reverse()
          .all(),
      ),
    ).toEqual(['b', 'a']);
    expect(ids(await people.by('byMember').find({ members: 'u2' }).all())).toEqual(['a', 'b']);
    await people.mutate({ id: 'a' }, (row) => row.set({ members: new Map([['u2', null]]) }));
    expect(ids(await people.by('byMember').find({ members: 'u2' }).all())).toEqual(['b']);
    expect(ids(await people.by('byMember').find({ members: 'u1' }).all())).toEqual(['a']);
  });

  test('that is unique lets one entity have a value, also of writes in one turn', async () => {
    await people.put({ id: 'a', email: 'x' });
    await expect(people.put({ id: 'b', email: 'x' })).rejects.toMatchObject({
      code: 'ERR_CONFLICT',
      details: { index: 'byEmail', key: { id: 'a' } },
    });
    expect(await people.get({ id: 'b' })).toBeNull();
    const outcomes = await people.batch((batch) =>
      batch
        .update({ id: 'a' }, { email: 'y' })
        .put({ id: 'b', email: 'x' })
        .put({ id: 'c', email: 'x' })
        .put({ id: 'd', email: 'z' })
        .put({ id: 'e', email: 'z' }),
    );
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, true, false, true, false]);
    if (!onServer) await swapInOneStep();
    const racing = await Promise.allSettled(
      Array.from({ length: 50 }, (_, i) => people.insert({ id: `r${i}`, email: 'race' })),
    );
    expect(racing.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  async function swapInOneStep(): Promise<void> {
    await people
      .batch((batch) => batch.update({ id: 'a' }, { email: 'x' }).delete({ id: 'b' }), { atomic: true })
      .then(
        () => expect.unreachable(),
        (error: unknown) => expect(error).toMatchObject({ code: 'ERR_CONFLICT' }),
      );
    await people.batch((batch) => batch.delete({ id: 'b' }).update({ id: 'a' }, { email: 'x' }), {
      atomic: true,
    });
    expect(ids(await people.by('byEmail').find({ email: 'x' }).all())).toEqual(['a']);
  }

  test('is chosen by where() where the key says nothing, and explain says why', async () => {
    for (let i = 0; i < 40; i++) {
      await people.put({ id: `p${i}`, status: i % 2 ? 'open' : 'sent', placedAt: new Date(i), total: i });
    }
    const query = people.find({}).where({ status: 'open', placedAt: { gte: new Date(30) } });
    expect(ids(await query.all())).toEqual(['p39', 'p37', 'p35', 'p33', 'p31']);
    expect(query.explain().index).toMatchObject({ name: 'byStatus', covered: false });
    expect(String(query.explain())).toMatchSnapshot();
    const covered = query.select('total');
    expect(covered.explain().index).toMatchObject({ covered: true, lookups: 0 });
    expect(await covered.limit(2).all()).toEqual([
      { id: 'p39', total: 39 },
      { id: 'p37', total: 37 },
    ]);
    expect(await query.count()).toBe(5);
    const sparse = people.find({}).where({ status: 'open', total: { lt: 6 } });
    expect(sparse.explain().index!.name).toBe('openByTotal');
    expect(ids(await sparse.all())).toEqual(['p1', 'p3', 'p5']);
    const all: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await people.by('spread').find({ status: 'open' }).page({ size: 7, cursor });
      all.push(...ids(page.items));
      cursor = page.cursor ?? undefined;
    } while (cursor !== undefined);
    expect(all.sort()).toEqual(ids(await people.by('spread').find({ status: 'open' }).all()).sort());
    expect(all).toHaveLength(20);
    expect(() => people.find({}).where({ total: 5 }).explain()).toThrow(
      /declare an index, static readonly indexes = \{ byTotal: index\('total'\) \}/,
    );
    await expect(people.find({}).where({ views: 3n }).all()).rejects.toMatchObject({ code: 'ERR_FULL_SCAN' });
    const any = { email: { startsWith: '' } };
    await expect(people.by('byEmail').find(any).all()).rejects.toMatchObject({ code: 'ERR_FULL_SCAN' });
    await expect(people.where(any).deleteAll()).rejects.toMatchObject({ code: 'ERR_FULL_SCAN' });
    const whole = people.by('byEmail').find(any, { fullScan: true });
    expect(await whole.count()).toBe(
      (await people.find({}, { fullScan: true }).all()).filter(({ email }) => email != null).length,
    );
  });
});

test('an increment of bytes that another program wrote and that are no counter is refused, and changes nothing', async () => {
  const Page = defineEntity({
    name: 'Page',
    table: defineTable({ name: 'index_pages', families: { d: {} } }),
    key: [part('id', text)],
    indexes: { byHits: { on: [part('hits')] } },
    columns: (c) => ({ hits: c.counter('d:h'), title: c.column('d:t', text) }),
  });
  const served = onServer ? await openTestDatabase([Page]) : undefined;
  const opened = served ?? (await openMemory({ entities: [Page] }));
  const pages = opened.repository(Page);
  await pages.put({ id: 'a', hits: 1n, title: 'A' });
  const rows = opened.engine.table('index_pages');
  const row = (await rows.scan(new Scan()).next())!.row;
  await rows.put(new Put(row).addColumn('d', 'h', Buffer.from('17')));
  await expect(pages.increment({ id: 'a' }, { hits: 1n })).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
    message: expect.stringContaining('d:h: its value has 2 bytes, a counter has 8') as string,
  });
  expect(await pages.get({ id: 'a' }, { select: ['title'] })).toMatchObject({ title: 'A' });
  await (served?.dispose() ?? opened.close());
});

describe('an index under times that were given', () => {
  test('follows what the row shows: a put behind a newer one, one that a delete hides, a delete of what is old', async () => {
    await people.put({ id: 'a', status: 'new' }, { timestamp: 5000 });
    await people.put({ id: 'a', status: 'old' }, { timestamp: 4000 });
    expect(ids(await people.by('spread').find({ status: 'new' }).all())).toEqual(['a']);
    expect(await people.by('spread').find({ status: 'old' }).count()).toBe(0);
    await people.delete({ id: 'a' }, { timestamp: 4500 });
    expect(ids(await people.by('spread').find({ status: 'new' }).all())).toEqual(['a']);
    await people.delete({ id: 'a' });
    await people.put({ id: 'a', status: 'hidden' }, { timestamp: 6000 });
    // A delete in Bigtable hides nothing that comes later.
    expect(await people.by('spread').find({ status: 'hidden' }).count()).toBe(onBigtable ? 1 : 0);
    expect(await db.index(Person, 'spread').verify()).toMatchObject({ missing: 0, extra: 0, stale: 0 });
    await expect(people.put({ id: 'a', status: 'x' }, { ttl: 1000 })).rejects.toMatchObject({
      code: 'ERR_UNSUPPORTED',
    });
  });

  test('upsert does not try again what a unique index refuses', async () => {
    await people.put({ id: 'a', email: 'x' });
    await expect(people.upsert({ id: 'b', email: 'x' }, { email: 'x' })).rejects.toMatchObject({
      code: 'ERR_CONFLICT',
      details: { index: 'byEmail' },
    });
  });

  test('is not chosen where rows without a part may be meant', async () => {
    await people.put({ id: 'a', status: 'open' });
    expect(() => people.find({}).where({ status: 'open', total: null }).explain()).not.toThrow();
    expect(ids(await people.find({}).where({ status: 'open' }).all())).toEqual(['a']);
    expect(people.find({}).where({ status: 'open' }).explain().index!.name).toBe('spread');
    const present = people.find({}).where({ status: 'open', placedAt: { exists: true } });
    expect(present.explain().index!.name).toBe('byStatus');
    expect(await present.all()).toEqual([]);
  });
});

test('an index over columns that Rowan sets is chosen where they are asked for: a row may lack them', async () => {
  const Task = defineEntity({
    name: 'Task',
    table: { name: 'tasks', families: { d: {} } },
    key: [part('id')],
    columns: (c) => ({
      name: c.column('d:n', text),
      status: c.column('d:s', text).default(() => 'open'),
      updatedAt: c.updatedAt('d:u'),
    }),
    indexes: {
      byUpdate: { on: [part('updatedAt')] },
      byNameAndUpdate: { on: [part('name'), part('updatedAt')] },
      byNameAndStatus: { on: [part('name'), part('status')] },
    },
  });
  await using db = await openMemory({ entities: [Task] });
  const tasks = db.repository(Task);
  await tasks.insert({ id: 'a', name: 'x' });
  // Neither a default nor a stamp is written.
  await tasks.mutate({ id: 'b' }, (row) => row.set({ name: 'x' }));
  const chosen = (where: object) => tasks.find({}).where(where).explain().index?.name;
  expect(chosen({ updatedAt: { gte: new Date(0) } })).toBe('byUpdate');
  expect(chosen({ name: 'x', updatedAt: { exists: true } })).toBe('byNameAndUpdate');
  expect(chosen({ name: 'x', status: 'open' })).toBe('byNameAndStatus');
  expect(() => chosen({ name: 'x' })).toThrow(/byNameAndUpdate has no entries of rows without "updatedAt"/);
  const found = await tasks.find({}, { fullScan: true }).where({ name: 'x' }).all();
  expect(found.map(({ id }) => id)).toEqual(['a', 'b']);
});

describe('a query with a prefix of the key and where()', () => {
  @Table({ name: 'desk', families: { d: {} } })
  class Desk {}

  @Entity({ table: Desk })
  @RowKey(part('tenant'), part('id', int32))
  @Index('byWork', [part('tenant'), part('status'), part('assignee')])
  @Index('byStatus', [part('status'), part('assignee')])
  @Index('byDue', [part('tenant'), part('status'), part('due', int32)])
  @Index('byCode', [part('code')], { unique: true })
  @Index('byAssignee', [part('tenant'), part('assignee'), part('id', int32)])
  class Ticket {
    declare static readonly key: ['tenant', 'id'];
    declare static readonly indexes: {
      byWork: ['tenant', 'status', 'assignee'];
      byStatus: ['status', 'assignee'];
      byDue: ['tenant', 'status', 'due'];
      byCode: ['code'];
      byAssignee: ['tenant', 'assignee', 'id'];
    };
    tenant!: string;
    id!: number;
    @Column('d:s', text) status!: string;
    @Column('d:a', text) assignee?: string | null;
    @Column('d:d', int32) due?: number | null;
    @Column('d:c', text) code?: string | null;
  }

  async function filled(run: (tickets: Repository<typeof Ticket>) => Promise<void>) {
    const opened = onServer ? await openTestDatabase([Ticket]) : undefined;
    await using desk = opened ?? (await openMemory({ entities: [Ticket] }));
    const tickets = desk.repository(Ticket);
    const random = new Random(1);
    for (let id = 0; id < 60; id++) {
      await tickets.put({
        tenant: random.pick(['a', 'b']),
        id,
        status: random.pick(['open', 'done']),
        assignee: random.pick(['u1', 'u2', null]),
        due: random.below(10),
        code: `c${id}`,
      });
    }
    await run(tickets);
    await opened?.dispose();
  }

  test('gives rows of salted keys in the order of the key', async () => {
    @Table({ name: 'salted_desk', families: { d: {} } })
    class SaltedDesk {}

    @Entity({ table: SaltedDesk })
    @RowKey(salt(4), part('tenant'), part('id', int32))
    @Index('byStatus', [part('tenant'), part('status')])
    @Index('byCode', [part('code')], { unique: true })
    class Salted {
      declare static readonly key: ['tenant', 'id'];
      declare static readonly indexes: { byStatus: ['tenant', 'status']; byCode: ['code'] };
      tenant!: string;
      id!: number;
      @Column('d:s', text) status!: string;
      @Column('d:c', text) code?: string | null;
    }
    const opened = onServer ? await openTestDatabase([Salted]) : undefined;
    await using desk = opened ?? (await openMemory({ entities: [Salted] }));
    const tickets = desk.repository(Salted);
    for (let id = 0; id < 40; id++)
      await tickets.put({ tenant: 'a', id, status: id % 2 === 0 ? 'open' : 'done', code: `c${id}` });
    const query = () => tickets.find({ tenant: 'a' }).where({ status: 'open' });
    const ids = Array.from({ length: 20 }, (_, i) => 2 * i);
    expect((await query().all()).map(({ id }) => id)).toEqual(ids);
    expect((await query().reverse().limit(5).all()).map(({ id }) => id)).toEqual([38, 36, 34, 32, 30]);
    expect((await query().page({ size: 7 })).items.map(({ id }) => id)).toEqual(ids.slice(0, 7));
    // One row has one order.
    const one = tickets.find({ tenant: 'a' }).where({ code: 'c7' });
    expect(one.explain().index!.name).toBe('byCode');
    expect((await one.all()).map(({ id }) => id)).toEqual([7]);
    await opened?.dispose();
  });

  test('is answered by the index on both, in the order of the key', async () => {
    await filled(async (tickets) => {
      const query = tickets.find({ tenant: 'a' }).where({ status: 'open', assignee: 'u1' });
      expect(query.explain()).toMatchObject({
        index: { name: 'byWork' },
        filters: { pushed: [], local: [] },
      });
      const scan = tickets
        .find({ tenant: 'a' }, { fullScan: true })
        .where({ status: 'open', assignee: 'u1' });
      expect(scan.explain().index).toBeUndefined();
      expect((await scan.all()).length).toBeGreaterThan(2);
      expect(await query.all()).toEqual(await scan.all());
      expect(tickets.find({ tenant: 'a' }).where({ code: 'c7' }).explain().index!.name).toBe('byCode');
    });
  });

  test('is answered by the key where an index may read more or orders otherwise, and explain names it', async () => {
    await filled(async (tickets) => {
      const ranged = tickets.find({ tenant: 'a' }).where({ status: 'open', due: { lt: 5 } });
      expect(ranged.explain().index).toBeUndefined();
      const unused = new Map(ranged.explain().unused!.map(({ name, why }) => [name, why]));
      expect(unused.get('byDue')).toMatch(/another order than the key: ask by\("byDue"\)/);
      expect(String(ranged.explain())).toContain('not byDue: ');
      const other = tickets.find({ tenant: 'a', id: { gte: 20 } }).where({ status: 'open', due: 5 });
      expect(other.explain().index).toBeUndefined();
      expect(other.explain().unused!.find(({ name }) => name === 'byDue')!.why).toMatch(/for "id"/);
    });
  });

  test('gives what the scan of the key gives, whatever is asked', async () => {
    await filled(async (tickets) => {
      const random = new Random(7);
      let served = 0;
      for (let i = 0; i < scaled(60, 600, 3000); i++) {
        const prefix = {
          tenant: random.pick(['a', 'b', 'none']),
          ...(random.chance(0.2) && {
            id: random.chance(0.5) ? random.below(60) : { gte: random.below(60) },
          }),
        };
        const where = {
          ...(random.chance(0.8) && { status: random.pick(['open', 'done']) }),
          ...(random.chance(0.7) && { assignee: random.pick(['u1', 'u2', null]) }),
          ...(random.chance(0.3) && {
            due: random.chance(0.5) ? random.below(10) : { gte: random.below(10) },
          }),
          ...(random.chance(0.2) && { code: `c${random.below(60)}` }),
          ...(random.chance(0.1) && { tenant: random.pick(['a', 'b']) }),
        };
        const turned = random.chance(0.3);
        const limit = random.chance(0.3) ? random.below(5) : 100;
        const open = (fullScan: boolean) => {
          const query = tickets.find(prefix as never, { fullScan }).where(where as never);
          return turned ? query.reverse() : query;
        };
        const ask = (fullScan: boolean) => open(fullScan).limit(limit);
        const context = JSON.stringify([prefix, where, turned, limit]);
        if (ask(false).explain().index !== undefined) served++;
        expect(await ask(false).all(), context).toEqual(await ask(true).all());
        expect(await ask(false).count(), context).toBe(await ask(true).count());
        const page = await open(false).page({ size: 2 });
        expect(page.items, context).toEqual((await open(true).page({ size: 2 })).items);
      }
      expect(served).toBeGreaterThan(20);
    });
  });

  test('is answered by an index whose open parts are those that follow in the key', async () => {
    await filled(async (tickets) => {
      const query = (options = {}) =>
        tickets.find({ tenant: 'a', id: { gte: 10 } }, options).where({ assignee: 'u1', due: { lt: 8 } });
      expect(query().explain().index).toMatchObject({ name: 'byAssignee' });
      expect(await query().all()).toEqual(await query({ fullScan: true }).all());
      expect(await query().reverse().all()).toEqual(await query({ fullScan: true }).reverse().all());
    });
  });

  test.each([
    ['the time of the key', [reverseTimestamp('at')], true],
    ['the time the other way round', [part('at', date)], false],
    ['the time and the last part', [reverseTimestamp('at'), part('id')], true],
    ['the time and a column', [reverseTimestamp('at'), part('kind')], false],
    ['the last part alone', [part('id')], false],
    ['no more', [], true],
  ] as const)('of an index that goes on with %s', async (_, behind, isChosen) => {
    const Event = defineEntity({
      name: 'Event',
      table: defineTable({ name: 'audit', families: { d: {} } }),
      key: [part('tenant'), reverseTimestamp('at'), part('id')],
      columns: (c) => ({ user: c.column('d:u', text), kind: c.column('d:k', text) }),
      indexes: { byUser: { on: [part('tenant'), part('user'), ...behind] } },
    });
    await using audit = await openMemory({ entities: [Event] });
    const events = audit.repository(Event);
    for (let i = 0; i < 40; i++) {
      const [user, kind] = [i % 3 === 0 ? 'u' : 'v', `k${(i * 7) % 5}`];
      await events.put({ tenant: 't', at: new Date((i * 11) % 20), id: `i${(i * 13) % 40}`, user, kind });
    }
    const query = (options = {}) =>
      events.find({ tenant: 't' }, options).where({ user: 'u', kind: { gte: '' } });
    expect(query().explain().index !== undefined).toBe(isChosen);
    expect(await query().all()).toEqual(await query({ fullScan: true }).all());
    expect(await query().limit(5).all()).toEqual(await query({ fullScan: true }).limit(5).all());
  });

  test('is changed and read by jobs as before', async () => {
    await filled(async (tickets) => {
      const query = tickets.find({ tenant: 'a' }).where({ status: 'open', assignee: 'u1' });
      const found = await query.count();
      const { changed } = await query.updateAll({ status: 'done' });
      expect([changed, await query.count()]).toEqual([found, 0]);
      const done = tickets.find({ tenant: 'a' }).where({ status: 'done', assignee: 'u1' });
      await expect(done.toSource()).resolves.toMatchObject({ table: 'desk' });
      const left = await done.count();
      expect((await done.deleteAll()).changed).toBe(left);
      expect(await done.count()).toBe(0);
    });
  });
});

test('explain says of an index whose first part is asked for why it does not decide that', async () => {
  const Offer = defineEntity({
    name: 'Offer',
    table: defineTable({ name: 'offers', families: { d: {} } }),
    key: [part('id')],
    columns: (c) => ({
      price: c.column('d:p', rawDecimal),
      title: c.column('d:t', text),
      state: c.column('d:s', enumeration({ open: 1, sold: 2 })).optional(),
      size: c.column('d:z', int32).optional(),
      rank: c.column('d:r', raw.int32).optional(),
    }),
    indexes: {
      byPrice: { on: [part('price')] },
      byTitle: { on: [part('title')] },
      bySize: { on: [part('size', int32), part('title')] },
    },
  });
  const db = await openMemory({ entities: [Offer] });
  const offers = db.repository(Offer);
  await offers.putMany([
    { id: 'a', price: '1.5', title: 'blue pen' },
    { id: 'b', price: '1.50', title: 'red pen' },
  ]);
  const asked = (conditions: Where<typeof Offer>): string => {
    try {
      return String(offers.where(conditions).explain());
    } catch (error) {
      return (error as Error).message;
    }
  };
  expect(asked({ price: '1.5' })).toBe(
    'find on Offer would read the whole table "offers" to find price = "1.5". Give at least the leading key part "id" (byPrice begins with "price" as text, and not as raw.decimal: ask by("byPrice"); byTitle begins with "title", which is not asked for; bySize begins with "size", which is not asked for), or allow it with { fullScan: true }.',
  );
  expect(asked({ title: { endsWith: 'pen' } })).toContain(
    'byTitle begins with "title", and its entries do not decide what is asked of it',
  );
  // What is told to declare is code, and serves.
  expect(asked({ state: 'open', size: { gt: 3 }, rank: { lt: 4 } })).toContain(
    "declare an index, static readonly indexes = { byStateAndSize: index('state', 'size') } (",
  );
  expect(asked({ rank: { lt: 4 } })).not.toContain('declare an index');
  // An index that is declared is not told to declare again, under its own name.
  expect(asked({ size: 3 })).toMatch(
    /part "id" \(.*bySize has no entries of rows without "title", which may exist: add title: \{ exists: true \} to where\(\), or ask by\("bySize"\)/,
  );
  expect(asked({ state: 'lost' as never })).toContain(
    "declare an index, static readonly indexes = { byState: index('state') }",
  );
  await db.close();
});
