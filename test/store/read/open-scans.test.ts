/** Scans that stay open: what the store keeps for them, and when it ends them. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test, vi } from 'vitest';
import { toBytes } from '../../../src/bytes/index.js';
import { EmbeddedEngine } from '../../../src/store/engine.js';
import { AsyncScanner } from '../../../src/store/read/table-scanner.js';
import { openStore } from '../../../src/store/recovery.js';
import type { StoreCore } from '../../../src/store/store-core.js';
import {
  Delete,
  Get,
  Increment,
  RawRow,
  type ResultScanner,
  Scan,
  type SyncResultScanner,
  type SyncTable,
  tableDescriptor,
} from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { settableClock } from '../../../src/testing/index.js';
import { put } from '../engine/support.js';

async function opened(
  clock = settableClock(new Date(0)),
): Promise<{ core: StoreCore; engine: EmbeddedEngine }> {
  const core = await openStore('/db', { fileSystem: new MemoryFileSystem(), automatic: false, clock });
  const engine = new EmbeddedEngine(core);
  await engine.admin.createTable(tableDescriptor('a', { f: {} }));
  await engine.admin.createTable(tableDescriptor('b', { f: {} }));
  for (let i = 0; i < 10; i++) await engine.table('a').put(put(`r${i}`, 'first'));
  return { core, engine };
}

function cellsOf(engine: EmbeddedEngine, table: string): number {
  const found = engine.stats().tables.find((each) => each.table === table)!;
  return found.regions.reduce(
    (sum, { families }) =>
      families.reduce((all, { cells, memstoreCells }) => all + cells + memstoreCells, sum),
    0,
  );
}

const textOf = async (scanner: ResultScanner): Promise<string> =>
  Buffer.from((await scanner.next())!.cells[0]!.value).toString();

test('an open scan keeps nothing of other tables, and of its own what it reads', async () => {
  const { core, engine } = await opened();
  const scanner = engine.table('a').scan(new Scan());
  expect(await textOf(scanner)).toBe('first');
  const counter = engine.table('b');
  for (let i = 0; i < 100; i++) await counter.increment(new Increment('n').addColumn('f', 'q', 1n));
  // Of increments only the newest stays in memory.
  expect(cellsOf(engine, 'b')).toBeLessThanOrEqual(2);
  for (let i = 0; i < 20; i++) {
    await engine.table('a').put(put('r1', `later ${i}`));
    await engine.table('b').put(put('r1', `later ${i}`));
    await engine.admin.flush('a');
    await engine.admin.flush('b');
  }
  for (const name of ['a', 'b']) await engine.admin.majorCompact(name);
  expect(cellsOf(engine, 'a')).toBe(10);
  expect(cellsOf(engine, 'b')).toBe(2);
  for (let i = 1; i < 10; i++) expect(await textOf(scanner)).toBe('first');
  expect(await scanner.next()).toBeUndefined();
  expect(core.scanners.size).toBe(0);
  await engine.close();
});

test('a view reads rows and ranges as they were when it was made, whatever comes of the table', async () => {
  const { core, engine } = await opened();
  const table = engine.table('a');
  const view = table.readView!(new Scan().withStartRow('r2').withStopRow('r8'));
  const other = table.readView!(new Scan());
  const row = new RawRow();
  expect(view.getRaw(new Get('r3'), row)).toBe(true);
  await table.put(put('r3', 'later'));
  await table.put(put('r35', 'later'));
  await table.delete(new Delete('r4'));
  await engine.admin.flush('a');
  await engine.admin.majorCompact('a');
  await engine.admin.split('a', toBytes('r5'));
  await engine.admin.majorCompact('a');
  for (const name of ['r3', 'r4', 'r7']) {
    for (const get of [new Get(name), new Get(name).addColumn('f', 'q')]) {
      expect(view.getRaw(get, row), name).toBe(true);
      expect(Buffer.from(row.valueAt(0)).toString()).toBe('first');
    }
  }
  expect(view.getRaw(new Get('r35'), row)).toBe(false);
  const rows = view.scanSync(new Scan().withStartRow('r2').withStopRow('r8')).nextBatch(100);
  expect(rows.map((each) => Buffer.from(each.row).toString())).toEqual(['r2', 'r3', 'r4', 'r5', 'r6', 'r7']);
  view.close();
  view.close();
  expect(core.scanners.size).toBe(1);
  await engine.close();
  expect(() => other.getRaw(new Get('r3'), row)).toThrow(expect.objectContaining({ code: 'ERR_CLOSED' }));
});

test('batches end where their rows have as many bytes as asked for, and are empty at the end only', async () => {
  const { engine } = await opened();
  const table = engine.table('a');
  for (let i = 0; i < 5; i++) await table.put(put(`r${i}`, 'x'.repeat(1000)));
  const scan = new Scan().withStartRow('r3').withStopRow('r9');
  const sizes = async (scanner: ResultScanner | SyncResultScanner, bytes: number): Promise<number[]> => {
    const counts: number[] = [];
    do counts.push((await scanner.nextBatch(3, bytes)).length);
    while (counts.at(-1)! > 0);
    return counts;
  };
  const scanners: ((of: SyncTable) => ResultScanner | SyncResultScanner)[] = [
    (of) => of.scan(scan),
    (of) => of.scanSync(scan),
  ];
  for (const open of scanners) {
    expect(await sizes(open(table), 1500)).toEqual([2, 3, 1, 0]);
    expect(await sizes(open(table), 0)).toEqual([1, 1, 1, 1, 1, 1, 0]);
    expect(await sizes(open(table), Number.POSITIVE_INFINITY)).toEqual([3, 3, 0]);
    await engine.transaction!(async (tx) => {
      expect(await sizes(open(tx.table('a')), 1500)).toEqual([2, 3, 1, 0]);
    });
  }
  await engine.close();
});

test('an iteration reads a row when it is asked for, so that large ones are not held together', async () => {
  const { engine } = await opened();
  const rows = engine.table('a').scanSync(new Scan());
  const next = vi.spyOn(rows, 'next');
  let found = 0;
  for await (const { cells } of new AsyncScanner(rows, undefined)) {
    found += cells.length;
    expect(next).toHaveBeenCalledTimes(found);
  }
  expect(found).toBe(10);
  await engine.close();
});

test('increments of a row leave a scan of it what it sees', async () => {
  const { engine } = await opened();
  const counter = engine.table('b');
  const add = async (): Promise<unknown> => counter.increment(new Increment('n').addColumn('f', 'q', 1n));
  await add();
  const scanner = counter.scan(new Scan());
  for (let i = 0; i < 10; i++) await add();
  expect((await scanner.next())!.cells[0]!.value.at(-1)).toBe(1);
  await scanner.close();
  await add();
  expect(cellsOf(engine, 'b')).toBeLessThanOrEqual(2);
  await engine.close();
});

test('a scan that nobody reads on is ended, and whoever reads it later is told', async () => {
  const { core, engine } = await opened();
  const used = engine.table('a').scan(new Scan());
  const idle = engine.table('a').scan(new Scan());
  await used.next();
  await idle.next();
  for (let i = 0; i < 5; i++) {
    core.scanners.sweep();
    await used.next();
  }
  expect(core.scanners.size).toBe(1);
  await expect(idle.next()).rejects.toMatchObject({ code: 'ERR_SCANNER_EXPIRED' });
  await expect(idle.next()).rejects.toThrow(/This scan of "a" was not used for 300000 ms/);
  await idle.close();
  expect(await textOf(used)).toBe('first');
  await used.close();
  expect(core.scanners.size).toBe(0);
  await engine.close();
});

test('the time is declared, and goes by itself', async () => {
  const fileSystem = new MemoryFileSystem();
  const core = await openStore('/db', { fileSystem, scannerIdleTimeout: 20 });
  const engine = new EmbeddedEngine(core);
  await engine.admin.createTable(tableDescriptor('a', { f: {} }));
  await engine.table('a').put(put('r', 'v'));
  const scanner = engine.table('a').scan(new Scan());
  while (core.scanners.size > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  await expect(scanner.next()).rejects.toMatchObject({ code: 'ERR_SCANNER_EXPIRED' });
  await engine.close();
});

test('a scan that was forgotten is ended when it is collected', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const { core, engine } = await opened();
  const forget = async (): Promise<void> => {
    for await (const { row } of engine.table('a').scan(new Scan())) if (row.length === 0) return;
    const scanner = engine.table('a').scan(new Scan());
    await scanner.next();
    await engine.table('a').scan(new Scan()).nextBatch(2);
  };
  await forget();
  expect(core.scanners.size).toBe(2);
  core.scanners.sweep();
  core.scanners.sweep();
  for (let i = 0; i < 100 && core.scanners.size > 0; i++) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(core.scanners.size).toBe(0);
  await engine.close();
});

test('what a transaction has read stays for it, though its time to live ends and files are merged', async () => {
  const clock = settableClock(new Date(0));
  const { engine } = await opened(clock);
  await engine.admin.createTable(tableDescriptor('c', { f: { ttl: 10 } }));
  const table = engine.table('c');
  await table.put(put('r', 'v'));
  await engine.admin.flush('c');
  await table.put(put('s', 'v'));
  await engine.transaction(async (tx) => {
    const there = async (): Promise<boolean[]> =>
      Promise.all(['r', 's'].map(async (row) => !(await tx.table('c').get(new Get(row))).isEmpty));
    expect(await there()).toEqual([true, true]);
    clock.advance(20_000);
    await engine.admin.flush('c');
    await engine.admin.majorCompact('c');
    expect(await there()).toEqual([true, true]);
  });
  await engine.admin.majorCompact('c');
  expect(cellsOf(engine, 'c')).toBe(0);
  await engine.close();
});
