import murmur from 'murmurhash3js';
import { describe, expect, test } from 'vitest';
import { SeekKey } from '../../../src/store/cursor.js';
import { KeyKind } from '../../../src/store/file/block-frame.js';
import { BloomBuilder, BloomKey } from '../../../src/store/file/bloom-filter.js';
import { IndexKey } from '../../../src/store/file/index-key.js';
import { PartGroup, PartGroupBuilder } from '../../../src/store/file/part-index.js';
import { SortedFileReader } from '../../../src/store/file/sorted-file-reader.js';
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
const FOOTER_BYTES = 64;

/** A file without parts, its footer as it was in version 1. */
function versionOne(bytes: Uint8Array): Uint8Array {
  const footer = goldenBytes('sorted-file-footer-1');
  return Buffer.concat([bytes.subarray(0, bytes.length - FOOTER_BYTES), footer]);
}

/** End, cells, checksum and whether it starts a row, of each part. */
function partsOf(group: PartGroup): (number | boolean)[][] {
  const parts = Array.from({ length: group.count }, (_, i) => i);
  return parts.map((i) => [group.end(i), group.cells(i), group.crc(i), group.startsRow(i)]);
}

describe('the bytes that docs/formats-sorted-files.md shows', () => {
  test('are those of a whole file', () => {
    const { fs } = context();
    write(fs, CELLS, { bloomFilter: 'NONE' });
    expect(fs.contents(PATH)).toEqual(goldenBytes('sorted-file'));
  });

  test.each([
    ['', goldenBytes('sorted-file')],
    [' as version 1 wrote them', versionOne(goldenBytes('sorted-file'))],
  ])('are read%s', (_, bytes) => {
    const files = context();
    const handle = files.fs.create(PATH);
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

  test('are those of the parts of two blocks', () => {
    const builder = new PartGroupBuilder();
    const key = (row: string): IndexKey => Object.assign(new IndexKey(), { row: Buffer.from(row) });
    const column = Object.assign(key('bee'), { kind: KeyKind.Column, qualifier: Buffer.from('q') });
    builder.addBlock([
      { key: key('bat'), end: 4100, cells: 30, crc: 0x01020304 },
      { key: key('be'), end: 7000, cells: 20, crc: 0x05060708 },
    ]);
    builder.addBlock([{ key: column, end: 90, cells: 1, crc: 0x890a0b0c }]);
    const bytes = builder.finish();
    expect(bytes).toEqual(goldenBytes('part-group'));
    const group = new PartGroup(bytes);
    const expected = [
      [4100, 30, 0x01020304, true],
      [7000, 20, 0x05060708, true],
      [90, 1, 0x890a0b0c, false],
    ];
    expect([group.firstOf(1), group.endOf(1)]).toEqual([2, 3]);
    expect(partsOf(group)).toEqual(expected);
    // After some searches the group numbers its rows.
    for (let i = 0; i < 100; i++) {
      expect(group.find(0, new SeekKey().setRow(Buffer.from('bed')))).toBe(1);
      expect(group.find(0, new SeekKey().setRow(Buffer.from('bd')))).toBe(0);
    }
    expect(partsOf(group)).toEqual(expected);
  });

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
