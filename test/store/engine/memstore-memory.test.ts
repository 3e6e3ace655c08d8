/** The memory of memstores, and of all that writes and reads large cells: given back and used again when nobody reads it, and never before. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { openEmbedded } from '../../../src/store/engine.js';
import { ChunkPool } from '../../../src/store/memstore/arena.js';
import { Memstore } from '../../../src/store/memstore/memstore.js';
import { CellType, Get, Put, Scan, tableDescriptor } from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';

const VALUE_BYTES = 1000;
/** Several chunks of 1 MiB. */
const ROWS = 5000;

async function writeAll(put: (puts: Put[]) => Promise<void>, mark: string): Promise<void> {
  for (let start = 0; start < ROWS; start += 500) {
    const rows = Array.from({ length: 500 }, (_, i) => String(start + i).padStart(6, '0'));
    await put(rows.map((row) => new Put(row).addColumn('d', 'v', (mark + row).padEnd(VALUE_BYTES, mark))));
  }
}

test('a scan that was open before a flush reads on from memory that later writes do not touch', async () => {
  const engine = await openEmbedded('/db', {
    fileSystem: new MemoryFileSystem(),
    memstoreFlushSize: 64 << 20,
  });
  await engine.admin.createTable(tableDescriptor('t', { d: {} }));
  const table = engine.table('t');
  await writeAll((puts) => table.putAll(puts), 'a');
  const plain = table.scanSync(new Scan());
  const matched = table.scanSync(new Scan().setBatch(10));
  expect(plain.next()!.cells[0]!.value[0]).toBe('a'.charCodeAt(0));
  expect(matched.next()!.cells[0]!.value[0]).toBe('a'.charCodeAt(0));
  for (const mark of ['b', 'c']) {
    await engine.admin.flush('t');
    await writeAll((puts) => table.putAll(puts), mark);
  }
  for (const scanner of [plain, matched]) {
    let rows = 1;
    let wrong = 0;
    for (let result = scanner.next(); result !== undefined; result = scanner.next(), rows++) {
      const row = Buffer.from(result.row).toString();
      const value = Buffer.from(result.cells[0]!.value).toString();
      if (value !== `a${row}`.padEnd(VALUE_BYTES, 'a')) wrong++;
    }
    expect(wrong).toBe(0);
    expect(rows).toBe(ROWS);
  }
  await engine.close();
});

function fill(memstore: Memstore): Memstore {
  const value = new Uint8Array(VALUE_BYTES);
  for (let i = 0; i < ROWS; i++) {
    memstore.add(Buffer.from(String(i)), Buffer.from('v'), 1, CellType.Put, i, 0, value);
  }
  return memstore;
}

test('the memory of a memstore is the next one’s once its last holder has let go', () => {
  const pool = new ChunkPool(64 << 20);
  const first = fill(new Memstore(pool)).retain().retain();
  const used = new Set(first.share().buffers);
  first.release();
  const beside = fill(new Memstore(pool)).retain();
  expect(beside.share().buffers.filter((buffer) => used.has(buffer))).toEqual([]);
  expect(first.cursor().seekToFirst()).toBe(true);
  first.release();
  const after = fill(new Memstore(pool)).retain();
  expect(after.share().buffers.filter((buffer) => used.has(buffer)).length).toBeGreaterThanOrEqual(4);
});

test('a pool keeps no more than it was told to', () => {
  const pool = new ChunkPool(2 << 20);
  const first = fill(new Memstore(pool)).retain();
  const used = new Set(first.share().buffers);
  first.release();
  const after = fill(new Memstore(pool)).retain();
  expect(after.share().buffers.filter((buffer) => used.has(buffer)).length).toBe(2);
});

test('of large cells nothing stays in memory when they are in files, nor of any when the store is closed', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const bytes = async (): Promise<number> => {
    for (let turn = 0; turn < 3; turn++) {
      await nextTurn();
      collect();
    }
    return process.memoryUsage().arrayBuffers;
  };
  const LARGE = 8 << 20;
  const path = await mkdtemp(join(tmpdir(), 'rowan-memory-'));
  const engine = await openEmbedded(path, { background: 'inline', blockCacheSize: LARGE / 2 });
  await engine.admin.createTable(tableDescriptor('t', { d: {} }));
  const table = engine.table('t');
  const before = await bytes();
  for (let row = 0; row < 6; row++) {
    await table.put(new Put(String(row)).addColumn('d', 'v', new Uint8Array(LARGE).fill(row)));
  }
  await engine.admin.flush('t');
  expect((await bytes()) - before).toBeLessThan(LARGE);
  for (let row = 0; row < 6; row++) await table.get(new Get(String(row)));
  expect((await bytes()) - before).toBeLessThan(3 * LARGE);
  await writeAll((puts) => table.putAll(puts), 'a');
  for (let row = 0; row < ROWS; row++) await table.get(new Get(String(row).padStart(6, '0')));
  await engine.close();
  // A buffer for a row that was read is left.
  expect((await bytes()) - before).toBeLessThan(2 * LARGE);
  await rm(path, { recursive: true });
});
