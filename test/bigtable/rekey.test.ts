/** Keys that are changed on Bigtable beside writers (docs/rekey-on-hbase.md). */

import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectBigtableEngine } from '../../src/bigtable/engine.js';
import type { BigtableOptions } from '../../src/bigtable/options.js';
import { connectBigtable } from '../../src/database/bigtable.js';
import { Database } from '../../src/database.js';
import { compileSchema } from '../../src/mapper/index.js';
import type { EntityClass } from '../../src/schema/types.js';
import {
  type BatchAction,
  type BatchOptions,
  type Engine,
  Get,
  isCheckAndMutate,
  Put,
  Scan,
} from '../../src/table/index.js';
import { type Delivery, LateRequests } from '../proof/late.js';
import { scaled } from '../proof/scale.js';
import { overriding } from '../proof/stepless.js';
import { changeUnderWriters, declareLayouts } from '../rekey/copied-keys.js';
import { declareLate, deliverLate } from '../rekey/late-copies.js';
import { CHANGES } from '../rekey/reader.js';
import { freshInstance } from './connect.js';

/** So that nobody waits long until every program knows of a fence. */
const QUICK = { descriptorLifetime: 300, operationTimeout: 5000 };
/** Of a program that does not ask for a descriptor again. */
const KNOWING = { descriptorLifetime: 600_000 };
/** Milliseconds until the programs of a test know of a fence, and until a lease is over. */
const DELAY = 20;
const LATER = 150;
const SEEDS = scaled(2, 6, 40);

let instance: BigtableOptions;
const opened: Database[] = [];
beforeAll(() => {
  instance = freshInstance(QUICK);
});
afterAll(async () => {
  for (const db of opened) await db.close();
});

async function open(...entities: EntityClass[]): Promise<Database> {
  return openWith({}, entities);
}

async function openWith(
  options: Partial<BigtableOptions>,
  entities: readonly EntityClass[],
): Promise<Database> {
  const db = await connectBigtable({ ...instance, ...options, entities, tables: 'create' });
  opened.push(db);
  return db;
}

test.each(Array.from({ length: SEEDS }, (_, i) => i + 1))(
  'keys are changed under writers, pauses and aborts, and nothing is lost: seed %i',
  async (seed) => {
    const layouts = declareLayouts(seed);
    const db = await open(layouts.from, layouts.to);
    await changeUnderWriters(db, layouts, db.rekey(layouts.from, layouts.to), seed);
  },
);

test('a program that knows nothing of it is kept from the old table by the service', async () => {
  const { from, to } = declareLayouts(100);
  const db = await open(from, to);
  const rekey = db.rekey(from, to);
  await db.repository(from).putMany([1, 2, 3, 4].map((b) => ({ a: 'k', b, x: 'before' })) as never);
  await rekey.run();
  // From here on it has the descriptor of the fenced table, and asks for no other.
  const other = await openWith(KNOWING, [from]);
  const others = other.repository(from);
  const keyOf = (b: number) => ({ a: 'k', b }) as never;
  await others.delete(keyOf(1));
  await others.update(keyOf(2), { x: null } as never);
  await others.increment(keyOf(3), { n: 2 } as never);
  await others.put({ a: 'k', b: 5, x: 'meanwhile' } as never);
  expect(await rekey.cutOver({ compare: false })).toMatchObject({ state: 'cut-over' });
  const table = other.engine.table(other.schema.entity(from).table.descriptor.name);
  const row = other.schema.entity(from).key.encode(keyOf(4));
  const put = new Put(row).addColumn('d', 'x', 'late');
  const refused = { code: 'ERR_READONLY' };
  await expect(others.increment(keyOf(4), { n: 1 } as never)).rejects.toMatchObject(refused);
  await expect(others.delete(keyOf(4))).rejects.toMatchObject(refused);
  await expect(table.put(put)).rejects.toMatchObject(refused);
  await expect(table.putAll([put])).rejects.toMatchObject(refused);
  expect((await table.get(new Get(row))).getValue('d', 'x')).toEqual(Buffer.from('before'));
  const found = await db
    .repository(to)
    .find({} as never, { fullScan: true })
    .all();
  const values = (found as unknown as { b: number; x?: string; n?: bigint }[]).map(({ b, x, n = 0n }) => [
    b,
    x,
    n,
  ]);
  expect(values.sort()).toEqual([
    [2, undefined, 0n],
    [3, 'before', 2n],
    [4, 'before', 0n],
    [5, 'meanwhile', 0n],
  ]);
});

test('a row that another program writes to the new layout too early stays, and keeps the cut-over out', async () => {
  const { from, to } = declareLayouts(101);
  const db = await open(from, to);
  await db.repository(from).put({ a: 'k', b: 1, x: 'old' } as never);
  const rekey = db.rekey(from, to);
  await rekey.run();
  const early = (await open(to)).repository(to);
  await early.put({ a: 'k', b: 7, x: 'early' } as never);
  await expect(rekey.cutOver()).rejects.toMatchObject({ code: 'ERR_CONFLICT', details: { extra: 1 } });
  expect(await early.get({ a: 'k', b: 7 } as never)).toMatchObject({ x: 'early' });
  // The old table is written as before.
  await db.repository(from).put({ a: 'k', b: 2, x: 'next' } as never);
  await rekey.abort();
  expect(await early.find({} as never, { fullScan: true }).all()).toEqual([]);
});

test('a fence is seen by nobody who does not ask for it, and an abort removes it', async () => {
  const { from, to } = declareLayouts(102);
  const db = await open(from, to);
  const { admin } = db.engine;
  const names = [from, to].map((each) => db.schema.entity(each).table.descriptor.name);
  const before = await admin.getDescriptors(names);
  const things = db.repository(from);
  await things.put({ a: 'k', b: 1, x: 'x' } as never);
  const rekey = db.rekey(from, to);
  await rekey.run();
  // A program that still knows of the fence when there is none any more.
  const other = await openWith(KNOWING, [from]);
  await other.repository(from).put({ a: 'k', b: 2, x: 'y' } as never);
  await things.delete({ a: 'k', b: 1 } as never);
  const table = db.engine.table(names[0]!);
  for (const scan of [new Scan(), new Scan().setRaw(true).readAllVersions()]) {
    const rows = [];
    for await (const row of table.scan(scan)) rows.push(row);
    expect(rows).toHaveLength(1);
    expect(new Set(rows.flatMap(({ cells }) => cells.map(({ family }) => family)))).not.toContain(
      'rowan_touched',
    );
  }
  await rekey.abort();
  expect(await admin.getDescriptors(names)).toEqual(before);
  await other.repository(from).increment({ a: 'k', b: 2 } as never, { n: 1 } as never);
  await other.repository(from).put({ a: 'k', b: 3, x: 'z' } as never);
  await other.repository(from).delete({ a: 'k', b: 3 } as never);
  expect(await things.find({} as never, { fullScan: true }).all()).toMatchObject([{ b: 2, x: 'y', n: 1n }]);
});

test.each([
  ['summaries', { summaries: { byX: { by: ['x'], figures: { rows: 'count' } } } }],
  ['changes', CHANGES],
])('%s are refused', async (_, more) => {
  const { from, to } = declareLayouts(103, more);
  const db = await open(from, to);
  expect((await db.rekey(from, to).plan()).problems.join()).toMatch(/summaries or keeps its changes/);
});

test('copies that arrive late find another stamp, whatever was copied or written since', async () => {
  const { from, to } = declareLayouts(104);
  const name = compileSchema([to]).entity(to).table.descriptor.name;
  const engine = await connectBigtableEngine(instance);
  const sent: BatchAction[] = [];
  const watched = overriding(engine, 'table', (table: string) =>
    table !== name
      ? engine.table(table)
      : overriding(
          engine.table(table),
          'batch',
          (actions: readonly BatchAction[], options?: BatchOptions) => {
            sent.push(...actions.filter(isCheckAndMutate));
            return engine.table(table).batch(actions, options);
          },
        ),
  );
  const db = new Database(compileSchema([from, to]), watched, 'create');
  await db.ready();
  opened.push(db);
  const [olds, news] = [db.repository(from), db.repository(to)];
  const arriveLate = async (): Promise<void> => {
    for (const outcome of await engine.table(name).batch([...sent]))
      expect(outcome).toMatchObject({ ok: true, success: false });
  };
  const keyOf = (b: number) => ({ a: 'k', b }) as never;
  await olds.putMany([1, 2, 3, 4].map((b) => ({ a: 'k', b, x: 'old' })) as never);
  const rekey = db.rekey(from, to);
  await rekey.run();
  await olds.delete(keyOf(1));
  await olds.update(keyOf(2), { x: 'new' } as never);
  await rekey.run();
  await olds.put({ a: 'k', b: 1, x: 'again' } as never);
  await olds.delete(keyOf(2));
  await rekey.run();
  await arriveLate();
  await rekey.cutOver();
  await arriveLate();
  await news.put({ a: 'k', b: 2, x: 'behind' } as never);
  await news.delete(keyOf(3));
  expect(sent.length).toBeGreaterThan(6);
  await arriveLate();
  const found = await news.find({} as never, { fullScan: true }).all();
  expect((found as unknown as { b: number; x: string }[]).map(({ b, x }) => `${b} ${x}`).sort()).toEqual([
    '1 again',
    '2 behind',
    '4 old',
  ]);
  await rekey.cleanup();
  for (const outcome of await engine.table(name).batch([...sent])) expect(outcome.ok).toBe(false);
});

const DELIVERIES: readonly Delivery[] = ['late', 'last', 'twice'];
const CASES = DELIVERIES.flatMap((mode) => [false, true].map((isBegunAnew) => ({ mode, isBegunAnew })));
const STRIDE = scaled(67, 19, 1);

/** @returns whether so many changes were sent. */
async function deliver(n: number, mode: Delivery, isBegunAnew: boolean): Promise<boolean> {
  const layouts = declareLate({});
  const shared = freshInstance({ descriptorLifetime: 1 });
  const engines: Engine[] = [];
  const program = async (wrap: (engine: Engine) => Engine): Promise<Database> => {
    const engine = await connectBigtableEngine(shared);
    engines.push(engine);
    const quick = overriding<Engine>(engine, 'fenceDelay', DELAY);
    const db = new Database(compileSchema([layouts.From, layouts.To]), wrap(quick), 'create');
    await db.ready();
    return db;
  };
  try {
    const programs = {
      other: await program((engine) => engine),
      late: async () => {
        let requests: LateRequests | undefined;
        const db = await program((engine) => {
          requests = new LateRequests(engine);
          return requests.engine;
        });
        return { db, requests: requests! };
      },
      tick: () => delay(2),
      later: () => delay(LATER),
    };
    return await deliverLate(programs, layouts, n, mode, isBegunAnew);
  } finally {
    for (const engine of engines) await engine.close();
  }
}

test.each(CASES)('any change arrives $mode; begun anew: $isBegunAnew', async ({ mode, isBegunAnew }) => {
  const failed: string[] = [];
  let tried = 0;
  for (let n = 3; ; n += STRIDE) {
    try {
      if (!(await deliver(n, mode, isBegunAnew))) break;
      tried++;
    } catch (error) {
      failed.push(`change ${n}: ${(error as Error).message}`);
    }
    if (n > 500) throw new Error('It does not end.');
  }
  expect(failed).toEqual([]);
  expect(tried).toBeGreaterThan(0);
});
