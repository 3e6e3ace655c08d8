/** Rows and columns that end by themselves: no index misses what is still there, or gives what is not; entries end too. */

import { describe, expect, test } from 'vitest';
import {
  Column,
  type Database,
  Entity,
  Index,
  int32,
  part,
  RowKey,
  SchemaError,
  Table,
  Ttl,
  text,
} from '../../src/index.js';
import { Scan } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { openMemory, type SettableClock, settableClock } from '../../src/testing/index.js';
import { scaled } from '../proof/scale.js';
import { openStepless } from '../proof/stepless.js';
import { Random } from '../query/model/random.js';

@Table({ name: 'lives', families: { s: { ttl: 60 }, l: { ttl: 300 }, f: {} } })
class Lives {}

/** Columns that end after a minute, after five, and never. */
@Entity({ table: Lives })
@RowKey(part('group'), part('id'))
@Index('byId', [part('id')], { include: ['short'] })
@Index('byBoth', [part('short'), part('long')])
@Index('byLong', [part('long')], { include: ['short'] })
@Index('whenShort', [part('stays')], { where: { short: 'a' } })
class Life {
  declare static readonly key: ['group', 'id'];
  declare static readonly indexes: {
    byId: ['id'];
    byBoth: ['short', 'long'];
    byLong: ['long'];
    byStays: ['stays'];
    whenShort: ['stays'];
  };
  group!: string;
  id!: string;
  @Column('s:s', text) short?: string | null;
  @Column('l:l', text) long?: string | null;
  @Index('byStays') @Column('f:f', text) stays?: string | null;
}

/** Where no index has a column that never ends: `rest` keeps the row alive behind the others. */
@Entity({ table: Lives, name: 'Brief' })
@RowKey(part('group'), part('id'))
@Index('byId', [part('id')], { include: ['short'] })
@Index('byBoth', [part('short'), part('long')])
class Brief {
  declare static readonly key: ['group', 'id'];
  declare static readonly indexes: { byId: ['id']; byShort: ['short']; byBoth: ['short', 'long'] };
  group!: string;
  id!: string;
  @Index('byShort') @Column('s:s', text) short?: string | null;
  @Column('l:l', text) long?: string | null;
  @Column('f:f', text) rest?: string | null;
}

@Table({ name: 'sessions', families: { d: {} } })
class Sessions {}

@Entity({ table: Sessions })
@RowKey(part('id'))
@Index('byUser', [part('user')], { include: ['visits'] })
class Session {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byUser: ['user']; byToken: ['token'] };
  id!: string;
  @Column('d:u', text) user?: string | null;
  @Index('byToken', { unique: true }) @Column('d:t', text) token?: string | null;
  @Column('d:v', int32) visits?: number | null;
  @Ttl() lives?: number;
}

const WORDS = ['a', 'b', 'c'] as const;
const WELL = { missing: 0, extra: 0, stale: 0 };

function idsOf(rows: readonly { readonly id: string }[]): string[] {
  return rows.map(({ id }) => id).sort();
}

async function found(query: { all(): Promise<readonly { readonly id: string }[]> }): Promise<string[]> {
  return idsOf(await query.all());
}

test('columns that end at different times: every index answers what a scan does, at any time', async () => {
  for (let seed = 1; seed <= scaled(1, 12, 400); seed++) {
    const random = new Random(seed);
    const clock = settableClock(new Date(Date.UTC(2020, 0, 1)));
    await using db = await openMemory({ entities: [Life], clock });
    const lives = db.repository(Life);
    for (let step = 0; step < 40; step++) {
      const key = { group: 'g', id: `i${random.below(4)}` };
      const values: Partial<Life> = {};
      if (random.chance(0.6)) values.short = random.chance(0.2) ? null : random.pick(WORDS);
      if (random.chance(0.6)) values.long = random.chance(0.2) ? null : random.pick(WORDS);
      if (random.chance(0.6)) values.stays = random.chance(0.2) ? null : random.pick(WORDS);
      if (random.chance(0.1)) await lives.delete(key);
      else await lives.put({ ...key, ...values });
      if (random.chance(0.5)) clock.advance(1000 * random.pick([1, 20, 50, 61, 240, 301]));
      if (random.chance(0.1)) await db.admin.flush('lives_idx');
      if (random.chance(0.05)) await db.admin.majorCompact('lives_idx');
      const all = await lives.find({}, { fullScan: true }).all();
      const idsThat = (meets: (life: Life) => boolean): string[] => idsOf(all.filter(meets));
      const when = `seed ${seed}, step ${step}`;
      expect(await found(lives.by('byId').find({ id: { gte: 'i' } })), when).toEqual(idsThat(() => true));
      for (const word of WORDS) {
        expect(await found(lives.by('byBoth').find({ short: word })), when).toEqual(
          idsThat(({ short, long }) => short === word && typeof long === 'string'),
        );
        expect(await found(lives.by('byLong').find({ long: word })), when).toEqual(
          idsThat(({ long }) => long === word),
        );
        expect(await found(lives.by('byLong').find({ long: word }).select('short')), when).toEqual(
          idsThat(({ long }) => long === word),
        );
        expect(await found(lives.by('byStays').find({ stays: word })), when).toEqual(
          idsThat(({ stays }) => stays === word),
        );
        expect(await found(lives.by('whenShort').find({ stays: word })), when).toEqual(
          idsThat(({ stays, short }) => stays === word && short === 'a'),
        );
      }
    }
    for (const name of ['byId', 'byBoth', 'byLong', 'byStays', 'whenShort'] as const) {
      expect(await db.index(Life, name).verify(), `seed ${seed} ${name}`).toMatchObject({
        missing: 0,
        extra: 0,
      });
    }
  }
});

test('columns that all end, of rows that stay: no index loses a row that is still there', async () => {
  for (let seed = 1; seed <= scaled(1, 12, 400); seed++) {
    const random = new Random(seed);
    const clock = settableClock(new Date(Date.UTC(2020, 0, 1)));
    await using db = await openMemory({ entities: [Brief], clock });
    const briefs = db.repository(Brief);
    for (let step = 0; step < 30; step++) {
      const values: Partial<Brief> = { rest: 'r' };
      if (random.chance(0.6)) values.short = random.pick(WORDS);
      if (random.chance(0.6)) values.long = random.pick(WORDS);
      await briefs.put({ group: 'g', id: `i${random.below(4)}`, ...values });
      if (random.chance(0.5)) clock.advance(1000 * random.pick([1, 20, 50, 61, 240, 301]));
      const all = await briefs.find({}, { fullScan: true }).all();
      const idsThat = (meets: (one: Brief) => boolean): string[] => idsOf(all.filter(meets));
      const when = `seed ${seed}, step ${step}`;
      expect(await found(briefs.by('byId').find({ id: { gte: 'i' } })), when).toEqual(idsThat(() => true));
      for (const word of WORDS) {
        expect(await found(briefs.by('byShort').find({ short: word })), when).toEqual(
          idsThat(({ short }) => short === word),
        );
        expect(await found(briefs.by('byBoth').find({ short: word })), when).toEqual(
          idsThat(({ short, long }) => short === word && typeof long === 'string'),
        );
      }
    }
  }
});

test('a condition that comes to hold when a column ends is refused: nobody would write the entry', async () => {
  for (const where of [{ short: null }, { short: { ne: 'a' } }]) {
    @Entity({ table: Lives, name: 'Late' })
    @RowKey(part('id'))
    @Index('late', [part('rest')], { where })
    class Late {
      declare static readonly key: ['id'];
      declare static readonly indexes: { late: ['rest'] };
      id!: string;
      @Column('s:s', text) short?: string | null;
      @Column('f:f', text) rest?: string | null;
    }
    await expect(openMemory({ entities: [Late] })).rejects.toThrow(SchemaError);
    await expect(openMemory({ entities: [Late] })).rejects.toThrow(/may come to hold when Late\.short ends/);
  }
});

test('a row that ends takes its entries with it, also those that a build or a repair wrote; its unique values are free', async () => {
  const clock = settableClock(new Date(Date.UTC(2020, 0, 1)));
  const disk = new MemoryFileSystem();
  await using db = await openMemory({ entities: [Session], clock, disk });
  const sessions = db.repository(Session);
  const entries = async () => (await db.engine.table('sessions_idx').scan(new Scan()).nextBatch(100)).length;
  await sessions.put({ id: 'a', user: 'ann', token: 't', visits: 1, lives: 60_000 });
  await sessions.put({ id: 'b', user: 'ann', visits: 1, lives: 600_000 });
  await sessions.put({ id: 'c', user: 'ann', visits: 1 });
  await expect(sessions.put({ id: 'd', token: 't' })).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
  await db.index(Session, 'byUser').drop();
  await db.index(Session, 'byUser').build();
  expect(await entries()).toBe(4);
  clock.advance(60_001);
  const ofAnn = async () => (await sessions.by('byUser').find({ user: 'ann' }).all()).map(({ id }) => id);
  expect(await ofAnn()).toEqual(['b', 'c']);
  await sessions.put({ id: 'd', token: 't' });
  expect((await sessions.by('byToken').find({ token: 't' }).first())?.id).toBe('d');
  clock.advance(10_000);
  expect(await entries()).toBe(3);
  // A life that begins anew carries the entries along.
  await sessions.update({ id: 'b' }, { lives: 1_200_000 });
  clock.advance(900_000);
  expect(await ofAnn()).toEqual(['b', 'c']);
  for (const name of ['byUser', 'byToken'] as const) {
    expect(await db.index(Session, name).verify()).toMatchObject({ ...WELL, beyondTtl: 0 });
  }
  clock.advance(400_000);
  expect(await ofAnn()).toEqual(['c']);
  expect(await entries()).toBe(2);
});

test('a row that had ended and is there again, as the clock was set back, takes no unique value from who has it since', async () => {
  const start = Date.UTC(2020, 0, 1);
  const clock = settableClock(start);
  await using db = await openMemory({ entities: [Session], clock });
  const sessions = db.repository(Session);
  const holders = async () => found(sessions.by('byToken').find({ token: 't' }));
  await sessions.put({ id: 'a', token: 't', visits: 1, lives: 60_000 });
  clock.advance(61_000);
  await sessions.put({ id: 'd', token: 't' });
  clock.set(start + 30_000);
  expect(await sessions.get({ id: 'a' })).toMatchObject({ token: 't', visits: 1 });
  for (const change of [{ user: 'ann' }, { lives: 600_000 }])
    await expect(sessions.update({ id: 'a' }, change)).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
  expect(await holders()).toEqual(['d']);
  await sessions.update({ id: 'a' }, { user: 'ann', token: 'other', lives: 600_000 });
  expect(await holders()).toEqual(['d']);
  clock.advance(60_000);
  expect(await sessions.get({ id: 'a' })).toMatchObject({ token: 'other', user: 'ann' });
  expect(await db.index(Session, 'byToken').verify()).toMatchObject({ ...WELL, shared: [] });
});

describe('entries end with a life that was shortened', () => {
  @Entity({ table: { name: 'visits', families: { d: {} } } })
  @RowKey(part('id'))
  @Index('byUser', [part('user')], { include: ['visits'] })
  @Index('byUserLater', [part('user')], { consistency: 'eventual' })
  class Visit {
    declare static readonly key: ['id'];
    declare static readonly indexes: { byUser: ['user']; byToken: ['token']; byUserLater: ['user'] };
    id!: string;
    @Column('d:u', text) user?: string | null;
    @Index('byToken', { unique: true }) @Column('d:t', text) token?: string | null;
    @Column('d:v', int32) visits?: number | null;
    @Ttl() lives?: number;
  }
  /**
   * Resolves when the follow-ups of earlier calls are done. Follow-ups run after a call has returned. If time jumped meanwhile, they would
   * write entries with the timestamp of the next call.
   */
  const rest = (db: Database): Promise<unknown> => db.index(Visit, 'byToken').verify();
  const entriesOf = async (db: Database): Promise<number> =>
    (await db.engine.table('visits_idx').scan(new Scan()).nextBatch(1000)).length;

  async function holds(db: Database, clock: SettableClock, steps: number): Promise<void> {
    for (let seed = 1; seed <= steps; seed++) {
      const random = new Random(seed);
      const visits = db.repository(Visit);
      const ends = new Map<string, number>();
      for (let step = 0; step < 12; step++) {
        const id = `${seed} ${random.below(3)}`;
        const lives = random.pick([undefined, 5_000, 60_000, 600_000]);
        // At its end itself it is still there.
        const isThere = (ends.get(id) ?? 0) >= clock();
        const values = { user: random.pick(WORDS), visits: step, ...(lives !== undefined && { lives }) };
        if (random.chance(0.1)) await visits.delete({ id });
        else if (isThere && random.chance(0.7)) await visits.update({ id }, values);
        else await visits.put({ id, token: id, ...values });
        const found = await visits.get({ id });
        if (found === null) ends.delete(id);
        else if (lives !== undefined) ends.set(id, clock() + lives);
        else if (!isThere) ends.set(id, Number.POSITIVE_INFINITY);
        await rest(db);
        clock.advance(random.pick([3, 1000, 20_000]));
      }
      // Behind the time that entries outlive their rows for the clocks' sake.
      clock.advance(5_000 + 2_000);
      await db.index(Visit, 'byUserLater').drain();
      for (let round = 0; round < 3; round++) {
        const alive = [...ends.values()].filter((end) => end > clock() + 2_000).length;
        for (const name of ['byUser', 'byToken', 'byUserLater'] as const) {
          const report = await db.index(Visit, name).verify();
          const when = `seed ${seed}, round ${round}, ${name}`;
          expect(report, when).toMatchObject({ missing: 0, extra: 0, stale: 0, unverified: 0 });
          expect(report.rows, when).toBeGreaterThanOrEqual(alive);
        }
        clock.advance(61_000);
      }
      clock.advance(700_000);
      const forever = [...ends.values()].filter((end) => end === Number.POSITIVE_INFINITY).length;
      expect(await entriesOf(db), `seed ${seed}`).toBe(3 * forever);
      await visits.deleteMany([...ends.keys()].map((id) => ({ id })));
      await db.index(Visit, 'byUserLater').drain();
      expect(await entriesOf(db), `seed ${seed}`).toBe(0);
    }
  }

  test('where one step writes rows and entries', async () => {
    const clock = settableClock(new Date(Date.UTC(2020, 0, 1)));
    await using db = await openMemory({ entities: [Visit], clock });
    await holds(db, clock, scaled(4, 60, 600));
  });

  test('where each row is a step of its own', async () => {
    const clock = settableClock(new Date(Date.UTC(2020, 0, 1)));
    await using store = await openStepless(clock);
    const { db } = await store.program(Visit);
    await holds(db, clock, scaled(1, 10, 60));
  });
});
