/** Jobs over one index at the same time: builds, repairs and drops that overlap, in one program. */

import { expect, test } from 'vitest';
import type { Database } from '../../src/database.js';
import { MemoryFileSystem as Disk } from '../../src/testing/fs/memory-fs.js';
import { openMemory } from '../../src/testing/index.js';
import { fillPlain, Plain, Thing } from './things.js';

const SMALL = { parallel: 2, batchRows: 7, checkpointRows: 20 };

async function filled(rows: number): Promise<Database> {
  const disk = new Disk();
  const plain = await openMemory({ entities: [Plain], disk });
  await fillPlain(plain, 0, rows);
  await plain.close();
  return openMemory({ entities: [Thing], disk });
}

async function write(db: Database, going: () => boolean): Promise<void> {
  const things = db.repository(Thing);
  for (let i = 0; going(); i++) {
    const id = `t${(i * 7) % 60}`;
    if (i % 3) await things.put({ id, color: 'green' });
    else await things.delete({ id });
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Runs jobs at the same time, beside a writer: none fails, the index is as the last of them left it, and well. */
async function overlap(
  state: 'active' | 'disabled',
  work: (db: Database) => Promise<unknown>[],
): Promise<void> {
  await using db = await filled(60);
  let writing = true;
  const writer = write(db, () => writing);
  await Promise.all(work(db));
  writing = false;
  await writer;
  const index = db.index(Thing, 'byColor');
  expect(index.state).toBe(state);
  if (state === 'disabled') await index.build();
  expect(await index.verify()).toMatchObject({ missing: 0, extra: 0, stale: 0, unverified: 0 });
  const things = db.repository(Thing);
  const rows = await things.find({}, { fullScan: true }).all();
  const red = await things.by('byColor').find({ color: 'red' }).all();
  expect(red).toHaveLength(rows.filter(({ color }) => color === 'red').length);
}

test('builds, repairs and drops of an index at once end as if they had come one after another', async () => {
  await overlap('active', (db) => {
    const index = db.index(Thing, 'byColor');
    return [index.build(SMALL), db.index(Thing, 'byColor').build(SMALL), index.repair({ run: SMALL })];
  });
  await overlap('disabled', (db) => [
    db.index(Thing, 'byColor').build(SMALL),
    db.index(Thing, 'byColor').drop(SMALL),
  ]);
  await overlap('active', (db) => [
    db.index(Thing, 'byColor').drop(SMALL),
    db.index(Thing, 'byColor').build(SMALL),
  ]);
  await overlap('active', (db) => [
    db.index(Thing, 'byColor').build(SMALL),
    db.index(Thing, 'bySize').build(SMALL),
  ]);
});
