import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  Column,
  Counter,
  Entity,
  part,
  RowKey,
  recordType,
  substitute,
  Table,
} from '../../decorators/index.js';
import { date, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { uint32 } from '../../src/key/index.js';
import type { Repository } from '../../src/repository/index.js';
import { Get, Scan } from '../../src/table/index.js';
import { openStepless } from '../proof/stepless.js';
import { onServer, openTestStore, type TestStore } from '../query/test-database.js';

@Table({ name: 'logs', families: { d: {} } })
class Logs {}

@Entity({ table: Logs, recordType: 1 })
@RowKey(substitute('host', 'hosts', { bytes: 2 }), recordType(), part('at', date))
class Log {
  declare static readonly key: ['host', 'at'];
  host!: string;
  at!: Date;
  @Column('d:t', text) text!: string;
  @Column('d:n', text) note?: string | null;
  @Counter('d:c') seen?: bigint | null;
}

@Entity({ table: Logs, recordType: 2 })
@RowKey(
  substitute('host', 'hosts', { bytes: 2 }),
  recordType(),
  substitute('event', 'events'),
  part('n', uint32),
)
class Event {
  declare static readonly key: ['host', 'event', 'n'];
  host!: string;
  event!: string;
  n!: number;
  @Column('d:t', text) text!: string;
}

let store: TestStore;
let db: Database;
let logs: Repository<typeof Log>;
const start = async (): Promise<void> => {
  db = await store.open(Log, Event);
  logs = db.repository(Log);
};
beforeEach(async () => {
  store = openTestStore();
  await start();
});
afterEach(async () => {
  await db.close();
  await store.dispose();
});

/** Closed and opened again: nothing is cached. */
async function reopen(): Promise<void> {
  await db.close();
  await start();
}

const at = (ms: number): Date => new Date(ms);
const rows = async (): Promise<string[]> => {
  const found: string[] = [];
  for await (const row of db.engine.table('logs').scan(new Scan()))
    found.push(Buffer.from(row.row).toString('hex'));
  return found;
};
const hosts = (): Promise<(number | undefined)[]> => db.dictionary('hosts').ids(['a', 'b', 'none'], false);

describe('texts in, ids in keys, texts out', () => {
  test('get, getMany, exists, delete, also by a database that has met nothing yet', async () => {
    const log = Object.assign(new Log(), { host: 'a-long-name.example', at: at(5), text: 'x' });
    await logs.put(log);
    expect(log.host).toBe('a-long-name.example');
    expect(await rows()).toEqual(['0001018000000000000005']);
    await reopen();
    const found = await logs.get({ host: 'a-long-name.example', at: at(5) });
    expect(found).toBeInstanceOf(Log);
    expect(found).toMatchObject({ host: 'a-long-name.example', at: at(5), text: 'x' });
    expect(await logs.get({ host: 'none', at: at(5) })).toBeNull();
    await logs.putMany([
      { host: 'a', at: at(1), text: '1' },
      { host: 'b', at: at(1), text: '2' },
    ]);
    const many = await logs.getMany([
      { host: 'b', at: at(1) },
      { host: 'none', at: at(1) },
      { host: 'a', at: at(1) },
    ]);
    expect(many.map((one) => one && [one.host, one.text])).toEqual([['b', '2'], null, ['a', '1']]);
    expect(await logs.exists({ host: 'b', at: at(1) })).toBe(true);
    expect(await logs.exists({ host: 'none', at: at(1) })).toBe(false);
    await logs.delete({ host: 'none', at: at(1) });
    await logs.delete({ host: 'b', at: at(1) });
    expect(await logs.exists({ host: 'b', at: at(1) })).toBe(false);
    expect((await hosts())[2]).toBeUndefined();
  });

  test('writes that may create give ids; reads and those that only change do not', async () => {
    const key = (host: string) => ({ host, at: at(1) });
    await logs.insert({ ...key('i'), text: 't' });
    await expect(logs.insert({ ...key('i'), text: 't' })).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
    await logs.replace({ ...key('r'), text: 't' });
    expect(await logs.increment(key('c'), { seen: 2n })).toEqual({ seen: 2n });
    await logs.append(key('p'), { text: 'ab' });
    await logs.mutate(key('m'), (row) => row.set({ text: 'm' }));
    await expect(logs.update(key('none'), { text: 't' })).rejects.toMatchObject({
      code: 'ERR_NOT_FOUND',
      message: expect.stringContaining('host: "none"'),
    });
    await logs.update(key('i'), { text: 'updated' });
    const outcomes = await logs.batch((batch) =>
      batch
        .put({ ...key('bp'), text: 'b' })
        .insert({ ...key('bi'), text: 'b' })
        .mutate(key('bm'), (row) => row.set({ text: 'b' }))
        .update(key('none'), { text: 'b' })
        .delete(key('m'))
        .get(key('i'))
        .get(key('none')),
    );
    expect(outcomes.map((one) => one.ok)).toEqual([true, true, true, false, true, true, true]);
    expect(outcomes[5]).toMatchObject({ value: { host: 'i', text: 'updated' } });
    expect(outcomes[6]).toMatchObject({ value: null });
    expect(await logs.check(key('i'), { text: 'updated' }).update({ note: 'n' })).toEqual({ ok: true });
    expect(await logs.check(key('i'), { text: 'other' }).delete()).toMatchObject({
      ok: false,
      current: { host: 'i', note: 'n' },
    });
    const checked = await logs.check(key('i'), { text: 'updated' }).put({ ...key('i'), text: 'put' });
    expect(checked).toEqual({ ok: true });
    expect((await logs.history(key('i'), 'text')).map(({ value }) => value)).toEqual(['put']);
    expect(await logs.history(key('none'), 'text')).toEqual([]);
    await reopen();
    const all = await logs.find({}, { fullScan: true }).all();
    expect(all.map((one) => one.host).sort()).toEqual(['bi', 'bm', 'bp', 'c', 'i', 'p', 'r']);
    expect(await rows()).not.toContainEqual(expect.stringMatching(/^0000/));
    expect((await hosts())[2]).toBeUndefined();
  });
});

describe('queries', () => {
  beforeEach(async () => {
    const events = db.repository(Event);
    for (const host of ['a', 'b']) {
      await logs.putMany([1, 2, 3].map((ms) => ({ host, at: at(ms), text: `${host}${ms}` })));
      await events.putMany(['up', 'down'].map((event, n) => ({ host, event, n, text: `${host}${event}` })));
    }
    await reopen();
  });

  const textsOf = (found: readonly { readonly text: string }[]): string[] => found.map((one) => one.text);

  test('equality, in and a range behind them; what has no id finds nothing', async () => {
    expect(textsOf(await logs.find({ host: 'b', at: { gt: at(1) } }).all())).toEqual(['b2', 'b3']);
    expect(
      textsOf(
        await logs
          .find({ host: { in: ['none', 'b', 'a'] } })
          .limit(4)
          .all(),
      ),
    ).toEqual(['a1', 'a2', 'a3', 'b1']);
    expect(await logs.find({ host: 'none' }).all()).toEqual([]);
    expect(await logs.find({ host: 'none' }).first()).toBeNull();
    expect(await logs.find({ host: 'a' }).count()).toBe(3);
    expect(textsOf(await logs.find({ host: 'a' }).reverse().all())).toEqual(['a3', 'a2', 'a1']);
    expect(await logs.find({ host: 'a' }).select('text').first()).toMatchObject({ host: 'a', text: 'a1' });
    await expect(logs.find({ host: { startsWith: 'a' } } as never).all()).rejects.toMatchObject({
      code: 'ERR_KEY',
    });
    const events = db.repository(Event);
    expect(textsOf(await events.find({ host: 'a', event: 'down' }).all())).toEqual(['adown']);
  });

  test('streams, and pages whose cursors a database goes on from that has met nothing', async () => {
    const streamed: string[] = [];
    for await (const log of logs.find({ host: { in: ['a', 'b'] } })) {
      streamed.push(`${log.host}${log.at.getTime()}`);
      if (streamed.length === 4) break;
    }
    expect(streamed).toEqual(['a1', 'a2', 'a3', 'b1']);
    const page = await logs.find({ host: { in: ['a', 'b'] } }).page({ size: 2 });
    await reopen();
    const next = await logs.find({ host: { in: ['a', 'b'] } }).page({ size: 3, cursor: page.cursor });
    expect([textsOf(page.items), textsOf(next.items)]).toEqual([
      ['a1', 'a2'],
      ['a3', 'b1', 'b2'],
    ]);
  });

  test('a collection reads both record types of a host', async () => {
    const groups = await db.collection([Log, Event], { host: 'b' }).groups();
    expect([textsOf(groups.of(Log)), textsOf(groups.of(Event))]).toEqual([
      ['b1', 'b2', 'b3'],
      ['bup', 'bdown'],
    ]);
    expect(groups.of(Event)[0]).toMatchObject({ host: 'b', event: 'up' });
    expect(await db.collection([Log, Event], { host: 'none' }).all()).toEqual([]);
    const streamed: string[] = [];
    for await (const one of db.collection([Log, Event], { host: 'a' })) streamed.push(one.text);
    expect(streamed).toHaveLength(5);
  });

  test('explain shows the ranges of ids that are at hand, and warns for others', async () => {
    const explain = () => logs.find({ host: 'a' }).explain();
    // Where tables answer at once every id is at hand.
    if (onServer) expect(explain()).toMatchObject({ ranges: [], warnings: [{ code: 'NO_ID' }] });
    else expect(explain()).toMatchObject({ kind: 'range' });
    await logs.find({ host: 'a' }).first();
    expect(explain()).toMatchObject({ kind: 'range', key: 'host = "a"', warnings: [] });
  });

  test('explain answers for a text that has no id: nothing is read for it', async () => {
    await logs.find({ host: 'a' }).first();
    const none = logs.find({ host: 'none', at: { gt: at(0) } }).explain();
    expect(none).toMatchObject({ key: `host = "none" and at > ${at(0).toISOString()}`, ranges: [] });
    expect(none.warnings.map(({ code }) => code)).toEqual(['NO_ID']);
    expect(String(none)).toContain('The dictionary "hosts" has no id for host = "none" here');
    const some = logs.find({ host: { in: ['a', 'none'] } }).explain();
    expect([some.ranges, some.key]).toEqual([
      logs.find({ host: 'a' }).explain().ranges,
      'host in ("a", "none")',
    ]);
    expect(some.warnings).toHaveLength(1);
    const together = db.collection([Log, Event], { host: 'none' });
    expect(together.explain()).toMatchObject({ ranges: [], warnings: [{ code: 'NO_ID' }] });
    const known = db.collection([Log, Event], { host: 'a' }).explain();
    expect(known.warnings.map(({ code }) => code)).not.toContain('NO_ID');
    await logs.find({ host: 'none' }).first();
    expect(logs.find({ host: 'none' }).explain().ranges).toEqual([]);
  });
});

/** What each form answers for the host `none`, and does for `a` in a program that has met nothing. */
const FORMS: Readonly<Record<string, (of: Repository<typeof Log>, host: string) => Promise<unknown>>> = {
  get: (of, host) => of.get({ host, at: at(1) }),
  getMany: async (of, host) => (await of.getMany([{ host, at: at(1) }])).filter((one) => one !== null).length,
  exists: (of, host) => of.exists({ host, at: at(1) }),
  history: async (of, host) => (await of.history({ host, at: at(1) }, 'text')).length,
  all: async (of, host) => (await of.find({ host }).all()).length,
  'all of a list': async (of, host) => (await of.find({ host: { in: [host] } }).all()).length,
  'all of an orderBy': async (of, host) =>
    (await of.find({ host }).orderBy('text', 'desc').limit(9).all()).length,
  first: (of, host) => of.find({ host }).first(),
  'exists of a query': (of, host) => of.find({ host }).exists(),
  count: (of, host) => of.find({ host }).count(),
  page: async (of, host) => (await of.find({ host }).page({ size: 5 })).items.length,
  stream: async (of, host) => {
    let count = 0;
    for await (const _ of of.find({ host, at: { gt: at(0) } }).reverse()) count++;
    return count;
  },
  sum: (of, host) => of.find({ host }).aggregate((on) => ({ least: on.min('text'), rows: on.count() })),
  groupBy: async (of, host) => (await of.find({ host }).groupBy('text').count()).length,
  asOf: async (of, host) =>
    (
      await of
        .asOf(Date.now() + 1000)
        .find({ host })
        .all()
    ).length,
  updateAll: async (of, host) => (await of.find({ host }).updateAll({ note: 'n' })).changed,
  'updateAll of a condition': async (of, host) =>
    (await of.find({ host }).where({ text: 'a1' }).updateAll({ note: 'n' })).changed,
  deleteAll: async (of, host) => (await of.find({ host }).deleteAll()).changed,
  deletePrefix: (of, host) => of.deletePrefix({ host }),
};

describe('what has no id is in no row, and an id that is not loaded is', () => {
  test.each(Object.keys(FORMS))('%s', async (name) => {
    const form = FORMS[name]!;
    await logs.putMany([1, 2].map((ms) => ({ host: 'a', at: at(ms), text: `a${ms}` })));
    const expected = await form(logs, 'a');
    const none = [null, 0, false, expect.objectContaining({ rows: 0 })];
    expect(none).toContainEqual(await form(logs, 'none'));
    // No step of its tables answers in the thread, so that nothing is known but what was loaded.
    await using shared = await openStepless();
    const { db: first } = await shared.program(Log, Event);
    await first.repository(Log).putMany([1, 2].map((ms) => ({ host: 'a', at: at(ms), text: `a${ms}` })));
    const { db: other } = await shared.program(Log, Event);
    expect(none).toContainEqual(await form(other.repository(Log), 'none'));
    expect(await form(other.repository(Log), 'a')).toEqual(expected);
  });
});

test('entities without dictionaries need no table of dictionaries', async () => {
  @Table({ name: 'plain', families: { d: {} } })
  class Plains {}
  @Entity({ table: Plains })
  @RowKey(part('id'))
  class Plain {
    declare static readonly key: ['id'];
    id!: string;
    @Column('d:t', text) text!: string;
  }
  await db.close();
  await store.dispose();
  const plain = await store.open(Plain);
  expect(await plain.admin.tableExists('plain')).toBe(true);
  expect(await plain.admin.tableExists('rowan_dictionaries')).toBe(false);
  await plain.repository(Plain).put({ id: 'a', text: 'b' });
  expect((await plain.engine.table('plain').get(new Get('a'))).isEmpty).toBe(false);
  await plain.close();
});

test('tables: check wants the table of dictionaries', async () => {
  await db.admin.disableTable('rowan_dictionaries');
  await db.admin.deleteTable('rowan_dictionaries');
  await db.close();
  await expect(store.openChecked(Log, Event)).rejects.toMatchObject({ code: 'ERR_TABLE_NOT_FOUND' });
  await start();
});
