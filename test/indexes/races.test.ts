/** Many writers at once, and losses of power: no reader is told wrong, a unique value has one owner, verify finds nothing. */

import { expect, test } from 'vitest';
import type { Repository } from '../../src/repository/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { openMemory } from '../../src/testing/index.js';
import { scaled } from '../proof/scale.js';
import { Random } from '../query/model/random.js';
import { Person } from './entities.js';

const NAMES = ['byEmail', 'byStatus', 'openByTotal', 'byTag', 'byMember', 'spread'] as const;
const WELL = { missing: 0, extra: 0, stale: 0, unverified: 0 };
const STATUS = ['open', 'sent', 'gone'] as const;

test('exactly one writer wins each race for a unique value', async () => {
  await using db = await openMemory({ entities: [Person] });
  const people = db.repository(Person);
  for (let race = 0; race < scaled(25, 1000, 1000); race++) {
    const email = `race${race}@x`;
    const outcomes = await Promise.allSettled([
      people.insert({ id: `a${race}`, email }),
      people.put({ id: `b${race}`, email }),
      people.batch((batch) => batch.put({ id: `c${race}`, email }), { atomic: true }),
      people.upsert({ id: `d${race}`, email }, { email }),
    ]);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await people.by('byEmail').find({ email }).count()).toBe(1);
  }
  expect(await db.index(Person, 'byEmail').verify()).toMatchObject(WELL);
});

test('with writers killed in between a value has one owner at the most: whoever was told that he won, and nobody else wins it later', async () => {
  const random = new Random(17);
  let image: MemoryFileSystem | undefined;
  let operations = Number.POSITIVE_INFINITY;
  let disk = new MemoryFileSystem();
  const onOperation = (): void => {
    if (image !== undefined || --operations > 0) return;
    image = disk.crash(
      { keepUnsynced: random.pick([0, 0.5, 1]), random: () => random.next() },
      { onOperation },
    );
  };
  disk = new MemoryFileSystem({ onOperation });
  let db = await openMemory({ entities: [Person], disk });
  let kills = 0;
  for (let race = 0; race < scaled(30, 1000, 1000); race++) {
    const email = `race${race}@x`;
    const people = db.repository(Person);
    if (random.chance(scaled(0.3, 0.2, 0.2))) operations = 1 + random.below(6);
    const told: string[] = [];
    const attempt = async (id: string, write: Promise<unknown>): Promise<void> => {
      await write;
      // A program that is dead tells nobody.
      if (image === undefined) told.push(id);
    };
    const ids = ['a', 'b', 'c', 'd'].map((name) => `${name}${race}`) as [string, string, string, string];
    const outcomes = await Promise.allSettled([
      attempt(ids[0], people.insert({ id: ids[0], email })),
      attempt(ids[1], people.put({ id: ids[1], email })),
      attempt(
        ids[2],
        people.batch((batch) => batch.put({ id: ids[2], email }), { atomic: true }),
      ),
      attempt(ids[3], people.upsert({ id: ids[3], email }, { email })),
    ]);
    operations = Number.POSITIVE_INFINITY;
    if (image === undefined) {
      expect(
        outcomes.filter(({ status }) => status === 'fulfilled'),
        email,
      ).toHaveLength(1);
      continue;
    }
    kills++;
    await db.close();
    disk = image;
    image = undefined;
    db = await openMemory({ entities: [Person], disk });
    const after = db.repository(Person);
    const owners = await after.by('byEmail').find({ email }).all();
    expect(owners.length, email).toBeLessThanOrEqual(1);
    for (const id of told) expect(owners, email).toMatchObject([{ id }]);
    const late = await Promise.allSettled([
      after.insert({ id: `e${race}`, email }),
      after.insert({ id: `f${race}`, email }),
    ]);
    expect(
      late.filter(({ status }) => status === 'fulfilled'),
      email,
    ).toHaveLength(1 - owners.length);
    const rows = await after.getMany([...ids, `e${race}`, `f${race}`].map((id) => ({ id })));
    expect(
      rows.filter((row) => row !== null),
      email,
    ).toHaveLength(1);
  }
  expect(kills).toBeGreaterThan(scaled(2, 50, 50));
  expect(await db.index(Person, 'byEmail').verify()).toMatchObject(WELL);
  await db.close();
});

test('16 writers change the indexed columns of 100 rows while readers ask: no row that does not match, none missing that stays', async () => {
  await using db = await openMemory({ entities: [Person] });
  const people = db.repository(Person);
  await people.putMany([{ id: 'stable', status: 'open', placedAt: new Date(7), total: 7 }]);
  let writing = true;
  const write = async (writer: number): Promise<void> => {
    const random = new Random(writer + 1);
    for (let i = 0; i < scaled(12, 150, 20_000); i++) {
      const id = `p${random.below(100)}`;
      const change = {
        status: random.pick(STATUS),
        placedAt: new Date(random.below(50)),
        total: random.below(9),
      };
      if (random.chance(0.1)) await people.delete({ id });
      else if (random.chance(0.5)) await people.put({ id, ...change });
      else await people.upsert({ id, ...change }, change);
    }
  };
  const read = async (): Promise<void> => {
    while (writing) {
      const open = await people.by('byStatus').find({ status: 'open' }).all();
      expect(open.every(({ status }) => status === 'open')).toBe(true);
      expect(open.some(({ id }) => id === 'stable')).toBe(true);
      const one = people.by('byStatus').find({ status: 'open', placedAt: new Date(7) });
      expect(await one.first()).toMatchObject({ status: 'open', placedAt: new Date(7) });
      expect((await one.select('total').first())?.total).toBeTypeOf('number');
      const covered = await people
        .find({})
        .where({ status: 'open', placedAt: new Date(7) })
        .select('total')
        .all();
      expect(covered.some(({ id, total }) => id === 'stable' && total === 7)).toBe(true);
      const small = await people
        .find({})
        .where({ status: 'open', total: { lt: 8 } })
        .all();
      expect(small.every(({ status, total }) => status === 'open' && total! < 8)).toBe(true);
      expect(small.some(({ id }) => id === 'stable')).toBe(true);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const readers = [read(), read()];
  await Promise.all(Array.from({ length: 16 }, (_, writer) => write(writer)));
  writing = false;
  await Promise.all(readers);
  for (const name of NAMES) expect(await db.index(Person, name).verify()).toMatchObject(WELL);
});

/** Every index answers what a scan of the rows says, entries alone and with their rows. */
async function expectTrueAnswers(people: Repository<typeof Person>, when: string): Promise<void> {
  const rows = await people.find({}, { fullScan: true }).all();
  const idsOf = (found: readonly { readonly id: string }[]): string[] => found.map(({ id }) => id).sort();
  const rowsThat = (meets: (row: Person) => boolean): string[] => idsOf(rows.filter(meets));
  for (let e = 0; e < 5; e++) {
    const email = `e${e}`;
    const owners = rowsThat((row) => row.email === email);
    expect(owners.length, when).toBeLessThanOrEqual(1);
    expect(idsOf(await people.by('byEmail').find({ email }).all()), when).toEqual(owners);
  }
  for (const status of STATUS) {
    const wanted = rowsThat((row) => row.status === status && row.placedAt instanceof Date);
    expect(idsOf(await people.by('byStatus').find({ status }).all()), when).toEqual(wanted);
    expect(idsOf(await people.by('byStatus').find({ status }).select('total').all()), when).toEqual(wanted);
    expect(idsOf(await people.by('spread').find({ status }).all()), when).toEqual(
      rowsThat((row) => row.status === status),
    );
  }
  for (const tag of ['x', 't0', 't1', 't2', 't3']) {
    const wanted = rowsThat(({ tags }) => tags?.includes(tag) === true);
    expect(idsOf(await people.by('byTag').find({ tags: tag }).all()), when).toEqual(wanted);
  }
}

test('after a loss of power at any operation on a file rows and entries say the same, and queries what the rows say', async () => {
  let crashes = 0;
  for (let seed = 1; seed <= scaled(1, 2, 60); seed++) {
    const random = new Random(seed);
    const left: MemoryFileSystem[] = [];
    let watching = false;
    const disk: MemoryFileSystem = new MemoryFileSystem({
      onOperation: () => {
        if (!watching || !random.chance(scaled(0.06, 0.5, 1))) return;
        const keepUnsynced = random.pick([0, 0.5, 1]);
        left.push(disk.crash({ keepUnsynced, random: () => random.next() }));
      },
    });
    const db = await openMemory({ entities: [Person], disk });
    const people = db.repository(Person);
    watching = true;
    const writes: Promise<unknown>[] = [];
    for (let i = 0; i < 24; i++) {
      const id = `p${random.below(6)}`;
      const row = {
        id,
        email: `e${random.below(5)}`,
        status: random.pick(STATUS),
        placedAt: new Date(random.below(50)),
        tags: ['x', `t${random.below(4)}`],
      };
      writes.push(random.chance(0.2) ? people.delete({ id }) : people.put(row));
      if (random.chance(0.4)) await Promise.allSettled(writes);
      if (random.chance(0.1)) await db.admin.flush(random.pick(['shop:people', 'shop:people_idx']));
    }
    await Promise.allSettled(writes);
    watching = false;
    await db.close();
    for (const found of left) {
      crashes++;
      await using after = await openMemory({ entities: [Person], disk: found });
      await expectTrueAnswers(after.repository(Person), `seed ${seed}, crash ${crashes}`);
      for (const name of NAMES) {
        expect(await after.index(Person, name).verify(), `seed ${seed}, crash ${crashes}`).toMatchObject(
          WELL,
        );
      }
    }
  }
  expect(crashes).toBeGreaterThan(2);
});
