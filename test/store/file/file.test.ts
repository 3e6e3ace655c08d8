import { beforeAll, describe, expect, test } from 'vitest';
import { prepareCodecs } from '../../../src/compression/index.js';
import { LEAF_ENTRIES } from '../../../src/store/file/block-frame.js';
import { fileMetaFromJson, fileMetaToJson, fileNumberOf } from '../../../src/store/file/footer.js';
import { SortedFileReader } from '../../../src/store/file/sorted-file-reader.js';
import { SortedFileWriter } from '../../../src/store/file/sorted-file-writer.js';
import { describeBlocks, verifySortedFile } from '../../../src/store/file/verify-file.js';
import { ArrayCursor, cell, show, shown, type TestCell } from './cells.js';
import { context, FILE_NO, PATH, reader, seekKey, write } from './fixture.js';

const row = (n: number): string => `r${String(n).padStart(7, '0')}`;
const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const NONE = new Uint8Array(0);

beforeAll(() => prepareCodecs(['LZO']));

describe('what a file knows of its cells', () => {
  const cells = [
    cell('a', '', 7, '', { type: 10, seq: 9 }),
    cell('a', 'q', 50, 'x', { seq: 4 }),
    cell('a', 'q', 40, 'y', { seq: 3 }),
    cell('a', 'q', 40, 'z', { seq: 2 }),
    cell('b', 'q', 45, '', { type: 8, seq: 8 }),
    cell('c', 'q', 60, 'x', { seq: 5, ttl: 10 }),
  ];

  test('counts, times, seqs and rows', () => {
    const { meta } = reader(cells, { compression: 'NONE', bloomFilter: 'ROWCOL', majorCompacted: true });
    expect(meta).toMatchObject({
      cells: 6,
      puts: 4,
      deletes: 2,
      deleteFamilyCount: 1,
      rows: 3,
      minTimestamp: 7,
      maxTimestamp: 60,
      earliestPutTimestamp: 40,
      minSeq: 2,
      maxSeq: 9,
      maxVersions: 3,
      hasTtl: true,
      majorCompacted: true,
      bulkLoaded: false,
      bloomKeys: 5,
      dataBlocks: 1,
    });
    expect(Buffer.from(meta.firstRow).toString()).toBe('a');
    expect(Buffer.from(meta.lastRow).toString()).toBe('c');
  });

  test.each([
    [4, 50],
    [8, 50],
    [10, 50],
    [12, 0],
    [14, 0],
  ])('a cell of type %i at 50 makes the least timestamp %i (R56)', (type, expected) => {
    expect(reader([cell('a', '', 50, '', { type })]).meta.minTimestamp).toBe(expected);
  });

  test('without a put the earliest put is none', () => {
    const { meta } = reader([cell('a', 'q', 50, '', { type: 8 })]);
    expect(meta.earliestPutTimestamp).toBe(Number.MAX_SAFE_INTEGER);
    expect(meta.hasTtl).toBe(false);
  });

  test('goes through JSON, which is checked', () => {
    const { meta } = reader(cells);
    const json = JSON.parse(JSON.stringify(fileMetaToJson(meta)));
    expect(fileMetaFromJson({ ...json, fromLater: 1 })).toEqual(meta);
    for (const field of Object.keys(json)) {
      for (const wrong of [undefined, null, -1, 'XYZ', 1.5, []]) {
        expect(() => fileMetaFromJson({ ...json, [field]: wrong }), field).toThrow(
          expect.objectContaining({ code: 'ERR_CORRUPTION' }),
        );
      }
    }
  });
});

describe('a writer', () => {
  const options = {
    fileNo: 1,
    compression: 'NONE',
    dataBlockEncoding: 'NONE',
    bloomFilter: 'ROW',
    blockSize: 1024,
  } as const;

  test.each<[string, TestCell, TestCell]>([
    ['row', cell('b', 'q', 1), cell('a', 'q', 1)],
    ['shorter row', cell('ab', 'q', 1), cell('a', 'q', 1)],
    ['qualifier', cell('a', 'r', 1), cell('a', 'q', 1)],
    ['shorter qualifier', cell('a', 'qq', 1), cell('a', 'q', 1)],
    ['timestamp', cell('a', 'q', 1), cell('a', 'q', 2)],
    ['type', cell('a', 'q', 1), cell('a', 'q', 1, '', { type: 8 })],
    ['seq', cell('a', 'q', 1), cell('a', 'q', 1, '', { seq: 2 })],
  ])('refuses a cell that is before the last by its %s, and goes on', (_, first, second) => {
    const files = context();
    const writer = new SortedFileWriter(files.fs.create(PATH), options);
    const cursor = new ArrayCursor([first, second, cell('z', 'q', 1)]);
    cursor.seekToFirst();
    writer.append(cursor);
    cursor.next();
    expect(() => writer.append(cursor)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT' }));
    cursor.next();
    writer.append(cursor);
    expect(writer.finish().meta.cells).toBe(2);
  });

  test('takes cells that are equal in everything: bulk loads have them', () => {
    expect(reader([cell('a', 'q', 1, 'x'), cell('a', 'q', 1, 'y')]).meta.cells).toBe(2);
  });

  test('refuses an empty row, and to finish without a cell', () => {
    const files = context();
    const writer = new SortedFileWriter(files.fs.create(PATH), options);
    const cursor = new ArrayCursor([cell('', 'q', 1)]);
    cursor.seekToFirst();
    expect(() => writer.append(cursor)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT' }));
    expect(writer.cells).toBe(0);
    expect(() => writer.finish()).toThrow(expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT' }));
    writer.abandon();
    expect(files.fs.openHandles).toBe(0);
  });

  test('syncs and closes its file', () => {
    const calls: string[] = [];
    const { fs } = context();
    const handle = fs.create(PATH);
    const sync = handle.sync.bind(handle);
    handle.sync = () => {
      calls.push(`sync at ${handle.size}`);
      sync();
    };
    const writer = new SortedFileWriter(handle, options);
    const cursor = new ArrayCursor([cell('a', 'q', 1)]);
    cursor.seekToFirst();
    writer.append(cursor);
    const { size } = writer.finish();
    expect(calls).toEqual([`sync at ${size}`]);
    expect(handle.closed).toBe(true);
    expect(fs.openHandles).toBe(0);
  });

  test('keeps a block that does not become smaller uncompressed', () => {
    const noise = new Uint8Array(2000);
    let state = 1;
    for (let i = 0; i < noise.length; i++) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      noise[i] = state >>> 24;
    }
    const file = reader([cell('a', 'q', 1, noise), cell('b', 'q', 1, new Uint8Array(2000))], {
      compression: 'LZO',
      dataBlockEncoding: 'DIFF',
      blockSize: 1024,
    });
    const data = [...describeBlocks(file)].filter((block) => block.kind === 'data');
    expect(data.map((block) => block.codec)).toEqual(['NONE', 'LZO']);
  });
});

describe('a file of two index levels', () => {
  const count = LEAF_ENTRIES + 900;
  const cells: TestCell[] = [];
  for (let i = 0; i < count; i++) cells.push(cell(row(2 * i), 'q', 1, `value ${i}`));
  const file = reader(cells, { blockSize: 1, dataBlockEncoding: 'NONE' }, {}, 1 << 24);

  test('has a leaf for every 4096 blocks', () => {
    expect(file.twoLevels).toBe(true);
    const kinds = [...describeBlocks(file)].map((block) => block.kind).filter((kind) => kind !== 'data');
    expect(kinds).toEqual([
      'leafIndex',
      'bloomChunk',
      'bloomIndex',
      'leafIndex',
      'rootIndex',
      'meta',
      'footer',
    ]);
  });

  test('finds every row, and the row after every gap', () => {
    const cursor = file.cursor();
    for (let i = 0; i < count; i += 7) {
      expect(cursor.seek(seekKey(bytes(row(2 * i)), NONE, Number.MAX_SAFE_INTEGER, 255))).toBe(true);
      expect(shown(cursor)).toBe(show(cells[i]!));
      const found = cursor.seek(seekKey(bytes(row(2 * i + 1)), NONE, Number.MAX_SAFE_INTEGER, 255));
      expect(found).toBe(i + 1 < count);
      if (found) expect(shown(cursor)).toBe(show(cells[i + 1]!));
    }
  });

  test('is walked both ways over the border of its leaves', () => {
    const cursor = file.cursor();
    cursor.seek(seekKey(bytes(row(2 * (LEAF_ENTRIES - 2))), NONE, Number.MAX_SAFE_INTEGER, 255));
    for (let i = LEAF_ENTRIES - 2; i < LEAF_ENTRIES + 3; i++) {
      expect(shown(cursor)).toBe(show(cells[i]!));
      cursor.next();
    }
    for (let i = LEAF_ENTRIES + 2; i > LEAF_ENTRIES - 3; i--) {
      expect(cursor.seekToPreviousRow(bytes(row(2 * i)))).toBe(true);
      expect(shown(cursor)).toBe(show(cells[i - 1]!));
    }
    expect(cursor.seekToPreviousRow(null)).toBe(true);
    expect(shown(cursor)).toBe(show(cells.at(-1)!));
  });

  test('is verified, and split at a row of its middle', () => {
    expect(verifySortedFile(file)).toMatchObject({ cells: count });
    const middle = Buffer.from(file.middleRow()!).toString();
    expect(middle > row(2) && middle < row(2 * count - 2)).toBe(true);
  });
});

describe('a row to split at', () => {
  const long = Array.from({ length: 100 }, (_, i) => cell('a', `q${String(i).padStart(3, '0')}`, 1, 'v'));

  test('is none in a file of one row or one block', () => {
    expect(reader(long, { blockSize: 256 }).middleRow()).toBeUndefined();
    expect(reader([cell('a', 'q', 1), cell('b', 'q', 1)]).middleRow()).toBeUndefined();
  });

  test('is the next row when the first is longer than half', () => {
    const file = reader([...long, cell('b1', 'q', 1, 'w'.repeat(300)), cell('c1', 'q', 1)], {
      blockSize: 256,
    });
    expect(['b', 'c']).toContain(Buffer.from(file.middleRow()!).toString());
  });
});

describe('a cursor', () => {
  test('begins at no cell, with a value in each field', () => {
    const nothing = {
      valid: false,
      key: NONE,
      value: NONE,
      timestamp: 0,
      type: 0,
      seq: 0,
      ttl: 0,
      order: 0,
      rowBytes: 0,
    };
    const lengths = {
      rowOffset: 0,
      rowLength: 0,
      qualifierOffset: 0,
      qualifierLength: 0,
      valueOffset: 0,
      valueLength: 0,
    };
    expect(new ArrayCursor([])).toMatchObject({ ...nothing, ...lengths });
  });

  const cells = Array.from({ length: 400 }, (_, i) => cell(row(i), 'q', 1, `v${i}`, { seq: i + 1 }));

  test('gives every cell of a bulk-loaded file the seq of its load', () => {
    for (const dataBlockEncoding of ['NONE', 'DIFF'] as const) {
      const file = reader(cells, { dataBlockEncoding, bulkLoaded: true }, { seq: 77 });
      const cursor = file.cursor();
      let count = 0;
      for (cursor.seekToFirst(); cursor.valid; cursor.next()) {
        expect(cursor.seq).toBe(77);
        count++;
      }
      expect(count).toBe(400);
      cursor.seek(seekKey(bytes(row(9)), NONE, 5, 255));
      expect(cursor.seq).toBe(77);
      cursor.reseek(seekKey(bytes(row(11)), NONE, 5, 255));
      expect(cursor.seq).toBe(77);
      cursor.seekToPreviousRow(bytes(row(11)));
      expect(cursor.seq).toBe(77);
      expect(verifySortedFile(file).cells).toBe(400);
    }
  });

  test('fails on a block that it needs when its file was closed', () => {
    const file = reader(cells, { blockSize: 256 });
    const cursor = file.cursor();
    cursor.seekToFirst();
    file.close();
    expect(() => {
      while (cursor.next());
    }).toThrow(expect.objectContaining({ code: 'ERR_CLOSED' }));
    expect(cursor.valid).toBe(false);
  });

  test('leaves blocks in the cache, unless it or the family will not', () => {
    const blocks = (readerOptions: object, cursorOptions: object): number => {
      const file = reader(cells, { blockSize: 1024, bloomFilter: 'NONE' }, readerOptions);
      const cursor = file.cursor(cursorOptions);
      for (cursor.seekToFirst(); cursor.valid; cursor.next());
      cursor.close();
      return file.context.cache.stats().entries;
    };
    expect(blocks({}, {})).toBe(reader(cells, { blockSize: 1024 }).meta.dataBlocks);
    expect(blocks({ cacheBlocks: false }, {})).toBe(0);
    expect(blocks({}, { cacheBlocks: false })).toBe(0);
    expect(blocks({}, { cacheBlocks: false, transient: true })).toBe(0);
  });

  test('reads the same when the cache holds next to nothing', () => {
    const file = reader(cells, { blockSize: 512, compression: 'NONE' }, {}, 3000);
    const cursor = file.cursor();
    for (let i = 0; i < 400; i += 3) {
      cursor.seek(seekKey(bytes(row((i * 7) % 400)), NONE, 5, 255));
      expect(shown(cursor)).toBe(show(cells[(i * 7) % 400]!));
    }
    const { bytes: held, capacity, evictions } = file.context.cache.stats();
    expect(held).toBeLessThanOrEqual(capacity);
    expect(evictions).toBeGreaterThan(50);
  });

  test('of a closed cursor is given out again, without a position', () => {
    const file = reader(cells);
    const first = file.cursor();
    first.seekToFirst();
    first.order = 5;
    first.close();
    first.close();
    const second = file.cursor();
    expect(second).toBe(first);
    expect([second.valid, second.order, second.next()]).toEqual([false, 0, false]);
    expect(file.cursor()).not.toBe(second);
  });
});

test('a closed file leaves nothing in the cache and no open handle', () => {
  const files = context();
  write(files.fs, [cell('a', 'q', 1)]);
  const file = SortedFileReader.open(files, PATH, FILE_NO);
  file.cursor().seekToFirst();
  expect(files.cache.stats().entries).toBe(1);
  file.close();
  expect(files.cache.stats()).toMatchObject({ entries: 0, bytes: 0 });
  expect(files.fs.openHandles).toBe(0);
});

test('a file that cannot be opened leaves no open handle', () => {
  const files = context();
  write(files.fs, [cell('a', 'q', 1)]);
  expect(() => SortedFileReader.open(files, PATH, FILE_NO + 1)).toThrow();
  expect(() => SortedFileReader.open(files, '/none.sst', 1)).toThrow(
    expect.objectContaining({ code: 'ERR_IO' }),
  );
  expect(files.fs.openHandles).toBe(0);
});

test('the number under which a file was written is read from the file', () => {
  const files = context();
  write(files.fs, [cell('a', 'q', 1)], { fileNo: 123456789012 }, '/elsewhere.sst');
  expect(fileNumberOf(files.files.file('/elsewhere.sst'))).toBe(123456789012);
});
