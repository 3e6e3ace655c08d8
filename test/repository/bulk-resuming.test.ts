/** `updateAll` and `deleteAll` that are cut off, and that others write beside. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Column, Entity, part, RowKey, salt, Version } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { RowanError } from '../../src/errors.js';
import { uint32 } from '../../src/key/index.js';
import type { BulkProgress } from '../../src/query/bulk-change.js';
import { MemoryFileSystem, openMemory } from '../../src/testing/index.js';
import { scaled } from '../proof/scale.js';

@Entity({ table: { name: 'tasks', families: { d: {} } } })
@RowKey(salt(3), part('no', uint32))
class Task {
  declare static readonly key: ['no'];
  no!: number;
  @Column('d:s', text) status?: string | null;
  @Column('d:n', int32) note?: number | null;
  @Version('d:v', int32) version?: number;
}

/** How far a run has come: kept where the next one finds it. */
@Entity({ table: { name: 'runs', families: { d: {} } } })
@RowKey(part('name'))
class Run {
  declare static readonly key: ['name'];
  name!: string;
  @Column('d:c', text) cursor?: string | null;
  @Column('d:m', int32) matched!: number;
}

const entities = [Task, Run];
const ROWS = scaled(13, 60, 300);
const BATCH = 7;

type Work = Database;

const task = (no: number) => ({ no, status: 'old', note: no });
const numbered = (count: number) => Array.from({ length: count }, (_, no) => task(no));

/** One run, which goes on where the one before was cut off. */
async function work(db: Work, doing: 'deleteAll' | 'updateAll'): Promise<BulkProgress> {
  const runs = db.repository(Run);
  const before = await runs.get({ name: doing });
  const query = db.repository(Task).find({}, { fullScan: true });
  const options = {
    batch: BATCH,
    cursor: before?.cursor ?? undefined,
    onProgress: ({ cursor, matched }: BulkProgress) =>
      runs.put({ name: doing, cursor: cursor ?? null, matched: (before?.matched ?? 0) + matched }),
  };
  return doing === 'deleteAll' ? query.deleteAll(options) : query.updateAll({ status: 'new' }, options);
}

for (const doing of ['updateAll', 'deleteAll'] as const) {
  test(`${doing} that lost power after any operation of the disk goes on from the cursor that it kept`, async () => {
    const images: MemoryFileSystem[] = [];
    let begun = false;
    const disk: MemoryFileSystem = new MemoryFileSystem({
      onOperation: () => {
        if (begun) images.push(disk.crash({ keepUnsynced: images.length % 2, random: () => 0 }));
      },
    });
    const db = await openMemory({ entities, disk });
    await db.repository(Task).putMany(numbered(ROWS));
    begun = true;
    await work(db, doing);
    begun = false;
    await db.close();
    expect(images.length).toBeGreaterThan(ROWS / BATCH);
    for (const image of images) {
      const again = await openMemory({ entities, disk: image });
      const kept = (await again.repository(Run).get({ name: doing }))?.matched ?? 0;
      const before = await again.repository(Task).find({}, { fullScan: true }).all();
      // What the run has told of is there.
      const done =
        doing === 'deleteAll' ? ROWS - before.length : before.filter((one) => one.version === 2).length;
      expect(done).toBeGreaterThanOrEqual(kept);
      if (kept < ROWS) await work(again, doing);
      const rows = await again.repository(Task).find({}, { fullScan: true }).all();
      if (doing === 'deleteAll') expect(rows).toEqual([]);
      else {
        expect(rows.map(({ no, status }) => [no, status])).toEqual(
          numbered(ROWS).map(({ no }) => [no, 'new']),
        );
        // No row more often than twice, and no more than one batch twice.
        expect(rows.filter(({ version }) => version === 3).length).toBeLessThanOrEqual(BATCH);
        expect(rows.every(({ version }) => version === 2 || version === 3)).toBe(true);
      }
      await again.close();
    }
  });
}

test('what others write beside is kept, and no row is met twice', async () => {
  const writes = fc.array(
    fc.record({
      no: fc.nat(39),
      do: fc.constantFrom('keep' as const, 'delete' as const, 'insert' as const, 'note' as const),
      turns: fc.nat(3),
    }),
    { maxLength: 25 },
  );
  await fc.assert(
    fc.asyncProperty(writes, fc.boolean(), fc.integer({ min: 1, max: 9 }), async (steps, deleting, batch) => {
      await using db = await openMemory({ entities });
      const tasks = db.repository(Task);
      await tasks.putMany(numbered(30));
      const kept = new Set<number>();
      const gone = new Set<number>();
      const query = tasks.find({}, { fullScan: true }).where({ status: 'old' });
      const run = (): Promise<BulkProgress> =>
        deleting ? query.deleteAll({ batch }) : query.updateAll({ status: 'new' }, { batch });
      const others = async (): Promise<void> => {
        for (const { no, do: what, turns } of steps) {
          for (let turn = 0; turn < turns; turn++) await nextTurn();
          if (what === 'insert') await tasks.upsert({ no: no + 100, status: 'other' }, { status: 'other' });
          else if (what === 'delete') {
            await tasks.delete({ no });
            gone.add(no);
            kept.delete(no);
          } else {
            const patch = what === 'keep' ? { status: 'kept' } : { note: -1 };
            try {
              await tasks.update({ no }, patch);
              if (what === 'keep') kept.add(no);
            } catch (error) {
              if (!(error instanceof RowanError) || error.code !== 'ERR_NOT_FOUND') throw error;
            }
          }
        }
      };
      // Two of the same run beside each other change each row once.
      const [first, second] = await Promise.all([run(), run(), others()]);
      const rows = await tasks.find({}, { fullScan: true }).all();
      const of = (status: string) => rows.filter((one) => one.status === status).map(({ no }) => no);
      expect(of('kept')).toEqual([...kept].sort((a, b) => a - b));
      expect(of('old')).toEqual([]);
      expect(of('other').length).toBe(new Set(steps.flatMap((s) => (s.do === 'insert' ? [s.no] : []))).size);
      if (!deleting) for (const no of of('new')) expect(gone.has(no)).toBe(false);
      expect(first.changed + second.changed).toBeLessThanOrEqual(30);
      if (steps.length === 0) expect(first.changed + second.changed).toBe(30);
    }),
    { numRuns: scaled(2, 20, 2000) },
  );
});

test('the answer of onProgress is awaited before the next batch, and its failure ends the run', async () => {
  await using db = await openMemory({ entities });
  const tasks = db.repository(Task);
  await tasks.putMany(numbered(10));
  const query = tasks.find({}, { fullScan: true });
  const seen: number[] = [];
  await query.updateAll(
    { status: 'new' },
    {
      batch: 4,
      onProgress: async () => {
        for (let turn = 0; turn < 5; turn++) await nextTurn();
        seen.push(await query.where({ status: 'new' }).count());
      },
    },
  );
  expect(seen).toEqual([4, 8, 10]);
  const failing = query.deleteAll({ batch: 3, onProgress: () => Promise.reject(new Error('no room')) });
  await expect(failing).rejects.toThrow('no room');
  expect(await query.count()).toBe(7);
});

test('a run is ended by its signal between batches, and refuses what is no option', async () => {
  await using db = await openMemory({ entities });
  const tasks = db.repository(Task);
  await tasks.putMany(numbered(10));
  const stop = new AbortController();
  const query = tasks.find({}, { fullScan: true, signal: stop.signal });
  const ended = query.deleteAll({ batch: 2, onProgress: () => stop.abort() });
  await expect(ended).rejects.toMatchObject({ code: 'ERR_ABORTED' });
  const rest = tasks.find({}, { fullScan: true });
  expect(await rest.count()).toBe(8);
  const one = await rest.limit(3).deleteAll();
  expect(one).toMatchObject({ matched: 3, changed: 3, cursor: expect.any(String) });
  for (const options of [
    { batch: Number.NaN },
    { batch: Number.POSITIVE_INFINITY },
    { batch: '2' },
    { cursor: 5 },
    { cursor: '' },
    { cursor: 'of nothing' },
    { cursor: `${one.cursor}x` },
    { onProgress: 1 },
    { recheck: 'no' },
    null,
  ]) {
    const wrong = rest.deleteAll(options as never);
    await expect(wrong, JSON.stringify(options)).rejects.toBeInstanceOf(RowanError);
  }
  // A cursor is that of its query.
  await expect(rest.where({ status: 'old' }).deleteAll({ cursor: one.cursor })).rejects.toThrow(RowanError);
  await expect(tasks.find({ no: { gte: 1 } }).deleteAll({ cursor: one.cursor })).rejects.toThrow(RowanError);
  expect(await rest.count()).toBe(5);
  // Rows of a transaction, which are changed with it or not at all.
  await expect(
    db.transaction(async (tx) => {
      await tx.repository(Task).find({}, { fullScan: true }).updateAll({ status: 'new' });
      await tx
        .repository(Task)
        .find({ no: { gte: 8 } })
        .deleteAll();
      throw new Error('not at all');
    }),
  ).rejects.toThrow('not at all');
  expect(await rest.where({ status: 'old' }).count()).toBe(5);
});
