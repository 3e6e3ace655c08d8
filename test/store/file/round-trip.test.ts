import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { equalBytes } from '../../../src/bytes/index.js';
import { prepareCodecs } from '../../../src/compression/index.js';
import { BloomKey } from '../../../src/store/file/bloom-filter.js';
import { SortedFileReader } from '../../../src/store/file/sorted-file-reader.js';
import { COMPRESSIONS, DATA_BLOCK_ENCODINGS } from '../../../src/table/index.js';
import { scaled } from '../../proof/scale.js';
import { anyCells, expectAt, show, shown, type TestCell } from './cells.js';
import { context, expectedSeek, FILE_NO, PATH, seekKey, write } from './fixture.js';

beforeAll(() => prepareCodecs(COMPRESSIONS));

function readAll(reader: SortedFileReader, transient = false, inParts = false): string[] {
  const cursor = reader.cursor({ cacheBlocks: !transient, transient, inParts });
  const cells: string[] = [];
  for (cursor.seekToFirst(); cursor.valid; cursor.next()) cells.push(shown(cursor));
  expect(cursor.next()).toBe(false);
  cursor.close();
  return cells;
}

/** Parts of a cell or two, of several, and of whole blocks. */
const partBytes = fc.constantFrom(30, 200, 65536);

describe.each(DATA_BLOCK_ENCODINGS)('sorted files of the encoding %s', (dataBlockEncoding) => {
  test.each(COMPRESSIONS)('give back with the codec %s what was appended', (compression) => {
    fc.assert(
      fc.property(anyCells(60), fc.constantFrom(1024, 4096, 65536), partBytes, (cells, blockSize, part) => {
        const files = context();
        const written = write(files.fs, cells, {
          compression,
          dataBlockEncoding,
          blockSize,
          partBytes: part,
        });
        expect(written.size).toBe(files.fs.fileSize(PATH));
        const reader = SortedFileReader.open(files, PATH, FILE_NO);
        expect(reader.meta).toEqual(written.meta);
        expect(readAll(reader)).toEqual(cells.map(show));
        expect(readAll(reader, true)).toEqual(cells.map(show));
        expect(readAll(reader, false, true)).toEqual(cells.map(show));
        reader.close();
      }),
      { numRuns: scaled(1, 15, 100) },
    );
  });

  test('seek and reseek to the first cell at or after any target', () => {
    fc.assert(
      fc.property(
        anyCells(80),
        anyCells(30),
        fc.constantFrom(64, 1024, 65536),
        fc.record({ compression: fc.constantFrom('NONE', 'LZO'), partBytes }),
        fc.record({
          cacheBytes: fc.constantFrom(0, 3000, 1 << 24),
          rows: fc.constantFrom(undefined, 2, 1e6),
        }),
        (cells, targets, blockSize, options, { cacheBytes, rows }) => {
          const files = context(undefined, cacheBytes);
          write(files.fs, cells, { dataBlockEncoding, blockSize, ...options });
          const reader = SortedFileReader.open(files, PATH, FILE_NO);
          const cursor = reader.cursor({ rows });
          const walker = reader.cursor({ cacheBlocks: false, transient: true });
          for (const target of [...targets, ...cells]) {
            for (const key of keysAround(target)) {
              const at = expectedSeek(cells, key);
              expectAt(cursor.seek(key), cursor, cells[at]);
              for (let i = at + 1; i < at + 4 && cursor.valid; i++) expectAt(cursor.next(), cursor, cells[i]);
            }
          }
          // From the second look on a block's rows are found by their hashes.
          const bloom = new BloomKey();
          for (let look = 0; look < 2; look++) {
            for (const target of [...targets, ...cells]) {
              for (const key of keysAround(target)) {
                const at = expectedSeek(cells, key);
                const isInRow = at < cells.length && equalBytes(cells[at]!.row, key.row);
                bloom.setRow(key.row);
                expectAt(cursor.seekInRow(key, bloom), cursor, isInRow ? cells[at] : undefined);
                if (isInRow && cursor.next()) expectAt(true, cursor, cells[at + 1]);
              }
            }
          }
          for (const target of targets) {
            const key = seekKey(target.row, target.qualifier, target.timestamp, target.type);
            expectAt(walker.reseek(key), walker, cells[expectedSeek(cells, key)]);
          }
          const [start, ...rest] = [...cells.keys()].filter((i) => i % 3 === 0);
          cursor.seek(keysAround(cells[start!]!)[0]!);
          for (const i of rest) {
            const cell = cells[i]!;
            const key = seekKey(cell.row, cell.qualifier, cell.timestamp, cell.type);
            expectAt(cursor.reseek(key), cursor, cells[expectedSeek(cells, key)]);
          }
        },
      ),
      { numRuns: scaled(2, 25, 200) },
    );
  });

  test('walk back row by row, and on from where they land', () => {
    fc.assert(
      fc.property(anyCells(80), anyCells(10), fc.constantFrom(64, 1024), (cells, targets, blockSize) => {
        const files = context(undefined, 3000);
        write(files.fs, cells, { dataBlockEncoding, blockSize, partBytes: 60 });
        const cursor = SortedFileReader.open(files, PATH, FILE_NO).cursor();
        const firsts = cells.filter(
          (cell, i) => i === 0 || Buffer.compare(cells[i - 1]!.row, cell.row) !== 0,
        );
        let row: Uint8Array | null = null;
        for (const first of [...firsts].reverse()) {
          expectAt(cursor.seekToPreviousRow(row), cursor, first);
          const after = cells[cells.indexOf(first) + 1];
          if (after) expect(cursor.next() && shown(cursor)).toBe(show(after));
          row = first.row;
        }
        expect(cursor.seekToPreviousRow(row)).toBe(false);
        expect(cursor.valid).toBe(false);
        for (const target of targets) {
          const expected = firsts.findLast((first) => Buffer.compare(first.row, target.row) < 0);
          expectAt(cursor.seekToPreviousRow(target.row), cursor, expected);
        }
      }),
      { numRuns: scaled(2, 25, 200) },
    );
  });
});

/** The target itself, the ends of its column and row, and places just beside them. */
function keysAround(cell: TestCell) {
  const { row, qualifier, timestamp, type } = cell;
  const none = new Uint8Array(0);
  return [
    seekKey(row, none, Number.MAX_SAFE_INTEGER, 255),
    seekKey(row, qualifier, timestamp, type),
    seekKey(row, qualifier, timestamp, 255),
    seekKey(row, qualifier, timestamp, 0),
    seekKey(row, qualifier, timestamp + 1, 0),
    seekKey(row, qualifier, -1, 0),
    seekKey(Buffer.concat([row, Buffer.of(0)]), none, Number.MAX_SAFE_INTEGER, 255),
    seekKey(row.subarray(0, row.length - 1), qualifier, timestamp, 255),
    seekKey(row, Buffer.concat([qualifier, Buffer.of(0)]), Number.MAX_SAFE_INTEGER, 255),
  ];
}
