import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { crc32 } from '../../../src/bytes/index.js';
import { prepareCodecs } from '../../../src/compression/index.js';
import { RowanError } from '../../../src/errors.js';
import { checksumSeed } from '../../../src/store/file/block-frame.js';
import type { SortedFileWriterOptions } from '../../../src/store/file/options.js';
import { SortedFileReader } from '../../../src/store/file/sorted-file-reader.js';
import {
  blockRanges,
  describeBlocks,
  verifyFound,
  verifyRange,
  verifySortedFile,
} from '../../../src/store/file/verify-file.js';
import { COMPRESSIONS, DATA_BLOCK_ENCODINGS } from '../../../src/table/index.js';
import { MemoryFileSystem } from '../../../src/testing/fs/memory-fs.js';
import { record } from '../../proof/evidence.js';
import { scaled } from '../../proof/scale.js';
import { anyCells, cell, type TestCell } from './cells.js';
import { context, FILE_NO, PATH, seekKey, write } from './fixture.js';

beforeAll(() => prepareCodecs(COMPRESSIONS));

const CELLS: TestCell[] = [];
for (let i = 0; i < 300; i++) {
  const row = `row${String(i >> 2).padStart(5, '0')}`;
  CELLS.push(cell(row, `q${i & 3}`, 1000 - (i % 3), `value ${i}`, { seq: i + 1, ttl: i % 7 === 0 ? 5 : 0 }));
}

/** The bytes of a file of these cells. */
function fileBytes(options: Partial<SortedFileWriterOptions>, cells = CELLS): Uint8Array {
  const fs = new MemoryFileSystem();
  write(fs, cells, { bloomFilter: 'ROWCOL', ...options });
  return fs.contents(PATH).slice();
}

function stored(bytes: Uint8Array): ReturnType<typeof context> {
  const files = context();
  const handle = files.fs.create(PATH);
  handle.write(bytes, 0, bytes.length);
  handle.close();
  return files;
}

/** Opens, verifies and searches a file: every way in which its bytes are read. */
function useAll(bytes: Uint8Array): void {
  const reader = SortedFileReader.open(stored(bytes), PATH, FILE_NO);
  const cursor = reader.cursor();
  for (const { row, qualifier, timestamp, type } of [CELLS[0]!, CELLS[150]!, CELLS[299]!]) {
    cursor.seek(seekKey(row, qualifier, timestamp, type));
    if (cursor.valid) cursor.next();
    cursor.reseek(seekKey(row, qualifier, -1, 0));
    cursor.seekToPreviousRow(row);
  }
  cursor.seekToPreviousRow(null);
  const inParts = reader.cursor({ cacheBlocks: false, inParts: true });
  for (const { row, qualifier, timestamp, type } of [CELLS[0]!, CELLS[150]!, CELLS[299]!]) {
    inParts.seek(seekKey(row, qualifier, timestamp, type));
    if (inParts.valid) inParts.next();
  }
  verifySortedFile(reader);
}

/** Verifies a file in ranges of so many bytes, each by a reader of its own. */
function verifyInRanges(files: ReturnType<typeof context>, bytes: number): ReturnType<typeof verifyFound> {
  const open = (): SortedFileReader => SortedFileReader.open(files, PATH, FILE_NO);
  const found = blockRanges(open().meta, bytes).map((blocks) => {
    const steps = verifyRange(open(), blocks);
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
    }
  });
  return verifyFound(open(), found);
}

function errorOf(work: () => void): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return error;
  }
}

function expectCorruption(error: unknown, what: string): void {
  if (!(error instanceof RowanError)) throw new Error(`${what}: ${String(error)}`, { cause: error });
  const { code, details } = error;
  if (code !== 'ERR_CORRUPTION' || details.file !== PATH || typeof details.offset !== 'number')
    throw new Error(`${what}: another error, or without its place`, { cause: error });
}

/** Blocks of each encoding that are damaged with a checksum that fits. */
const RUNS = scaled(12, 500, 50_000);

describe('a changed byte', () => {
  test.each([
    ['NONE', 'NONE', 4096],
    ['NONE', 'NONE', 700],
    ['ROW_INDEX_V1', 'NONE', 700],
    ['FAST_DIFF', 'LZ4', 4096],
  ] as const)(
    'anywhere in a file of encoding %s and codec %s, parts of %i bytes, is reported',
    (dataBlockEncoding, compression, partBytes) => {
      const bytes = fileBytes({ dataBlockEncoding, compression, blockSize: 4096, partBytes });
      useAll(bytes);
      for (let at = 0; at < bytes.length; at += scaled(61, 3, 1)) {
        for (const bit of at % 5 === 0 ? [1, 0x80] : [1 << (at % 8)]) {
          bytes[at] = bytes[at]! ^ bit;
          expectCorruption(
            errorOf(() => useAll(bytes)),
            `byte ${at}, bit ${bit}`,
          );
          bytes[at] = bytes[at]! ^ bit;
        }
      }
    },
  );

  test('is reported with the offset of its block', () => {
    const bytes = fileBytes({ blockSize: 4096 });
    const [, second] = describeBlocks(SortedFileReader.open(stored(bytes), PATH, FILE_NO));
    bytes[second!.offset + 100] = bytes[second!.offset + 100]! ^ 1;
    const reader = SortedFileReader.open(stored(bytes), PATH, FILE_NO);
    const cursor = reader.cursor();
    expect(cursor.seekToFirst()).toBe(true);
    expect(() => {
      while (cursor.next());
    }).toThrow(
      expect.objectContaining({ code: 'ERR_CORRUPTION', details: { file: PATH, offset: second!.offset } }),
    );
  });
});

describe('a file that is not what it should be', () => {
  test('cut anywhere, or with bytes behind its end', () => {
    const bytes = fileBytes({});
    for (let length = 0; length < bytes.length; length += length < 200 ? 1 : scaled(401, 61, 1))
      expectCorruption(
        errorOf(() => useAll(bytes.subarray(0, length))),
        `cut to ${length}`,
      );
    expectCorruption(
      errorOf(() => useAll(Buffer.concat([bytes, Buffer.of(0)]))),
      'a byte more',
    );
  });

  test('another file in its place, and a block at another place', () => {
    const bytes = fileBytes({ blockSize: 1024 });
    const files = stored(bytes);
    expectCorruption(
      errorOf(() => SortedFileReader.open(files, PATH, FILE_NO + 1)),
      'another number',
    );
    const blocks = [...describeBlocks(SortedFileReader.open(files, PATH, FILE_NO))];
    const data = blocks.filter((block) => block.kind === 'data');
    const sameLength = data.filter((block) => block.length === data[1]!.length);
    const [a, b] = sameLength as [(typeof data)[0], (typeof data)[0]];
    bytes.copyWithin(b.offset, a.offset, a.offset + a.length);
    expectCorruption(
      errorOf(() => useAll(bytes)),
      'a block copied over another',
    );
  });

  test('a later version of the format', () => {
    const bytes = fileBytes({});
    const footer = bytes.length - 64;
    bytes[footer + 48] = 3;
    new DataView(bytes.buffer).setUint32(
      footer + 52,
      crc32(bytes, footer, 52, checksumSeed(FILE_NO, footer)),
      true,
    );
    expect(() => useAll(bytes)).toThrow(expect.objectContaining({ code: 'ERR_FORMAT_VERSION' }));
  });
});

describe.each(DATA_BLOCK_ENCODINGS)(
  'a file of the encoding %s whose checksums fit, but whose contents do not',
  (dataBlockEncoding) => {
    test('is read with corruption errors only, and ends', () => {
      const plain = fileBytes({ dataBlockEncoding, blockSize: 2048, partBytes: 300 });
      const packed = fileBytes({ dataBlockEncoding, blockSize: 2048, compression: 'LZO' });
      fc.assert(
        fc.property(
          fc.boolean(),
          fc.nat(),
          fc.array(fc.tuple(fc.nat(), fc.oneof(fc.nat(255), fc.constantFrom(0, 1, 127, 128, 255))), {
            minLength: 1,
            maxLength: 6,
          }),
          (compressed, which, changes) => {
            const bytes = (compressed ? packed : plain).slice();
            const blocks = [...describeBlocks(SortedFileReader.open(stored(bytes), PATH, FILE_NO))];
            const block = blocks[which % (blocks.length - 1)]!;
            // Byte 4 on: type, codec, encoding and lengths too.
            for (const [at, value] of changes) bytes[block.offset + 4 + (at % (block.length - 4))] = value;
            const crc = crc32(bytes, block.offset + 4, block.length - 4, checksumSeed(FILE_NO, block.offset));
            new DataView(bytes.buffer).setUint32(block.offset, crc, true);
            const error = errorOf(() => useAll(bytes));
            if (error !== undefined) expectCorruption(error, JSON.stringify([block, changes]));
            const whole = errorOf(() =>
              verifySortedFile(SortedFileReader.open(stored(bytes), PATH, FILE_NO)),
            );
            const inRanges = errorOf(() => verifyInRanges(stored(bytes), 1 + (which % 5000)));
            expect(inRanges === undefined, JSON.stringify([block, changes])).toBe(whole === undefined);
          },
        ),
        { numRuns: RUNS },
      );
      record('decoders', { inputs: RUNS });
    });

    test('is told from a good one by verify, when cells are out of order', () => {
      const bytes = fileBytes({ dataBlockEncoding, blockSize: 4096, partBytes: 4096, bloomFilter: 'NONE' }, [
        cell('aaaa', 'q', 1, 'v'),
        cell('bbbb', 'q', 1, 'w'),
        cell('cccc', 'q', 1, 'x'),
        cell('zzzz', 'q', 1, 'y'),
      ]);
      const at = Buffer.from(bytes).indexOf('bbbb');
      bytes.fill(0x64, at, at + 4);
      const length = 16 + new DataView(bytes.buffer).getUint32(12, true);
      new DataView(bytes.buffer).setUint32(0, crc32(bytes, 4, length - 4, checksumSeed(FILE_NO, 0)), true);
      const reader = SortedFileReader.open(stored(bytes), PATH, FILE_NO);
      expect(() => verifySortedFile(reader)).toThrow(/a cell of row \w+ is out of order/);
    });
  },
);

test('any good file passes verify, at once and in ranges', () => {
  fc.assert(
    fc.property(
      anyCells(60),
      fc.constantFrom(...DATA_BLOCK_ENCODINGS),
      fc.constantFrom('NONE', 'ROW', 'ROWCOL'),
      fc.constantFrom(64, 1024),
      fc.constantFrom(30, 200),
      fc.constantFrom(1, 200, 2000),
      (cells, dataBlockEncoding, bloomFilter, blockSize, partBytes, rangeBytes) => {
        const files = context();
        const written = write(files.fs, cells, { dataBlockEncoding, bloomFilter, blockSize, partBytes });
        const verified = verifySortedFile(SortedFileReader.open(files, PATH, FILE_NO));
        expect(verified).toMatchObject({ cells: cells.length, bytes: written.size });
        expect(verifyInRanges(files, rangeBytes)).toEqual(verified);
      },
    ),
    { numRuns: scaled(15, 100, 1000) },
  );
});
