import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import {
  JobBuilder,
  ndjsonFiles,
  ndjsonSource,
  type ParquetType,
  parquetFiles,
  parquetSource,
} from '../../src/job/index.js';
import type { JobRunOptions } from '../../src/job/types.js';
import { toTagged } from '../../src/mapper/tagged.js';
import type { Engine } from '../../src/table/index.js';
import { scaled } from '../proof/scale.js';
import { memoryStore } from '../store/engine/support.js';
import { workerOn } from './support.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowan-parquet-'));
});
afterAll(() => rm(folder, { recursive: true }));

const COLUMNS = {
  text: 'text',
  flag: 'boolean',
  small: 'int32',
  large: 'int64',
  half: 'float32',
  real: 'float64',
  time: 'timestamp',
  raw: 'bytes',
  any: 'json',
} as const satisfies Record<string, ParquetType>;

const nullable = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(values, { freq: 4 });
const items = fc.record({
  text: nullable(fc.string({ unit: 'grapheme', maxLength: 8 })),
  flag: nullable(fc.boolean()),
  small: nullable(fc.integer()),
  large: nullable(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
  half: nullable(fc.float({ noNaN: true })),
  real: nullable(fc.double({ noNaN: true })),
  time: nullable(fc.date({ noInvalidDate: true })),
  raw: nullable(fc.uint8Array({ maxLength: 8 })),
  any: nullable(fc.oneof(fc.constant({ a: [1, 'two', { b: null }] }), fc.integer(), fc.constant([]))),
});

const SMALL: JobRunOptions = {
  batchRows: 3,
  checkpointRows: 6,
  checkpointMs: 60_000,
  parallel: 2,
  restart: 'done',
};

/** The rows that a job reads, as lines. */
async function read(
  engine: Engine,
  paths: readonly string[],
  name: string,
  timeoutMs?: number,
): Promise<string[]> {
  const out = join(folder, `read-${name}`);
  await new JobBuilder(engine, `read-${name}`)
    .from(parquetSource(paths, { timeoutMs }))
    .to(ndjsonFiles(out))
    .run(SMALL);
  const found: string[] = [];
  for (const file of (await readdir(out)).sort()) {
    found.push(...(await readFile(join(out, file), 'utf8')).split('\n').filter(Boolean));
  }
  await rm(out, { recursive: true });
  return found;
}

test('every value of every type comes back once, whoever died on the way', async () => {
  let run = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(items, { maxLength: 40 }),
      fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 3 }),
      async (all, deaths) => {
        const { engine } = await memoryStore();
        const own = join(folder, `own-${run++}`);
        const lines = join(folder, 'lines.ndjson');
        try {
          const text = all.map((item) => `${JSON.stringify(toTagged(item))}\n`);
          await writeFile(lines, text.join(''));
          const write = (on: Engine): Promise<unknown> =>
            new JobBuilder(on, 'write')
              .from(ndjsonSource([lines]))
              .map<number, object>((item, emit) => emit(0, item as object))
              .to(parquetFiles(own, COLUMNS))
              .run(SMALL);
          for (const lives of deaths) await write(workerOn(engine, { lives }).engine).catch(() => 0);
          await write(engine);
          expect(await read(engine, [own], 'any')).toEqual(all.map((item) => JSON.stringify(toTagged(item))));
        } finally {
          await engine.close();
        }
      },
    ),
    { numRuns: scaled(2, 30, 800) },
  );
});

test('a file of many pieces is read without a listener for each of them', async () => {
  const { engine } = await memoryStore();
  const lines = join(folder, 'pieces.ndjson');
  await writeFile(lines, Array.from({ length: 120 }, (_, small) => `{"small":${small}}\n`).join(''));
  const files = join(folder, 'pieces');
  const run = { batchRows: 3, checkpointRows: 6, parallel: 1 };
  await new JobBuilder(engine, 'write')
    .from(ndjsonSource([lines]))
    .to(parquetFiles(files, { small: 'int32' }))
    .run(run);
  const on = vi.spyOn(Worker.prototype, 'on');
  const counts: number[] = [];
  const rows = new JobBuilder(engine, 'read')
    .from(parquetSource([files]))
    .map<number, unknown>((row, emit) => {
      const [worker] = on.mock.contexts.slice(-1) as Worker[];
      if (worker !== undefined) counts.push(worker.listenerCount('error'));
      emit(0, row);
    });
  await rows.to(ndjsonFiles(join(folder, 'pieces-read'))).run(run);
  on.mockRestore();
  expect(counts).toHaveLength(120);
  expect(Math.max(...counts)).toBeLessThan(4);
  await engine.close();
});

test('what cannot be written or read says why', async () => {
  const { engine } = await memoryStore();
  const lines = join(folder, 'bad.ndjson');
  await writeFile(lines, '{"n":1.5}\n');
  expect(() => parquetFiles(folder, {})).toThrow('need columns');
  expect(() => parquetFiles(folder, { n: 'money' as never })).toThrow(
    'Column "n" of Parquet files has the unknown type "money"',
  );
  const job = new JobBuilder(engine, 'bad')
    .from(ndjsonSource([lines]))
    .map<number, object>((item, emit) => emit(0, item as object))
    .to(parquetFiles(join(folder, 'bad'), { n: 'int32' }));
  await expect(job.run()).rejects.toThrow(
    'Column "n" of Parquet files takes a whole number of 32 bits, not 1.5',
  );
  const path = join(folder, 'part-00000.parquet');
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.from('PAR1PAR1PAR1'),
    Buffer.from('PAR1aaaa\xff\xff\xff\x7fPAR1', 'latin1'),
  ]) {
    await writeFile(path, bytes);
    await expect(read(engine, [path], 'bad')).rejects.toMatchObject({
      code: 'ERR_CORRUPTION',
      message: expect.stringContaining(path),
    });
  }
  // The codec of a column, 1 (SNAPPY), made LZ4, 5.
  const whole = join(folder, 'codec');
  await writeFile(lines, '{"n":1}\n');
  await new JobBuilder(engine, 'codec')
    .from(ndjsonSource([lines]))
    .map<number, object>((item, emit) => emit(0, item as object))
    .to(parquetFiles(whole, { n: 'int32' }))
    .run();
  const bytes = await readFile(join(whole, 'part-00000.parquet'));
  // Behind the path of the column, a list of one text.
  const codec = bytes.lastIndexOf(Buffer.from([0x19, 0x18, 0x01, 0x6e, 0x15])) + 5;
  expect(bytes[codec]).toBe(2);
  bytes[codec] = 10;
  await writeFile(path, bytes);
  await expect(read(engine, [path], 'codec')).rejects.toMatchObject({
    code: 'ERR_UNSUPPORTED',
    message: expect.stringContaining('compressed with LZ4'),
  });
  await engine.close();
});

test('a file that is cut or changed is an error that names it, or other rows', async () => {
  const { engine } = await memoryStore();
  const own = join(folder, 'whole');
  const lines = join(folder, 'whole.ndjson');
  const all = fc.sample(items, { numRuns: 20, seed: 4 });
  await writeFile(lines, all.map((item) => `${JSON.stringify(toTagged(item))}\n`).join(''));
  await new JobBuilder(engine, 'whole')
    .from(ndjsonSource([lines]))
    .map<number, object>((item, emit) => emit(0, item as object))
    .to(parquetFiles(own, COLUMNS))
    .run(SMALL);
  const whole = await readFile(join(own, 'part-00000.parquet'));
  const path = join(folder, 'damaged.parquet');
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: whole.length - 1 }), async (at) => {
      await writeFile(path, whole.subarray(0, at));
      await expect(read(engine, [path], 'damaged')).rejects.toMatchObject({
        code: 'ERR_CORRUPTION',
        message: expect.stringContaining(path),
      });
    }),
    { numRuns: scaled(2, 50, 3000) },
  );
  // More rows than there are, among it, which would go on for ever.
  const footer = whole.length - 8 - whole.readUInt32LE(whole.length - 8);
  for (let at = footer; at < whole.length; at += scaled(1801, 97, 1)) {
    for (const byte of [0xff, 0x7f]) {
      const damaged = Buffer.from(whole);
      damaged[at] = byte;
      await writeFile(path, damaged);
      await read(engine, [path], 'damaged').catch((error: unknown) => {
        expect(error, String(at)).toMatchObject({ message: expect.stringContaining(path) });
      });
    }
  }
  // Levels and dictionaries of pages, which the package may follow for ever.
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: whole.length - 1 }), fc.nat({ max: 255 }), async (at, byte) => {
      const damaged = Buffer.from(whole);
      damaged[at] = byte;
      await writeFile(path, damaged);
      await read(engine, [path], 'damaged', 500).catch((error: unknown) => {
        expect(error, `${at}: ${byte}`).toMatchObject({ message: expect.stringContaining(path) });
      });
    }),
    { numRuns: scaled(1, 25, 2000) },
  );
  await engine.close();
});

test('a page whose levels go on without end is ended with its time or its memory, and the next file is read', async () => {
  const { engine } = await memoryStore();
  const own = join(folder, 'endless');
  const lines = join(folder, 'endless.ndjson');
  const all = Array.from({ length: 32 }, (_, n) => ({ n: n < 28 ? n * 1_000_003 : null }));
  await writeFile(lines, all.map((item) => `${JSON.stringify(item)}\n`).join(''));
  await new JobBuilder(engine, 'endless')
    .from(ndjsonSource([lines]))
    .map<number, object>((item, emit) => emit(0, item as object))
    .to(parquetFiles(own, { n: 'int32' }))
    .run();
  const path = join(own, 'part-00000.parquet');
  const whole = await readFile(path);
  // A run of 28 ones and one of zeros, as levels; made one of 2^31-1 values.
  const levels = whole.indexOf(Buffer.from([0x38, 0x01, 0x03, 0x00]));
  expect(levels).toBeGreaterThan(0);
  const damaged = Buffer.from(whole);
  damaged.set([0xfe, 0xff, 0xff, 0xff, 0x0f], levels);
  const copy = join(folder, 'endless.parquet');
  await writeFile(copy, damaged);
  await expect(read(engine, [copy], 'endless', 500)).rejects.toMatchObject({
    code: 'ERR_CORRUPTION',
    message: expect.stringContaining(copy),
  });
  await writeFile(copy, whole);
  expect(await read(engine, [copy], 'mended')).toHaveLength(32);
  for (const timeoutMs of [0, -1, 1.5, Number.NaN, 'x' as never]) {
    expect(() => parquetSource([copy], { timeoutMs })).toThrow('timeoutMs is a positive integer');
  }
  await engine.close();
});
