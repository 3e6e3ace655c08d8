/** Batches of gets on files whose reads wait for the disk. */

import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { RowanError } from '../../../src/errors.js';
import { type EmbeddedEngine, openEmbedded } from '../../../src/store/engine.js';
import type { FileHandle } from '../../../src/store/fs/index.js';
import { Get, Put, tableDescriptor } from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';

const ROWS = 4000;
const rowOf = (n: number): Buffer => Buffer.from(`row${String(n).padStart(6, '0')}`);
const VALUE = Buffer.alloc(100, 'value ');
const COLUMNS = ['a', 'b'].map((name) => Buffer.from(name));

interface Range {
  readonly path: string;
  readonly from: number;
  readonly to: number;
}

/** A disk by its clock: each read takes so long, and says where it was. */
class Disk extends MemoryFileSystem {
  milliseconds = 1;
  fails = false;
  now = 0;
  readonly reads: Range[] = [];
  readonly ahead: Range[] = [];

  override openRead(path: string): FileHandle {
    const handle = super.openRead(path);
    const read = handle.read.bind(handle);
    handle.read = (buffer, offset, length, position) => {
      this.now += this.milliseconds;
      this.reads.push({ path, from: position, to: position + length });
      return read(buffer, offset, length, position);
    };
    handle.readAhead = async (position, length) => {
      this.ahead.push({ path, from: position, to: position + length });
      if (this.fails) throw new RowanError('ERR_IO', 'The disk is gone.');
    };
    return handle;
  }

  forget(): void {
    this.reads.length = 0;
    this.ahead.length = 0;
  }
}

/** A store of two files, of which the second has every third row's column "b", and with a cache that holds few blocks. */
async function filled(disk: Disk): Promise<EmbeddedEngine> {
  vi.spyOn(performance, 'now').mockImplementation(() => disk.now);
  const engine = await openEmbedded('/store', {
    fileSystem: disk,
    automatic: false,
    blockCacheSize: 256 * 1024,
  });
  await engine.admin.createTable(tableDescriptor('t', { f: {} }));
  const table = engine.table('t');
  const put = (n: number, column: number): Put =>
    new Put(rowOf(2 * n)).addColumn('f', COLUMNS[column]!, VALUE);
  await table.putAll(Array.from({ length: ROWS }, (_, n) => put(n, 0)));
  await engine.admin.flush('t');
  await table.putAll(Array.from({ length: ROWS / 3 }, (_, n) => put(3 * n, 1)));
  await engine.admin.flush('t');
  for (let n = 0; n < 300; n++) table.getSync(new Get(rowOf(2 * ((n * 7919) % ROWS))));
  return engine;
}

afterEach(() => void vi.restoreAllMocks());

describe('a batch of gets', () => {
  test('reads in this thread what was read ahead, and gives what single gets give', async () => {
    const disk = new Disk();
    await using engine = await filled(disk);
    const table = engine.table('t');
    const one = fc.record({ n: fc.nat(2 * ROWS + 10), column: fc.constantFrom(undefined, 0, 1) });
    // What the cache had when a batch began may be gone when it is read.
    let [reads, late] = [0, 0];
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(one, { selector: ({ n }) => n, minLength: 40, maxLength: 60 }),
        async (asked) => {
          const gets = asked.map(({ n, column }) => {
            const get = new Get(rowOf(n));
            return column === undefined ? get : get.addColumn('f', COLUMNS[column]!);
          });
          disk.forget();
          const found = await table.getAll(gets);
          const isAhead = ({ path, from, to }: Range): boolean =>
            disk.ahead.some((range) => range.path === path && range.from <= from && range.to >= to);
          reads += disk.reads.length;
          late += disk.reads.filter((range) => !isAhead(range)).length;
          expect(found).toEqual(gets.map((get) => table.getSync(get)));
        },
      ),
      { numRuns: 12 },
    );
    expect(reads).toBeGreaterThan(100);
    expect(late).toBeLessThan(reads / 50);
  });

  test('reads nothing ahead where reads do not wait, nor for few gets', async () => {
    const disk = new Disk();
    disk.milliseconds = 0.002;
    await using engine = await filled(disk);
    const table = engine.table('t');
    const gets = Array.from({ length: 50 }, (_, n) => new Get(rowOf(160 * n)));
    disk.forget();
    await table.getAll(gets);
    expect(disk.reads.length).toBeGreaterThan(30);
    expect(disk.ahead).toEqual([]);
    disk.milliseconds = 1;
    for (let n = 0; n < 200; n++) table.getSync(new Get(rowOf(2 * ((1 + n * 104_729) % ROWS))));
    await table.getAll(gets.slice(0, 3));
    expect(disk.ahead).toEqual([]);
    await table.getAll(Array.from({ length: 50 }, (_, n) => new Get(rowOf(160 * n + 80))));
    expect(disk.ahead.length).toBeGreaterThan(30);
  });

  test('looks for nothing to read after batches that found all they need in memory, until reads wait again', async () => {
    const disk = new Disk();
    await using engine = await filled(disk);
    const table = engine.table('t');
    const absent = Array.from({ length: 50 }, (_, n) => new Get(rowOf(9 * ROWS + n)));
    for (let n = 0; n < 100; n++) await table.getAll(absent);
    await table.getAll(Array.from({ length: 50 }, (_, n) => new Get(rowOf(160 * n))));
    expect(disk.ahead).toEqual([]);
    for (let n = 0; n < 200; n++) table.getSync(new Get(rowOf(2 * ((1 + n * 104_729) % ROWS))));
    await table.getAll(Array.from({ length: 50 }, (_, n) => new Get(rowOf(160 * n + 80))));
    expect(disk.ahead.length).toBeGreaterThan(30);
  });

  test('leaves failures of reading ahead to the reads', async () => {
    const disk = new Disk();
    await using engine = await filled(disk);
    disk.fails = true;
    disk.forget();
    const found = await engine
      .table('t')
      .getAll(Array.from({ length: 50 }, (_, n) => new Get(rowOf(160 * n))));
    expect(disk.ahead.length).toBeGreaterThan(30);
    expect(found.every(({ cells }) => cells.length > 0)).toBe(true);
  });
});
