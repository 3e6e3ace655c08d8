/**
 * `updateAll` and `deleteAll` of what an index finds, against a model of the rows: on the embedded engine and on one whose step is
 * one row, as HBase's; alone, and beside a writer who changes rows that were found and not changed yet.
 */

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Column, Entity, Index, Json, part, RowKey, salt, Table, Version } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import type { RowanError } from '../../src/errors.js';
import type { BulkProgress } from '../../src/query/bulk-change.js';
import type { EntityQuery } from '../../src/query/index.js';
import type { Repository } from '../../src/repository/index.js';
import { openMemory } from '../../src/testing/index.js';
import { record } from '../proof/evidence.js';
import { scaled } from '../proof/scale.js';
import { openStepless } from '../proof/stepless.js';

@Table({ name: 'chores', families: { d: {} } })
class ChoreTable {}

@Entity({ table: ChoreTable })
@RowKey(salt(2), part('id', int32))
@Index('byDue', [part('due', int32)])
@Index('spread', [salt(3), part('state'), part('due', int32)], { include: ['note'] })
@Index('openOnes', [part('due', int32)], { where: { state: 'open' } })
@Index('byTag', [part('tags')])
class Chore {
  declare static readonly key: ['id'];
  declare static readonly indexes: {
    byDue: ['due'];
    spread: ['state', 'due'];
    openOnes: ['due'];
    byTag: ['tags'];
  };
  id!: number;
  @Column('d:u', int32) due?: number | null;
  @Column('d:s', text) state?: string | null;
  @Column('d:n', text) note?: string | null;
  @Json('d:t') tags?: string[] | null;
  @Version('d:v') version?: number;
}

type Chores = Repository<typeof Chore>;
type Row = { id: number; due?: number | null; state?: string | null; tags?: string[] | null };

const STATES = ['open', 'waiting', 'done'];
const rowsOf = fc.uniqueArray(
  fc.record({
    id: fc.nat(80),
    due: fc.option(fc.nat(9)),
    state: fc.option(fc.constantFrom(...STATES)),
    tags: fc.option(fc.subarray(['x', 'y', 'z'])),
  }),
  { selector: ({ id }) => id, maxLength: 40 },
);

/** A question of an index, and the rows that it is asked for. */
interface Asked {
  readonly query: (chores: Chores) => EntityQuery<typeof Chore>;
  readonly meets: (row: Row) => boolean;
}

const dueIn = (row: Row, from: number, to: number): boolean =>
  typeof row.due === 'number' && row.due >= from && row.due < to;

const asked: fc.Arbitrary<Asked> = fc.oneof(
  fc.record({ from: fc.nat(9), to: fc.nat(10) }).map(({ from, to }) => ({
    query: (chores: Chores) => chores.by('byDue').find({ due: { gte: from, lt: to } }),
    meets: (row: Row) => dueIn(row, from, to),
  })),
  fc.record({ from: fc.nat(9), state: fc.constantFrom(...STATES) }).map(({ from, state }) => ({
    query: (chores: Chores) =>
      chores
        .by('byDue')
        .find({ due: { gte: from } })
        .where({ state }),
    meets: (row: Row) => dueIn(row, from, 10) && row.state === state,
  })),
  fc.subarray(STATES).map((states) => ({
    query: (chores: Chores) => chores.by('spread').find({ state: { in: states } }),
    meets: (row: Row) => states.includes(row.state ?? '') && typeof row.due === 'number',
  })),
  fc.record({ from: fc.nat(9) }).map(({ from }) => ({
    query: (chores: Chores) => chores.by('openOnes').find({ due: { gte: from } }),
    meets: (row: Row) => row.state === 'open' && dueIn(row, from, 10),
  })),
  fc.subarray(['x', 'y', 'z']).map((tags) => ({
    query: (chores: Chores) => chores.by('byTag').find({ tags: { in: tags } }),
    meets: (row: Row) => (row.tags ?? []).some((tag) => tags.includes(tag)),
  })),
  fc.record({ state: fc.constantFrom(...STATES), from: fc.nat(9) }).map(({ state, from }) => ({
    query: (chores: Chores) => chores.find({}).where({ state, due: { gte: from } }),
    meets: (row: Row) => row.state === state && dueIn(row, from, 10),
  })),
);

/** What is done to each row; updates move rows in the index that found them, within what is asked too. */
const patches = fc.option(
  fc.oneof(
    fc.record({ due: fc.option(fc.nat(9)) }),
    fc.record({ state: fc.option(fc.constantFrom(...STATES)) }),
    fc.record({ tags: fc.option(fc.subarray(['x', 'y', 'z'])), due: fc.nat(9) }),
    fc.record({ note: fc.constantFrom('a', 'b') }),
  ),
);

type Patch = Readonly<Partial<Row & { note: string }>>;

const change = (
  query: EntityQuery<typeof Chore>,
  patch: Patch | null,
  options: object,
): Promise<BulkProgress> => (patch === null ? query.deleteAll(options) : query.updateAll(patch, options));

const NAMES = ['byDue', 'spread', 'openOnes', 'byTag'] as const;

/** As a row is stored: absent values are not. */
function stored(row: object): object {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null && value !== undefined));
}

async function rowsIn(chores: Chores): Promise<ReadonlyMap<number, object>> {
  const rows = await chores.find({}, { fullScan: true }).all();
  return new Map(rows.map((row) => [row.id, stored(row)]));
}

interface Stage {
  readonly chores: Chores;
  /** Another program's. */
  readonly others: Chores;
  verify(): Promise<void>;
  close(): Promise<void>;
}

function stageOf(db: Database, other: Database, close: () => Promise<void>): Stage {
  return {
    chores: db.repository(Chore),
    others: other.repository(Chore),
    async verify() {
      for (const name of NAMES) {
        expect(await db.index(Chore, name).verify(), name).toMatchObject({ missing: 0, extra: 0, stale: 0 });
      }
    },
    close,
  };
}

const STAGES: Readonly<Record<string, () => Promise<Stage>>> = {
  'where rows and entries are one step': async () => {
    const db = await openMemory({ entities: [Chore] });
    return stageOf(db, db, async () => db.close());
  },
  'where one row is one step': async () => {
    const store = await openStepless();
    const { db } = await store.program(Chore);
    const { db: other } = await store.program(Chore);
    return stageOf(db, other, async () => store[Symbol.asyncDispose]());
  },
};

describe.each(Object.keys(STAGES))('updateAll and deleteAll by an index, %s,', (name) => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await STAGES[name]!();
  });

  afterAll(async () => {
    await stage.verify();
    await stage.close();
  });

  const fill = async (rows: readonly Row[]): Promise<void> => {
    await stage.chores.find({}, { fullScan: true }).deleteAll();
    await stage.chores.putMany(rows.map((row) => ({ ...row })));
  };

  it('change each row that is asked for, once', async () => {
    const options = fc.record({ batch: fc.integer({ min: 1, max: 7 }), reversed: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(
        rowsOf,
        asked,
        patches,
        options,
        async (rows, { query, meets }, patch, { batch, reversed }) => {
          await fill(rows);
          const all = query(stage.chores);
          const { matched, changed } = await change(reversed ? all.reverse() : all, patch, { batch });
          const met = rows.filter(meets).length;
          expect([matched, changed]).toEqual([met, met]);
          const left = rows.flatMap((row) => {
            if (!meets(row)) return [[row.id, stored({ ...row, version: 1 })] as const];
            return patch === null ? [] : [[row.id, stored({ ...row, ...patch, version: 2 })] as const];
          });
          expect(await rowsIn(stage.chores)).toEqual(new Map(left));
        },
      ),
      { numRuns: scaled(10, 200, 6000) },
    );
  });

  it('go on from a cursor behind an error, and change no more than the limit', async () => {
    const rows = Array.from({ length: 30 }, (_, id) => ({ id, due: id % 10, state: 'open' }));
    await fill(rows);
    const query = stage.chores.by('byDue').find({ due: { gte: 2 } });
    let cursor: string | undefined;
    const onProgress = (progress: BulkProgress): void => {
      cursor = progress.cursor;
      if (progress.changed >= 10) throw new Error('cut off');
    };
    await expect(query.updateAll({ state: 'done' }, { batch: 5, onProgress })).rejects.toThrow('cut off');
    expect(await query.limit(4).updateAll({ state: 'done' }, { batch: 3, cursor })).toMatchObject({
      changed: 4,
    });
    const done = async (): Promise<unknown[]> =>
      (
        await stage.chores
          .by('byDue')
          .find({ due: { gte: 0 } })
          .where({ state: 'done' })
          .all()
      ).map(({ due }) => due);
    expect(await done()).toEqual([2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6]);
    expect(await query.updateAll({ state: 'done' }, { cursor })).toMatchObject({
      matched: 14,
      cursor: undefined,
    });
    expect(await done()).toHaveLength(24);
  });

  it('leave alone what others have taken out of the question meanwhile', async () => {
    const operation = fc.record({ id: fc.nat(30), patch: patches });
    const options = fc.record({ batch: fc.integer({ min: 1, max: 7 }), between: fc.boolean() });
    const rows = fc.array(fc.record({ due: fc.nat(9), state: fc.constantFrom(...STATES) }), {
      minLength: 15,
      maxLength: 30,
    });
    await fc.assert(
      fc.asyncProperty(
        rows.map((values) => values.map((value, id): Row => ({ id, ...value, tags: ['x'] }))),
        fc.array(operation, { minLength: 5, maxLength: 20 }),
        asked,
        patches,
        options,
        async (given, operations, { query, meets }, patch, { batch, between }) => {
          await fill(given);
          const left = [...operations];
          // How many of them a row has seen that was not changed before.
          const unchanged = new Map<number, number>();
          const write = async (count: number): Promise<void> => {
            for (const { id, patch: theirs } of left.splice(0, count)) {
              const seen = unchanged.get(id) ?? 0;
              if ((await stage.others.get({ id }))?.version === 1 + seen) unchanged.set(id, seen + 1);
              await apply(stage.others, id, theirs);
            }
          };
          // Those of a row in their order.
          const besides = async (id: number): Promise<void> => {
            for (const one of operations) if (one.id === id) await apply(stage.others, id, one.patch);
          };
          const onProgress = between ? () => write(3) : undefined;
          const changing = change(query(stage.chores), patch, { batch, ...(onProgress && { onProgress }) });
          if (!between) await Promise.all(given.map(({ id }) => besides(id)));
          await changing;
          if (between) await write(left.length);
          const found = await rowsIn(stage.chores);
          for (const row of given) {
            const theirs = operations.filter(({ id }) => id === row.id).map((one) => one.patch);
            const outcomes = outcomesOf({ ...row, version: 1 }, theirs, patch, meets, unchanged.get(row.id));
            expect(outcomes, `row ${row.id}`).toContainEqual(found.get(row.id));
          }
        },
      ),
      { numRuns: scaled(10, 150, 4000) },
    );
    record('bulk-changes-by-index', { interleavings: scaled(10, 150, 4000) });
  });
});

/** What one row may have come to: the bulk change took effect between two of the others', and must where the row met it throughout. */
function outcomesOf(
  row: Row & { version: number },
  theirs: readonly (Patch | null)[],
  patch: Patch | null,
  meets: (row: Row) => boolean,
  /** How many of the others' it cannot stand before. */
  behind = 0,
): (object | undefined)[] {
  type State = (Row & { version: number }) | undefined;
  const apply = (state: State, by: Patch | null): State =>
    state === undefined || by === null ? undefined : { ...state, ...by, version: state.version + 1 };
  const outcomes: (object | undefined)[] = [];
  let isMissed = false;
  let state: State = row;
  for (let k = 0; k <= theirs.length; k++) {
    if (state === undefined || !meets(state)) isMissed = true;
    else if (k >= behind) {
      const end = theirs.slice(k).reduce<State>((then, by) => apply(then, by), apply(state, patch));
      outcomes.push(end && stored(end));
    }
    if (k < theirs.length) state = apply(state, theirs[k]!);
  }
  if (isMissed) outcomes.push(state && stored(state));
  return outcomes;
}

async function apply(chores: Chores, id: number, patch: Patch | null): Promise<void> {
  if (patch === null) {
    await chores.delete({ id });
    return;
  }
  try {
    await chores.update({ id }, patch);
  } catch (error) {
    if ((error as RowanError).code !== 'ERR_NOT_FOUND') throw error;
  }
}

it('does not look again with recheck: false', async () => {
  await using db = await openMemory({ entities: [Chore] });
  const chores = db.repository(Chore);
  await chores.putMany([1, 2].map((id) => ({ id, due: id })));
  const onProgress = async (): Promise<void> => {
    await chores.update({ id: 2 }, { due: 0 });
  };
  const query = chores.by('byDue').find({ due: { gte: 1 } });
  const options = { batch: 1, onProgress };
  expect(await query.updateAll({ note: 'a' }, options)).toMatchObject({ matched: 2, changed: 1 });
  await chores.update({ id: 2 }, { due: 2 });
  expect(await query.updateAll({ note: 'b' }, { ...options, recheck: false })).toMatchObject({ changed: 2 });
});
