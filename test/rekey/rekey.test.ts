/**
 * Keys that are changed while eight writers and readers go on: what stands under the new layout at the end is, cell by cell and
 * with its times, what copying the old one would have made; and no reader ever sees a row missing, twice or stale.
 */

import { expect, test } from 'vitest';
import { defineEntity, defineTable, type TableDeclaration } from '../../decorators/index.js';
import { int32, text } from '../../src/codec/index.js';
import { type Database, open } from '../../src/database.js';
import { indexTableName, notePrefix } from '../../src/features/indexes/entry.js';
import { desc, hash, int53, type KeyElement, part, recordType, reverse, salt } from '../../src/key/index.js';
import type { Repository } from '../../src/repository/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import { Scan } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { openMemory } from '../../src/testing/open-memory.js';
import { scaled } from '../proof/scale.js';
import { Random } from '../query/model/random.js';
import { checkFigures, SUMMARIES_WITH_INDEX } from './figures.js';
import { FeedEnd, Reader } from './reader.js';

const SEEDS = scaled(1, 12, 200);
const WRITERS = 8;

type Any = Repository<KeyedClass>;

interface Layout {
  readonly key: readonly KeyElement[];
  readonly recordType?: number;
  /** Whether `a` is no part of the key. */
  readonly stored?: boolean;
}

const INDEXES = {
  byX: { on: [part('x', text)] },
  byY: { on: [part('y', desc(int32))], include: ['x'], where: { x: { ne: null } } },
  byMore: { on: [part('more', text)] },
  byXSoon: { on: [part('x', text)], consistency: 'eventual' },
  byXOnce: { on: [part('x', text), part('b', int53)], unique: true },
};

const plain: Layout = { key: [part('a'), part('b', int53)] };
const LAYOUTS: readonly (readonly [Layout, Layout])[] = [
  [{ key: [salt(4), part('a'), part('b', int53)] }, { key: [salt(16), part('a'), part('b', int53)] }],
  [plain, { key: [salt(8), part('a'), part('b', int53)] }],
  [
    { key: [hash('a', { bytes: 2, keep: true }), part('b', int53)] },
    { key: [salt(4), part('a'), part('b', int53)] },
  ],
  [plain, { key: [part('b', int53), part('a')] }],
  [plain, { key: [part('a'), part('b', desc(int53))] }],
  [plain, { key: [reverse('a'), part('b', int53)] }],
  [{ key: [part('b', int53)], stored: true }, plain],
  [plain, { key: [hash('a', { bytes: 8 }), part('b', int53)], stored: true }],
];

function declare(random: Random, seed: number) {
  const versions = random.pick([1, 3]);
  const [old, now] = random.pick(LAYOUTS);
  const together = random.chance(0.4);
  const families = { d: { versions }, e: {} };
  const place = (name: string): TableDeclaration => defineTable({ name, families });
  const shared = place('things');
  const indexed = random.chance(0.5);
  const counted = seed % 2 === 1;
  const told = seed % 4 <= 1;
  const entity = (name: string, table: TableDeclaration, { key, stored }: Layout, type: number) =>
    defineEntity({
      name,
      table,
      key: together ? [recordType(), ...key] : key,
      ...(together ? { recordType: type } : {}),
      columns: (c: {
        column: (...of: unknown[]) => { optional(): unknown };
        counter: (at: string) => unknown;
        columns: (...of: unknown[]) => unknown;
      }) => ({
        ...(stored ? { a: c.column('d:a', text) } : {}),
        x: c.column('d:x', text).optional(),
        y: c.column('e:y', int32).optional(),
        n: c.counter('d:n'),
        more: c.columns('e:m.', { value: text }),
      }),
      ...(indexed ? { indexes: INDEXES } : {}),
      ...(counted ? { summaries: SUMMARIES_WITH_INDEX } : {}),
      ...(told ? { changes: { keep: 3600_000 } } : {}),
    } as never) as unknown as KeyedClass;
  return {
    from: entity('Old', together ? shared : place('olds'), old, 1),
    to: entity('New', together ? shared : place('news'), now, 2),
    indexed,
    counted,
    told,
  };
}

/** What the writers wrote last, by key. */
type Model = Map<string, { x: string | undefined; n: bigint }>;

const ofB = (b: number): string => `k${b % 3}`;

class Writer {
  constructor(
    private readonly id: number,
    private readonly random: Random,
    private readonly model: Model,
    private readonly things: () => Any,
    private readonly transact: (work: (things: Any) => Promise<unknown>) => Promise<unknown>,
  ) {}

  /** One write of a key that is this writer's alone. */
  async write(): Promise<void> {
    const { random, model } = this;
    const b = this.id + WRITERS * random.below(6);
    const key = { a: ofB(b), b } as never;
    const name = String(b);
    const known = model.get(name);
    const things = this.things();
    const x = `${random.below(1000)}`;
    const kind = random.below(9);
    if (kind <= 2 || known === undefined) {
      await things.put({ a: ofB(b), b, x, more: new Map([[`${random.below(3)}`, x]]) } as never);
      model.set(name, { x, n: known?.n ?? 0n });
    } else if (kind === 3) {
      await things.delete(key);
      model.delete(name);
    } else if (kind === 4) {
      await things.update(key, { x: null, y: random.below(9) } as never);
      model.set(name, { ...known, x: undefined });
    } else if (kind === 5) {
      await things.increment(key, { n: 1 } as never);
      model.set(name, { ...known, n: known.n + 1n });
    } else if (kind === 6) {
      await this.transact((own) => own.update(key, { x } as never));
      model.set(name, { ...known, x });
    } else if (kind === 7) {
      const outcomes = await things.batch((batch) => {
        return batch.update(key, { x } as never).update(key, { y: 3 } as never);
      });
      expect(outcomes.every(({ ok }) => ok)).toBe(true);
      model.set(name, { ...known, x });
    } else {
      await things.append(key, { x } as never);
      model.set(name, { ...known, x: `${known.x ?? ''}${x}` });
    }
  }
}

/** Every version under a layout, told by the key and not by the row. */
async function cells(db: Database<EmbeddedEngine>, target: KeyedClass): Promise<string[]> {
  const schema = db.schema.entity(target);
  const { marker } = schema;
  const all: string[] = [];
  for await (const { row, cells: own } of db.engine
    .table(schema.table.descriptor.name)
    .scan(new Scan().readAllVersions())) {
    if (!schema.key.matches(row)) continue;
    const { b } = schema.key.decode(row) as { b: number };
    for (const { family, qualifier, timestamp, value } of own) {
      const name = Buffer.from(qualifier).toString();
      if (name === 'a' || marker === undefined) continue;
      all.push(`${b} ${family}:${name}@${timestamp}=${Buffer.from(value).toString('hex')}`);
    }
  }
  return all.sort();
}

async function check(things: Any, model: Model, where: string): Promise<void> {
  const all = (await things.find({} as never, { fullScan: true }).all()) as unknown as {
    a: string;
    b: number;
    x?: string;
    n?: bigint;
  }[];
  const found = all.map(({ a, b, x, n }) => `${a} ${b} ${x} ${n ?? 0n}`).sort();
  const wanted = [...model].map(([b, { x, n }]) => `${ofB(Number(b))} ${b} ${x} ${n}`).sort();
  expect(found, where).toEqual(wanted);
}

/** Entries and notes of an entity's indexes. */
async function entriesOf(db: Database<EmbeddedEngine>, target: KeyedClass): Promise<number> {
  const { indexes, table } = db.schema.entity(target);
  let count = 0;
  for (const { name, id, eventual } of indexes) {
    if (eventual) await db.index(target, name as never).drain();
    for (const prefix of [id, notePrefix(id)]) {
      const scan = new Scan().setStartStopRowForPrefix(prefix);
      for await (const _ of db.engine.table(indexTableName(table.descriptor.name)).scan(scan)) count++;
    }
  }
  return count;
}

/** Holds each row against its entries, both ways. */
async function checkEntries(db: Database<EmbeddedEngine>, target: KeyedClass, where: string): Promise<void> {
  for (const name of Object.keys(INDEXES)) {
    const index = db.index(target, name as never);
    if (index.eventual) await index.drain();
    const report = await index.verify();
    expect(index.state, where).toBe('active');
    expect(report, `${where}: ${name}`).toMatchObject({ missing: 0, extra: 0, stale: 0, pending: 0 });
  }
}

async function round(seed: number): Promise<void> {
  const random = new Random(seed);
  const { from, to, indexed, counted, told } = declare(random, seed);
  let disk = new MemoryFileSystem();
  const reopen = (): Promise<Database<EmbeddedEngine>> =>
    open({ path: '/r', fileSystem: disk, background: 'inline', entities: [from, to, FeedEnd] });
  let db = await reopen();
  const model: Model = new Map();
  let target = from;
  const [reader, slow] = [new Reader(from, [from, to]), new Reader(from, [from, to])];
  const read = async (who: Reader, where: string): Promise<void> => {
    if (told) await who.check(db, target, `seed ${seed}, ${where}`);
  };
  const things = (): Any => db.repository(target);
  const transact = (work: (own: Any) => Promise<unknown>): Promise<unknown> =>
    db.transaction((tx) => work(tx.repository(target)));
  const writers = Array.from(
    { length: WRITERS },
    (_, id) => new Writer(id, new Random(seed * 100 + id), model, things, transact),
  );
  const write = async (times: number): Promise<void> => {
    await Promise.all(
      writers.map(async (writer) => {
        for (let i = 0; i < times; i++) await writer.write();
      }),
    );
  };
  await write(20);
  await db.engine.admin.flush(db.schema.entity(from).table.descriptor.name);
  await write(5);
  await read(reader, 'before');
  const early = reader.position;
  for (let turn = 0; ; turn++) {
    const where = `seed ${seed}, turn ${turn}`;
    const rekey = db.rekey(from, to);
    if ((await rekey.status())?.state === 'aborting') await rekey.abort();
    // Writers go on, and somebody stops the change wherever it stands: by an abort, a pause, or the loss of the process.
    const fate = turn > 6 ? 'none' : random.pick(['none', 'pause', 'abort', 'kill', 'kill']);
    const running = rekey
      .run({ batchRows: 1 + random.below(8), checkpointRows: 1 + random.below(60) })
      .catch((error: Error) => expect(error, where).toMatchObject({ code: 'ERR_ABORTED' }));
    // A store that closes ends it otherwise, and before anybody waits for it.
    running.catch(() => undefined);
    const going = write(6);
    for (let i = random.below(12); i > 0; i--) await new Promise((resolve) => setImmediate(resolve));
    if (fate === 'pause')
      await rekey.pause().catch((error: { code: string }) => expect(error.code).toBe('ERR_CONFLICT'));
    if (fate === 'abort')
      await rekey.abort().catch((error: { code: string }) => expect(error.code).toBe('ERR_CONFLICT'));
    await going;
    if (fate === 'kill') {
      // What was acknowledged is on the disk; the rest of the process is gone.
      const before = disk;
      disk = before.crash({ keepUnsynced: random.next(), random: () => random.next() });
      await db.close().catch(() => undefined);
      await running.catch(() => undefined);
      db = await reopen();
      await check(things(), model, where);
      if (counted) await checkFigures(db, from, where);
      await read(reader, where);
      continue;
    }
    await running;
    await check(things(), model, where);
    // The new layout's figures are those of the rows that it has by now.
    if (counted) for (const each of [from, to]) await checkFigures(db, each, where);
    await read(reader, where);
    const state = (await rekey.status())?.state;
    if (state === 'ready') break;
    if (told && ['backfill', 'verify'].includes(state!))
      await expect(new Reader(to, []).catchUp(db, where)).rejects.toThrow('ERR_UNSUPPORTED');
  }
  // Both layouts hold the same, whichever is written.
  expect(await cells(db, to), `seed ${seed}`).toEqual(await cells(db, from));
  const rekey = db.rekey(from, to);
  await check(db.repository(to), model, `seed ${seed}, ready`);
  if (indexed) await checkEntries(db, to, `seed ${seed}, ready`);
  const checkBoth = async (where: string): Promise<void> => {
    if (counted) for (const each of [from, to]) await checkFigures(db, each, `seed ${seed}, ${where}`);
  };
  await checkBoth('ready');
  await read(slow, 'ready, read from the start');
  if (told) {
    const feed = db.watch(to, {}, { from: early })[Symbol.asyncIterator]();
    await expect(feed.next()).rejects.toMatchObject({ code: 'ERR_POSITION_GONE' });
  }
  // A reader may go over at any time from here on.
  if (random.chance(0.5)) reader.entity = to;
  target = random.pick([from, to]);
  await write(6);
  await checkBoth('ready, written');
  await read(reader, 'ready, written');
  await rekey.cutOver();
  target = to;
  await Promise.all([write(6), check(db.repository(from), new Map(model), 'now').catch(() => undefined)]);
  await check(db.repository(from), model, `seed ${seed}, the way back`);
  await check(db.repository(to), model, `seed ${seed}, cut over`);
  if (indexed) for (const each of [from, to]) await checkEntries(db, each, `seed ${seed}, cut over`);
  expect(await cells(db, to), `seed ${seed}`).toEqual(await cells(db, from));
  await checkBoth('cut over');
  await read(reader, 'cut over');
  if (random.chance(0.3)) {
    await rekey.abort();
    target = from;
    expect(await cells(db, to)).toEqual([]);
    if (indexed) expect(await entriesOf(db, to)).toBe(0);
    await write(3);
    await check(db.repository(from), model, `seed ${seed}, rolled back`);
    await checkBoth('rolled back');
    for (const each of [reader, slow]) await read(each, 'rolled back');
  } else {
    await Promise.all([rekey.cleanup(), write(3)]);
    await write(3);
    expect(await cells(db, from)).toEqual([]);
    if (indexed) expect(await entriesOf(db, from)).toBe(0);
    await db.close();
    db = await reopen();
    await check(db.repository(to), model, `seed ${seed}, done`);
    await checkBoth('done');
    for (const each of [reader, slow]) await read(each, 'done');
    await expect(db.repository(from).put({ a: 'k0', b: 0, x: 'late' } as never)).rejects.toMatchObject({
      code: 'ERR_UNSUPPORTED',
    });
  }
  await db.close();
}

test('keys are changed under writers, pauses, aborts and losses of the process, and nothing is lost', async () => {
  for (let seed = 1; seed <= SEEDS; seed++) await round(seed);
});

test('old rows are removed though parts that the new layout stores have the times of its own writes', async () => {
  const entity = (name: string, key: readonly KeyElement[], columns: object) =>
    defineEntity({
      name,
      table: defineTable({ name: name.toLowerCase(), families: { d: {} } }),
      key,
      columns: (c: { column: (...of: unknown[]) => { optional(): unknown } }) => ({
        x: c.column('d:x', text).optional(),
        ...Object.fromEntries(Object.entries(columns).map(([part, at]) => [part, c.column(at, text)])),
      }),
    } as never) as unknown as KeyedClass;
  const from = entity('From', [part('a')], {});
  const to = entity('To', [hash('a', { bytes: 8 })], { a: 'd:a' });
  const db = await open({
    path: '/p',
    fileSystem: new MemoryFileSystem(),
    background: 'inline',
    entities: [from, to],
  });
  await db.repository(from).putMany([{ a: '1', x: 'x' }, { a: '2' }] as never);
  const rekey = db.rekey(from, to);
  // Copies are not followed back.
  let told = 0;
  const end = db.engine.observe('from', { before: () => void told++ });
  await rekey.run();
  expect(told).toBe(0);
  end();
  await rekey.cutOver();
  await db.repository(to).update({ a: '1' } as never, { x: 'y' } as never);
  expect(await rekey.cleanup()).toMatchObject({ state: 'done' });
  expect(await db.repository(to).get({ a: '1' } as never)).toMatchObject({ a: '1', x: 'y' });
  await db.close();
});

test('the states of its jobs are kept for the last two attempts', async () => {
  const Short = defineEntity({
    name: 'Short',
    table: defineTable({ name: 'shorts', families: { d: {} } }),
    key: [part('a')],
    columns: (c) => ({ x: c.column('d:x', text).optional() }),
  });
  const Salted = defineEntity({
    name: 'Salted',
    table: defineTable({ name: 'salted', families: { d: {} } }),
    key: [salt(4), part('a')],
    columns: (c) => ({ x: c.column('d:x', text).optional() }),
  });
  await using db = await openMemory({ entities: [Short, Salted] });
  await db.repository(Short).put({ a: 'k', x: 'x' });
  const rekey = db.rekey(Short, Salted);
  for (let attempt = 1; attempt <= 4; attempt++) {
    await rekey.run();
    const attempts = new Set<number>();
    for await (const { row } of db.engine.table('rowan_jobs').scan(new Scan()))
      attempts.add(
        Number(/^rekey-[a-z-]+-Short-Salted-(\d+)-[\w-]+\0/.exec(Buffer.from(row).toString('latin1'))![1]),
      );
    expect([...attempts].sort()).toEqual(attempt === 1 ? [1] : [attempt - 1, attempt]);
    await rekey.abort();
  }
});
