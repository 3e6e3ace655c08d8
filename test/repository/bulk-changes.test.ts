import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  AfterDelete,
  BeforeDelete,
  BeforeUpdate,
  Column,
  Columns,
  Entity,
  hash,
  Packed,
  part,
  RowKey,
  salt,
  timeBucket,
  Version,
} from '../../decorators/index.js';
import { int32, json, text } from '../../src/codec/index.js';
import { uint32 } from '../../src/key/index.js';
import type { Repository } from '../../src/repository/index.js';
import { scaled } from '../proof/scale.js';
import { openTestDatabase, type TestDatabase } from '../query/test-database.js';

const heard: string[] = [];
let meddle: ((no: number) => Promise<void>) | undefined;

@Entity({ table: { name: 'tasks', families: { d: {} } } })
@RowKey(salt(4), part('owner'), part('no', uint32))
class Task {
  declare static readonly key: ['owner', 'no'];
  owner!: string;
  no!: number;
  @Column('d:s', text) status?: string | null;
  @Column('d:n', int32) count?: number | null;
  @Column('d:j', json<{ a: number }>()) document?: { a: number } | null;
  @Columns('d:t.', { key: text, value: text }) tags?: Map<string, string>;
  @Version('d:v') version?: number;

  @BeforeUpdate()
  updating(): void {
    heard.push(`update ${this.no}`);
  }

  @BeforeDelete()
  deleting(): Promise<void> | undefined {
    return meddle?.(this.no);
  }

  @AfterDelete()
  deleted(): void {
    heard.push(`delete ${this.no}`);
  }
}

/** The owner stands in the key as a digest only. */
@Entity({ table: { name: 'hashed', families: { d: {} } } })
@RowKey(hash('owner', { bytes: 1 }), part('no', uint32))
class Hashed {
  declare static readonly key: ['owner', 'no'];
  @Column('d:o', text) owner!: string;
  no!: number;
  @Column('d:s', text) status?: string | null;
}

@Entity({ table: { name: 'points', families: { d: {} } } })
@RowKey(part('metric'), timeBucket('at', '1h'))
class Window {
  declare static readonly key: ['metric', 'at'];
  metric!: string;
  at!: Date;
  @Packed('d:', { part: 'at', value: int32 }) points!: Map<number, number>;
}

let database: TestDatabase;
let tasks: Repository<typeof Task>;

beforeAll(async () => {
  database = await openTestDatabase([Task, Hashed, Window]);
  tasks = database.repository(Task);
});

beforeEach(async () => {
  await tasks.deletePrefix({ owner: 'o' });
  heard.length = 0;
});

afterAll(() => database.dispose());

const all = (): Promise<Task[]> => tasks.find({ owner: 'o' }).all();

describe('deleteAll and updateAll', () => {
  it('do to a query what a loop over its rows does', async () => {
    const rows = fc.uniqueArray(
      fc.record({
        owner: fc.constant('o'),
        no: fc.nat(60),
        status: fc.option(fc.constantFrom('a', 'b', 'c')),
      }),
      { selector: ({ no }) => no, maxLength: 30 },
    );
    const asked = fc.record({
      where: fc.subarray(['a', 'b', 'c']),
      from: fc.nat(60),
      limit: fc.option(fc.nat(20), { nil: undefined }),
      reverse: fc.boolean(),
      batch: fc.integer({ min: 1, max: 7 }),
      update: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(rows, asked, async (given, { where, from, limit, reverse, batch, update }) => {
        await tasks.deletePrefix({ owner: 'o' });
        await tasks.putMany(given.map((row) => ({ ...row })));
        let query = tasks.find({ owner: 'o', no: { gte: from } }).where({ status: { in: where } });
        if (limit !== undefined) query = query.limit(limit);
        if (reverse) query = query.reverse();
        const met = (await query.all()).map(({ no }) => no);
        const { matched, changed } = update
          ? await query.updateAll({ status: 'done' }, { batch })
          : await query.deleteAll({ batch });
        expect([matched, changed]).toEqual([met.length, met.length]);
        const left = given
          .filter(({ no }) => update || !met.includes(no))
          .map(({ no, status }) => [no, update && met.includes(no) ? 'done' : (status ?? undefined)])
          .sort((a, b) => (a[0] as number) - (b[0] as number));
        expect((await all()).map(({ no, status }) => [no, status ?? undefined])).toEqual(left);
      }),
      { numRuns: scaled(8, 60, 3000) },
    );
  });

  it('leave alone what ceases to meet the condition while they are under way', async () => {
    await tasks.putMany(Array.from({ length: 40 }, (_, no) => ({ owner: 'o', no, status: 'old' })));
    const query = tasks.find({ owner: 'o' }).where({ status: 'old' });
    const rescued = [9, 10, 25];
    // Between the reading of the first batch and its changes.
    meddle = async (no) => {
      if (no !== 0) return;
      for (const other of rescued) await tasks.update({ owner: 'o', no: other }, { status: 'new' });
      await tasks.delete({ owner: 'o', no: 5 });
    };
    const { matched, changed } = await query.deleteAll({ batch: 10 }).finally(() => {
      meddle = undefined;
    });
    expect((await all()).map(({ no, status }) => [no, status])).toEqual(rescued.map((no) => [no, 'new']));
    // Of the first batch 9 was changed and 5 gone; 10 and 25 were not read any more.
    expect([matched, changed]).toEqual([38, 36]);
  });

  it('go on from a cursor after an error', async () => {
    await tasks.putMany(Array.from({ length: 10 }, (_, no) => ({ owner: 'o', no, count: 0 })));
    const query = tasks.find({ owner: 'o' });
    let cursor: string | undefined;
    let changed = 0;
    const broken = query.updateAll(
      { count: 1 },
      {
        batch: 3,
        onProgress(progress) {
          ({ cursor, changed } = progress);
          if (changed === 6) throw new Error('stop');
        },
      },
    );
    await expect(broken).rejects.toThrow('stop');
    expect((await all()).map(({ count }) => count)).toEqual([1, 1, 1, 1, 1, 1, 0, 0, 0, 0]);
    expect(await query.updateAll({ count: 1 }, { cursor })).toEqual({
      matched: 4,
      changed: 4,
      cursor: undefined,
    });
    expect((await all()).every(({ version }) => version === 2)).toBe(true);
  });

  it('run the hooks of each row', async () => {
    await tasks.putMany([1, 2].map((no) => ({ owner: 'o', no })));
    await tasks.find({ owner: 'o' }).updateAll({ count: 3 });
    await tasks.find({ owner: 'o' }).deleteAll();
    expect(heard).toEqual(['update 1', 'update 2', 'delete 1', 'delete 2']);
  });

  it('keep to the rows meant where the key has a digest only', async () => {
    const hashed = database.repository(Hashed);
    const owners = Array.from({ length: 600 }, (_, i) => `h${i}`);
    await hashed.putMany(owners.map((owner) => ({ owner, no: 1, status: owner })));
    const { changed } = await hashed.find({ owner: 'h45' }).deleteAll();
    const left = await hashed.find({}, { fullScan: true }).all();
    // Owners with one digest share a row: only a row whose stored owner is the one meant goes.
    expect(left.map(({ owner }) => owner)).not.toContain('h45');
    expect(changed).toBeLessThanOrEqual(1);
  });

  it('refuse what they cannot do by rows, and a full scan that is not asked for', async () => {
    await tasks.put({ owner: 'o', no: 1, document: { a: 1 }, tags: new Map([['x', 'y']]) });
    const query = tasks.find({ owner: 'o' });
    await expect(tasks.find({}).deleteAll()).rejects.toThrow(
      expect.objectContaining({ code: 'ERR_FULL_SCAN' }),
    );
    await expect(tasks.find({}).updateAll({ count: 1 })).rejects.toThrow(
      expect.objectContaining({ code: 'ERR_FULL_SCAN' }),
    );
    await expect(query.asOf(1).deleteAll()).rejects.toThrow(/rows of the past/);
    await expect(tasks.asOf(Date.now()).find({ owner: 'o' }).deleteAll()).rejects.toThrow(/rows of the past/);
    await expect(query.orderBy('count').limit(1).deleteAll()).rejects.toThrow(/Leave out orderBy/);
    await expect(query.slice('tags', { limit: 1 }).deleteAll()).rejects.toThrow(/Leave out slice/);
    await expect(query.deleteAll({ batch: 0 })).rejects.toThrow(/batch is a positive integer/);
    await expect(query.deleteAll({ where: 1 } as never)).rejects.toThrow(/no option "where"/);
    await expect(query.updateAll(undefined as never)).rejects.toThrow(/takes an object/);
    await expect(query.updateAll({ owner: 'p' } as never)).rejects.toThrow();
    const windows = database.repository(Window);
    await expect(windows.find({ metric: 'm' }).deleteAll()).rejects.toThrow(/window of time/);
    const documents = query.where({ document: { a: 1 } });
    await expect(documents.deleteAll()).rejects.toThrow(/recheck: false/);
    expect(await documents.deleteAll({ recheck: false })).toMatchObject({ matched: 1, changed: 1 });
    expect(await all()).toEqual([]);
  });
});
