/** Computed columns, on engines with steps over rows and on those without, as HBase. */

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from 'vitest';
import {
  Column,
  Columns,
  Computed,
  type Database,
  Default,
  DeletedAt,
  Denormalized,
  decimal,
  defineEntity,
  defineTable,
  Entity,
  type Input,
  index,
  int32,
  type Patch,
  part,
  rowKey,
  text,
} from '../../src/index.js';
import { compileSchema } from '../../src/mapper/index.js';
import { Put } from '../../src/table/index.js';
import { openMemory } from '../../src/testing/index.js';
import { inputSchema, patchSchema } from '../../src/validation/index.js';
import { scaled } from '../proof/scale.js';
import { openStepless, type SteplessStore } from '../proof/stepless.js';

@Entity({ table: { name: 'carts', families: { d: {}, l: {} } } })
class Cart {
  static readonly key = rowKey('owner', part('no', int32));
  static readonly indexes = { byCount: index('count'), bySearch: index('search') };
  owner!: string;
  no!: number;
  @Column('d:t', text) title?: string | null;
  @Column('d:p', decimal(2)) price?: string | null;
  @Columns('l:', { value: int32 }) lines?: Map<string, number | null>;
  @DeletedAt('d:x') deletedAt?: Date | null;
  @Computed((cart: Cart) => cart.lines?.size ?? 0) @Column('d:c', int32) readonly count?: number;
  @Computed((cart: Cart) => cart.title?.toLowerCase()) @Column('d:s', text) readonly search?: string;
}

const Box = defineEntity({
  name: 'Box',
  table: defineTable({ name: 'boxes', families: { d: {} } }),
  key: [part('id')],
  ttl: 3_600_000,
  columns: (c) => ({
    width: c.column('d:w', int32),
    height: c.column('d:h', int32),
    area: c.column('d:a', int32).optional(),
  }),
  // It does not see what was computed before.
  computed: { area: ({ width, height, area }) => width * height * (area ?? 1) },
});

interface Store {
  readonly db: Database;
  close(): Promise<void>;
}

const ENGINES: readonly (readonly [string, () => Promise<Store>])[] = [
  [
    'of several rows',
    async () => {
      const db = await openMemory({ entities: [Cart, Box] });
      return { db, close: () => db.close() };
    },
  ],
  [
    'of one row',
    async () => {
      const store: SteplessStore = await openStepless();
      const { db } = await store.program(Cart, Box as never);
      for (const name of ['byCount', 'bySearch'] as const) await db.index(Cart, name).build();
      return { db, close: async () => store[Symbol.asyncDispose]() };
    },
  ],
];

it('computed columns end with their row, though the delete is of the past', async () => {
  await using db = await openMemory({ entities: [Cart] });
  const carts = db.repository(Cart);
  const key = { owner: 'a', no: 1 };
  const now = Date.now();
  await carts.put({ ...key, title: 'Late' }, { timestamp: now - 5000 });
  await carts.purge(key, { timestamp: now - 1000 });
  expect(await carts.find({ owner: 'a' }, { withDeleted: true }).all()).toEqual([]);
  expect(await carts.by('byCount').find({ count: 0 }).all()).toEqual([]);
});

describe.each(ENGINES)('computed columns, with steps %s', (_, open) => {
  let store: Store;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  it('are written by every write of their row', async () => {
    const carts = store.db.repository(Cart);
    const key = { owner: 'a', no: 1 };
    const now = async () => {
      const { count, search } = (await carts.get(key))!;
      return [count, search];
    };
    await carts.insert({ ...key, title: 'First', lines: new Map([['x', 1]]) });
    expect(await now()).toEqual([1, 'first']);
    // Entries that the update does not name are read.
    await carts.update(key, { lines: new Map([['y', 2]]) });
    expect(await now()).toEqual([2, 'first']);
    await carts.put({ ...key, title: 'Other' });
    expect(await now()).toEqual([2, 'other']);
    await carts.update(key, { title: null });
    expect(await now()).toEqual([2, undefined]);
    await carts.check(key, { count: 2 }).update({ title: 'Checked', lines: new Map([['x', null]]) });
    expect(await now()).toEqual([1, 'checked']);
    await carts.upsert({ ...key, title: 'unused' }, { title: 'Upserted' });
    expect(await now()).toEqual([1, 'upserted']);
    await carts.mutate(key, (row) => row.set({ title: 'Mutated' }));
    expect(await now()).toEqual([1, 'mutated']);
    await store.db.batch((batch) => void batch.of(Cart).update(key, { title: 'Batched' }));
    expect(await now()).toEqual([1, 'batched']);
    await carts.find({ owner: 'a' }).updateAll({ title: 'All' });
    expect(await now()).toEqual([1, 'all']);
    await carts.replace({ ...key, title: 'Replaced' });
    expect(await now()).toEqual([0, 'replaced']);
    await carts.putMany([2, 3].map((no) => ({ owner: 'a', no, lines: new Map([['z', no]]) })));
    expect((await carts.find({ owner: 'a' }).all()).map(({ count }) => count)).toEqual([0, 1, 1]);
  });

  it('are in conditions and indexes', async () => {
    const { db } = store;
    const carts = db.repository(Cart);
    for (const no of [1, 2, 3]) {
      await carts.insert({ owner: 'a', no, title: `T${no % 2}`, lines: new Map([['x', no]]) });
    }
    await carts.update({ owner: 'a', no: 2 }, { lines: new Map([['y', 1]]), title: 'T1' });
    expect((await carts.by('byCount').find({ count: 2 }).all()).map(({ no }) => no)).toEqual([2]);
    expect(await carts.by('bySearch').find({ search: 't0' }).count()).toBe(0);
    expect(await carts.by('bySearch').find({ search: 't1' }).count()).toBe(3);
    expect(
      (
        await carts
          .find({ owner: 'a' })
          .where({ count: { gt: 1 } })
          .select('count')
          .all()
      ).length,
    ).toBe(1);
    const checked = await db.index(Cart, 'byCount').verify();
    expect(checked).toMatchObject({ rows: 3, valid: 3, missing: 0, stale: 0, extra: 0 });
  });

  it('cannot be set', async () => {
    const carts = store.db.repository(Cart);
    const key = { owner: 'a', no: 1 };
    await carts.put({ ...key, title: 'A', count: 77, search: 'ignored' });
    expect(await carts.get(key)).toMatchObject({ count: 0, search: 'a' });
    await expect(carts.update(key, { search: 'mine' } as never)).rejects.toThrow(
      /Cart\.search is computed and cannot be set\. Change what it is computed from\./,
    );
    // What is read may be put back, with changes.
    const cart = (await carts.get(key))!;
    await carts.put(Object.assign(cart, { title: 'B' }));
    expect((await carts.get(key))?.search).toBe('b');
    await carts.delete(key);
    expect(await carts.get(key)).toBeNull();
    expectTypeOf<'count' extends keyof Patch<typeof Cart> ? true : false>().toEqualTypeOf<false>();
    expectTypeOf<Input<typeof Cart>>().toExtend<{ count?: number | null | undefined }>();
  });

  it('outlive no entity, and are inferred in defineEntity', async () => {
    const boxes = store.db.repository(Box);
    await boxes.insert({ id: 'b', width: 2, height: 3 });
    await boxes.update({ id: 'b' }, { width: 5 });
    expect(await boxes.get({ id: 'b' })).toMatchObject({ area: 15 });
    await expect(boxes.update({ id: 'b' }, { area: 1 })).rejects.toThrow(/Box\.area is computed/);
    await expect(boxes.update({ id: 'b' }, { height: 2 ** 31 - 1 })).rejects.toThrow(
      /Box\.area cannot be computed, so nothing was written: int32 cannot hold/,
    );
    expect(await boxes.get({ id: 'b' })).toMatchObject({ height: 3, area: 15 });
  });

  it('are not added to a row that is no entity: other programs wrote it, without a marker', async () => {
    const table = store.db.engine.table('carts');
    const carts = store.db.repository(Cart);
    const key = { owner: 'a', no: 1 };
    const row = compileSchema([Cart]).entity(Cart).key.encode(key);
    await table.put(new Put(row).addColumn('d', 't', 'Theirs').addColumn('d', 'p', 'x'));
    await carts.mutate(key, (cart) => cart.unset('price'));
    expect(await carts.get(key)).toMatchObject({ title: 'Theirs', count: undefined, search: undefined });
    await carts.mutate(key, (cart) => cart.set({ title: 'Ours' }));
    expect(await carts.get(key)).toMatchObject({ count: 0, search: 'ours' });
  });

  it('are set in rows of before their declaration by a write of a value that is there', async () => {
    const carts = store.db.repository(Cart);
    const key = { owner: 'a', no: 1 };
    const put = new Put(carts.schema.key.encode(key)).addColumn('d', '_', Uint8Array.of(1));
    await store.db.engine.table('carts').put(put.addColumn('d', 't', 'Old'));
    expect((await carts.get(key))?.search).toBeUndefined();
    for await (const { owner, no, title = null } of carts.find({}, { fullScan: true })) {
      const { ok } = await carts.check({ owner, no }, { title }).update({ title });
      expect(ok).toBe(true);
    }
    expect(await carts.get(key)).toMatchObject({ title: 'Old', search: 'old', count: 0 });
    expect(await carts.by('bySearch').find({ search: 'old' }).count()).toBe(1);
  });

  it('equal what JavaScript computes of the rows, after random writes', async () => {
    const carts = store.db.repository(Cart);
    const title = fc.option(fc.string({ maxLength: 4 }), { nil: null });
    const line = fc.tuple(fc.constantFrom('x', 'y', 'z'), fc.option(fc.nat(9), { nil: null }));
    const write = fc.record({
      no: fc.nat(2),
      how: fc.constantFrom('put', 'update', 'replace', 'delete'),
      title,
      lines: fc.array(line, { maxLength: 3 }).map((entries) => new Map(entries)),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(write, { maxLength: 10 }), async (writes) => {
        for (const { no, how, ...values } of writes) {
          const key = { owner: 'r', no };
          if (how === 'delete') await carts.delete(key);
          else if (how === 'update') {
            if (await carts.exists(key)) await carts.update(key, values);
          } else await carts[how as 'put' | 'replace']({ ...key, ...values });
        }
        for (const cart of await carts.find({ owner: 'r' }).all()) {
          expect([cart.count, cart.search]).toEqual([cart.lines?.size ?? 0, cart.title?.toLowerCase()]);
          expect(await carts.by('byCount').find({ count: cart.count! }).count()).toBeGreaterThan(0);
        }
      }),
      { numRuns: scaled(3, 60, 600) },
    );
  });
});

it('are no inputs of schemas', async () => {
  const given = { owner: 'a', no: 1, count: 5 };
  const read = await inputSchema(Cart)['~standard'].validate(given);
  expect(read.issues).toEqual([{ path: ['count'], message: 'unknown property. Remove it.' }]);
  expect((await patchSchema(Cart)['~standard'].validate({ search: 'x' })).issues).toHaveLength(1);
});

describe('declarations that cannot be right', () => {
  const table = { name: 'wrong', families: { d: {} } };

  it.each([[() => 'no function' as never, /It is computed by "no function"\. Give a function/]])(
    'no function',
    (make, message) => {
      @Entity({ table })
      class Wrong {
        static readonly key = rowKey('id');
        id!: string;
        @Computed(make() as () => string) @Column('d:a', text) readonly a?: string;
      }
      expect(() => compileSchema([Wrong])).toThrow(message);
    },
  );

  it('other columns', () => {
    @Entity({ table })
    class Wrong {
      static readonly key = rowKey('id');
      @Computed(() => 'x') id!: string;
      @Computed(() => new Map<string, string>()) @Columns('d:m', { value: text }) readonly map?: Map<
        string,
        string
      >;
      @Computed(() => 'x') @Default(() => 'y') @Column('d:b', text) readonly both?: string;
    }
    expect(() => compileSchema([Wrong])).toThrow(
      /Wrong\.id: It is computed, and no column.*Wrong\.map: It is computed, and no column.*Wrong\.both: It is computed, and Rowan sets it/s,
    );
  });

  it('in rows with copies', () => {
    @Entity({ table: { name: 'sources', families: { d: {} } } })
    class Source {
      static readonly key = rowKey('id');
      id!: string;
      @Column('d:n', text) name?: string | null;
    }
    @Entity({ table })
    @Denormalized(() => Source, { via: 'source', fields: { name: 'name' } })
    class Holder {
      static readonly key = rowKey('id');
      id!: string;
      @Column('d:s', text) source?: string | null;
      @Column('d:n', text) name?: string | null;
      @Computed((holder: Holder) => holder.name ?? '') @Column('d:c', text) readonly upper?: string;
    }
    expect(() => compileSchema([Source, Holder])).toThrow(/computed, in an entity with copies/);
  });
});
