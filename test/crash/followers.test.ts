/**
 * Sixteen writers change sources, rows that hold copies of them and are summed up, and what names them, without waiting for
 * each other, while the power may go after every operation on the disk. Whatever is found then: no reference leads nowhere,
 * figures are those of the rows, what feeds tell from the first change on makes the rows, copies differ from their sources only
 * where the outbox says so, the outbox puts them right, and a repair has nothing left to do.
 */

import { expect, it } from 'vitest';
import {
  Column,
  Denormalized,
  Entity,
  Index,
  part,
  Reference,
  RowKey,
  Summary,
} from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import type { RowanError } from '../../src/errors.js';
import { MemoryFileSystem, openMemory } from '../../src/testing/index.js';
import { record } from '../proof/evidence.js';
import { scaled } from '../proof/scale.js';
import { seededRandom } from './seeded-random.js';

const families = { d: {} };
const changes = { keep: 3600_000 };

@Entity({ table: { name: 'sources', families }, changes })
@RowKey(part('id'))
class Source {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:n', int32) value!: number;
}

/** More rows than its fanOut name a source at times, and fewer at others. */
@Entity({ table: { name: 'holders', families }, changes })
@RowKey(part('no'))
@Denormalized(() => Source, { via: 'sourceId', fields: { copy: 'value' }, fanOut: 2 })
@Index('byCopy', [part('copy', int32)])
@Summary('bySource', {
  by: ['sourceId'],
  figures: { holders: 'count', sum: { sum: 'copy' }, most: { max: 'copy' } },
})
class Holder {
  declare static readonly key: ['no'];
  declare static readonly indexes: { byCopy: ['copy'] };
  declare static readonly summaries: {
    bySource: {
      by: ['sourceId'];
      figures: { holders: 'count'; sum: { sum: 'copy' }; most: { max: 'copy' } };
    };
  };
  no!: string;
  @Column('d:s', text) sourceId?: string | null;
  @Column('d:c', int32) copy?: number | null;
  @Reference(() => Source, { id: 'sourceId' }, { onDelete: 'setNull' }) source?: Source | null;
}

@Entity({ table: { name: 'notes', families } })
@RowKey(part('no'), part('at'))
class Note {
  declare static readonly key: ['no', 'at'];
  no!: string;
  at!: string;
  @Reference(() => Holder, { no: 'no' }, { onDelete: 'cascade' }) holder?: Holder | null;
}

const entities = [Source, Holder, Note];
const WRITERS = 16;
const ROUNDS = scaled(3, 8, 400);
/** Every so many operations of the disk. */
const EACH = scaled(20, 6, 60);

it('copies, references and summaries hold after a loss of power behind any operation on the disk', async () => {
  const images: MemoryFileSystem[] = [];
  let operations = 0;
  let watched = false;
  const disk: MemoryFileSystem = new MemoryFileSystem({
    onOperation: () => {
      if (!watched || operations++ % EACH !== 0) return;
      const keepUnsynced = [0, 0.5, 1][images.length % 3]!;
      images.push(disk.crash({ keepUnsynced, random: seededRandom(operations) }));
    },
  });
  const db = await openMemory({ entities, disk, memstoreFlushSize: 6000 });
  watched = true;
  const sources = db.repository(Source);
  const holders = db.repository(Holder);
  const notes = db.repository(Note);
  let refused = 0;
  await Promise.all(
    Array.from({ length: WRITERS }, async (_, writer) => {
      const random = seededRandom(writer + 1);
      const below = (count: number): number => Math.floor(random() * count);
      for (let round = 0; round < ROUNDS; round++) {
        const id = `s${below(3)}`;
        const no = `h${below(8)}`;
        const work = [
          () => sources.put({ id, value: below(1000) }),
          () => sources.put({ id, value: below(1000) }),
          () => sources.delete({ id }),
          () => holders.put({ no, sourceId: id, copy: 1_000_000 }),
          () => holders.upsert({ no, sourceId: id }, { sourceId: id }),
          () => holders.delete({ no }),
          () => notes.put({ no, at: String(below(9)) }),
          () =>
            db.transaction(async (tx) => {
              const found = await tx.repository(Source).get({ id });
              await tx.repository(Source).put({ id, value: (found?.value ?? 0) + 1 });
              await tx.repository(Holder).put({ no, sourceId: id });
            }),
          () => db.batch((batch) => void batch.of(Holder).put({ no, sourceId: id }), { atomic: true }),
        ][below(9)]!;
        await work().catch((error: RowanError) => {
          expect(['ERR_REFERENCE', 'ERR_SERIALIZATION']).toContain(error.code);
          refused++;
        });
      }
    }),
  );
  await db.close();
  expect(refused).toBeGreaterThan(0);
  expect(images.length).toBeGreaterThan(3);
  for (const image of [...images, disk]) await checkImage(image);
  record('followers', { writes: WRITERS * ROUNDS, 'recoveries of different disks': images.length + 1 });
});

async function checkImage(disk: MemoryFileSystem): Promise<void> {
  // With 'ignore' the outbox is left as it was found.
  const db = await openMemory({ entities, disk, tables: 'ignore', automatic: false });
  try {
    if (!(await db.admin.listTables()).some(({ name }) => name === 'rowan_outbox')) return;
    const tables = new Set((await db.admin.listTables()).map(({ name }) => name));
    if (!tables.has('holders_sum')) return;
    await expectTold(db);
    const off = { stale: 0, missing: 0, extra: 0, entries: 0, repaired: 0 };
    const summary = db.summary(Holder, 'bySource');
    expect(await summary.check()).toMatchObject(off);
    const copies = db.denormalized(Holder);
    const found = await copies.check();
    if (found.pending === 0) expect(found).toMatchObject({ stale: 0, missing: 0, extra: 0 });
    await copies.drain();
    expect(await copies.repair()).toMatchObject({ stale: 0, missing: 0, extra: 0, pending: 0, repaired: 0 });
    expect(await db.references(Holder).check()).toMatchObject({ dangling: 0 });
    expect(await db.references(Note).check()).toMatchObject({ dangling: 0 });
    const index = await db.index(Holder, 'byCopy').verify();
    expect(index).toMatchObject({ missing: 0, extra: 0, stale: 0 });
    expect(await summary.repair()).toMatchObject(off);
    await expectTold(db);
  } finally {
    await db.close();
  }
}

let ends = 0;

/** What is told from the first change on, behind which a last one is written, makes the rows. */
async function expectTold(db: Database): Promise<void> {
  const id = `end ${ends++}`;
  await db.repository(Source).put({ id, value: 0 });
  const told = new Map<string, object>();
  for await (const commit of db.watch([Source, Holder], {}, { from: 'start' })) {
    for (const { entity, key, before, after } of commit.changes) {
      const name = `${entity.name} ${JSON.stringify(key)}`;
      expect(before).toEqual(told.get(name));
      if (after === undefined) told.delete(name);
      else told.set(name, after);
    }
    if (told.has(`Source ${JSON.stringify({ id })}`)) break;
  }
  const rows = [
    ...(await db.repository(Source).find({}, { fullScan: true }).all()),
    ...(await db.repository(Holder).find({}, { fullScan: true }).all()),
  ];
  expect(told.size).toBe(rows.length);
  expect(new Set(told.values())).toEqual(new Set(rows));
}
