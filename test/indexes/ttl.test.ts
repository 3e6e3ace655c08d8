/** Rows and columns that end by themselves: no index misses what is still there, or gives what is not; entries end too. */

import { expect, test } from 'vitest';
import {
  Column,
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
import { openMemory, settableClock } from '../../src/testing/index.js';
import { scaled } from '../proof/scale.js';
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
      const idsThat = (meets: (life: Life) => boolean): string[] =>
        all
          .filter(meets)
          .map(({ id }) => id)
          .sort();
      const found = async (query: { all(): Promise<readonly { id: string }[]> }): Promise<string[]> =>
        (await query.all()).map(({ id }) => id).sort();
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
      const idsThat = (meets: (one: Brief) => boolean): string[] =>
        all
          .filter(meets)
          .map(({ id }) => id)
          .sort();
      const found = async (query: { all(): Promise<readonly { id: string }[]> }): Promise<string[]> =>
        (await query.all()).map(({ id }) => id).sort();
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
