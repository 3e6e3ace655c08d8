import { describe, expect, it } from 'vitest';
import { toLatin1 } from '../../src/bytes/index.js';
import { type EmbeddedEngine, openEmbedded } from '../../src/store/engine.js';
import { type Durability, Get, Put, RowMutations, tableDescriptor } from '../../src/table/index.js';
import { MemoryFileSystem } from '../../src/testing/fs/memory-fs.js';
import { FaultFileSystem } from '../store/fs/fault-fs.js';
import { STORE, smallStore } from './workload.js';

/** Single promises of docs/durability.md, each seen by itself. */

const put = (row: string, value: string, durability: Durability = 'FSYNC_WAL'): Put =>
  new Put(row).addColumn('a', 'v', value).addColumn('b', 'v', value).setDurability(durability);

async function readValue(engine: EmbeddedEngine, row: string, family = 'a'): Promise<string | undefined> {
  const value = (await engine.table('t').get(new Get(row))).getValue(family, 'v');
  return value === undefined ? undefined : toLatin1(value);
}

interface Subject {
  readonly disk: MemoryFileSystem;
  readonly files: FaultFileSystem;
  readonly engine: EmbeddedEngine;
}

async function subject(syncDelay?: () => Promise<void>): Promise<Subject> {
  const disk = new MemoryFileSystem(syncDelay === undefined ? {} : { syncDelay });
  const files = new FaultFileSystem(disk);
  // Faults are for the writes of the test, not for room that is prepared meanwhile.
  const engine = await openEmbedded(STORE, smallStore(files, { automatic: false, walPreparedSize: 0 }));
  await engine.admin.createTable(tableDescriptor('t', { a: {}, b: {} }));
  return { disk, files, engine };
}

async function reopened(disk: MemoryFileSystem, keepUnsynced: number): Promise<EmbeddedEngine> {
  return openEmbedded(
    STORE,
    smallStore(disk.crash({ keepUnsynced, random: () => 0.5 }), { automatic: false }),
  );
}

describe('what is promised of durability', () => {
  it.each([
    ['FSYNC_WAL', 'kept', 'kept'],
    ['SYNC_WAL', 'kept', 'kept'],
    ['ASYNC_WAL', 'kept', 'lost'],
    ['SKIP_WAL', 'lost', 'lost'],
  ] as const)('%s: the death of the process %s, of the machine %s', async (durability, process, machine) => {
    const { disk, engine } = await subject();
    await engine.table('t').put(put('row', 'x', durability));
    expect(await readValue(engine, 'row')).toBe('x');
    expect(await readValue(await reopened(disk, 1), 'row')).toBe(process === 'kept' ? 'x' : undefined);
    expect(await readValue(await reopened(disk, 0), 'row')).toBe(machine === 'kept' ? 'x' : undefined);
    await engine.admin.flush('t');
    expect(await readValue(await reopened(disk, 0), 'row')).toBe('x');
  });

  it('a write is not seen before it is durable, nor one of a lower level that follows it', async () => {
    let hold = false;
    const gates: (() => void)[] = [];
    const { engine } = await subject(() =>
      hold ? new Promise<void>((resolve) => gates.push(resolve)) : Promise.resolve(),
    );
    const table = engine.table('t');
    hold = true;
    const first = table.put(put('first', '1'));
    const second = table.put(put('second', '2', 'ASYNC_WAL'));
    await new Promise((resolve) => setImmediate(resolve));
    expect([await readValue(engine, 'first'), await readValue(engine, 'second')]).toEqual([
      undefined,
      undefined,
    ]);
    hold = false;
    for (const open of gates) open();
    await Promise.all([first, second]);
    expect([await readValue(engine, 'first'), await readValue(engine, 'second')]).toEqual(['1', '2']);
    await engine.close();
  });

  it('a flush of one family takes no part of a row to the disk whose other part a crash could take back', async () => {
    const { disk, engine } = await subject();
    await engine.table('t').put(put('row', 'x', 'ASYNC_WAL'));
    await engine.admin.flush('t', 'a');
    const found = await reopened(disk, 0);
    expect([await readValue(found, 'row', 'a'), await readValue(found, 'row', 'b')]).toEqual(['x', 'x']);
  });

  it('a change of the tables takes the writes before it to the disk', async () => {
    const { disk, engine } = await subject();
    await engine.table('t').put(put('row', 'x', 'ASYNC_WAL'));
    await engine.admin.createNamespace('later');
    const found = await reopened(disk, 0);
    expect(await found.admin.listNamespaces()).toContain('later');
    expect(await readValue(found, 'row')).toBe('x');
  });
});

describe('what is promised of a full disk', () => {
  it('rejects, reads on, takes nothing half, and goes on when there is room', async () => {
    const { disk, files, engine } = await subject();
    const table = engine.table('t');
    await table.put(put('before', '1'));
    files.inject({ calls: ['write'], times: Infinity, errno: 'ENOSPC', shortWrite: (length) => length - 5 });
    const rejected = { code: 'ERR_IO', retryable: true };
    await expect(table.put(put('before', '2'))).rejects.toMatchObject(rejected);
    await expect(table.mutateRow(new RowMutations('other').add(put('other', '2')))).rejects.toMatchObject(
      rejected,
    );
    await expect(engine.admin.flush('t')).rejects.toMatchObject(rejected);
    await expect(engine.admin.createTable(tableDescriptor('u', { f: {} }))).rejects.toMatchObject(rejected);
    expect([await readValue(engine, 'before'), await readValue(engine, 'other')]).toEqual(['1', undefined]);
    files.clear();
    await table.put(put('after', '3'));
    await engine.admin.flush('t');
    await engine.admin.createTable(tableDescriptor('u', { f: {} }));
    await engine.close();
    const found = await openEmbedded(STORE, smallStore(disk, { automatic: false }));
    const values = await Promise.all(['before', 'other', 'after'].map((row) => readValue(found, row)));
    expect(values).toEqual(['1', undefined, '3']);
    await found.verify();
  });

  it.each([
    ['FSYNC_WAL', 'ASYNC_WAL'],
    ['ASYNC_WAL', 'FSYNC_WAL'],
    ['ASYNC_WAL', 'ASYNC_WAL'],
  ] as const)('tells every writer of a turn (%s, then %s)', async (first, second) => {
    const { disk, files, engine } = await subject();
    files.inject({ calls: ['write'], path: /\.wal$/, errno: 'ENOSPC' });
    const outcomes = await Promise.allSettled([
      engine.table('t').put(put('one', '1', first)),
      engine.table('t').put(put('two', '2', second)),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await engine.table('t').put(put('three', '3'));
    const found = await reopened(disk, 1);
    const values = await Promise.all(['one', 'two', 'three'].map((row) => readValue(found, row)));
    expect(values).toEqual([undefined, undefined, '3']);
  });
});

describe('what is promised when a sync fails', () => {
  it('takes no more writes, reads on, and opens again with everything acknowledged', async () => {
    const { disk, files, engine } = await subject();
    const table = engine.table('t');
    await table.put(put('before', '1'));
    files.inject({ calls: ['sync'] });
    await expect(table.put(put('lost', '2'))).rejects.toMatchObject({ code: 'ERR_READONLY' });
    for (const durability of ['FSYNC_WAL', 'ASYNC_WAL', 'SKIP_WAL'] as const)
      await expect(table.put(put('later', '3', durability))).rejects.toMatchObject({ code: 'ERR_READONLY' });
    await expect(engine.admin.flush('t')).rejects.toMatchObject({ code: 'ERR_READONLY' });
    expect([await readValue(engine, 'before'), await readValue(engine, 'lost')]).toEqual(['1', undefined]);
    await engine.close();
    const found = await openEmbedded(STORE, smallStore(disk, { automatic: false }));
    expect(await readValue(found, 'before')).toBe('1');
    expect(await readValue(found, 'later')).toBeUndefined();
    await found.table('t').put(put('again', '4'));
    await found.close();
  });
});
