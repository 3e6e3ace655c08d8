/** What the queue of writes promises while the disk fails, the store closes or a region is split (C1-C6). */

import { describe, expect, test, vi } from 'vitest';
import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import { Memstore } from '../../../src/store/memstore/memstore.js';
import type { EmbeddedOptions } from '../../../src/store/options.js';
import {
  Append,
  CheckAndMutate,
  Delete,
  Get,
  Increment,
  Put,
  RowMutations,
  type Table,
  tableDescriptor,
} from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { contents, createTable, put, readValue } from '../engine/support.js';
import { FaultFileSystem } from '../fs/fault-fs.js';

interface Failing {
  readonly engine: EmbeddedEngine;
  readonly table: Table;
  readonly files: FaultFileSystem;
  /** Lets the syncs that wait end. */
  release(): void;
  reopened(): Promise<Table>;
}

/** A store on a disk that can fail. `held`: its syncs take until they are released. */
async function failing(options: EmbeddedOptions & { readonly held?: boolean } = {}): Promise<Failing> {
  let held = false;
  let waiting: (() => void)[] = [];
  const syncDelay = (): Promise<void> =>
    held ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve();
  const files = new FaultFileSystem(new MemoryFileSystem({ syncDelay }));
  const { held: holds, ...rest } = options;
  const open = (): Promise<EmbeddedEngine> =>
    openEmbedded('/db', { fileSystem: files, automatic: false, ...rest });
  const engine = await open();
  const table = await createTable(engine);
  held = holds ?? false;
  const release = (): void => {
    held = false;
    for (const resolve of waiting) resolve();
    waiting = [];
  };
  return { engine, table, files, release, reopened: async () => (await open()).table('t') };
}

const add = (row: string): Increment => new Increment(row).addColumn('f', 'q', 1n);
const counter = async (table: Table, row: string): Promise<number> => {
  const value = (await table.get(new Get(row))).getValue('f', 'q');
  return value ? Number(Buffer.from(value).readBigInt64BE()) : 0;
};
const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await null;
};
const code = (error: unknown): unknown => (error as { code?: string }).code ?? error;
/** What became of each: its code when it was rejected. */
const outcomes = async (all: readonly Promise<unknown>[]): Promise<unknown[]> =>
  (await Promise.allSettled(all)).map((each) => (each.status === 'fulfilled' ? 'done' : code(each.reason)));

/** As many rows as are logged before they are in memory. */
const MANY = 16;
const manyPuts = (): Put[] => Array.from({ length: MANY }, (_, i) => put(`m${i}`, String(i)));

describe('a batch of many rows', () => {
  test('is on its way to the disk before the call returns, and seen when it is there', async () => {
    const { engine, table, files, release } = await failing({ held: true });
    let calls = files.calls;
    const few = table.putAll(manyPuts().slice(1));
    expect(files.calls).toBe(calls);
    await turns(1);
    calls = files.calls;
    // The sync of the others is running: it waits for the next, with what comes meanwhile.
    const second = table.putAll(manyPuts());
    const count = table.increment(add('r'));
    expect(files.calls).toBe(calls);
    await turns(20);
    expect(await contents(table)).toEqual([]);
    release();
    await Promise.all([few, second, count]);
    expect((await contents(table)).length).toBe(1 + MANY);
    calls = files.calls;
    const third = table.putAll(manyPuts());
    // A write and a sync.
    expect(files.calls).toBe(calls + 2);
    await third;
    await engine.close();
  });

  test('that memory cannot take when it is in the log makes the store read-only, and is there whole or not at all', async () => {
    const { engine, table, reopened } = await failing();
    await table.put(put('r', '1'));
    const adding = vi.spyOn(Memstore.prototype, 'add');
    const { add: real } = Memstore.prototype;
    for (let i = 0; i < 10; i++) adding.mockImplementationOnce(real);
    adding.mockImplementationOnce(() => {
      throw new RangeError('Array buffer allocation failed');
    });
    expect(await outcomes([table.putAll(manyPuts())])).toEqual(['ERR_READONLY']);
    adding.mockRestore();
    expect((await contents(table)).length).toBe(1);
    expect(await outcomes([table.put(put('r', '2'))])).toEqual(['ERR_READONLY']);
    await engine.close();
    expect([1, 1 + MANY]).toContain((await contents(await reopened())).length);
  });
});

describe('a full disk', () => {
  test.each([0, 1, 2, 3, 4, 6, 10])(
    'what was computed on a rejected increment is rejected with it, %i turns later',
    async (distance) => {
      const { engine, table, files } = await failing();
      await table.increment(add('r'));
      files.inject({ calls: ['write'], path: /wal$/, errno: 'ENOSPC' });
      const all: Promise<unknown>[] = [table.increment(add('r'))];
      await turns(distance);
      all.push(table.increment(add('r')));
      all.push(table.append(new Append('r').addColumn('f', 'a', 'x')));
      const found = await outcomes(all);
      const counted = 1 + found.slice(0, 2).filter((each) => each === 'done').length;
      expect(found[0]).toBe('ERR_IO');
      expect(await counter(table, 'r')).toBe(counted);
      await table.increment(add('r'));
      expect(await counter(table, 'r')).toBe(counted + 1);
      await engine.close();
    },
  );

  test('a batch of many rows, which is logged before it is in memory, is rejected with what it follows', async () => {
    const { engine, table, files } = await failing();
    files.inject({ calls: ['write'], path: /wal$/, errno: 'ENOSPC' });
    const found = await outcomes([
      table.increment(add('r')),
      table.putAll(manyPuts()),
      table.increment(add('r')),
    ]);
    expect(found).toEqual(['ERR_IO', 'ERR_IO', 'done']);
    expect([await counter(table, 'r'), (await contents(table)).length]).toEqual([1, 1]);
    files.inject({ calls: ['write'], path: /wal$/, errno: 'ENOSPC' });
    expect(await outcomes([table.putAll(manyPuts()), table.increment(add('r'))])).toEqual(['ERR_IO', 'done']);
    expect((await contents(table)).length).toBe(1);
    await table.putAll(manyPuts());
    await engine.admin.flush('t');
    expect([await counter(table, 'r'), (await contents(table)).length]).toEqual([2, 1 + MANY]);
    await engine.close();
  });

  test('what was computed on an increment that the change to the next segment lost is rejected with it', async () => {
    const { engine, table, files } = await failing({ walSegmentSize: 32_768, walPreparedSize: 0 });
    await table.put(put('r', 'x'.repeat(20_000), 'f', 'large'));
    // From here on the next segment is made.
    await table.increment(add('r'));
    while ((await engine.stats()).walSegments < 2) await new Promise((resolve) => setImmediate(resolve));
    files.inject({ calls: ['write'], path: /wal$/, errno: 'ENOSPC' });
    const found = await outcomes([
      table.increment(add('r')),
      table.put(put('r', 'x'.repeat(20_000), 'f', 'large')),
      table.increment(add('r')),
    ]);
    expect(found).toEqual(['ERR_IO', 'ERR_IO', 'ERR_IO']);
    expect(await counter(table, 'r')).toBe(1);
    await table.increment(add('r'));
    expect(await counter(table, 'r')).toBe(2);
    await engine.close();
  });

  test('a check that looked at a value that is taken back is rejected, whatever it answers', async () => {
    const { engine, table, files } = await failing();
    files.inject({ calls: ['write'], path: /wal$/, errno: 'ENOSPC' });
    const q = Buffer.from('q');
    const found = await outcomes([
      table.put(put('r', 'new')),
      table.checkAndMutate(CheckAndMutate.ifNotExists('f', q, put('r', 'other'))),
      table.checkAndMutate(CheckAndMutate.ifEquals('f', q, Buffer.from('new'), put('r', 'third'))),
      table.put(put('s', 'unlogged').setDurability('SKIP_WAL')),
    ]);
    expect(found).toEqual(['ERR_IO', 'ERR_IO', 'ERR_IO', 'ERR_IO']);
    expect(await contents(table)).toEqual([]);
    await engine.close();
  });

  test('a write without the log makes nothing visible that is staged and then rejected', async () => {
    const { engine, table, files } = await failing();
    files.inject({ calls: ['write'], path: /wal$/, errno: 'ENOSPC' });
    const staged = table.put(put('r', 'never').setDurability('ASYNC_WAL'));
    const unlogged = table.put(put('s', 'seen').setDurability('SKIP_WAL'));
    const seen: unknown[] = [];
    for (let i = 0; i < 12; i++) {
      seen.push(await readValue(table, 'r'));
      await null;
    }
    await outcomes([staged, unlogged]);
    expect(new Set(seen)).toEqual(new Set([undefined]));
    await engine.close();
  });

  test('a write without the log waits for those before it that wait for the disk', async () => {
    const { engine, table, release } = await failing({ held: true });
    const synced = table.put(put('r', 'waits'));
    await turns(20);
    let acknowledged = false;
    const unlogged = table.put(put('s', 'behind').setDurability('SKIP_WAL'));
    void unlogged.then(() => (acknowledged = true));
    for (let i = 0; i < 20; i++) {
      expect(await contents(table)).toEqual([]);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(acknowledged).toBe(false);
    release();
    expect(await outcomes([synced, unlogged])).toEqual(['done', 'done']);
    expect(await contents(table)).toEqual(['r f:q=waits', 's f:q=behind']);
    await engine.close();
  });

  test('an earlier write that is with the disk already is not rejected with those behind it', async () => {
    const { engine, table, files, release, reopened } = await failing({ held: true });
    const first = table.put(put('a', '1'));
    const logged = table.put(put('b', '2').setDurability('ASYNC_WAL'));
    await turns(20);
    files.inject({ calls: ['write'], path: /wal$/, errno: 'ENOSPC' });
    const lost = table.put(put('c', '3').setDurability('ASYNC_WAL'));
    expect(await outcomes([lost])).toEqual(['ERR_IO']);
    release();
    expect(await outcomes([first, logged])).toEqual(['done', 'done']);
    await engine.close();
    expect(await contents(await reopened())).toEqual(['a f:q=1', 'b f:q=2']);
  });

  test('writes that wait are taken back from the daughters of a split, and from no table that was dropped', async () => {
    const { engine, table, files, release } = await failing({ held: true });
    release();
    for (const row of ['a', 'm', 'z']) await table.put(put(row, 'old'));
    await engine.admin.flush('t');
    const splitting = engine.admin.split('t', Buffer.from('m'));
    const waiting: Promise<unknown>[] = [];
    for (let i = 0; i < 60; i++) {
      if (i === 30) files.inject({ calls: ['write'], path: /wal$/, errno: 'ENOSPC', times: 3 });
      waiting.push(table.put(put(i % 2 ? `a${i}` : `z${i}`, `${i}`)));
      await turns(i % 3);
    }
    const found = await outcomes(waiting);
    await outcomes([splitting]);
    expect(found).toContain('ERR_IO');
    const rows = (await contents(table)).map((line) => line.split(' ')[0]);
    const written = found.flatMap((each, i) => (each === 'done' ? [i % 2 ? `a${i}` : `z${i}`] : []));
    expect(rows).toEqual(['a', 'm', 'z', ...written].sort());
    files.inject({ calls: ['write'], path: /wal$/, errno: 'ENOSPC', times: 5 });
    const dropped = engine.admin.disableTable('t').then(() => engine.admin.deleteTable('t'));
    await outcomes([...Array.from({ length: 20 }, (_, i) => table.put(put(`b${i}`, 'x'))), dropped]);
    files.clear();
    await engine.verify();
    await engine.close();
  });
});

test('writes to a family that is dropped while they wait for a sync that fails are rejected as all others', async () => {
  let held = false;
  const syncs: { end(): void; fail(error: unknown): void }[] = [];
  const syncDelay = (): Promise<void> =>
    held ? new Promise((end, fail) => syncs.push({ end, fail })) : Promise.resolve();
  const fileSystem = new MemoryFileSystem({ syncDelay });
  const engine = await openEmbedded('/db', { fileSystem, automatic: false });
  const table = await createTable(engine, { f: {}, g: {} });
  await table.put(put('r', 'old'));
  held = true;
  const syncing = async (count: number): Promise<void> => {
    while (syncs.length < count) await new Promise((resolve) => setImmediate(resolve));
  };
  // The log holds all that came before the change already; it waits for the MANIFEST.
  const altered = engine.admin.modifyTable(tableDescriptor('t', { f: {} }));
  await syncing(1);
  const both = new Put('r').addColumn('f', 'q', 'new').addColumn('g', 'q', 'gone');
  const all = [table.put(both), table.put(put('s', 'behind', 'g'))];
  await syncing(2);
  syncs[0]!.end();
  await altered;
  all.push(table.put(put('t', 'later')));
  syncs[1]!.fail(new Error('the disk is broken'));
  expect(await outcomes(all)).toEqual(['ERR_READONLY', 'ERR_READONLY', 'ERR_READONLY']);
  expect(await contents(table)).toEqual(['r f:q=old']);
  await engine.close().catch(() => {});
});

describe('the end of a store with writes under way', () => {
  test.each(['close', 'split and close'])(
    '%s: an increment is done or told ERR_CLOSED, and counts if done',
    async (how) => {
      const { engine, table, reopened } = await failing();
      await table.put(put('z', 'x'));
      const all: Promise<unknown>[] = [];
      if (how !== 'close') void engine.admin.split('t', Buffer.from('m')).catch(() => {});
      for (let i = 0; i < 100; i++) {
        all.push(table.increment(add('r')));
        await turns(i % 4);
        if (i === 50) all.push(engine.close());
      }
      const found = await outcomes(all);
      expect(found.filter((each) => each !== 'done' && each !== 'ERR_CLOSED')).toEqual([]);
      found.splice(51, 1);
      expect(await counter(await reopened(), 'r')).toBe(found.filter((each) => each === 'done').length);
    },
  );

  test('writes that wait in a close whose sync fails are told ERR_READONLY', async () => {
    const { engine, table, files, release } = await failing({ held: true });
    const all = [table.increment(add('r')), table.put(put('s', 'x'))];
    await turns(10);
    files.inject({ calls: ['sync'], path: /wal$/ });
    const closing = engine.close().catch(code);
    all.push(table.increment(add('r')));
    expect(await outcomes(all)).toEqual(['ERR_READONLY', 'ERR_READONLY', 'ERR_CLOSED']);
    release();
    expect(await closing).toBe('ERR_READONLY');
  });

  test('a write that waits for a failed sync is told that its outcome is unknown, a later one is not made', async () => {
    const { engine, table, files } = await failing();
    await table.put(put('r', 'kept'));
    files.inject({ calls: ['sync'], path: /wal$/ });
    const lost = table.put(put('r', 'lost'));
    await expect(lost).rejects.toMatchObject({ code: 'ERR_READONLY', details: { outcome: 'unknown' } });
    const refused: unknown = await table.put(put('r', 'x')).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'ERR_READONLY' });
    expect(refused).not.toHaveProperty('details.outcome');
    await engine.close().catch(() => {});
  });

  test.each(['wal', 'MANIFEST'])(
    'after a failed sync of the %s every write is told ERR_READONLY, and reads go on',
    async (file) => {
      const { engine, table, files } = await failing();
      await table.put(put('r', 'kept'));
      files.inject({ calls: ['sync'], path: new RegExp(file) });
      if (file === 'wal') expect(await outcomes([table.put(put('r', 'lost'))])).toEqual(['ERR_READONLY']);
      else expect(await outcomes([engine.admin.flush('t')])).toEqual(['ERR_READONLY']);
      const found = await outcomes([
        table.put(put('r', 'x')),
        table.put(put('r', 'x').setDurability('SKIP_WAL')),
        table.delete(new Delete('r')),
        table.increment(add('c')),
        table.mutateRow(new RowMutations('r').add(put('r', 'x'))),
        table.putAll([put('r', 'x')]),
      ]);
      expect(new Set(found)).toEqual(new Set(['ERR_READONLY']));
      expect(await readValue(table, 'r')).toBe('kept');
      await engine.close().catch(() => {});
    },
  );
});

describe('what the caller gives is his again after the call', () => {
  const full = (table: Table): ((bytes: Buffer) => Promise<unknown>)[] => [
    (b) => table.put(new Put(b).addColumn('f', b, b)),
    (b) => table.putAll([new Put(b).addColumn('f', b, b)]),
    (b) => table.mutateRow(new RowMutations(b).add(new Put(b).addColumn('f', b, b))),
    (b) => table.checkAndMutate(CheckAndMutate.ifNotExists('f', b, new Put(b).addColumn('f', b, b))),
    (b) => table.append(new Append(b).addColumn('f', b, b)),
    (b) => table.batch([new Get(b), new Put(b).addColumn('f', b, b)]),
    (b) => table.batch([new Put(b).addColumn('f', b, b)], { atomic: true }),
  ];

  test.each([false, true])(
    'bytes that are used again change nothing (memory is full: %s)',
    async (isFull) => {
      const { engine, table } = await failing(
        isFull ? { automatic: true, memstoreLimit: 200_000, memstoreFlushSize: 1 << 30 } : {},
      );
      for (const [index, write] of full(table).entries()) {
        if (isFull) {
          const large = Array.from({ length: 300 }, (_, i) =>
            table.put(put('fill', 'x'.repeat(2_000), 'f', `${i}`).setDurability('SKIP_WAL')),
          );
          await Promise.all(large);
        }
        const bytes = Buffer.from(`key${index}`);
        const done = write(bytes);
        bytes.fill('!');
        await done;
        expect(await readValue(table, `key${index}`, 'f', `key${index}`)).toBe(`key${index}`);
      }
      expect((await contents(table)).filter((line) => line.includes('!'))).toEqual([]);
      await engine.close();
    },
  );

  test('a write that is rejected later is taken back all the same', async () => {
    const { engine, table, files } = await failing();
    files.inject({ calls: ['write'], path: /wal$/, errno: 'ENOSPC' });
    const bytes = Buffer.from('key');
    const done = table.put(new Put(bytes).addColumn('f', bytes, bytes));
    bytes.fill('!');
    expect(await outcomes([done])).toEqual(['ERR_IO']);
    expect(await contents(table)).toEqual([]);
    await engine.close();
  });

  test('results do not change with the bytes they were asked by', async () => {
    const { engine, table } = await failing();
    const key = Buffer.from('key');
    const counted = await table.increment(new Increment(key).addColumn('f', key, 1n));
    const gets = [
      new Get(key),
      new Get(key).addColumn('f', key),
      new Get(key).addFamily('f').readVersions(3),
    ];
    const results = [counted, ...(await Promise.all(gets.map((get) => table.get(get))))];
    key.fill('!');
    for (const result of results) {
      expect(Buffer.from(result.row).toString()).toBe('key');
      expect(Buffer.from(result.cells[0]!.row).toString()).toBe('key');
      expect(Buffer.from(result.cells[0]!.qualifier).toString()).toBe('key');
    }
    await engine.close();
  });
});

test('putAll: each row for itself; the first failure is thrown', async () => {
  const { engine, table } = await failing();
  const wrong = new Put('b').addColumn('nope', 'q', 'x');
  expect(await outcomes([table.putAll([put('a', '1'), wrong, put('c', '3')])])).toEqual([
    'ERR_NO_SUCH_FAMILY',
  ]);
  expect(await contents(table)).toEqual(['a f:q=1', 'c f:q=3']);
  await engine.close();
});

test.each(['SKIP_WAL', 'ASYNC_WAL'] as const)(
  'memory that counters hold is counted, and bounded by flushes (%s)',
  async (durability) => {
    const { engine, table } = await failing({
      automatic: true,
      memstoreFlushSize: 200_000,
      memstoreLimit: 2_000_000,
    });
    for (let round = 0; round < 20; round++) {
      await Promise.all(
        Array.from({ length: 500 }, () => table.increment(add('r').setDurability(durability))),
      );
      expect((await engine.stats()).memstoreBytes).toBeLessThan(2_000_000);
    }
    expect(await counter(table, 'r')).toBe(10_000);
    expect((await engine.stats()).tables[0]!.regions[0]!.families[0]!.files).toBeGreaterThan(0);
    await engine.close();
  },
);
