import murmur from 'murmurhash3js';
import { describe, expect, test } from 'vitest';
import { BloomBuilder } from '../../../src/store/file/bloom-filter.js';
import { BloomKey, SortedFileReader } from '../../../src/store/file/index.js';
import { DATA_BLOCK_ENCODINGS } from '../../../src/table/index.js';
import { goldenBytes } from '../golden.js';
import { cell, show, shown } from './cells.js';
import { context, FILE_NO, PATH, write } from './fixture.js';

const CELLS = [
  cell('ant', 'a', 1000, 'one', { seq: 3 }),
  cell('ant', 'a', 900, 'two', { seq: 2 }),
  cell('bee', '', 1001, '', { type: 14, seq: 4 }),
  cell('bee', 'b', 1000, 'three', { seq: 5, ttl: 60_000 }),
];
const BLOCK_HEADER_BYTES = 16;

describe('the bytes that docs/formats.md shows', () => {
  test('are those of a whole file', () => {
    const { fs } = context();
    write(fs, CELLS, { bloomFilter: 'NONE' });
    expect(fs.contents(PATH)).toEqual(goldenBytes('sorted-file'));
  });

  test('are read', () => {
    const files = context();
    const handle = files.fs.create(PATH);
    const bytes = goldenBytes('sorted-file');
    handle.write(bytes, 0, bytes.length);
    handle.close();
    const cursor = SortedFileReader.open(files, PATH, FILE_NO).cursor();
    const found: string[] = [];
    for (cursor.seekToFirst(); cursor.valid; cursor.next()) found.push(shown(cursor));
    expect(found).toEqual(CELLS.map(show));
  });

  test.each(DATA_BLOCK_ENCODINGS.filter((encoding) => encoding !== 'NONE'))(
    'are those of a block of the encoding %s',
    (dataBlockEncoding) => {
      const { fs } = context();
      const { meta } = write(fs, CELLS, { bloomFilter: 'NONE', dataBlockEncoding });
      const payload = fs.contents(PATH).slice(BLOCK_HEADER_BYTES, meta.dataBytes);
      expect(payload).toEqual(goldenBytes(`sorted-${dataBlockEncoding}`));
    },
  );

  test('are those of a bloom filter', () => {
    const key = new BloomKey().setRow(Buffer.from('ant')).setColumn(Buffer.from('a'));
    const builder = new BloomBuilder();
    builder.add(key.row1, key.row2);
    builder.add(key.column1, key.column2);
    expect(new Uint8Array(builder.finish())).toEqual(goldenBytes('bloom-chunk'));
  });
});

test('the first hash of a row is MurmurHash3', () => {
  for (const row of ['a', 'ab', 'abc', 'abcd', 'abcde', 'user000000001234', 'ä'.repeat(9)]) {
    const key = new BloomKey().setRow(Buffer.from(row, 'latin1'));
    expect(key.row1 >>> 0).toBe(murmur.x86.hash32(row, 0x9747b28c));
  }
});
