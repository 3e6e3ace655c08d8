import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BloomKey } from '../../../src/store/file/bloom-filter.js';
import { SortedFileReader } from '../../../src/store/file/sorted-file-reader.js';
import type { FileHandle } from '../../../src/store/fs/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { scaled } from '../../proof/scale.js';
import { cell, expectAt, show, shown, type TestCell } from './cells.js';
import { context, FILE_NO, PATH, seekKey, write } from './fixture.js';

/** Room for single rows, and for few blocks. */
const SMALL_CACHE = 512 * 1024;
const NONE = new Uint8Array(0);

const rowOf = (n: number): string => `row${String(n).padStart(5, '0')}`;
const columnOf = (n: number): string => `c${String(n).padStart(3, '0')}`;

/** A file of rows with so many columns and values of so many bytes each. */
function cellsOf(rows: readonly { columns: number; bytes: number }[]): TestCell[] {
  return rows.flatMap(({ columns, bytes }, i) =>
    Array.from({ length: columns }, (_, column) =>
      cell(rowOf(2 * i), columnOf(2 * column), 5, `${i}/${column}/`.padEnd(bytes, '.')),
    ),
  );
}

/** Opens a file whose cache is full, so that rows are read singly. */
function full(cells: readonly TestCell[], blockSize: number, fs = new MemoryFileSystem()): SortedFileReader {
  const files = context(fs, SMALL_CACHE);
  write(fs, cells, { blockSize });
  files.cache.beginRows();
  return SortedFileReader.open(files, PATH, FILE_NO);
}

describe('a single row, read once the cache is full', () => {
  test('has the cells of the file, from any column on, whatever its size and place', () => {
    const sized = (columns: number, bytes: number, weight: number) => ({
      weight,
      arbitrary: fc.record({
        columns: fc.integer({ min: 1, max: columns }),
        bytes: fc.integer({ min: 1, max: bytes }),
      }),
    });
    const aRow = fc.oneof(sized(9, 300, 8), sized(150, 200, 1), sized(3, 9000, 1), sized(3, 90_000, 1));
    const read = fc.record({
      row: fc.nat(),
      odd: fc.boolean(),
      column: fc.nat({ max: 20 }),
      whole: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.array(aRow, { minLength: 1, maxLength: 60 }),
        fc.constantFrom(1024, 16_384, 65_536),
        fc.array(read, { minLength: 60, maxLength: 200 }),
        (rows, blockSize, reads) => {
          const cells = cellsOf(rows);
          const file = full(cells, blockSize);
          const cursor = file.cursor();
          const bloom = new BloomKey();
          for (const { row, odd, column, whole } of reads) {
            const name = rowOf(2 * (row % rows.length) + (odd ? 1 : 0));
            const qualifier = whole ? '' : columnOf(column);
            const expected = cells.filter(
              (each) =>
                Buffer.from(each.row).toString() === name &&
                Buffer.from(each.qualifier).toString() >= qualifier,
            );
            const bytes = Buffer.from(name);
            bloom.setRow(bytes);
            const key = seekKey(bytes, whole ? NONE : Buffer.from(qualifier), Number.MAX_SAFE_INTEGER, 255);
            const found: string[] = [];
            for (let more = cursor.seekInRow(key, bloom); more; more = cursor.nextInRow(bytes))
              found.push(shown(cursor));
            expect(found).toEqual(expected.map(show));
            if (expected.length < 2) continue;
            // From the first cell to a later one, and beyond the row.
            cursor.seekInRow(key, bloom);
            const later = expected[expected.length >> 1]!;
            const there = cursor.reseek(seekKey(bytes, later.qualifier, Number.MAX_SAFE_INTEGER, 255));
            expectAt(there, cursor, later);
            const inRow = cursor.reseek(seekKey(bytes, Buffer.from('d'), 1, 4)) && cursor.nextInRow(bytes);
            expect(inRow).toBe(false);
          }
        },
      ),
      { numRuns: scaled(12, 300, 3000) },
    );
  });

  test('leaves no memory behind that is larger than rows are usually', () => {
    const cells = cellsOf([60, 2_000_000, 60, 40_000, 60].map((bytes) => ({ columns: 2, bytes })));
    const cursor = full(cells, 65_536).cursor();
    const bloom = new BloomKey();
    for (const [i, expected] of cells.entries()) {
      if (i % 2 === 1) continue;
      bloom.setRow(expected.row);
      const key = seekKey(expected.row, NONE, Number.MAX_SAFE_INTEGER, 255);
      expectAt(cursor.seekInRow(key, bloom), cursor, expected);
      expectAt(cursor.nextInRow(expected.row), cursor, cells[i + 1]!);
    }
    const { rows } = cursor as unknown as { rows: { buffer: { bytes: Uint8Array } } };
    expect(rows.buffer.bytes.length).toBeLessThan(200_000);
  });

  test('is read with its part and nothing else, and not again when it was read twice', () => {
    const cells = cellsOf(Array.from({ length: 8000 }, () => ({ columns: 1, bytes: 60 })));
    const fs = new MemoryFileSystem();
    const file = full(cells, 65_536, fs);
    let bytes = 0;
    const handle = file.file.handle as FileHandle;
    const original = handle.read.bind(handle);
    handle.read = (...args) => {
      bytes += args[2];
      return original(...args);
    };
    const cursor = file.cursor();
    const bloom = new BloomKey();
    const read = (i: number): number => {
      bytes = 0;
      const row = Buffer.from(rowOf(2 * i));
      bloom.setRow(row);
      expectAt(cursor.seekInRow(seekKey(row, NONE, Number.MAX_SAFE_INTEGER, 255), bloom), cursor, cells[i]!);
      return bytes;
    };
    // Groups and index stay; the cache of rows becomes full.
    for (let i = 0; i < 8000; i++) read(i);
    for (const i of [3, 4000, 7999]) {
      expect(read(i)).toBeLessThan(2500);
      expect(read(i)).toBeLessThan(2500);
      expect(read(i)).toBe(0);
    }
    expect(file.context.cache.stats().bytes).toBeLessThanOrEqual(SMALL_CACHE);

    // The filter is asked first after it had no row, and behind cached rows while it has all.
    let asked = 0;
    const mayContain = file.mayContain.bind(file);
    file.mayContain = (key) => {
      asked++;
      return mayContain(key);
    };
    for (const i of [3, 4000, 7999]) expect(read(i)).toBe(0);
    expect(asked).toBe(0);
    bloom.setRow(Buffer.from('absent'));
    expect(cursor.seekInRow(seekKey(Buffer.from('absent'), NONE, 0, 255), bloom)).toBe(false);
    for (let again = 0; again < 20; again++) expect(read(3)).toBe(0);
    expect(asked).toBe(1 + 16);
  });

  test('is not given when a bit of what was read has changed', () => {
    const cells = cellsOf(Array.from({ length: 300 }, (_, i) => ({ columns: 1 + (i % 3), bytes: 200 })));
    const fs = new MemoryFileSystem();
    const { dataBytes } = full(cells, 65_536, fs).meta;
    const bytes = fs.contents(PATH);
    const bloom = new BloomKey();
    let told = 0;
    let flips = 0;
    for (let at = 20; at < dataBytes; at += scaled(2999, 1511, 1511), flips++) {
      bytes[at]! ^= 1 << (at % 8);
      const files = context(fs, SMALL_CACHE);
      files.cache.beginRows();
      const cursor = SortedFileReader.open(files, PATH, FILE_NO).cursor();
      let refused = 0;
      for (const expected of cells) {
        bloom.setRow(expected.row);
        try {
          const key = seekKey(expected.row, expected.qualifier, Number.MAX_SAFE_INTEGER, 255);
          if (cursor.seekInRow(key, bloom)) expectAt(true, cursor, expected);
        } catch (error) {
          expect(error).toMatchObject({ code: 'ERR_CORRUPTION', details: { file: PATH } });
          refused++;
        }
      }
      if (refused > 0) told++;
      bytes[at]! ^= 1 << (at % 8);
    }
    expect(flips).toBeGreaterThan(40);
    // Tables of offsets and headers of blocks belong to no part.
    expect(told / flips).toBeGreaterThan(0.9);
  });
});
