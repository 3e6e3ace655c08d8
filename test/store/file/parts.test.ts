import { describe, expect, test } from 'vitest';
import { BloomKey } from '../../../src/store/file/bloom-filter.js';
import { SortedFileReader } from '../../../src/store/file/sorted-file-reader.js';
import type { StoreFile } from '../../../src/store/file/store-file.js';
import type { FileHandle } from '../../../src/store/fs/index.js';
import { ChunkPool } from '../../../src/store/memstore/arena.js';
import { Memstore } from '../../../src/store/memstore/memstore.js';
import { StoreVersion } from '../../../src/store/region/region.js';
import type { ReadHint } from '../../../src/store/scan/store-read.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { scaled } from '../../proof/scale.js';
import { cell, expectAt } from './cells.js';
import { context, FILE_NO, PATH, seekKey, write } from './fixture.js';

const row = (n: number): Uint8Array => Buffer.from(`row${String(n).padStart(7, '0')}`);
const NONE = new Uint8Array(0);
/** Some two groups of blocks of 64 KiB. */
const cells = Array.from({ length: 40_000 }, (_, i) =>
  cell(Buffer.from(row(2 * i)).toString(), 'q', 1, `${i} `.repeat(16)),
);

const written = new MemoryFileSystem();
write(written, cells, { blockSize: 65536 });

interface OpenFile {
  readonly file: SortedFileReader;
  /** How many bytes of it were read since the last call. */
  bytesRead(): number;
  /** And in how many reads. */
  reads(): number;
}

/** The file of the cells with a cache of so many bytes. */
function opened(cacheBytes: number): OpenFile {
  const files = context(undefined, cacheBytes);
  files.fs.place(PATH, written.contents(PATH));
  let bytes = 0;
  let count = 0;
  const { fs } = files;
  const openRead = fs.openRead.bind(fs);
  fs.openRead = (path: string): FileHandle => {
    const handle = openRead(path);
    const read = handle.read.bind(handle);
    handle.read = (...args) => {
      bytes += args[2];
      count++;
      return read(...args);
    };
    return handle;
  };
  const file = SortedFileReader.open(files, PATH, FILE_NO);
  const bytesRead = (): number => {
    const read = bytes;
    bytes = 0;
    return read;
  };
  const reads = (): number => {
    const made = count;
    count = 0;
    return made;
  };
  return { file, bytesRead, reads };
}

const rowKey = (n: number) => seekKey(row(n), NONE, Number.MAX_SAFE_INTEGER, 255);

describe('a read of one row', () => {
  test('reads the part of the block that the row is in, once the cache has no room for blocks', () => {
    const { file, bytesRead } = opened(1 << 20);
    const cursor = file.cursor();
    const bloom = new BloomKey();
    const get = (i: number): void => {
      bloom.setRow(row(2 * i));
      expectAt(cursor.seekInRow(rowKey(2 * i), bloom), cursor, cells[i]!);
    };
    for (let i = 0; i < 8000; i++) get((i * 7919) % cells.length);
    bytesRead();
    for (let i = 0; i < 1000; i++) get((i * 10_007) % cells.length);
    // Parts of 4 KiB, and now and then a group.
    expect(bytesRead() / 1000).toBeLessThan(6000);
    expect(file.context.cache.stats().bytes).toBeLessThanOrEqual(1 << 20);
  });

  test('reads whole blocks, each once, while the cache has room', () => {
    const { file, bytesRead } = opened(1 << 26);
    const cursor = file.cursor();
    bytesRead();
    for (let i = 0; i < cells.length; i += 17) {
      expectAt(cursor.seek(rowKey(2 * i)), cursor, cells[i]!);
    }
    const { dataBytes, dataBlocks } = file.meta;
    expect(bytesRead()).toBe(dataBytes);
    expect(file.context.cache.stats().entries).toBe(dataBlocks);
  });

  test('finds the row behind every gap, over the ends of parts and blocks', () => {
    const { file } = opened(0);
    const cursor = file.cursor({ cacheBlocks: false });
    for (let i = 0; i < scaled(1200, 3000, 3000); i++) {
      expectAt(cursor.seek(rowKey(2 * i + 1)), cursor, cells[i + 1]!);
    }
    expect(cursor.seek(rowKey(2 * cells.length - 1))).toBe(false);
  });
});

describe('a scan', () => {
  test('of few rows reads parts, of many whole blocks', () => {
    const { file, bytesRead } = opened(0);
    const scan = (from: number, count: number): void => {
      const cursor = file.cursor({ cacheBlocks: false });
      cursor.seek(rowKey(2 * from));
      for (let i = from; i < from + count; i++, cursor.next()) expectAt(cursor.valid, cursor, cells[i]!);
      cursor.close();
    };
    scan(500, 50);
    // The index of groups and a group are read with them: the cache keeps nothing.
    const overhead = 64 * 1024;
    expect(bytesRead()).toBeLessThan(4 * 5000 + overhead);
    scan(500, 20_000);
    expect(bytesRead()).toBeLessThan(1.1 * (file.meta.dataBytes / 2) + 2 * 65536 + overhead);
  });

  test('of a known number of rows reads their parts at once', () => {
    const { file, bytesRead, reads } = opened(1 << 19);
    // From here on blocks have no room.
    for (let i = 0; i < 8000; i++) file.cursor().seek(rowKey(2 * ((i * 7919) % cells.length)));
    const scan = (from: number, count: number, rows?: number): void => {
      const cursor = file.cursor({ rows });
      cursor.seek(rowKey(2 * from));
      for (let i = from; i < from + count; i++, cursor.next()) expectAt(cursor.valid, cursor, cells[i]!);
      cursor.close();
    };
    reads();
    bytesRead();
    const scans = 300;
    for (let i = 0; i < scans; i++) scan((i * 10_007) % (cells.length - 100), 40, 40);
    // Two where the rows are in two blocks.
    expect(reads() / scans).toBeLessThan(1.2);
    // Some 130 bytes a row, and what is before and behind the rows in the first and last part.
    expect(bytesRead() / scans).toBeLessThan(40 * 130 + 2 * 2048);
    // Over the ends of blocks, some 500 rows each, at most six parts: what was read of the first block is not wanted of the second.
    let most = 0;
    for (let i = 0; i < 3000; i += 3) {
      scan(i, 40, 40);
      most = Math.max(most, bytesRead());
    }
    expect(most).toBeLessThan(6 * 2200);
    // A part in the cache is not read with those behind it.
    file.cursor().seek(rowKey(2 * 12_345));
    bytesRead();
    scan(12_345, 1, 40);
    expect(bytesRead()).toBe(0);
    // Rows behind the expected ones.
    scan(20_001, 1000, 2);
    scan(30_001, 3, 1_000_000);
  });

  test('of several files expects of each its share of the rows', () => {
    const shares: unknown[] = [];
    const fileOf = (rows: number): StoreFile =>
      ({
        meta: { rows },
        retain: () => undefined,
        openCursor: (_hint: unknown, ofAll: number) => void shares.push(ofAll),
      }) as unknown as StoreFile;
    const version = new StoreVersion(new Memstore(new ChunkPool(0)), [], [fileOf(300), fileOf(100)]);
    expect(version.openCursors({} as ReadHint)).toEqual([]);
    expect(shares).toEqual([0.75, 0.25]);
  });

  test('back over the rows reads each block a few times, not for every row', () => {
    const { file, bytesRead } = opened(0);
    const cursor = file.cursor();
    for (let i = 10_000; i > 0; i--) {
      expectAt(cursor.seekToPreviousRow(row(2 * i)), cursor, cells[i - 1]!);
    }
    // Groups of parts are read anew, the cache keeping nothing.
    expect(bytesRead()).toBeLessThan(3 * file.meta.dataBytes);
  });

  test('leaves the parts that are read again in the cache', () => {
    const { file, bytesRead } = opened(1 << 20);
    const cursor = file.cursor();
    const hot = Array.from({ length: 40 }, (_, i) => (i * 997) % cells.length);
    for (let i = 0; i < 8000; i++) cursor.seek(rowKey(2 * ((i * 7919) % cells.length)));
    for (let i = 0; i < 400; i++) cursor.seek(rowKey(2 * hot[i % 40]!));
    const scan = file.cursor();
    for (let valid = scan.seekToFirst(); valid; valid = scan.next());
    scan.close();
    bytesRead();
    for (const i of hot) {
      expectAt(cursor.seek(rowKey(2 * i)), cursor, cells[i]!);
    }
    expect(bytesRead()).toBe(0);
  });
});

test('a bit that has changed is told by who reads its part, and no wrong cell is given', () => {
  const few = cells.slice(0, 2000);
  const fs = new MemoryFileSystem();
  write(fs, few, { blockSize: 16384 });
  const { dataBytes } = SortedFileReader.open(context(fs), PATH, FILE_NO).meta;
  const bytes = fs.contents(PATH);
  let [found, flips] = [0, 0];
  for (let at = 1007; at < dataBytes; at += scaled(29_927, 9973, 9973)) {
    bytes[at]! ^= 1 << (at % 8);
    const cursor = SortedFileReader.open(context(fs, 0), PATH, FILE_NO).cursor({
      cacheBlocks: false,
      inParts: true,
    });
    let told = 0;
    for (let i = 0; i < few.length; i++) {
      try {
        if (cursor.seek(rowKey(2 * i))) expectAt(true, cursor, few[i]!);
      } catch (error) {
        expect(error).toMatchObject({ code: 'ERR_CORRUPTION', details: { file: PATH } });
        told++;
      }
    }
    // The cells of a part of some 2 KiB, and no others. Bytes between the blocks belong to no part.
    expect(told).toBeLessThan(60);
    if (told > 0) found++;
    flips++;
    bytes[at]! ^= 1 << (at % 8);
  }
  expect(found).toBeGreaterThan(0.8 * flips);
});
