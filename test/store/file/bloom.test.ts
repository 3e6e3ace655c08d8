import { describe, expect, test } from 'vitest';
import { BloomBuilder, BloomChunk, BloomKey, CHUNK_KEYS } from '../../../src/store/file/bloom-filter.js';
import { SortedFileReader } from '../../../src/store/file/sorted-file-reader.js';
import { SortedFileWriter } from '../../../src/store/file/sorted-file-writer.js';
import { scaled } from '../../proof/scale.js';
import { ArrayCursor, cell, type TestCell } from './cells.js';
import { context, FILE_NO, PATH, reader } from './fixture.js';

const row = (n: number): string => `r${String(n).padStart(9, '0')}`;
const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1');

/** The share of keys that were never added and pass. */
function passing(chunk: BloomChunk, prefix: string, count: number): number {
  const key = new BloomKey();
  let passed = 0;
  for (let i = 0; i < count; i++) {
    key.setRow(bytes(`${prefix}${i}`));
    if (chunk.mayContain(key.row1, key.row2)) passed++;
  }
  return passed / count;
}

describe('a bloom chunk', () => {
  test.each([1, 2, 100, 255, 256, 257, 8191, 8192, 8193, 20_000, 120_000])(
    'of %i keys knows each of them, and passes about one stranger in a hundred',
    (keys) => {
      const builder = new BloomBuilder();
      const key = new BloomKey();
      for (let i = 0; i < keys; i++) {
        key.setRow(bytes(row(i)));
        builder.add(key.row1, key.row2);
      }
      const bits = builder.finish();
      const chunk = new BloomChunk(bits.slice());
      let missed = 0;
      for (let i = 0; i < keys; i++) {
        key.setRow(bytes(row(i)));
        if (!chunk.mayContain(key.row1, key.row2)) missed++;
      }
      expect(missed).toBe(0);
      expect(passing(chunk, 'stranger', 20_000)).toBeLessThan(0.015);
      // At most twice what ten bits a key are, but for the smallest.
      expect(bits.length).toBeLessThanOrEqual(Math.max(320, (keys * 20) / 8));
    },
  );

  test('begins anew after it was finished', () => {
    const builder = new BloomBuilder();
    const key = new BloomKey().setRow(bytes('first'));
    for (let i = 0; i < 9000; i++) builder.add(Math.imul(i, 0x9e3779b1), Math.imul(i, 0x85ebca6b));
    builder.finish();
    builder.add(key.row1, key.row2);
    const bits = builder.finish();
    expect(
      bits.reduce((sum, byte) => sum + (byte.toString(2).match(/1/g)?.length ?? 0), 0),
    ).toBeLessThanOrEqual(6);
  });
});

describe('the bloom filter of a file', () => {
  const cells: TestCell[] = [];
  for (let i = 0; i < 2000; i += 2) {
    if (i % 20 === 0) cells.push(cell(row(i), '', 5, '', { type: i % 40 === 0 ? 14 : 10 }));
    cells.push(cell(row(i), 'q', 5, 'v'), cell(row(i), 'q', 4, 'v'), cell(row(i), 's', 5, 'v', { type: 12 }));
  }

  test('ROW: finds all rows whatever the column, and few others', () => {
    const file = reader(cells, { bloomFilter: 'ROW' });
    const key = new BloomKey();
    let passed = 0;
    for (let i = 0; i < 1998; i++) {
      key.setRow(bytes(row(i)));
      if (i % 2 === 1) passed += file.mayContain(key) ? 1 : 0;
      else expect(file.mayContain(key) && file.mayContain(key.setColumn(bytes('zzz')))).toBe(true);
    }
    expect(passed).toBeLessThan(30);
    expect(file.meta.bloomKeys).toBe(1000);
  });

  test('ROWCOL: finds columns, and rows with a marker of the whole family', () => {
    const file = reader(cells, { bloomFilter: 'ROWCOL' });
    const key = new BloomKey();
    let passed = 0;
    for (let i = 0; i < 1998; i++) {
      key.setRow(bytes(row(i)));
      expect(file.mayContain(key)).toBe(true);
      for (const qualifier of ['q', 'r', 's']) {
        const found = file.mayContain(key.setColumn(bytes(qualifier)));
        if ((i % 2 === 0 && qualifier !== 'r') || i % 20 === 0) expect(found).toBe(true);
        else passed += found ? 1 : 0;
      }
    }
    expect(passed).toBeLessThan(130);
  });

  test('NONE, and rows beside the range of the file', () => {
    const file = reader(cells, { bloomFilter: 'NONE' });
    const key = new BloomKey();
    expect(file.mayContain(key.setRow(bytes(row(1))))).toBe(true);
    expect(file.mayContain(key.setRow(bytes(row(0))))).toBe(true);
    expect(file.mayContain(key.setRow(bytes(row(1998))))).toBe(true);
    expect(file.mayContain(key.setRow(bytes(`${row(1998)}0`)))).toBe(false);
    expect(file.mayContain(key.setRow(bytes('r')))).toBe(false);
  });

  const long = scaled(undefined, test, test);
  long?.('of more keys than a chunk has more chunks, and finds rows in each', () => {
    const files = context();
    const writer = new SortedFileWriter(files.fs.create(PATH), {
      fileNo: FILE_NO,
      compression: 'NONE',
      dataBlockEncoding: 'DIFF',
      bloomFilter: 'ROWCOL',
      blockSize: 65536,
    });
    const columns = ['a', 'b', 'c', 'd'];
    const rows = Math.ceil((CHUNK_KEYS * 1.2) / columns.length);
    const none = new Uint8Array(0);
    for (let i = 0; i < rows; i++) {
      const cursor = new ArrayCursor(columns.map((column) => cell(row(i), column, 1, none)));
      for (cursor.seekToFirst(); cursor.valid; cursor.next()) writer.append(cursor);
    }
    writer.finish();
    const file = SortedFileReader.open(files, PATH, FILE_NO);
    expect(file.bloomIndex!.count).toBe(2);
    const key = new BloomKey();
    let passed = 0;
    for (let i = 0; i < rows; i += 37) {
      key.setRow(bytes(row(i)));
      for (const column of columns) expect(file.mayContain(key.setColumn(bytes(column)))).toBe(true);
      if (file.mayContain(key.setColumn(bytes('e')))) passed++;
    }
    expect(passed / (rows / 37)).toBeLessThan(0.02);
  });
});
