/** Keys that are changed as on HBase, where a write and its copy are two steps; here on the embedded engine, whose calls are as fast as tests need. */

import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, test } from 'vitest';
import { defineEntity, defineTable } from '../../decorators/index.js';
import { equalBytes } from '../../src/bytes/index.js';
import { text } from '../../src/codec/index.js';
import type { Database } from '../../src/database.js';
import { RowanError } from '../../src/errors.js';
import type { Rekey } from '../../src/features/rekey/handle.js';
import { type KeyElement, part, salt } from '../../src/key/index.js';
import type { KeyedClass } from '../../src/schema/entity-types.js';
import type { EmbeddedEngine } from '../../src/store/engine.js';
import { type Get, Put, type Scan, type TableDescriptor } from '../../src/table/index.js';
import { openMemory } from '../../src/testing/open-memory.js';
import { scaled } from '../proof/scale.js';
import { changeUnderWriters, declareLayouts } from './copied-keys.js';
import { withoutSteps } from './without-steps.js';

const SEEDS = scaled(1, 8, 100);

test('keys are changed by copies under writers, pauses and aborts, and nothing is lost', async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const layouts = declareLayouts(seed);
    const db = await openMemory({ entities: [layouts.from, layouts.to] });
    const rekeying = withoutSteps(db, [layouts.from, layouts.to]);
    await changeUnderWriters(db, layouts, rekeying.of(layouts.from, layouts.to), seed);
    await db.close();
  }
});

interface Given {
  readonly key?: readonly KeyElement[];
  readonly columns?: object;
  readonly table?: string;
  readonly more?: object;
}

function entity(name: string, { key = [part('id')], table = name.toLowerCase(), columns, more }: Given = {}) {
  return defineEntity({
    name,
    table: defineTable({ name: table, families: { d: {} } }),
    key,
    columns: (c: { column: (...of: unknown[]) => { optional(): unknown } }) =>
      columns ?? { x: c.column('d:x', text).optional() },
    ...more,
  } as never) as unknown as KeyedClass;
}

const salted = { key: [salt(4), part('id')] };

describe('what is refused', () => {
  it.each<[string, Given, Given, RegExp]>([
    ['indexes', {}, { ...salted, more: { indexes: { byX: { on: [part('x')] } } } }, /has indexes/],
    [
      'mutual links',
      { key: [part('id'), part('b')], more: { mutual: ['id', 'b'] } },
      { key: [salt(4), part('id'), part('b')], more: { mutual: ['b', 'id'] } },
      /^From is mutual.*\nTo is mutual[^\n]*$/,
    ],
    ['rows that end', { more: { ttl: 1000 } }, { ...salted, more: { ttl: 1000 } }, /Rows of From expire/],
    [
      'a column that becomes a part',
      {},
      { key: [part('x'), part('id')], columns: {} },
      /is a column of the other/,
    ],
  ])('%s', async (_, from, to, message) => {
    const both = [entity('From', from), entity('To', to)] as const;
    const db = await openMemory({ entities: both });
    const rekey = withoutSteps(db, both).of(...both);
    expect((await rekey.plan()).problems.join('\n')).toMatch(message);
    await expect(rekey.run()).rejects.toMatchObject({ code: 'ERR_SCHEMA' });
    await db.close();
  });
});

it('what was written past the copying keeps the cut-over out, and writes go on', async () => {
  const both = [entity('From'), entity('To', salted)] as const;
  const db = await openMemory({ entities: both });
  const [olds, news] = [db.repository(both[0]), db.repository(both[1])];
  await olds.put({ id: 'a', x: '1' } as never);
  // As a program that does not know of the change: its writes of the new table are not refused.
  const rekey = withoutSteps(db, both, false).of(...both);
  await rekey.run();
  // A row of the old table with a time that was copied long ago is copied again; one that only the new table has is nobody's.
  await olds.put({ id: 'b', x: '2' } as never, { timestamp: 1 });
  const stray = db.schema.entity(both[1]).key.encode({ id: 'z' });
  const marker = db.schema.entity(both[1]).marker!;
  await db.engine
    .table('to')
    .put(new Put(stray).addColumn(marker.family, marker.qualifier, Uint8Array.of(1)));
  await expect(rekey.cutOver()).rejects.toMatchObject({
    code: 'ERR_CONFLICT',
    details: { missing: 0, different: 0, extra: 1 },
  });
  await olds.put({ id: 'c', x: '3' } as never);
  await rekey.abort();
  expect(await news.find({} as never, { fullScan: true }).all()).toEqual([]);
  await rekey.run();
  expect(await rekey.cutOver()).toMatchObject({ state: 'cut-over', differences: { rows: 3 } });
  expect(await news.get({ id: 'b' } as never)).toMatchObject({ x: '2' });
  await db.close();
});

it('a delete is copied though the old table was compacted, and an abort leaves the table as it was', async () => {
  const both = [entity('From'), entity('To', salted)] as const;
  const db = await openMemory({ entities: both });
  const [olds, news] = [db.repository(both[0]), db.repository(both[1])];
  await olds.putMany([{ id: 'a' }, { id: 'b' }] as never);
  const rekey = withoutSteps(db, both).of(...both);
  await rekey.run();
  await olds.delete({ id: 'a' } as never);
  const compacted = async (): Promise<void> => {
    await db.engine.admin.flush('from');
    await db.engine.admin.majorCompact('from');
  };
  await compacted();
  await rekey.abort();
  expect((await db.engine.admin.getDescriptor('from')).families).toMatchObject([
    { keepDeletedCells: 'FALSE' },
  ]);
  await rekey.run();
  await olds.delete({ id: 'b' } as never);
  await compacted();
  await rekey.cutOver({ compare: false });
  expect(await news.find({} as never, { fullScan: true }).all()).toEqual([]);
  await db.close();
});

const ROWS = 40;

/** Each handle as in a process of its own. */
async function opened() {
  const both = [entity('From'), entity('To', salted)] as const;
  const db = await openMemory({ entities: both });
  // Servers do one change of a table after the other.
  const { admin } = db.engine;
  const modifyTable = admin.modifyTable.bind(admin);
  let last: Promise<unknown> = Promise.resolve();
  admin.modifyTable = (descriptor) => {
    const done = last.then(() => modifyTable(descriptor));
    last = done.catch(() => undefined);
    return done;
  };
  const olds = db.repository(both[0]);
  await olds.putMany(Array.from({ length: ROWS }, (_, i) => ({ id: `r${i}`, x: 'x' })) as never);
  const handle = (): Rekey => withoutSteps(db, both, false).of(...both);
  const rows = async (): Promise<number> => {
    const all = await db
      .repository(both[1])
      .find({} as never, { fullScan: true })
      .all();
    return all.length;
  };
  return { db, olds, handle, rows, both, put: (id: string) => olds.put({ id } as never) };
}

describe('processes that go on with one change at the same time', () => {
  /** Runs `work` before the table is asked to be writable or read-only for the next time. */
  function beforeNext(db: Database<EmbeddedEngine>, readOnly: boolean, work: () => Promise<unknown>): void {
    const { admin } = db.engine;
    const modifyTable = admin.modifyTable.bind(admin);
    admin.modifyTable = async (descriptor) => {
      if ((descriptor.readOnly ?? false) === readOnly) {
        admin.modifyTable = modifyTable;
        await work();
      }
      await modifyTable(descriptor);
    };
  }

  it('what a dead process had asked for of the old table is done before it is cut over', async () => {
    const { db, handle, put } = await opened();
    const rekey = handle();
    await rekey.run();
    const live = await db.engine.admin.getDescriptor('from');
    await db.engine.admin.modifyTable({ ...live, readOnly: true });
    // Asked for, and not done yet.
    let isPending = true;
    const last = async (): Promise<void> => {
      if (isPending) await db.engine.admin.modifyTable({ ...live, readOnly: false });
      isPending = false;
    };
    beforeNext(db, true, last);
    await rekey.cutOver();
    await last();
    await expect(put('late')).rejects.toMatchObject({ code: 'ERR_READONLY' });
    await db.close();
  });

  it('an abort leaves a family as it was before that run, not before the first', async () => {
    const { db, handle } = await opened();
    const rekey = handle();
    await rekey.run();
    await rekey.abort();
    const live = await db.engine.admin.getDescriptor('from');
    const families = live.families.map((family) => ({ ...family, keepDeletedCells: 'TRUE' as const }));
    await db.engine.admin.modifyTable({ ...live, families });
    await rekey.run();
    await rekey.abort();
    expect((await db.engine.admin.getDescriptor('from')).families).toMatchObject([
      { keepDeletedCells: 'TRUE' },
    ]);
    await db.close();
  });

  it('one that cannot cut over leaves the table to another one that does, or has done so', async () => {
    for (const isDone of [true, false]) {
      const { db, handle, put, rows } = await opened();
      const [one, other] = [handle(), handle()];
      await one.run();
      let cutting: Promise<unknown> = Promise.resolve();
      beforeNext(db, true, async () => {
        // The other one claims it when this one has.
        const claimed = new Promise<void>((resolve) => beforeNext(db, true, async () => resolve()));
        cutting = other.cutOver();
        await (isDone ? cutting : claimed);
      });
      await expect(one.cutOver()).rejects.toMatchObject({ code: 'ERR_CONFLICT' });
      await cutting;
      await expect(put('late')).rejects.toMatchObject({ code: 'ERR_READONLY' });
      expect(await one.status()).toMatchObject({ state: 'cut-over' });
      expect(await rows()).toBe(ROWS);
      await db.close();
    }
  });

  it('of two that cut over one does so, and the other is told', async () => {
    const { db, handle, put, rows } = await opened();
    const [one, other] = [handle(), handle()];
    await one.run();
    const ended = await Promise.allSettled([one.cutOver(), other.cutOver()]);
    const told = ended.map((each) => (each.status === 'fulfilled' ? each.value.state : each.reason.code));
    expect(told).toContain('cut-over');
    for (const each of told) expect(['cut-over', 'ERR_CONFLICT', 'ERR_JOB']).toContain(each);
    await expect(put('late')).rejects.toMatchObject({ code: 'ERR_READONLY' });
    expect(await rows()).toBe(ROWS);
    await db.close();
  });

  it('an abort is not undone by a cut-over that was under way, and writes go on', async () => {
    const { db, handle, put, rows } = await opened();
    const [one, other] = [handle(), handle()];
    await one.run();
    beforeNext(db, true, () => other.abort());
    await expect(one.cutOver()).rejects.toMatchObject({
      code: expect.stringMatching(/ERR_(CONFLICT|ABORTED)/),
    });
    expect(await one.status()).toMatchObject({ state: 'aborted' });
    await put('late');
    await one.abort();
    expect(await rows()).toBe(0);
    await db.close();
  });

  it.each(['pause', 'abort'] as const)('a run ends when another process asks for a %s', async (what) => {
    const { db, handle } = await opened();
    const [one, other] = [handle(), handle()];
    const copying = new Promise<void>((resolve) => {
      db.engine.observe('to', { before: () => void resolve() });
    });
    const running = one.run({ rowsPerSecond: 1, batchRows: 1 });
    await Promise.all([
      expect(running).rejects.toMatchObject({ code: 'ERR_ABORTED' }),
      copying.then(() => other[what]()),
    ]);
    if (what === 'pause') expect(await one.run()).toMatchObject({ state: 'ready', run: 1 });
    await db.close();
  });

  it('a table that is being emptied for a dead process is waited for', async () => {
    const { db, handle, rows } = await opened();
    const rekey = handle();
    await rekey.run();
    const { admin } = db.engine;
    const tableExists = admin.tableExists.bind(admin);
    let isGone = true;
    admin.tableExists = async (name) => {
      if (name !== 'to' || !isGone) return tableExists(name);
      isGone = false;
      return false;
    };
    expect(await rekey.abort()).toMatchObject({ state: 'aborted' });
    expect(isGone).toBe(false);
    expect(await rows()).toBe(0);
    await db.close();
  });

  it('a table that is on its way back for a dead process is waited for', async () => {
    const { db, handle, rows } = await opened();
    const rekey = handle();
    await rekey.run();
    const { admin } = db.engine;
    const [isTableEnabled, truncateTable] = [admin.isTableEnabled, admin.truncateTable];
    // As HBase answers for a table that is being enabled: it is not, and it is too much so to be emptied.
    let left = 15;
    admin.isTableEnabled = async (name) => left === 0 && isTableEnabled.call(admin, name);
    admin.truncateTable = async (name, preserveSplits) => {
      if (left === 0) return truncateTable.call(admin, name, preserveSplits);
      left--;
      throw new RowanError('ERR_TABLE_ENABLED', `${name} is being enabled.`);
    };
    expect(await rekey.abort()).toMatchObject({ state: 'aborted' });
    expect(left).toBe(0);
    expect(await rows()).toBe(0);
    await db.close();
  });

  it('what another error of emptying a table says is said at once', async () => {
    const { db, handle } = await opened();
    const rekey = handle();
    await rekey.run();
    let times = 0;
    db.engine.admin.truncateTable = async () => {
      times++;
      throw new RowanError('ERR_SECURITY', 'You may not.');
    };
    await expect(rekey.abort()).rejects.toMatchObject({ code: 'ERR_SECURITY' });
    expect(times).toBe(1);
    await db.close();
  });

  it('two that run it at once come to the same end', async () => {
    const { db, handle, rows } = await opened();
    const [one, other] = [handle(), handle()];
    const ended = await Promise.allSettled([one.run({ batchRows: 1 }), other.run({ batchRows: 1 })]);
    for (const each of ended) {
      if (each.status === 'fulfilled') expect(each.value).toMatchObject({ run: 1, state: 'ready' });
      else expect(each.reason).toMatchObject({ code: 'ERR_JOB' });
    }
    expect(await one.run()).toMatchObject({ run: 1, state: 'ready' });
    expect(await other.cutOver()).toMatchObject({ state: 'cut-over', differences: { rows: ROWS } });
    // What ran it sees that it counts.
    await one.status();
    expect(await rows()).toBe(ROWS);
    await db.close();
  });
});

describe('the rest of writes', () => {
  const LIMIT = 1000;

  /** Does `then` when the old table was made read-only (or writable again) for the n-th time, from 1. */
  function whenResting(
    db: Database<EmbeddedEngine>,
    then: (readOnly: boolean, n: number) => Promise<unknown> | undefined,
  ): void {
    const { admin } = db.engine;
    const modifyTable = admin.modifyTable.bind(admin);
    const times = { true: 0, false: 0 };
    admin.modifyTable = async (descriptor) => {
      await modifyTable(descriptor);
      const readOnly = descriptor.readOnly ?? false;
      await then(readOnly, ++times[`${readOnly}`]);
    };
  }

  it('goes over to copying when it reaches its limit, and comes again', async () => {
    const { db, handle, put, rows } = await opened();
    const rekey = handle();
    await rekey.run();
    let rests = 0;
    whenResting(db, (readOnly, n) => {
      if (!readOnly) return put('between');
      rests = n;
      return n === 1 ? delay(LIMIT + 100) : undefined;
    });
    const cut = await rekey.cutOver({ restMs: LIMIT });
    expect(cut).toMatchObject({ state: 'cut-over', differences: { missing: 0, different: 0, extra: 0 } });
    expect(cut.rested).toBeLessThan(LIMIT);
    expect(rests).toBe(2);
    expect(await rows()).toBe(ROWS + 1);
    await db.close();
  });

  it('is given up when it reaches its limit each time, and writes go on', async () => {
    const { db, handle, put } = await opened();
    const rekey = handle();
    await rekey.run();
    whenResting(db, (readOnly) => (readOnly ? delay(60) : undefined));
    await expect(rekey.cutOver({ restMs: 50 })).rejects.toMatchObject({ code: 'ERR_BUSY', retryable: true });
    await put('late');
    expect(await rekey.status()).toMatchObject({ state: 'ready' });
    expect(await rekey.cutOver()).toMatchObject({ state: 'cut-over' });
    await db.close();
  });

  it('copies the rows that were written since the pass before, and no others', async () => {
    const { db, olds, handle, put, rows } = await opened();
    const rekey = handle();
    await rekey.run();
    const { admin } = db.engine;
    const modifyTable = admin.modifyTable.bind(admin);
    const copied: Uint8Array[] = [];
    admin.modifyTable = async (descriptor) => {
      await put('late');
      await olds.delete({ id: 'r1' } as never);
      await modifyTable(descriptor);
      db.engine.observe('to', { before: ({ change }) => void copied.push(change.row) });
    };
    await rekey.cutOver();
    expect(new Set(copied.map(String)).size).toBe(2);
    expect(await rows()).toBe(ROWS);
    await db.close();
  });

  it.each([true, 'resting'] as const)('finds rows with times of their own, compare: %s', async (compare) => {
    const { db, olds, handle, rows } = await opened();
    const rekey = handle();
    await rekey.run();
    const write = () => olds.put({ id: 'old' } as never, { timestamp: 1 });
    // Behind the comparison that is made while writes go on.
    if (compare === true) await write();
    const { admin } = db.engine;
    const modifyTable = admin.modifyTable.bind(admin);
    admin.modifyTable = async (descriptor) => {
      if (compare === 'resting') await write();
      await modifyTable(descriptor);
    };
    expect(await rekey.cutOver({ compare })).toMatchObject({ differences: { rows: ROWS + 1 } });
    expect(await rows()).toBe(ROWS + 1);
    await db.close();
  });

  it('is not kept from coming by a row that comes and goes while it is held against its copy', async () => {
    const { db, olds, both } = await opened();
    const key = { id: 'r0' } as never;
    const row = db.schema.entity(both[0]).key.encode(key);
    const table = db.engine.table('from');
    let turns = 0;
    const change = async (work: () => Promise<unknown>): Promise<void> => {
      turns++;
      // Not in the millisecond of what was written before.
      await delay(2);
      await work();
      await delay(2);
    };
    // It goes before it is looked for, comes before it is copied once more, and goes before it is looked at again.
    const watched = new Proxy(table, {
      get: (target, name) => {
        if (name === 'getAll')
          return async (gets: readonly Get[]) => {
            if (turns !== 1 && turns < 3 && gets.some((get) => equalBytes(get.row, row)))
              await change(() => olds.delete(key));
            return target.getAll(gets);
          };
        if (name === 'scan')
          return (scan: Scan) => {
            const scanner = target.scan(scan);
            if (turns !== 1 || !scan.raw || !equalBytes(scan.startRow, row)) return scanner;
            const next = async () => {
              await change(() => olds.put({ id: 'r0', x: 'y' } as never));
              return target.scan(scan).next();
            };
            return { next, close: () => scanner.close() };
          };
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const tableOf = db.engine.table.bind(db.engine);
    const rekey = withoutSteps(db, both, false).of(...both);
    await rekey.run();
    db.engine.table = (name) => (name === 'from' ? watched : tableOf(name));
    expect(await rekey.cutOver()).toMatchObject({ state: 'cut-over', differences: { extra: 0 } });
    expect(turns).toBe(3);
    await db.close();
  });

  it.each([0, -1, Number.NaN])('has a limit above 0, not %s', async (restMs) => {
    const { db, handle } = await opened();
    expect(() => handle().cutOver({ restMs })).toThrow(/restMs is a positive number/);
    await db.close();
  });
});

test('keys that were changed are changed back, and schema plans leave the tables of a change alone', async () => {
  const both = [entity('From'), entity('To', salted)] as const;
  const db = await openMemory({ entities: both });
  const rekeying = withoutSteps(db, both);
  const { admin } = db.engine;
  const live = async (): Promise<ReadonlyMap<string, TableDescriptor>> =>
    new Map(
      await Promise.all(['from', 'to'].map(async (name) => [name, await admin.getDescriptor(name)] as const)),
    );
  const before = await live();
  const isPlannedAsBefore = async (): Promise<void> =>
    expect(await rekeying.plannedTables(await live())).toEqual(before);
  const rowsOf = async (target: KeyedClass) =>
    (await db
      .repository(target)
      .find({} as never, { fullScan: true })
      .all()) as { id: string }[];
  await db.repository(both[0]).put({ id: 'a' } as never);
  for (const [from, to, id] of [[...both, 'b'] as const, [both[1], both[0], 'c'] as const]) {
    const rekey = rekeying.of(from, to);
    await rekey.run();
    expect((await admin.getDescriptor('from')).families).toMatchObject([{ keepDeletedCells: 'TRUE' }]);
    await isPlannedAsBefore();
    await rekey.cutOver();
    await isPlannedAsBefore();
    await db.repository(to).put({ id } as never);
    await rekey.cleanup();
    await isPlannedAsBefore();
    expect(await rowsOf(from)).toEqual([]);
    await expect(db.repository(from).put({ id: 'late' } as never)).rejects.toMatchObject({
      code: 'ERR_READONLY',
    });
  }
  expect((await rowsOf(both[0])).map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  expect(await live()).toEqual(
    new Map([
      ['from', before.get('from')],
      ['to', { ...before.get('to'), readOnly: true }],
    ]),
  );
  await db.close();
});
