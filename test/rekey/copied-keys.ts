/** Keys that are changed by copies while eight writers go on until the old table takes no more: what must hold on any engine. */

import { expect } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { int53, text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import type { Rekey } from '../../src/features/rekey/handle.js';
import { desc, hash, type KeyElement, part, salt } from '../../src/key/index.js';
import { isMark, type Repository } from '../../src/repository/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import { Scan } from '../../src/table/index.js';
import { scaled } from '../proof/scale.js';
import { Random } from '../query/model/random.js';
import { checkFigures } from './figures.js';
import { Reader } from './reader.js';

const WRITERS = 8;
/** Runs that may be stopped before the last one. */
const TURNS = scaled(1, 2, 2);
/** Milliseconds for which a reader beside the writers waits for one of them. */
const PATIENCE = 2000;
/** Keys of each writer. */
const KEYS = 5;

const LAYOUTS: readonly (readonly KeyElement[])[] = [
  [part('a'), part('b', int53)],
  [salt(4), part('a'), part('b', int53)],
  [salt(16), part('a'), part('b', int53)],
  [part('b', desc(int53)), part('a')],
  [hash('a', { bytes: 2, keep: true }), part('b', int53)],
];

/** Two layouts of an entity by the seed, each in a table of its own. */
export function declareLayouts(
  seed: number,
  more: object = {},
): { readonly from: KeyedClass; readonly to: KeyedClass } {
  const random = new Random(seed);
  const old = random.below(LAYOUTS.length);
  const now = (old + 1 + random.below(LAYOUTS.length - 1)) % LAYOUTS.length;
  const families = { d: { versions: random.pick([1, 3]) }, e: {}, m: {} };
  const entity = (name: string, layout: number) =>
    defineEntity({
      name,
      table: defineTable({ name: name.toLowerCase(), families }),
      key: LAYOUTS[layout]!,
      columns: (c: {
        column: (...of: unknown[]) => { optional(): unknown };
        counter: (at: string) => unknown;
      }) => ({ x: c.column('d:x', text).optional(), n: c.counter('e:n') }),
      ...more,
    } as never) as unknown as KeyedClass;
  return { from: entity(`Old${seed}`, old), to: entity(`New${seed}`, now) };
}

interface Known {
  readonly x: string | undefined;
  readonly n: bigint;
}

const keyOf = (b: number) => ({ a: `k${b % 3}`, b }) as never;

async function write(things: Repository<KeyedClass>, random: Random, b: number, known: Known | undefined) {
  const key = keyOf(b);
  const x = `${random.below(1000)}`;
  const kind = known === undefined ? 0 : random.below(5);
  if (kind <= 1) {
    await things.put({ ...(key as object), x } as never);
    return { x, n: known?.n ?? 0n };
  }
  if (kind === 2) {
    await things.delete(key);
    return undefined;
  }
  if (kind === 3) {
    await things.update(key, { x: null } as never);
    return { ...known!, x: undefined };
  }
  await things.increment(key, { n: 1 } as never);
  return { ...known!, n: known!.n + 1n };
}

/** Every version under a layout, told by the key and not by the row. */
async function cells(db: Database, target: KeyedClass): Promise<string[]> {
  const schema = db.schema.entity(target);
  const { key, table } = schema;
  const all: string[] = [];
  for await (const { row, cells: own } of db.engine
    .table(table.descriptor.name)
    .scan(new Scan().readAllVersions())) {
    const { b } = key.decode(row) as { b: number };
    for (const { family, qualifier, timestamp, value } of own.filter((cell) => !isMark(schema, cell)))
      all.push(`${b} ${family}:${Buffer.from(qualifier)}@${timestamp}=${Buffer.from(value).toString('hex')}`);
  }
  return all.sort();
}

async function found(db: Database, target: KeyedClass): Promise<string[]> {
  const all = await db
    .repository(target)
    .find({} as never, { fullScan: true })
    .all();
  return (all as unknown as ({ b: number } & Partial<Known>)[])
    .map(({ b, x, n }) => `${b} ${x} ${n ?? 0n}`)
    .sort();
}

/** Writes until the keys are cut over; it is refused then, and not before but for a rest. */
async function writer(
  db: Database,
  from: KeyedClass,
  rekey: Rekey,
  model: Map<number, Known>,
  id: number,
  random: Random,
): Promise<void> {
  const things = db.repository(from);
  for (;;) {
    const b = id + WRITERS * random.below(KEYS);
    try {
      const now = await write(things, random, b, model.get(b));
      if (now === undefined) model.delete(b);
      else model.set(b, now);
    } catch (error) {
      expect(error).toMatchObject({ code: 'ERR_READONLY' });
      if ((await rekey.status())?.state === 'cut-over') return;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** One change of keys, stopped by an abort or a pause a few times, cut over beside its writers, and cleaned up. */
export async function changeUnderWriters(
  db: Database,
  { from, to }: ReturnType<typeof declareLayouts>,
  rekey: Rekey,
  seed: number,
): Promise<void> {
  const where = `seed ${seed}`;
  const random = new Random(seed + 1000);
  const model = new Map<number, Known>();
  const things = db.repository(from);
  for (let b = 0; b < WRITERS * KEYS; b += 2) {
    const known = await write(things, random, b, undefined);
    model.set(b, known!);
  }
  expect((await rekey.plan()).problems).toEqual([]);
  const writing = Promise.all(
    Array.from({ length: WRITERS }, (_, id) =>
      writer(db, from, rekey, model, id, new Random(seed * 100 + id)),
    ),
  );
  const others = [from, to];
  const [reader, slow] = [new Reader(from, others, PATIENCE), new Reader(from, others)];
  let isOver = false;
  const reading = (async () => {
    const isTold = db.schema.entity(from).changesKept !== undefined;
    while (isTold && !isOver) await reader.catchUp(db, where);
    return isTold;
  })();
  for (let turn = 0; turn < TURNS; turn++) {
    const fate = random.pick(['none', 'pause', 'abort']);
    const running = rekey.run({ batchRows: 4 }).catch((error: unknown) => {
      expect(error, where).toMatchObject({ code: 'ERR_ABORTED' });
    });
    for (let i = random.below(20); i > 0; i--) await new Promise((resolve) => setImmediate(resolve));
    const stopped = fate === 'none' ? undefined : fate === 'pause' ? rekey.pause() : rekey.abort();
    await stopped?.catch((error: unknown) => expect(error, where).toMatchObject({ code: 'ERR_CONFLICT' }));
    await running;
  }
  if ((await rekey.status())?.state === 'aborting') await rekey.abort();
  expect(await rekey.run(), where).toMatchObject({ state: 'ready' });
  await expect(db.repository(to).put({ a: 'k0', b: 0, x: 'early' } as never)).rejects.toMatchObject({
    code: 'ERR_UNSUPPORTED',
  });
  const compare = random.chance(0.5);
  const cut = await rekey.cutOver({ compare });
  await writing;
  isOver = true;
  if (await reading) await reader.check(db, to, `${where}, cut over`);
  expect(cut, where).toMatchObject({ state: 'cut-over' });
  expect(cut.differences !== undefined, where).toBe(compare);
  const checkBoth = async (when: string): Promise<void> => {
    if (!db.schema.entity(to).summaries.length) return;
    for (const each of [from, to]) {
      await db.summary(each, 'byX' as never).drain({ settledAfter: 200 });
      await checkFigures(db, each, `${where}, ${when}`);
    }
  };
  await checkBoth('cut over');
  const wanted = [...model].map(([b, { x, n }]) => `${b} ${x} ${n}`).sort();
  expect(await found(db, to), where).toEqual(wanted);
  expect(await found(db, from), where).toEqual(wanted);
  expect(await cells(db, to), where).toEqual(await cells(db, from));
  await expect(rekey.abort()).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
  await db.repository(to).put({ a: 'k0', b: 0, x: 'late' } as never);
  await checkBoth('written');
  await rekey.cleanup();
  await checkBoth('done');
  if (await reading) for (const each of [reader, slow]) await each.check(db, to, `${where}, done`);
  expect(await found(db, from), where).toEqual([]);
  await expect(things.put({ a: 'k0', b: 0, x: 'late' } as never)).rejects.toMatchObject({
    code: 'ERR_READONLY',
  });
  expect(await db.repository(to).get(keyOf(0)), where).toMatchObject({ x: 'late' });
}
