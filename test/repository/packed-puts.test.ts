/** `putMany` packs rows where it can: it stores, logs and refuses what puts of one object each do. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Column, Columns, Entity, part, Required, RowKey, Table } from '../../decorators/index.js';
import { bytes, int32, json, text } from '../../src/codec/index.js';
import { withoutGenerating } from '../../src/codegen/generated.js';
import { Database } from '../../src/database.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { ItemOutcome } from '../../src/repository/options.js';
import type { EntityPacking, EntitySchema } from '../../src/schema/types.js';
import { type EmbeddedEngine, openEmbedded } from '../../src/store/engine.js';
import { type Engine, Get, Put, Scan, tableDescriptor, type WriteObserver } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { openMemory } from '../../src/testing/index.js';
import { scaled } from '../proof/scale.js';
import { FaultFileSystem } from '../store/fs/fault-fs.js';

@Table({ name: 'packed', families: { d: { versions: 3 }, e: {} } })
class Packed {}

@Entity({ table: Packed })
@RowKey(part('id'))
class Note {
  declare static readonly key: ['id'];
  id!: string;
  @Column('d:s', text) s?: string | null;
  @Column('e:b', bytes) b?: Uint8Array | null;
  @Column('d:i', int32) i?: number | null;
  @Column('e:j', json<unknown>()) j?: unknown;
  @Columns('d:m:', { value: int32 }) m?: Map<string, number | null>;
  /** Its cell is before the marker's. */
  @Column('d:A', int32) a?: number | null;
}

@Table({ name: 'tasks', families: { d: {} } })
class Tasks {}

@Entity({ table: Tasks })
@RowKey(part('id'))
class Task {
  declare static readonly key: ['id'];
  id!: string;
  @Required() @Column('d:t', text) title!: string;
}

type Row = Pick<Note, 'id'> & Partial<Omit<Note, 'id'>>;

const NOW = 1_700_000_000_000;
const MAX_CELL = 200;
/** A timeout takes no part in what is stored, and such calls do not pack. */
const UNPACKED = { timeout: 60_000 };

interface Store {
  readonly db: Database;
  readonly engine: EmbeddedEngine;
  readonly files: MemoryFileSystem;
  readonly faults: FaultFileSystem;
}

async function openStore(clock = (): number => NOW): Promise<Store> {
  const files = new MemoryFileSystem();
  const faults = new FaultFileSystem(files);
  const engine = await openEmbedded('/db', {
    fileSystem: faults,
    automatic: false,
    clock,
    maxCellSize: MAX_CELL,
  });
  const db = new Database(compileSchema([Note]), engine, 'create');
  await db.ready();
  await engine.admin.split('packed', Buffer.from('b'));
  return { db, engine, files, faults };
}

/** Every version of every cell, with its timestamp. */
async function cellsOf(engine: Engine): Promise<string[]> {
  const found: string[] = [];
  for await (const { cells } of engine.table('packed').scan(new Scan().readVersions(10)))
    for (const { row, family, qualifier, timestamp, value } of cells)
      found.push(
        `${Buffer.from(row)} ${family}:${Buffer.from(qualifier)} ${timestamp} ${Buffer.from(value).toString('hex')}`,
      );
  return found;
}

async function afterCrash({ db, files }: Store): Promise<string[]> {
  const crashed = files.crash({ keepUnsynced: 0, random: () => 0 });
  await db.close();
  const again = await openEmbedded('/db', { fileSystem: crashed, automatic: false, clock: () => NOW });
  const cells = await cellsOf(again);
  await again.close();
  return cells;
}

async function outcomeOf(run: Promise<unknown>): Promise<unknown> {
  try {
    return (await run) ?? 'stored';
  } catch (error) {
    return plainError(error);
  }
}

async function outcomesOf(run: Promise<readonly ItemOutcome[]>): Promise<unknown> {
  try {
    return (await run).map((outcome) => (outcome.ok ? 'stored' : plainError(outcome.error)));
  } catch (error) {
    return plainError(error);
  }
}

/** What an insert returns, with its class; undefined for other writes. */
function plainCopy(stored: unknown): unknown {
  return stored === undefined ? undefined : { isNote: stored instanceof Note, ...(stored as object) };
}

function plainError(error: unknown): unknown {
  const { code, message, details } = error as { code: string; message: string; details: unknown };
  return { code, message, details };
}

const some = <T>(given: fc.Arbitrary<T>, weight: number): fc.Arbitrary<T | null | undefined> =>
  fc.oneof(
    { weight: 8, arbitrary: given },
    { weight: 3, arbitrary: fc.constant(undefined) },
    { weight, arbitrary: fc.constant(null) },
  );

/** `rare`: how often values are of the kinds that are not packed, or refused. */
const rowOf = (rare: number): fc.Arbitrary<Row> =>
  fc.record({
    id: fc.oneof(
      { weight: 40, arbitrary: fc.constantFrom('a', 'a1', 'b', 'c', 'ü', 'd'.repeat(40)) },
      { weight: rare, arbitrary: fc.constantFrom('x'.repeat(40_000), 7 as unknown as string) },
    ),
    s: some(
      fc.oneof(
        { weight: 20, arbitrary: fc.constantFrom('', 'a', '\0', 'ü'.repeat(30)) },
        { weight: rare, arbitrary: fc.constantFrom('y'.repeat(MAX_CELL), 5 as unknown as string) },
      ),
      rare,
    ),
    b: some(fc.uint8Array({ maxLength: 60 }), rare),
    i: some(fc.integer({ min: -5, max: 5 }), rare),
    j: some(fc.constantFrom<unknown>('', 0, [], { a: null }), rare),
    a: some(fc.constantFrom(1, 2), rare),
    m: fc.oneof(
      { weight: 20, arbitrary: fc.constant(undefined) },
      { weight: rare, arbitrary: fc.constant(new Map([['k', 1]])) },
    ),
  }) as fc.Arbitrary<Row>;

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.integer({ min: 0, max: 1 }).chain((rare) => fc.array(rowOf(rare), { maxLength: 8 })),
  },
  { weight: 1, arbitrary: fc.constantFrom('a', 'b') },
);

describe('packed puts', () => {
  test('store and refuse what other puts do, in memory and behind a crash', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 6 }),
        fc.constantFrom(undefined, 'SKIP_WAL', 'ASYNC_WAL', 'FSYNC_WAL'),
        async (steps, durability) => {
          const packed = await openStore();
          const other = await openStore();
          const options = durability === undefined ? undefined : ({ durability } as const);
          for (const one of steps) {
            if (typeof one === 'string') {
              for (const { db } of [packed, other]) await db.repository(Note).delete({ id: one });
              continue;
            }
            const [ours, theirs] = await Promise.all([
              outcomeOf(packed.db.repository(Note).putMany(one as never, options)),
              outcomeOf(other.db.repository(Note).putMany(one as never, { ...options, ...UNPACKED })),
            ]);
            expect(ours).toEqual(theirs);
          }
          expect(await cellsOf(packed.engine)).toEqual(await cellsOf(other.engine));
          expect(await afterCrash(packed)).toEqual(await afterCrash(other));
        },
      ),
      { numRuns: scaled(12, 400, 4000) },
    );
  });

  test('are refused where a required column has no value, as other puts are', async () => {
    const [packed, other] = [await openMemory({ entities: [Task] }), await openMemory({ entities: [Task] })];
    for (const rows of [
      [{ id: 'a', title: 't' }, { id: 'b' }],
      [
        { id: 7, title: 't' },
        { id: 'b', title: null },
      ],
      [
        { id: 'a', title: 7 },
        { id: 'b', title: undefined },
      ],
      [{ id: 'a', title: 't' }, 'b'],
      [{ id: 'a', title: 't' }, null, { id: 'b' }],
      [
        { id: 'a', title: 't' },
        { id: 'b', title: 'u' },
      ],
    ]) {
      const ours = await outcomeOf(packed.repository(Task).putMany(rows as never));
      expect(ours).toEqual(await outcomeOf(other.repository(Task).putMany(rows as never, UNPACKED)));
      if (ours !== 'stored') expect(await packed.repository(Task).exists({ id: 'a' })).toBe(false);
    }
    expect(await packed.repository(Task).get({ id: 'b' })).toMatchObject({ title: 'u' });
    for (const db of [packed, other]) await db.close();
  });

  test('of a batch of inserts write and refuse what inserts of a change each do', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 6 }),
        fc.constantFrom({}, { durability: 'ASYNC_WAL' } as const),
        fc.boolean(),
        async (steps, durability, atomic) => {
          const options = { ...durability, atomic };
          const packed = await openStore();
          const other = await openStore();
          const insert = ({ db }: Store, rows: readonly Row[], how: object): Promise<unknown> =>
            outcomesOf(
              db.repository(Note).batch((batch) => {
                for (const row of rows) batch.insert(row as never);
                return batch;
              }, how),
            );
          for (const one of steps) {
            if (typeof one === 'string') {
              for (const { db } of [packed, other]) await db.repository(Note).delete({ id: one });
              continue;
            }
            const ours = await insert(packed, one, options);
            expect(ours).toEqual(await insert(other, one, { ...options, ...UNPACKED }));
          }
          expect(await cellsOf(packed.engine)).toEqual(await cellsOf(other.engine));
          expect(await afterCrash(packed)).toEqual(await afterCrash(other));
        },
      ),
      { numRuns: scaled(8, 300, 3000) },
    );
  });

  test('of a batch of inserts in order find rows that stand before, between and behind them, in memory and in files', async () => {
    const ids = fc.uniqueArray(fc.constantFrom('a', 'ab', 'ac', 'ad', 'b'), { maxLength: 3 });
    const flush = fc.constantFrom('no', 'begun', 'done');
    const steps = fc.array(fc.record({ ids, flush, deleted: fc.boolean() }), { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(steps, ids, fc.boolean(), async (before, inserted, atomic) => {
        const [packed, other] = [await openStore(), await openStore()];
        const flushes: Promise<void>[] = [];
        for (const { db, engine } of [packed, other]) {
          for (const { ids: stored, flush, deleted } of before) {
            await db.repository(Note).putMany(stored.map((id) => ({ id, s: 'old' })));
            if (deleted) await db.repository(Note).deleteMany(stored.slice(0, 1).map((id) => ({ id })));
            if (flush === 'done') await engine.admin.flush('packed');
            else if (flush === 'begun') flushes.push(engine.admin.flush('packed'));
          }
        }
        const insert = ({ db }: Store, how: object): Promise<unknown> =>
          outcomesOf(
            db.repository(Note).batch(
              (batch) => {
                for (const id of inserted.toSorted()) batch.insert({ id, s: 'new' });
                return batch;
              },
              { atomic, ...how },
            ),
          );
        expect(await insert(packed, {})).toEqual(await insert(other, UNPACKED));
        expect(await cellsOf(packed.engine)).toEqual(await cellsOf(other.engine));
        await Promise.all(flushes);
        for (const { db } of [packed, other]) await db.close();
      }),
      { numRuns: scaled(150, 1000, 10_000) },
    );
  });

  test('of an atomic batch of inserts are all written or none, whatever their number', async () => {
    const store = await openStore();
    const notes = store.db.repository(Note);
    await notes.put({ id: 'r1499', s: 'old' });
    const insert = (count: number): Promise<unknown> =>
      notes.batch(
        (batch) => {
          for (let i = 0; i < count; i++) batch.insert({ id: `r${i}`, s: 'new' });
          return batch;
        },
        { atomic: true },
      );
    await expect(insert(1_500)).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
    expect(await notes.find({}, { fullScan: true }).count()).toBe(1);
    await insert(1_499);
    expect(await notes.find({}, { fullScan: true }).count()).toBe(1_500);
    await store.db.close();
  });

  test('of a batch with other items than inserts are not taken out of it', async () => {
    const { db } = await openStore();
    const notes = db.repository(Note);
    await notes.put({ id: 'c', s: 'old' });
    const outcomes = await notes.batch((batch) =>
      batch
        .insert({ id: 'a', s: '1' })
        .insert({ id: 'a', s: '2' })
        .delete({ id: 'c' })
        .insert({ id: 'c', s: 'new' }),
    );
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, false, true, true]);
    expect([(await notes.get({ id: 'a' }))?.s, (await notes.get({ id: 'c' }))?.s]).toEqual(['1', 'new']);
    await db.close();
  });

  test('that the log cannot take leave nothing in memory, and nothing for the next opening', async () => {
    const store = await openStore();
    const { db, engine, faults } = store;
    const notes = db.repository(Note);
    await notes.put({ id: 'a', s: 'kept' });
    const before = await cellsOf(engine);
    faults.inject({ calls: ['write'], path: /wal$/, errno: 'ENOSPC' });
    const lost = [
      { id: 'a', s: 'lost', i: 1 },
      { id: 'b', s: 'lost', b: Uint8Array.of(1), i: 2, a: 3 },
    ];
    await expect(notes.putMany(lost)).rejects.toMatchObject({ code: 'ERR_IO' });
    expect(await cellsOf(engine)).toEqual(before);
    await notes.putMany([{ id: 'c', i: 4 }]);
    const after = await cellsOf(engine);
    expect(after.length).toBe(before.length + 2);
    expect(await afterCrash(store)).toEqual(after);
  });

  test('take no bytes of the caller with them, and share their buffer with no other call', async () => {
    const { db, engine } = await openStore();
    const notes = db.repository(Note);
    const blob = Uint8Array.of(1, 2, 3);
    const calls = [
      notes.putMany([{ id: 'a', b: blob }, { id: 'a1' }]),
      // Not packed in the end.
      notes.putMany([
        { id: 'x', s: 'left' },
        { id: 'y', s: null },
      ]),
      notes.putMany([{ id: 'c', s: 'other' }]),
    ];
    blob.fill(9);
    await Promise.all(calls);
    await notes.putMany([{ id: 'b', s: 'third' }]);
    expect((await notes.get({ id: 'a' }))?.b).toEqual(Uint8Array.of(1, 2, 3));
    const texts = (await cellsOf(engine)).filter((cell) => cell.includes(':s'));
    const text = (value: string): string => Buffer.from(value).toString('hex');
    expect(texts.map((cell) => cell.split(' ').at(-1))).toEqual(['third', 'other', 'left'].map(text));
    await db.close();
  });

  test('of one packing are not overwritten by another, unless it was released', () => {
    const [{ mapper }] = compileSchema([Note]).entities as [EntitySchema];
    const pack = (s: string) => {
      const packing = mapper.packing('USE_DEFAULT')!;
      expect(packing.add({ id: 'a', s }, Uint8Array.of(97))).toBe(true);
      return packing;
    };
    const valuesOf = ({ puts }: EntityPacking) =>
      puts.toPuts()[0]!.cells.map(({ value }) => Buffer.from(value).toString());
    const [one, two] = [pack('one'), pack('two')];
    expect([valuesOf(one)[1], valuesOf(two)[1]]).toEqual(['one', 'two']);
    const { buffer } = one.puts.bytes;
    one.release();
    const three = pack('three');
    expect(three.puts.bytes.buffer).toBe(buffer);
    pack('four');
    expect([valuesOf(two)[1], valuesOf(three)[1]]).toEqual(['two', 'three']);
  });

  test('have the cells of each family by qualifier, the marker among them', () => {
    const [{ mapper }] = compileSchema([Note]).entities as [EntitySchema];
    const note = { id: 'a', s: 's', b: Uint8Array.of(1), i: 1, j: {}, a: 1 };
    const packing = mapper.packing('USE_DEFAULT')!;
    packing.add(note, Uint8Array.of(97));
    for (const put of [packing.puts.toPuts()[0]!, mapper.toMutations(note, Uint8Array.of(97))[0] as Put])
      expect(put.cells.map(({ family, qualifier }) => `${family}:${Buffer.from(qualifier)}`)).toEqual([
        'd:A',
        'd:_',
        'd:i',
        'd:s',
        'e:b',
        'e:j',
      ]);
  });

  test('of a family that the table does not have are refused as other puts are', async () => {
    const packed = await openStore();
    const other = await openStore();
    for (const { engine } of [packed, other])
      await engine.admin.modifyTable(tableDescriptor('packed', { d: {} }));
    const rows = [
      { id: 'a', s: '1' },
      { id: 'b', b: Uint8Array.of(1) },
      { id: 'c', s: '2' },
    ];
    const ours = await outcomeOf(packed.db.repository(Note).putMany(rows));
    expect(ours).toMatchObject({ code: 'ERR_NO_SUCH_FAMILY' });
    expect(ours).toEqual(await outcomeOf(other.db.repository(Note).putMany(rows, UNPACKED)));
    expect(await cellsOf(packed.engine)).toEqual(await cellsOf(other.engine));
    for (const { db } of [packed, other]) await db.close();
  });

  test('reach observers of the table as single puts', async () => {
    const { db, engine } = await openStore();
    const seen: string[] = [];
    const observer: WriteObserver = {
      before: ({ change }) => {
        seen.push(`${change.kind} ${Buffer.from(change.row)}`);
        return undefined;
      },
    };
    const stop = engine.observe('packed', observer);
    await db.repository(Note).putMany([
      { id: 'a', s: '1' },
      { id: 'b', s: '2' },
    ]);
    stop();
    await db.repository(Note).putMany([{ id: 'c', s: '3' }]);
    expect(seen).toEqual(['put a', 'put b']);
    expect((await cellsOf(engine)).filter((cell) => cell.includes(':s'))).toHaveLength(3);
    await db.close();
  });

  test('are left out where code may not be generated', async () => {
    const { mapper } = withoutGenerating(() => compileSchema([Note]).entities[0]!);
    expect(mapper.packing('USE_DEFAULT')).toBeUndefined();
  });
});

/** Mostly of one of two entities. */
const oftenKnown = fc
  .tuple(rowOf(4), fc.constantFrom('a', 'a', 'b', undefined))
  .map(([row, id]): Row => ({ ...row, id: id ?? row.id }));

/** A write of one row. Of an update its id is the key, and the rest the patch. */
const write = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(
      fc.constantFrom('put', 'insert', 'update', 'update'),
      oftenKnown,
      fc.integer({ min: 0, max: 7 }),
    ),
  },
  fc.tuple(
    fc.constant('delete' as const),
    fc.constantFrom('a', 'b').map((id): Row => ({ id })),
    fc.constant(0),
  ),
  fc.tuple(fc.constantFrom('put', 'insert', 'update'), fc.constant(null), fc.constant(0)),
);

/** `kind`: in what kind of object an update has its patch. */
function patchOf({ id, i, ...rest }: Row, kind: number): unknown {
  if (kind === 0) return { id, i, ...rest };
  // What it inherits is no part of it.
  if (kind === 1) return Object.assign(Object.create({ i: 77 }) as object, { s: 'own' });
  // The marker is in another family.
  if (kind === 2) return { b: Uint8Array.of(1) };
  if (kind === 3) return { ...rest, unknown: 1 };
  return kind === 4 ? 'text' : rest;
}

describe('a put, an insert or an update without a change set', () => {
  test('stores and refuses what one with a change set does', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(write, { minLength: 1, maxLength: 10 }),
        fc.constantFrom<object | undefined>(
          undefined,
          { durability: 'SKIP_WAL' },
          { durability: 'ASYNC_WAL', timestamp: NOW - 5 },
          { ttl: 60_000, signal: AbortSignal.abort() },
          { ttl: 60_000 },
          { ttl: -1 },
          { other: 1 },
        ),
        async (steps, options) => {
          let now = NOW;
          const alone = await openStore(() => now);
          const other = await openStore(() => now);
          let watched = 0;
          let stored = 0;
          other.db.on('query', () => watched++);
          for (const [operation, row, kind] of steps) {
            now++;
            const [ours, theirs] = await Promise.all(
              [alone, other].map(({ db }) => {
                const notes = db.repository(Note);
                if (operation === 'delete') return outcomeOf(notes.delete({ id: row!.id }));
                if (operation !== 'update')
                  return outcomeOf(notes[operation as 'put'](row as never, options).then(plainCopy));
                const key = row === null ? null : { id: row.id };
                return outcomeOf(
                  notes.update(key as never, patchOf(row ?? { id: 'a' }, kind) as never, options),
                );
              }),
            );
            expect(ours).toEqual(theirs);
            if (ours === 'stored') stored++;
          }
          if (stored > 0) expect(watched).toBeGreaterThan(0);
          expect(await cellsOf(alone.engine)).toEqual(await cellsOf(other.engine));
          expect(await afterCrash(alone)).toEqual(await afterCrash(other));
        },
      ),
      { numRuns: scaled(150, 1000, 10_000) },
    );
  });
});

describe.each([
  ['packed', {}],
  ['put by put', UNPACKED],
])('many rows of one call, %s', (_, options) => {
  const rows = (count: number): Row[] => Array.from({ length: count }, (_, n) => ({ id: `r${n}`, i: n }));

  test('are written in several turns of the event loop, those of one row in their order', async () => {
    const { db } = await openStore();
    const notes = db.repository(Note);
    const many = [...rows(30_000), { id: 'r5', i: -5 }];
    let turns = 0;
    let writing = true;
    const count = (): void => {
      turns++;
      if (writing) setImmediate(count);
    };
    setImmediate(count);
    const written = notes.putMany(many as never, options);
    // They were encoded in the turn of the call.
    for (const row of many) row.i = 0;
    await written;
    writing = false;
    expect(turns).toBeGreaterThan(6);
    expect((await notes.get({ id: 'r29999' }))?.i).toBe(29_999);
    expect((await notes.get({ id: 'r5' }))?.i).toBe(-5);
    expect(await notes.find({}, { fullScan: true }).count()).toBe(30_000);
    await db.close();
  });

  test('are written but for the one that is refused, whose error is thrown', async () => {
    const { db } = await openStore();
    const notes = db.repository(Note);
    const many = [...rows(20_000), { id: 'large', s: 'x'.repeat(MAX_CELL) }, { id: 'last' }];
    await expect(notes.putMany(many as never, options)).rejects.toThrow(/large/);
    expect(await notes.find({}, { fullScan: true }).count()).toBe(20_001);
    await db.close();
  });

  test('the error is that of the first row that is refused, whatever the turns have', async () => {
    const { db } = await openStore();
    const s = 'x'.repeat(MAX_CELL);
    const many = rows(20_000).map((row, n) =>
      n === 5000 ? { id: 'first', s } : n >= 10_000 && n < 15_000 ? { id: `later${n}`, s } : row,
    );
    await expect(db.repository(Note).putMany(many as never, options)).rejects.toThrow(/first/);
    await db.close();
  });

  test('end with the error of a log that fails between the turns', async () => {
    const { db, faults } = await openStore();
    const notes = db.repository(Note);
    faults.inject({ calls: ['write', 'sync'], path: /\.wal$/, after: 1, times: Number.POSITIVE_INFINITY });
    await expect(notes.putMany(rows(30_000) as never, options)).rejects.toMatchObject({
      code: 'ERR_READONLY',
    });
    await db.close().catch(() => undefined);
  });
});

test('bytes of puts that are written in a later turn may be used again after the call', async () => {
  const { db, engine } = await openStore();
  const value = Buffer.from('first');
  const puts = Array.from({ length: 5000 }, (_, n) => new Put(`k${n}`).addColumn('d', 'v', value));
  const written = engine.table('packed').putAll(puts);
  value.fill('!');
  await written;
  const last = await engine.table('packed').get(new Get('k4999'));
  expect(Buffer.from(last.cells[0]!.value).toString()).toBe('first');
  await db.close();
});
