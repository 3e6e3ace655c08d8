/**
 * Entries that follow new rows after the answer, where one step is one row, as on HBase: programs may die at any moment, their requests
 * may arrive late, and others write the same rows, also with the three calls that upserts take, as all writes of earlier releases did.
 * Nothing is lost.
 */

import { describe, expect, test, vi } from 'vitest';
import { toBytes } from '../../src/bytes/index.js';
import type { Database } from '../../src/database.js';
import { RowMapping } from '../../src/features/rekey/jobs/row-mapping.js';
import {
  Column,
  defineEntity,
  Entity,
  Index,
  part,
  RowanError,
  RowKey,
  Table,
  text,
} from '../../src/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { LIST_QUALIFIER } from '../../src/schema/types.js';
import { Cell, CellType, Delete, Get, Put, Scan } from '../../src/table/index.js';
import { record } from '../proof/evidence.js';
import { dieAtRequests, LATER, withStore, writeAtOnce } from '../proof/follow-ups.js';
import type { Delivery } from '../proof/late.js';
import { scaled } from '../proof/scale.js';
import type { SteplessStore } from '../proof/stepless.js';
import { Random } from '../query/model/random.js';

@Table({ name: 'behind', families: { d: {} } })
class FollowedTable {}

@Entity({ table: FollowedTable })
@RowKey(part('id'))
@Index('byColor', [part('color')], { consistency: 'eventual' })
@Index('bySize', [part('size')], { consistency: 'eventual' })
class Thing {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byColor: ['color']; bySize: ['size'] };
  id!: string;
  @Column('d:c', text) color?: string | null;
  @Column('d:s', text) size?: string | null;
}

const COLORS = ['red', 'green', 'blue'];
const MANY = scaled(99, 699, 699);
const NAMES = ['byColor', 'bySize'] as const;
const SETTLED = { missing: 0, extra: 0, stale: 0, unverified: 0, pending: 0 };
const PATIENCE = { timeout: 60_000, interval: 5 };
/** Beyond the time after which late requests are not followed. */
const MUCH_LATER = 5 * 60 * 60 * 1000;

const thing = (id: string, color: string | null = 'red', size: string | null = 's') => ({ id, color, size });

/** The number of writer records. */
async function recordsOf(db: Database): Promise<number> {
  return (await db.engine.table('behind_idx').get(new Get(Uint8Array.of(1)))).cells.length;
}

async function expectExact(db: Database, when: string): Promise<void> {
  const rows = await db.repository(Thing).find({}, { fullScan: true }).all();
  for (const color of COLORS) {
    const found = await db.repository(Thing).by('byColor').find({ color }).all();
    const wanted = rows.filter((row) => row.color === color).map(({ id }) => id);
    expect(found.map(({ id }) => id).sort(), `${when}: ${color}`).toEqual(wanted);
  }
  for (const name of NAMES) expect(await db.index(Thing, name).verify(), when).toMatchObject(SETTLED);
}

async function drain(db: Database): Promise<void> {
  for (const name of NAMES) await db.index(Thing, name).drain();
}

/** Resolves when what follows the answers of a program has ended, or the program has. */
async function followed(db: Database): Promise<void> {
  for (;;) {
    const waiting = (await db.backlog()).filter(({ name }) =>
      /^rowan\.index\.(pending|unverified)$/.test(name),
    );
    if (waiting.every(({ value }) => value === 0)) return;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** Nothing that lacks is called anything but pending, and drained it is exact. */
async function expectNothingLost(db: Database, when: string): Promise<number> {
  let pending = 0;
  for (const name of NAMES) {
    const report = await db.index(Thing, name).verify();
    expect(report, when).toMatchObject({ missing: 0, extra: 0, stale: 0 });
    pending += report.pending;
  }
  await drain(db);
  await expectExact(db, when);
  return pending;
}

/** The short size takes each 17th request, beginning with another for each write, in one way of arriving. */
const STRIDE = scaled(17, 1, 1);

type Write = (db: Database) => Promise<unknown>;
/** Of the row `old`, and of rows that are not there. */
const WRITES: Readonly<Record<string, Write>> = {
  put: (db) => db.repository(Thing).put(thing('a', 'blue')),
  insert: (db) => db.repository(Thing).insert(thing('a', 'blue')),
  'putMany of new rows': (db) =>
    db.repository(Thing).putMany([thing('a'), thing('b', 'blue', null), thing('c', null)]),
  'putMany of new and other rows': (db) =>
    db.repository(Thing).putMany([thing('a'), thing('old', 'green', 'l')]),
  'put of a row that is there': (db) => db.repository(Thing).put(thing('old', 'green', 'l')),
  'upsert, then put': async (db) => {
    await db.repository(Thing).upsert({ id: 'a' }, { color: 'green', size: 'l' });
    await db.repository(Thing).put(thing('a', 'blue'));
  },
  update: (db) => db.repository(Thing).update({ id: 'old' }, { color: 'blue' }),
  delete: (db) => db.repository(Thing).delete({ id: 'old' }),
};

/** Puts the row `old`, by a program that has ended in good order: no record of it leads to the rows of others. */
async function prepare(store: SteplessStore): Promise<void> {
  const { db } = await store.program(Thing);
  await db.repository(Thing).put(thing('old'));
  await db.close();
}

describe('entries behind new rows', () => {
  test('are written without anybody asking for it, and leave no record', () =>
    withStore(async (store) => {
      const { db } = await store.program(Thing);
      const things = db.repository(Thing);
      await things.put(thing('a'));
      await things.insert(thing('b', 'green'));
      await expect(things.insert(thing('b', 'blue'))).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
      await things.putMany(Array.from({ length: MANY }, (_, i) => thing(`m${i}`, COLORS[i % 3])));
      while ((await things.by('byColor').find({ color: 'red' }).count()) < 1 + MANY / 3)
        await new Promise((resolve) => setTimeout(resolve, 5));
      await things.put(thing('a', 'blue'));
      await followed(db);
      await expectExact(db, 'followed');
      const found = (await db.backlog()).find(({ name }) => name === 'rowan.index.pending');
      expect(found).toMatchObject({ value: 0 });
      expect(await recordsOf(db)).toBe(1);
      const other = await store.program(Thing);
      await db.close();
      expect(await recordsOf(other.db)).toBe(0);
    }));

  test.each(Object.keys(WRITES))('a program may die at any request of %s: nothing is lost', async (name) => {
    let pending = 0;
    const deaths = await dieAtRequests(
      {
        entity: Thing,
        prepare,
        write: WRITES[name]!,
        // What follows the answer may be cut off, too.
        settled: followed,
        check: async (other, when) => {
          pending += await expectNothingLost(other, `${name}, ${when}`);
        },
      },
      Object.keys(WRITES).indexOf(name) % STRIDE,
      STRIDE,
    );
    expect(deaths).toBeGreaterThan(scaled(0, 4, 4));
    if (STRIDE === 1) expect(pending).toBeGreaterThan(0);
    record('entries-follow-ups', { 'programs that ended': deaths });
  });

  test('no row is written before the record that leads to it is stored', () =>
    withStore(async (store) => {
      const { db: other } = await store.program(Thing);
      const { db, requests } = await store.late(Thing);
      requests.keep(0, 'late');
      await expect(db.repository(Thing).put(thing('a'))).rejects.toMatchObject({ code: 'ERR_TIMEOUT' });
      expect(await recordsOf(other)).toBe(0);
      expect(await other.repository(Thing).get({ id: 'a' })).toBeNull();
      await db.repository(Thing).put(thing('a'));
      expect(await recordsOf(other)).toBe(1);
    }));

  test('a program that opens later works off what a dead one left, and in the end its record', () =>
    withStore(async (store, goOn) => {
      const { db, mortal } = await store.program(Thing);
      mortal.dieAfter(3);
      await db
        .repository(Thing)
        .put(thing('a'))
        .catch(() => undefined);
      await mortal.arrived();
      goOn(LATER);
      const second = await store.program(Thing);
      const red = () => second.db.repository(Thing).by('byColor').find({ color: 'red' });
      await expect.poll(() => red().count(), PATIENCE).toBe(1);
      expect(await recordsOf(second.db)).toBe(1);
      goOn(MUCH_LATER);
      const third = await store.program(Thing);
      await expect.poll(() => recordsOf(third.db), PATIENCE).toBe(0);
      await expectExact(third.db, 'over');
    }));

  const DELIVERIES: readonly Delivery[] = ['late', 'last', 'twice'];
  const LATE = ['put', 'insert', 'putMany of new rows', 'put of a row that is there'].flatMap((name, i) =>
    DELIVERIES.filter((_, j) => scaled((i + j) % 3 === 0, true, true)).map((mode) => ({ name, mode })),
  );
  test.each(LATE)('$name: any change arrives $mode', async ({ name, mode }) => {
    for (let n = DELIVERIES.indexOf(mode); ; n += STRIDE) {
      const when = `${name}, change ${n} ${mode}`;
      const hasKept = await withStore(async (store, goOn) => {
        await prepare(store);
        const { db: other } = await store.program(Thing);
        const { db, requests } = await store.late(Thing);
        requests.keep(n, mode);
        await WRITES[name]!(db).catch((error: { code?: string }) =>
          expect(error.code, when).toBe('ERR_TIMEOUT'),
        );
        await followed(db);
        // A program removes its record only if no request can arrive late.
        await db.close();
        if (!requests.hasKept) return false;
        goOn(LATER);
        await expectNothingLost(other, `${when}, before`);
        // A put that was answered and arrives once more, as no client sends it, is not told from a new one (docs/hbase-calls.md).
        if (mode !== 'twice')
          for (const id of ['a', 'old'])
            await other.repository(Thing).upsert({ id }, { color: 'green', size: 'm' });
        goOn(LATER);
        await requests.deliver();
        goOn(LATER);
        await drain(other);
        await expectExact(other, when);
        return true;
      });
      if (!hasKept) break;
      record('entries-follow-ups', { 'requests that arrived late or twice': 1 });
      expect(n).toBeLessThan(80);
    }
  });

  test('are drained by a program that may make no table for the record of a job', () =>
    withStore(async (store, goOn) => {
      const { db } = await store.program(Thing);
      await db.repository(Thing).put(thing('a'));
      await followed(db);
      const entries = db.engine.table('behind_idx');
      for await (const { row, cells } of entries.scan(new Scan().withStartRow(Uint8Array.of(2)))) {
        const { family, qualifier, value } = cells[0]!;
        const unverified = Uint8Array.of(2, ...new Uint8Array(8), ...value.subarray(1));
        await entries.put(new Put(row).addColumn(family, qualifier, unverified));
      }
      goOn(LATER);
      const refused = new RowanError('ERR_SECURITY', 'No right to create tables.');
      vi.spyOn(db.engine.admin, 'createTable').mockRejectedValue(refused);
      expect(await db.index(Thing, 'byColor').verify()).toMatchObject({ ...SETTLED, pending: 1 });
      expect(await db.index(Thing, 'byColor').drain()).toBe(1);
      expect(await db.index(Thing, 'byColor').verify()).toMatchObject(SETTLED);
      vi.restoreAllMocks();
    }));

  test('programs that write the same rows at once, and die, leave exact entries', async () => {
    for (let seed = 1; seed <= scaled(1, 12, 400); seed++) {
      await withStore(async (...store) => {
        const random = new Random(seed);
        const write = async (db: Database): Promise<void> => {
          const things = db.repository(Thing);
          const id = `r${random.below(4)}`;
          const color = random.pick([...COLORS, null]);
          const size = random.pick(['s', 'l', null]);
          const kind = random.below(7);
          if (kind < 2) await things.put(thing(id, color, size));
          else if (kind === 2) await things.insert(thing(id, color, size));
          else if (kind === 3) await things.update({ id }, { color });
          else if (kind === 4) await things.delete({ id });
          else if (kind === 5) await things.upsert({ id }, { color, size });
          else await things.putMany([thing(id, color, size), thing(`n${random.below(9)}`, color)]);
        };
        const other = await writeAtOnce(store, Thing, random, write, followed);
        await followed(other);
        await drain(other);
        await expectExact(other, `seed ${seed}`);
      });
    }
  });
});

@Entity({ table: { name: 'listed', families: { d: {}, e: {} } }, marker: 'd' })
@RowKey(part('id'))
@Index('byColor', [part('color')], { consistency: 'eventual' })
@Index('bySize', [part('size'), part('age')], { consistency: 'eventual' })
@Index('byKind', [part('kind')], { consistency: 'eventual', where: { kind: 'k' }, include: ['note'] })
class Listed {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byColor: ['color']; bySize: ['size', 'age']; byKind: ['kind'] };
  id!: string;
  @Column('e:c', text) color?: string | null;
  @Column('d:s', text) size?: string | null;
  @Column('d:a', text) age?: string | null;
  @Column('d:k', text) kind?: string | null;
  @Column('d:n', text) note?: string | null;
}

/** As {@link Listed} before it had further indexes. */
@Entity({ name: 'Listed', table: { name: 'listed', families: { d: {}, e: {} } }, marker: 'd' })
@RowKey(part('id'))
@Index('byColor', [part('color')], { consistency: 'eventual' })
class Older {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byColor: ['color'] };
  id!: string;
  @Column('e:c', text) color?: string | null;
  @Column('d:s', text) size?: string | null;
  @Column('d:a', text) age?: string | null;
}

const ALL = ['byColor', 'bySize', 'byKind'] as const;

async function expectListedExact(db: Database) {
  for (const name of ALL) await db.index(Listed, name).drain();
  for (const name of ALL)
    expect(await db.index(Listed, name).verify(), name).toMatchObject({ ...SETTLED, rows: 1 });
}

describe('entries listed beside rows', () => {
  const ROW = { id: 'a', color: 'red', size: 's', age: 'x', kind: 'k', note: 'n' };

  test('let a put be one call, over a row that is there too', () =>
    withStore(async (store) => {
      const { db, requests } = await store.late(Listed);
      const listed = db.repository(Listed);
      await listed.put(ROW);
      requests.keep(Number.POSITIVE_INFINITY, 'late');
      await listed.put({ ...ROW, color: 'blue' });
      await listed.put({ ...ROW, color: 'green' });
      await listed.put({ id: 'a', color: 'red' });
      // Entries follow later.
      expect(requests.sent).toBe(3);
      await expectListedExact(db);
      // With what it leaves it may be a value that no entry can hold, so the row is read.
      requests.keep(Number.POSITIVE_INFINITY, 'late');
      await listed.put({ id: 'a', size: 'l' });
      expect(requests.sent).toBeGreaterThan(1);
      const long = 'x'.repeat(20_000);
      await listed.put({ id: 'a', size: long });
      await expect(listed.put({ id: 'a', age: long })).rejects.toMatchObject({ code: 'ERR_KEY' });
      await expectListedExact(db);
    }));

  test.each<readonly [string, (db: Database) => Promise<unknown>]>([
    ['update', (db) => db.repository(Listed).update({ id: 'a' }, { color: 'green' })],
    ['replace', (db) => db.repository(Listed).replace({ ...ROW, color: 'green' }, { unknown: 'remove' })],
    ['delete', (db) => db.repository(Listed).delete({ id: 'a' })],
    ['repair', (db) => db.index(Listed, 'bySize').repair()],
    ['an older put', (db) => db.repository(Listed).put({ id: 'a', color: 'green' }, { timestamp: 5 })],
  ])('are all known after %s', (_, write) =>
    withStore(async (store) => {
      const { db } = await store.program(Listed);
      await db.repository(Listed).put(ROW);
      await expectListedExact(db);
      await write(db);
      for (const color of ['blue', 'red', 'blue']) {
        await db.repository(Listed).put({ ...ROW, color });
        await expectListedExact(db);
      }
    }),
  );

  test.each<readonly [string, Partial<typeof ROW>]>([
    ['other entries', { color: 'blue', size: 'm', age: 'y' }],
    ['an entry less', { kind: 'l' }],
    ['an entry with another value', { note: 'm' }],
  ])('follow a put that leaves the row with %s, also of a dead program', (_, patch) =>
    withStore(async (store, goOn) => {
      const { db } = await store.program(Listed);
      await db.repository(Listed).put(ROW);
      await expectListedExact(db);
      await db.repository(Listed).put({ id: 'a', ...patch });
      await followed(db);
      for (const name of ALL) expect(await db.index(Listed, name).verify(), name).toMatchObject(SETTLED);
      await db.repository(Listed).put(ROW);
      await expectListedExact(db);
      await db.close();
      const { db: dying, mortal } = await store.program(Listed);
      await dying.repository(Listed).put({ id: 'a', ...patch });
      // Before anything follows.
      mortal.dieAfter(0);
      await followed(dying);
      expect(mortal.isDead).toBe(true);
      // Nobody takes over yet.
      const { db: other } = await store.program(Listed);
      let pending = 0;
      for (const name of ALL) {
        const report = await other.index(Listed, name).verify();
        expect(report, name).toMatchObject({ missing: 0, extra: 0, stale: 0 });
        pending += report.pending;
      }
      expect(pending).toBeGreaterThan(0);
      goOn(LATER);
      await expectListedExact(other);
    }),
  );

  test('stay listed where a program that does not declare their index writes the row', () =>
    withStore(async (store) => {
      const { db } = await store.program(Listed);
      await db.repository(Listed).put(ROW);
      await expectListedExact(db);
      await db.close();
      const older = await store.program(Older);
      await older.db.repository(Older).put({ id: 'a', color: 'blue', size: 'l' });
      await older.db.repository(Older).update({ id: 'a' }, { color: 'green' });
      await older.db.index(Older, 'byColor').drain();
      await older.db.close();
      const { db: later } = await store.program(Listed);
      await later.repository(Listed).put({ ...ROW, size: 'm' });
      await expectListedExact(later);
    }));

  test('are not trusted where an earlier release may have written, until the index is dropped and built', () =>
    withStore(async (store) => {
      const { db } = await store.program(Listed);
      const { admin } = db.engine;
      await db.repository(Listed).put(ROW);
      await expectListedExact(db);
      const table = await admin.getDescriptor('listed_idx');
      const unlisted = Object.entries(table.metadata).map(([name, text]) => {
        const { listed: _, ...stamp } = JSON.parse(text) as Record<string, unknown>;
        return [name, name.startsWith('rowan.index.') ? JSON.stringify(stamp) : text];
      });
      await admin.modifyTable({ ...table, metadata: Object.fromEntries(unlisted) });
      await db.engine.table('listed').delete(new Delete(toBytes('a')).addColumns('d', LIST_QUALIFIER));
      await db.close();
      const { db: later, requests } = await store.late(Listed);
      await later.repository(Listed).put({ ...ROW, color: 'blue' });
      await expectListedExact(later);
      for (const name of ALL) {
        await later.index(Listed, name).drop();
        await later.index(Listed, name).build();
      }
      await expectListedExact(later);
      requests.keep(Number.POSITIVE_INFINITY, 'late');
      await later.repository(Listed).put({ ...ROW, color: 'green' });
      expect(requests.sent).toBe(1);
      await expectListedExact(later);
    }));

  test('are not copied to rows with other keys', () => {
    const schema = compileSchema([Listed, Thing]);
    const mapping = new RowMapping(schema.entity(Listed), schema.entity(Thing));
    const cells = ['d:s', 'd:_x', 'd:_e'].map((column) => {
      const [family, qualifier] = column.split(':') as [string, string];
      return new Cell(toBytes('a'), family, toBytes(qualifier), 5, CellType.Put, toBytes('v'));
    });
    const copied = mapping.cellsOf(toBytes('a'), toBytes('b'), cells);
    expect(copied.map(({ qualifier }) => Buffer.from(qualifier).toString())).toEqual(['s', '_x']);
  });

  test('need their place beside the marker', () =>
    withStore(async (store) => {
      const Taken = defineEntity({
        name: 'Taken',
        table: { name: 'taken', families: { d: {} } },
        key: [part('id')],
        columns: (c) => ({ color: c.column('d:_e', text) }),
        indexes: { byColor: { on: [part('color')], consistency: 'eventual' } },
      });
      await expect(store.program(Taken)).rejects.toThrow(/Taken\.color.*"d:_e"/s);
    }));
});
