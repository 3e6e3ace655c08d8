/** Indexes that come later, are left out for a while, and go wrong: states, build, verify, repair, drop. */

import { describe, expect, test } from 'vitest';
import { int32, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { defineEntity, defineTable, part } from '../../src/index.js';
import type { JobRunOptions } from '../../src/job/index.js';
import { Delete, Put, Scan } from '../../src/table/index.js';
import { MemoryFileSystem as Disk } from '../../src/testing/fs/memory-fs.js';
import { type MemoryFileSystem, openMemory } from '../../src/testing/index.js';
import { seededRandom } from '../crash/seeded-random.js';
import { scaled } from '../proof/scale.js';
import { openStepless } from '../proof/stepless.js';
import { fillPlain, Plain, Thing } from './things.js';

/** Of an index that is built beside writers. */
const ROWS = scaled(900, 3000, 3000);
/** Of indexes that are verified in two ways. */
const COMPARED = scaled(120, 300, 300);

const openPlain = (disk: MemoryFileSystem) => openMemory({ entities: [Plain], disk });
const openThing = (disk: MemoryFileSystem) => openMemory({ entities: [Thing], disk });

/** Begins to build byColor, or goes on, and stops when more entries stand there and a checkpoint says so. */
async function cutOff(db: Database, entity: typeof Thing = Thing): Promise<void> {
  const stop = new AbortController();
  const table = db.repository(entity).schema.table.descriptor.name;
  const steps = { parallel: 1, batchRows: 10, checkpointRows: 10 };
  const entries = async () => (await db.engine.table(`${table}_idx`).scan(new Scan()).nextBatch(1000)).length;
  const before = await entries();
  const build = db.index(entity, 'byColor').build({ ...steps, signal: stop.signal });
  const ended = expect(build).rejects.toThrow();
  while ((await entries()) < before + 50) await new Promise((resolve) => setImmediate(resolve));
  stop.abort();
  await ended;
}

function signal(): [given: Promise<void>, give: () => void] {
  let give: () => void;
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return [given, () => give()];
}

describe('the life of an index', () => {
  test('a build does not go on where one over another table, of an entity of the same name, was cut off', async () => {
    const disk = new Disk();
    const overTable = (table: string, indexes: Parameters<typeof defineEntity>[0]['indexes']) =>
      defineEntity({
        name: 'Thing',
        table: defineTable({ name: table, families: { d: {} } }),
        key: [part('id')],
        columns: (c) => ({ color: c.column('d:c', text) }),
        indexes: indexes ?? {},
      }) as unknown as typeof Thing;
    const tables = ['first', 'second'];
    for (const table of tables) {
      const plain = overTable(table, {});
      await using db = await openMemory({ entities: [plain], disk });
      const rows = Array.from({ length: 400 }, (_, i) => ({ id: `${i}`.padStart(3, '0'), color: 'red' }));
      await db.repository(plain).putMany(rows as never);
    }
    const [first, second] = tables.map((table) => overTable(table, { byColor: { on: [part('color')] } }));
    {
      await using db = await openMemory({ entities: [first!], disk });
      await cutOff(db, first);
    }
    await using db = await openMemory({ entities: [second!], disk });
    await db.index(second!, 'byColor').build();
    expect(await db.index(second!, 'byColor').verify()).toMatchObject({ rows: 400, valid: 400, missing: 0 });
  });

  test('declared when there are rows it is kept, but not asked before it is built; rows may be written meanwhile', async () => {
    const disk = new Disk();
    {
      await using db = await openPlain(disk);
      await fillPlain(db, 0, ROWS);
    }
    await using db = await openThing(disk);
    const things = db.repository(Thing);
    expect(db.index(Thing, 'byColor').state).toBe('building');
    await expect(things.by('byColor').find({ color: 'red' }).all()).rejects.toThrow(
      /does not have every row yet/,
    );
    await expect(things.find({}).where({ color: 'red' }).all()).rejects.toThrow(/byColor is building/);
    let writing = true;
    const writes = (async () => {
      for (let i = 0; writing; i += 8) {
        const some = Array.from({ length: 8 }, (_, n) =>
          n % 2
            ? things.delete({ id: `t${((i + n) * 11) % (ROWS / 6)}` })
            : things.put({ id: `t${((i + n) * 7) % ROWS}`, color: n % 4 ? 'green' : null }),
        );
        await Promise.all(some);
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    await db.index(Thing, 'byColor').build({ batchRows: 50 });
    await db.index(Thing, 'bySize').build({ batchRows: 50 });
    writing = false;
    await writes;
    expect(db.index(Thing, 'byColor').state).toBe('active');
    for (const name of ['byColor', 'bySize'] as const) {
      const report = await db.index(Thing, name).verify();
      expect(report).toMatchObject({ missing: 0, extra: 0, stale: 0 });
      expect(report.valid).toBeGreaterThan(ROWS / 3);
    }
    const red = await things.find({}, { fullScan: true }).where({ color: 'red' }).all();
    const found = await things.by('byColor').find({ color: 'red' }).all();
    expect(found.map(({ id }) => id).sort()).toEqual(red.map(({ id }) => id).sort());
  });

  test('an index that is built anew has what a transaction had written before and commits meanwhile', async () => {
    // Until the commit comes before the end of the build, as it nearly always does.
    for (let hit = false; !hit; ) {
      await using db = await openThing(new Disk());
      const things = db.repository(Thing);
      await things.putMany(Array.from({ length: 150 }, (_, i) => ({ id: `t${i}`, color: 'red', size: i })));
      const [written, write] = signal();
      const [begun, begin] = signal();
      const committed = db.transaction(
        async (tx) => {
          // The entry stays, and holds another value.
          await tx.repository(Thing).put({ id: 't98', color: 'red', size: 1000 });
          write();
          await begun;
        },
        { timeout: 300_000 },
      );
      await written;
      const end = db.engine.observe('things_idx', {
        before() {
          begin();
          return undefined;
        },
      });
      let built = false;
      const build = db.index(Thing, 'byColor').build({ parallel: 1, batchRows: 10, checkpointRows: 10 });
      const done = build.then(() => {
        built = true;
      });
      await committed;
      hit = !built;
      await done;
      end();
      const report = await db.index(Thing, 'byColor').verify();
      expect(report).toMatchObject({ valid: 150, missing: 0, extra: 0, stale: 0 });
    }
  });

  test('a build that loses its power anywhere goes on behind what is on the disk, and lacks nothing', async () => {
    const images: Disk[] = [];
    let watched = false;
    const disk = new Disk({
      onOperation: () => {
        const keepUnsynced = [0, 0.5, 1][images.length % 3]!;
        if (watched) images.push(disk.crash({ keepUnsynced, random: seededRandom(images.length) }));
      },
    });
    {
      await using db = await openPlain(disk);
      await fillPlain(db, 0, 60);
    }
    {
      await using db = await openThing(disk);
      watched = true;
      await db.index(Thing, 'byColor').build({ parallel: 1, batchRows: 4, checkpointRows: 8 });
      watched = false;
    }
    expect(images.length).toBeGreaterThan(20);
    const each = scaled(16, 1, 1);
    for (const image of images.filter((_, i) => i % each === 0)) {
      await using db = await openThing(image);
      const index = db.index(Thing, 'byColor');
      if (index.state !== 'active') await index.build({ batchRows: 4 });
      expect(await index.verify()).toMatchObject({ valid: 60, missing: 0, extra: 0, stale: 0 });
    }
  });

  test('what a program that does not know it has written disables it, and a build mends it', async () => {
    const disk = new Disk();
    {
      await using db = await openThing(disk);
      expect(db.index(Thing, 'byColor').state).toBe('active');
      await db.repository(Thing).put({ id: 'a', color: 'red', size: 1 });
    }
    await expect(openMemory({ entities: [Plain], disk, tables: 'verify' })).rejects.toThrow(
      /is not declared as it was built/,
    );
    {
      await using db = await openPlain(disk);
      await db.repository(Plain).put({ id: 'a', color: 'blue', size: 2 });
      await db.repository(Plain).put({ id: 'b', color: 'red', size: 3 });
    }
    await using db = await openThing(disk);
    const things = db.repository(Thing);
    expect(db.index(Thing, 'byColor').state).toBe('disabled');
    await expect(things.by('byColor').find({ color: 'red' }).all()).rejects.toThrow(/does not know it/);
    await db.index(Thing, 'byColor').build();
    expect(await db.index(Thing, 'byColor').verify()).toMatchObject({
      valid: 2,
      missing: 0,
      extra: 0,
      stale: 0,
    });
    expect(await things.by('byColor').find({ color: 'red' }).all()).toEqual([
      { id: 'b', color: 'red', size: 3 },
    ]);
  });

  test('verify counts what is off, in both directions; repair mends it, and then changes nothing', async () => {
    await using db = await openThing(new Disk());
    const things = db.repository(Thing);
    for (let i = 0; i < 50; i++) await things.put({ id: `t${i}`, color: 'red', size: i });
    const raw = db.engine.table('things_idx');
    const rows = await raw.scan(new Scan()).nextBatch(1000);
    expect(rows).toHaveLength(100);
    const { id } = db.repository(Thing).schema.indexes[0]!;
    const own = rows.filter(({ row }) => Buffer.compare(row.subarray(0, 4), id) === 0);
    // One entry gone, one of another value, one of a row that says something else, one of no row.
    await raw.delete(new Delete(own[3]!.row));
    const wrong = Uint8Array.of(1, 0);
    await raw.put(new Put(own[5]!.row).addColumn('i', '_', wrong));
    const { layout } = db.repository(Thing).schema.indexes[0]!;
    const entry = (color: string, row: string) =>
      new Put(layout.encode({ color, $row: Buffer.from(row) })).addColumn('i', '_', wrong);
    await raw.put(entry('blue', 't7'));
    await raw.put(entry('red', 'nobody'));
    const off = {
      rows: 50,
      valid: 48,
      missing: 1,
      stale: 2,
      extra: 1,
      unverified: 0,
      beyondTtl: 0,
      pending: 0,
      shared: [],
    };
    const index = db.index(Thing, 'byColor');
    expect(await index.verify()).toEqual({ ...off, repaired: 0 });
    expect((await things.by('byColor').find({ color: 'blue' }).all()).length).toBe(0);
    expect(await index.repair()).toEqual({ ...off, repaired: 4 });
    const well = { ...off, valid: 50, missing: 0, stale: 0, extra: 0, repaired: 0 };
    expect(await index.repair()).toEqual(well);
    expect(await index.verify()).toEqual(well);
    const part = await index.verify({ sample: 0.4 });
    expect(part.rows).toBeGreaterThan(5);
    expect(part.rows).toBeLessThan(40);
    await expect(async () => index.verify({ sample: 2 })).rejects.toThrow(/sample is a share/);
  });

  test('verify by digests reports what comparing all rows and entries does, whatever is off', async () => {
    await using db = await openThing(new Disk());
    const random = seededRandom(34);
    const among = (count: number): number => Math.floor(random() * count);
    const things = db.repository(Thing);
    await things.putMany(
      Array.from({ length: COMPARED }, (_, i) => ({ id: `t${i}`, color: `c${i % 7}`, size: i })),
    );
    const [data, stored] = [db.engine.table('things'), db.engine.table('things_idx')];
    const [byColor] = things.schema.indexes;
    const faults: ((entry: Uint8Array) => Promise<unknown>)[] = [
      (entry) => stored.delete(new Delete(entry)),
      (entry) => {
        const ofColor = Buffer.compare(entry.subarray(0, 4), byColor!.id) === 0;
        // Without a size; or of the row t9.
        const value = ofColor ? Uint8Array.of(1, 1) : Uint8Array.of(1, 2, 0x74, 0x39);
        return stored.put(new Put(entry).addColumn('i', '_', value));
      },
      (entry) => stored.put(new Put(entry).addColumn('i', 'other', 'x')),
      () => {
        const row = byColor!.layout.encode({
          color: `c${among(9)}`,
          $row: Buffer.from(`t${among(COMPARED + 100)}`),
        });
        return stored.put(new Put(row).addColumn('i', '_', Uint8Array.of(1, 0)));
      },
      () => data.put(new Put(`t${among(COMPARED + 100)}`).addColumn('d', 'c', `c${among(9)}`)),
      () => data.put(new Put(`t${among(COMPARED)}`).addColumn('d', 's', int32.encode(among(COMPARED)))),
      () => data.delete(new Delete(`t${among(COMPARED)}`)),
    ];
    for (let round = 0; round < scaled(8, 100, 1000); round++) {
      for (const name of ['byColor', 'bySize'] as const) {
        const index = db.index(Thing, name);
        const outcome = (run: JobRunOptions) => index.verify({ run: { batchRows: COMPARED / 6, ...run } });
        // With `restart` nothing is left out.
        const all = await outcome({ restart: true });
        expect(await outcome({ checkpointRows: COMPARED / 5 }), `round ${round}, ${name}`).toEqual(all);
        if (random() < 0.3) await index.repair({ run: { restart: true } });
      }
      const entries = await stored.scan(new Scan()).nextBatch(1000);
      for (let i = among(3); i >= 0; i--)
        await faults[(round + 3 * i) % faults.length]!(entries[among(entries.length)]!.row);
    }
    const malformed = byColor!.layout.encode({ color: 'c0', $row: Buffer.from('nobody') });
    await stored.put(new Put(malformed).addColumn('i', '_', Uint8Array.of(9)));
    for (const run of [{}, { restart: true }])
      await expect(db.index(Thing, 'byColor').verify({ run })).rejects.toMatchObject({
        code: 'ERR_CORRUPTION',
      });
  });

  test('verify beside writes reports no fault', async () => {
    await using db = await openThing(new Disk());
    const things = db.repository(Thing);
    await things.putMany(Array.from({ length: 500 }, (_, i) => ({ id: `t${i}`, color: 'red', size: i })));
    let writing = true;
    const writes = (async () => {
      for (let i = 0; writing; i++) {
        const id = `t${(i * 7) % 500}`;
        await (i % 3 === 0 ? things.delete({ id }) : things.put({ id, color: `c${i % 5}` }));
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    const off = { missing: 0, extra: 0, stale: 0, unverified: 0 };
    for (let i = 0; i < scaled(2, 50, 500); i++)
      expect(await db.index(Thing, 'byColor').verify({ run: { batchRows: 20 } })).toMatchObject(off);
    writing = false;
    await writes;
  });

  test.each(['in one step', 'each row by itself'])(
    'entities that share a unique value are named, and nothing is changed: writes %s',
    async (steps) => {
      await using store = await openStepless();
      await using whole = await openThing(new Disk());
      const db = steps === 'in one step' ? whole : (await store.program(Thing)).db;
      const things = db.repository(Thing);
      for (let i = 0; i < 5; i++) await things.put({ id: `t${i}`, size: i });
      // Past the database, as a program that does not know of the index.
      await db.engine.table('things').put(new Put('t4').addColumn('d', 's', int32.encode(2)));
      const index = db.index(Thing, 'bySize');
      const shared = [{ key: { id: 't4' }, holder: { id: 't2' } }];
      expect(await index.verify()).toMatchObject({ missing: 1, repaired: 0, shared });
      // The entry of the value that t4 had before is extra, and can be mended.
      expect(await index.repair({ settledAfter: 0 })).toMatchObject({ missing: 1, shared });
      expect(await index.verify()).toMatchObject({ missing: 1, stale: 0, extra: 0, shared });
      await things.update({ id: 't2' }, { size: 20 });
      await index.repair({ settledAfter: 0 });
      expect(await index.verify()).toMatchObject({ valid: 5, missing: 0, shared: [] });
      expect((await things.by('bySize').find({ size: 2 }).first())?.id).toBe('t4');
    },
  );

  test.each(['a program that does not know it', 'drop'])(
    'a build that was cut off begins anew when %s came between, and else goes on',
    async (between) => {
      const disk = new Disk();
      {
        await using db = await openPlain(disk);
        await fillPlain(db, 0, 400);
      }
      await using first = await openThing(disk);
      // Disabled, and built again up to somewhere in the middle.
      await first.index(Thing, 'byColor').drop();
      await cutOff(first);
      await cutOff(first);
      if (between === 'drop') await first.index(Thing, 'byColor').drop();
      await first.close();
      if (between !== 'drop') {
        await using db = await openPlain(disk);
        await db.repository(Plain).putMany([
          { id: 't0', color: 'green' },
          { id: 't1', color: 'green' },
        ] as never);
      }
      await using db = await openThing(disk);
      const index = db.index(Thing, 'byColor');
      expect(index.state).toBe('disabled');
      const { resumed } = await index.build();
      expect(resumed).toBe(false);
      expect(await index.verify()).toMatchObject({ valid: 400, missing: 0, extra: 0, stale: 0 });
    },
  );

  test('drop removes the entries; two rows of one value keep a unique index from being built', async () => {
    const disk = new Disk();
    {
      await using db = await openPlain(disk);
      await fillPlain(db, 0, 10);
      await db.repository(Plain).put({ id: 'twin', size: 3 });
    }
    await using db = await openThing(disk);
    await expect(db.index(Thing, 'bySize').build()).rejects.toMatchObject({
      code: 'ERR_CONFLICT',
      details: { conflicts: 1 },
    });
    expect(db.index(Thing, 'bySize').state).toBe('building');
    await db.repository(Thing).delete({ id: 'twin' });
    await db.index(Thing, 'bySize').build();
    expect(await db.repository(Thing).by('bySize').find({ size: 3 }).first()).toMatchObject({ id: 't3' });
    await db.index(Thing, 'bySize').drop();
    expect(await db.engine.table('things_idx').scan(new Scan()).nextBatch(10)).toEqual([]);
    expect(() => db.index(Thing, 'none' as never)).toThrow(/has no index/);
  });
});
