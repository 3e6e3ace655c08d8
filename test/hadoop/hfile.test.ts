import { createHash } from 'node:crypto';
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { preparedCodec } from '../../src/compression/index.js';
import { packContent, unpackContent } from '../../src/hadoop/hfile/block.js';
import {
  type HFileCompression,
  type HFileOptions,
  HFileReader,
  HFileWriter,
  prepareHFileCodec,
  type WrittenHFile,
} from '../../src/hadoop/hfile/index.js';
import { mayContain, murmurHash } from '../../src/hadoop/hfile/writer.js';
import { Cell, CellType } from '../../src/table/index.js';
import { scaled } from '../proof/scale.js';
import { familyCells, textOf } from './cells.js';

const CODECS = ['NONE', 'GZ', 'SNAPPY', 'LZ4', 'ZSTD'] as const satisfies HFileCompression[];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowan-hfile-'));
  for (const codec of CODECS) await prepareHFileCodec(codec);
});
afterAll(() => rm(folder, { recursive: true }));

async function write(
  name: string,
  cells: readonly Cell[],
  options: Partial<HFileOptions> = {},
): Promise<WrittenHFile & { readonly path: string }> {
  const path = join(folder, name);
  const file = await open(path, 'w');
  try {
    const writer = new HFileWriter({ append: (bytes) => file.writeFile(bytes) }, { family: 'f', ...options });
    for (const cell of cells) {
      writer.add(cell);
      if (writer.full) await writer.drain();
    }
    return { ...(await writer.finish()), path };
  } finally {
    await file.close();
  }
}

async function read(path: string): Promise<string[]> {
  const reader = await HFileReader.open(path);
  try {
    const found: string[] = [];
    for await (const cell of reader.cells()) found.push(textOf(cell));
    return found;
  } finally {
    await reader.close();
  }
}

test('what is written is read, whatever the cells and however small the blocks', async () => {
  await fc.assert(
    fc.asyncProperty(
      familyCells('f').filter((cells) => cells.length > 0),
      fc.constantFrom(...CODECS),
      fc.integer({ min: 1, max: 400 }),
      fc.integer({ min: 1, max: 200 }),
      async (cells, compression, blockSize, indexBlockSize) => {
        const written = await write('any', cells, { compression, blockSize, indexBlockSize });
        expect(await read(written.path)).toEqual(cells.map(textOf));
        expect(written.cells).toBe(cells.length);
        expect([written.firstRow, written.lastRow]).toEqual([cells[0]!.row, cells.at(-1)!.row]);
        expect((await readFile(written.path)).length).toBe(written.bytes);
      },
    ),
    { numRuns: scaled(6, 100, 5000) },
  );
});

const GOLDEN = [
  new Cell(Buffer.from('a'), 'f', Buffer.from('q'), 7, CellType.Put, Buffer.from('value')),
  new Cell(Buffer.from('b'), 'f', Buffer.alloc(0), 8, CellType.DeleteFamily, Buffer.alloc(0)),
];

test('the bytes of a file are those that HBase was seen to read', async () => {
  const { path } = await write('golden', GOLDEN, { now: 1_700_000_000_000 });
  const bytes = await readFile(path);
  // The head of a data block, and its first cell.
  expect(bytes.toString('hex', 0, 33)).toBe(
    `${Buffer.from('DATABLK*').toString('hex')}0000003c00000038ffffffffffffffff010000400000000059`,
  );
  expect(bytes.toString('hex', 33, 33 + 31)).toBe(
    '0000000f0000000500016101667100000000000000070476616c7565000000',
  );
  expect(createHash('sha256').update(bytes).digest('hex')).toMatchInlineSnapshot(
    `"15087a82b82fa1b61214383b0679bc58f56644b298750830b033141951543715"`,
  );
});

const contents = fc
  .tuple(fc.uint8Array({ maxLength: 40 }), fc.integer({ min: 1, max: 3000 }))
  .map(([part, times]) => Buffer.concat(Array.from({ length: times }, () => part)));

test('packed content is unpacked, of one chunk or of many as Hadoop writes them, and never looks as if it were not packed', () => {
  fc.assert(
    fc.property(
      contents,
      fc.constantFrom(...CODECS),
      fc.integer({ min: 1, max: 5 }),
      (content, name, chunks) => {
        const packed = Buffer.from(packContent(content, name));
        expect(unpackContent(packed, name, content.length).equals(content)).toBe(true);
        if (name === 'NONE' || name === 'GZ' || content.length === 0) return;
        expect([content.length, content.length + 33]).not.toContain(packed.length);
        const codec = preparedCodec(name)!;
        const int = (value: number): Buffer => Buffer.from(Uint32Array.of(value).buffer).swap32();
        const size = Math.ceil(content.length / chunks);
        const parts = [int(content.length)];
        for (let at = 0; at < content.length; at += size) {
          const chunk = codec.compress(content, at, Math.min(size, content.length - at));
          parts.push(int(chunk.length), Buffer.from(chunk));
        }
        expect(unpackContent(Buffer.concat(parts), name, content.length).equals(content)).toBe(true);
        // Hadoop's own ZStandardCodec writes a frame and nothing else.
        const frame = codec.compress(content, 0, content.length);
        if (name === 'ZSTD')
          expect(unpackContent(Buffer.from(frame), name, content.length).equals(content)).toBe(true);
      },
    ),
    { numRuns: scaled(15, 200, 20_000) },
  );
});

test('content that is none is an error, whatever its bytes and however long it is said to be', () => {
  const noise = fc.uint8Array({ maxLength: 60 });
  fc.assert(
    fc.property(
      contents,
      noise,
      fc.constantFrom('SNAPPY' as const, 'LZ4' as const, 'ZSTD' as const),
      fc.nat(1000),
      fc.nat({ max: 1 << 20 }),
      (content, bytes, name, at, length) => {
        const damaged = Buffer.from(packContent(content, name));
        if (damaged.length > 0)
          damaged.set(bytes.subarray(0, damaged.length - (at % damaged.length)), at % damaged.length);
        for (const body of [damaged, Buffer.from(bytes)]) {
          for (const said of [length, content.length]) {
            try {
              expect(unpackContent(body, name, said).length).toBeLessThanOrEqual(said);
            } catch (error) {
              expect(error).toMatchObject({ code: 'ERR_CORRUPTION' });
            }
          }
        }
      },
    ),
    { numRuns: scaled(20, 600, 50_000) },
  );
});

test('every row is in the Bloom filter, few others are, and its hash is that of HBase', () => {
  // MurmurHash2 of the words that SMHasher and HBase's own tests have.
  expect(murmurHash(Buffer.from(''), 0)).toBe(0);
  expect(murmurHash(Buffer.from('a'), 0) >>> 0).toBe(0x92685f5e);
});

test('cells out of order, and none, are refused', async () => {
  const [a, b] = GOLDEN as [Cell, Cell];
  await expect(write('bad', [b, a])).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
    message: expect.stringContaining('comes after a greater one'),
  });
  await expect(write('bad', [])).rejects.toMatchObject({
    message: expect.stringContaining('at least one cell'),
  });
  await expect(write('bad', [{ ...a, timestamp: Number.MAX_SAFE_INTEGER }])).rejects.toMatchObject({
    code: 'ERR_INVALID_ARGUMENT',
  });
});

test('a file with any byte changed is an error that names it, or reads as before', async () => {
  const cells = fc.sample(familyCells('f', 30), { numRuns: 1, seed: 5 })[0]!;
  for (const compression of ['NONE', 'GZ', 'LZ4'] as const) {
    const { path } = await write('whole', cells, { compression, blockSize: 100, indexBlockSize: 60 });
    const whole = await readFile(path);
    const expected = await read(path);
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: whole.length - 1 }),
        fc.integer({ min: 1, max: 255 }),
        fc.nat({ max: whole.length }),
        async (at, change, kept) => {
          const damaged = Buffer.from(whole);
          damaged[at]! ^= change;
          for (const bytes of [damaged, whole.subarray(0, kept === whole.length ? 0 : kept)]) {
            const path = join(folder, 'damaged');
            await writeFile(path, bytes);
            const found = await read(path).catch((error: unknown) => {
              expect(['ERR_CORRUPTION', 'ERR_UNSUPPORTED']).toContain((error as { code?: string }).code);
              expect(String(error)).toContain(path);
              return expected;
            });
            expect(found).toEqual(expected);
          }
        },
      ),
      { numRuns: scaled(30, 150, 20_000) },
    );
  }
});

test('lengths of hostile files are not believed', async () => {
  const { path } = await write('sizes', GOLDEN);
  const whole = await readFile(path);
  for (const length of [0x7fffffff, -1, 0x10000001]) {
    for (const at of [8, 12, 25, 29]) {
      const hostile = Buffer.from(whole);
      hostile.writeInt32BE(length, at);
      await writeFile(path, hostile);
      await expect(read(path)).rejects.toMatchObject({ code: 'ERR_CORRUPTION' });
    }
  }
});

test('a Bloom filter of many rows has all of them and about one in a hundred others', async () => {
  const rows = 3000;
  const cells = Array.from(
    { length: rows },
    (_, i) =>
      new Cell(
        Buffer.from(String(i).padStart(6, '0')),
        'f',
        Buffer.alloc(0),
        1,
        CellType.Put,
        Buffer.alloc(0),
      ),
  );
  const { path } = await write('bloom', cells);
  const bytes = await readFile(path);
  const chunk = bytes.indexOf('BLMFBLK2');
  const bits = bytes.subarray(chunk + 33, chunk + 33 + bytes.readInt32BE(chunk + 12));
  for (const { row } of cells) expect(mayContain(bits, row)).toBe(true);
  let wrong = 0;
  for (let i = 0; i < rows; i++) if (mayContain(bits, Buffer.from(`other ${i}`))) wrong++;
  expect(wrong / rows).toBeLessThan(0.02);
});
