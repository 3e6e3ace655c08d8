/** Indexes whose entries are written behind the rows: what is noted with a row, who brings it up to date, what is refused. */

import { describe, expect, test } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { EntityNotes } from '../../src/features/indexes/eventual.js';
import { Column, Entity, Index, int32, part, RowKey, Table, text } from '../../src/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { Repository } from '../../src/repository/index.js';
import { Scan } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { openMemory } from '../../src/testing/index.js';
import { scaled } from '../proof/scale.js';
import { Random } from '../query/model/random.js';

@Table({ name: 'late', families: { d: {} } })
class LateTable {}

@Entity({ table: LateTable })
@RowKey(part('id'))
@Index('byColor', [part('color')], { include: ['size'], consistency: 'eventual' })
@Index('bySize', [part('size', int32)])
class Late {
  declare static readonly key: ['id'];
  declare static readonly indexes: { byColor: ['color']; bySize: ['size'] };
  id!: string;
  @Column('d:c', text) color?: string | null;
  @Column('d:s', int32) size?: number | null;
}

const COLORS = ['red', 'green', 'blue'];
const SETTLED = { missing: 0, extra: 0, stale: 0, unverified: 0, pending: 0 };
const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.map(({ id }) => id).sort();

/** What waits, as somebody sees it who does not work it. */
async function pendingIn(disk: MemoryFileSystem): Promise<number> {
  await using db = await openMemory({ entities: [Late], disk, tables: 'ignore' });
  return (await db.index(Late, 'byColor').verify()).pending;
}

async function expectScan(repo: Repository<typeof Late>, when: string): Promise<void> {
  const rows = await repo.find({}, { fullScan: true }).all();
  for (const color of COLORS) {
    const wanted = idsOf(rows.filter((row) => row.color === color));
    expect(idsOf(await repo.by('byColor').find({ color }).all()), when).toEqual(wanted);
    expect(await repo.by('byColor').find({ color }).count(), when).toBe(wanted.length);
  }
}

describe('an eventual index', () => {
  test('is brought up to date after the writes, without anybody asking for it', async () => {
    await using db = await openMemory({ entities: [Late] });
    const repo = db.repository(Late);
    await repo.putMany(
      Array.from({ length: 90 }, (_, i) => ({ id: `r${i}`, color: COLORS[i % 3]!, size: i })),
    );
    while ((await repo.by('byColor').find({ color: 'red' }).count()) < 30)
      await new Promise((resolve) => setImmediate(resolve));
    await repo.update({ id: 'r0' }, { color: 'green' });
    await repo.delete({ id: 'r3' });
    // What is no more gives no row at once; what came may be behind.
    const red = await repo.by('byColor').find({ color: 'red' }).select('size').all();
    expect(red.map(({ size }) => size)).not.toContain(0);
    expect(red).toHaveLength(28);
    await db.index(Late, 'byColor').drain();
    expect(await db.index(Late, 'byColor').verify()).toMatchObject({ ...SETTLED, valid: 89 });
    await expectScan(repo, 'drained');
    const notes = await db.engine.table('late_idx').scan(new Scan()).nextBatch(5000);
    expect(notes).toHaveLength(2 * 89);
    await db.index(Late, 'byColor').drop();
    expect(await db.engine.table('late_idx').scan(new Scan()).nextBatch(5000)).toHaveLength(89);
  });

  test('follows transactions and atomic batches when they are committed, and those alone', async () => {
    await using db = await openMemory({ entities: [Late] });
    const repo = db.repository(Late);
    await db.transaction(async (tx) => {
      await tx.repository(Late).put({ id: 'a', color: 'red' });
      await db.index(Late, 'byColor').drain();
    });
    await db.batch((batch) => batch.of(Late).put({ id: 'b', color: 'red' }), { atomic: true });
    await repo.batch((batch) => batch.put({ id: 'c', color: 'red' }), { atomic: true });
    const failed = db.transaction(async (tx) => {
      await tx.repository(Late).put({ id: 'd', color: 'red' });
      throw new Error('no');
    });
    await expect(failed).rejects.toThrow('no');
    while ((await repo.by('byColor').find({ color: 'red' }).count()) < 3)
      await new Promise((resolve) => setImmediate(resolve));
    expect(await db.index(Late, 'byColor').drain()).toBe(0);
    expect(await db.index(Late, 'byColor').verify()).toMatchObject({ ...SETTLED, valid: 3 });
  });

  test('is asked by its name alone, and looks every row up', async () => {
    await using db = await openMemory({ entities: [Late] });
    const repo = db.repository(Late);
    expect(() => repo.find({}).where({ color: 'red' }).explain()).toThrow(
      /byColor is eventual, and may lack/,
    );
    const { index } = repo.by('byColor').find({ color: 'red' }).select('size').explain();
    expect(index).toMatchObject({ name: 'byColor', covered: false });
    await expect(db.index(Late, 'bySize').drain()).rejects.toThrow(/is not eventual/);
  });

  test('keeps what waits through a loss of power at any operation, and never gives a wrong row', async () => {
    let crashes = 0;
    let waited = 0;
    for (let seed = 1; seed <= scaled(1, 4, 100); seed++) {
      const random = new Random(seed);
      const left: MemoryFileSystem[] = [];
      let watching = false;
      const disk: MemoryFileSystem = new MemoryFileSystem({
        onOperation: () => {
          if (!watching || !random.chance(scaled(0.05, 0.5, 1))) return;
          left.push(disk.crash({ keepUnsynced: random.pick([0, 0.5, 1]), random: () => random.next() }));
        },
      });
      const db = await openMemory({ entities: [Late], disk });
      const repo = db.repository(Late);
      watching = true;
      for (let i = 0; i < 24; i++) {
        const row = { id: `r${random.below(6)}`, color: random.pick(COLORS), size: i };
        await (random.chance(0.2) ? repo.delete({ id: row.id }) : repo.put(row));
        if (random.chance(0.1)) await db.admin.flush(random.pick(['late', 'late_idx']));
      }
      watching = false;
      await db.close();
      for (const found of left) {
        crashes++;
        const when = `seed ${seed}, crash ${crashes}`;
        waited += await pendingIn(found);
        await using after = await openMemory({ entities: [Late], disk: found });
        const late = after.repository(Late);
        for (const color of COLORS) {
          const early = await late.by('byColor').find({ color }).all();
          expect(
            early.every((row) => row.color === color),
            when,
          ).toBe(true);
        }
        await after.index(Late, 'byColor').drain();
        await expectScan(late, when);
        expect(await after.index(Late, 'byColor').verify(), when).toMatchObject(SETTLED);
      }
    }
    expect(crashes).toBeGreaterThan(2);
    expect(waited).toBeGreaterThan(0);
  });

  test('cannot be unique, nor of a list', () => {
    const table = defineTable({ name: 'wrong', families: { d: {} } });
    const declare = (options: object) => () =>
      compileSchema([
        defineEntity({
          name: 'Wrong',
          table,
          key: [part('id')],
          columns: (c) => ({ c: c.column('d:c', text), l: c.json<string[]>('d:l') }),
          indexes: { i: { on: [part('c')], ...options } as never },
        }),
      ]);
    expect(declare({ consistency: 'eventual' })).not.toThrow();
    expect(declare({ consistency: 'eventual', unique: true })).toThrow(/It is unique and eventual/);
    expect(declare({ consistency: 'late' })).toThrow(/consistency is "late".*'strong' or 'eventual'/);
    expect(declare({ consistency: 'eventual', on: [part('l')] })).toThrow(/eventual, and l may have several/);
    // @ts-expect-error An index that follows later cannot be unique.
    Index('both', { unique: true, consistency: 'eventual' });
    const strong = compileSchema([Late])
      .entity(Late)
      .indexes.find(({ name }) => name === 'bySize');
    expect(strong?.signature).not.toContain('eventual');
  });
});

test('a note that is written while the last step ends is processed too, without a further write', async () => {
  for (let turns = 0; turns < 12; turns++) {
    const processed: string[] = [];
    const steps: (() => void)[] = [];
    const notes = {
      indexes: { tableName: 'rows' },
      places: [],
      has: () => true,
      process: (_: unknown, rows: readonly Uint8Array[]) => processed.push(...rows.map(String)),
    };
    const table = {
      atomic: async (run: (step: unknown) => unknown) => {
        run({});
        await new Promise<void>((end) => steps.push(end));
      },
    };
    let note!: (row: number) => void;
    const own = new EntityNotes(notes as never, table as never, () => undefined);
    own.listen({
      observe: (_: string, { after }: { after: (write: object) => void }) => {
        note = (row) => after({ change: { kind: 'put', row: Uint8Array.of(row) } });
      },
    } as never);
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    note(1);
    await turn();
    steps.shift()!();
    for (let i = 0; i < turns; i++) await undefined;
    note(2);
    await turn();
    await turn();
    expect(processed).toEqual(['1', '2']);
    steps.shift()!();
    await own.end();
  }
});
