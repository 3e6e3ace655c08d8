import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SequenceReader, SequenceWriter } from '../../src/hadoop/sequence/sequence-file.js';
import { ByteBuilder } from '../../src/hadoop/writable.js';
import { rowsOf } from '../../src/job/files/cell-files.js';
import { Cell, CellType, type Result } from '../../src/table/index.js';
import { scaled } from '../proof/scale.js';
import { familyCells, textOf } from './cells.js';

const SYNC = Buffer.from('0123456789abcdef');
let folder: string;
let path: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowan-sequence-'));
  path = join(folder, 'part-00000');
});
afterAll(() => rm(folder, { recursive: true }));

async function read(file = path): Promise<string[]> {
  const reader = await SequenceReader.open(file);
  try {
    const found: string[] = [];
    for (let part = await reader.part(0); part !== undefined; part = await reader.part(part.next)) {
      found.push(...part.rows.flatMap(({ cells }) => cells.map(textOf)));
    }
    return found;
  } finally {
    await reader.close();
  }
}

async function write(batches: readonly (readonly Result[])[]): Promise<Buffer> {
  const writer = new SequenceWriter(SYNC);
  const blocks = [writer.header()];
  for (const batch of batches) blocks.push(await writer.blocks(batch));
  const bytes = Buffer.concat(blocks);
  await writeFile(path, bytes);
  return bytes;
}

test('rows are read as they were written, in however many blocks', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(familyCells('f', 20), { maxLength: 4 }), async (batches) => {
      await write(batches.map(rowsOf));
      expect(await read()).toEqual(batches.flat().map(textOf));
    }),
    { numRuns: scaled(6, 80, 3000) },
  );
});

const CELL = new Cell(Buffer.from('r'), 'f', Buffer.from('q'), 7, CellType.Put, Buffer.from('v'));
const KEY = Buffer.from('0000000172', 'hex');
const VALUE = Buffer.from('120a100a01721201661a017120072804320176', 'hex');

/** A file as Hadoop writes it when it does not pack in blocks. */
function records(codec: string | undefined, pack: (value: Buffer) => Buffer): Buffer {
  const text = (value: string): Buffer => Buffer.from(value);
  const bytes = new ByteBuilder()
    .bytes(text('SEQ\u0006'))
    .vbytes(text('org.apache.hadoop.hbase.io.ImmutableBytesWritable'))
    .vbytes(text('org.apache.hadoop.hbase.client.Result'))
    .byte(codec === undefined ? 0 : 1)
    .byte(0);
  if (codec !== undefined) bytes.vbytes(text(codec));
  bytes.int(1).vbytes(text('name')).vbytes(text('value')).bytes(SYNC);
  for (let record = 0; record < 3; record++) {
    const value = pack(VALUE);
    if (record === 2) bytes.int(-1).bytes(SYNC);
    bytes
      .int(KEY.length + value.length)
      .int(KEY.length)
      .bytes(KEY)
      .bytes(value);
  }
  return bytes.copy();
}

test('records, packed one by one or not at all, are read too', async () => {
  for (const bytes of [
    records(undefined, (value) => value),
    records('org.apache.hadoop.io.compress.DefaultCodec', (value) => deflateSync(value)),
    records('org.apache.hadoop.io.compress.GzipCodec', (value) => gzipSync(value)),
  ]) {
    await writeFile(path, bytes);
    expect(await read()).toEqual([CELL, CELL, CELL].map(textOf));
  }
});

test('the bytes of a row are those of the messages of HBase', async () => {
  const bytes = await write([rowsOf([CELL])]);
  const head = bytes.indexOf(SYNC) + SYNC.length;
  expect(bytes.toString('latin1', 0, 4)).toBe('SEQ\u0006');
  expect(bytes.toString('hex', head, head + 20)).toBe(`ffffffff${SYNC.toString('hex')}`);
  expect(bytes.includes(deflateSync(KEY, { level: 1 }))).toBe(true);
  expect(bytes.includes(deflateSync(VALUE, { level: 1 }))).toBe(true);
});

test('what cannot be read says why', async () => {
  const plain = records(undefined, (value) => value);
  const refused: [Buffer, string, string][] = [
    [Buffer.from('SEQ\u0005'), 'ERR_CORRUPTION', 'version 6'],
    [Buffer.alloc(0), 'ERR_CORRUPTION', 'there are not'],
    [
      Buffer.from(plain.toString('latin1').replace('client.Result', 'client.Other!'), 'latin1'),
      'ERR_UNSUPPORTED',
      'Export',
    ],
    [records('org.apache.hadoop.io.compress.BZip2Codec', (value) => value), 'ERR_UNSUPPORTED', 'BZip2Codec'],
  ];
  for (const [bytes, code, why] of refused) {
    await writeFile(path, bytes);
    await expect(read()).rejects.toMatchObject({ code, message: expect.stringContaining(why) });
    await expect(read()).rejects.toMatchObject({ message: expect.stringContaining(path) });
  }
});

test('a file that is cut or changed is an error that names it, or other rows, and takes no memory on its word', async () => {
  const cells = fc.sample(familyCells('f', 40), { numRuns: 1, seed: 3 })[0]!;
  const whole = [
    await write([rowsOf(cells), rowsOf(cells)]),
    records(undefined, (value) => value),
    records('org.apache.hadoop.io.compress.DefaultCodec', (value) => deflateSync(value)),
  ];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...whole),
      fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
      fc.constantFrom(0, 1, 0x7f, 0x80, 0xff, 0x8f, 0x88),
      fc.boolean(),
      async (bytes, where, byte, cut) => {
        const at = Math.floor(where * bytes.length);
        const damaged = Buffer.from(cut ? bytes.subarray(0, at) : bytes);
        if (!cut) damaged[at] = byte;
        await writeFile(path, damaged);
        await read().catch((error: unknown) => {
          expect(['ERR_CORRUPTION', 'ERR_UNSUPPORTED']).toContain((error as { code?: string }).code);
          expect(String(error)).toContain(path);
        });
      },
    ),
    { numRuns: scaled(30, 500, 30_000) },
  );
  expect(await readFile(path)).toBeDefined();
});
