import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareBytes } from '../../src/bytes/index.js';
import { ndjsonFiles } from '../../src/job/pipeline/file-sink.js';
import { decodeJobKey, encodeJobKey, type JobKey } from '../../src/job/pipeline/ordered-key.js';
import { JobBuilder } from '../../src/job/pipeline/pipeline.js';
import { entitySink, type Sink, several } from '../../src/job/pipeline/sink.js';
import { tableSource } from '../../src/job/pipeline/source.js';
import type { JobRunOptions } from '../../src/job/types.js';
import { type Engine, Put, type Result, Scan, tableDescriptor } from '../../src/table/index.js';
import { scaled } from '../proof/scale.js';
import { anyText } from '../proof/texts.js';
import { memoryStore } from '../store/engine/support.js';
import { workerOn } from './support.js';

const words = ['ash', 'birch', 'cedar', 'elm', 'fir', 'oak'];

async function store(texts: readonly string[], splits: readonly string[] = []) {
  const own = await memoryStore();
  await own.engine.admin.createTable(
    tableDescriptor('t', { f: {} }),
    splits.map((row) => Buffer.from(row)),
  );
  const puts = texts.map((text, i) => new Put(`r${String(i).padStart(4, '0')}`).addColumn('f', 't', text));
  if (puts.length > 0) await own.engine.table('t').putAll(puts);
  return own;
}

const source = tableSource('t', () => new Scan());
const textOf = (row: Result) => Buffer.from(row.getValue('f', 't')!).toString();

/** A sink whose items are put under a name: written again, they replace themselves. */
function byName<T>(name: (item: T) => string, into: Map<string, T>): Sink<T> {
  return {
    signature: 'by name',
    open: () => ({
      write(items) {
        for (const item of items) into.set(name(item), item);
      },
    }),
  };
}

function countWords(engine: Engine, into: Map<string, { word: JobKey; count: number }>, combined: boolean) {
  const mapped = new JobBuilder(engine, 'words').from(source).map<string, number>((row, emit) => {
    for (const word of textOf(row).split(' ').filter(Boolean)) emit(word, 1);
  });
  const sum = (values: readonly number[]) => values.reduce((total, n) => total + n, 0);
  return (combined ? mapped.combine((_, values) => sum(values)) : mapped)
    .reduce((word, values) => ({ word: word as JobKey, count: sum(values) }))
    .to(byName(({ word }) => String(word), into));
}

function naiveCount(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of texts.flatMap((text) => text.split(' ')).filter(Boolean))
    counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

describe('map and reduce', () => {
  test('give what a naive computation gives, and leave no table behind', async () => {
    const texts = Array.from({ length: 300 }, (_, i) => `${words[i % 6]} ${words[(i * 7) % 5]} oak`);
    const own = await store(texts, ['r0100', 'r0200']);
    const found = new Map<string, { word: JobKey; count: number }>();
    const outcome = await countWords(own.engine, found, true).run();
    expect(new Map([...found].map(([word, { count }]) => [word, count]))).toEqual(naiveCount(texts));
    expect(outcome.rows).toBe(300);
    const tables = (await own.engine.admin.listTables()).map(({ name }) => name);
    expect(tables).toEqual(['rowan_jobs', 't']);
    await own.engine.close();
  });

  test('whoever dies when', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.constantFrom(...words), { maxLength: 4 }), { minLength: 1, maxLength: 40 }),
        fc.array(fc.integer({ min: 1, max: 70 }), { maxLength: 5 }),
        fc.boolean(),
        fc.boolean(),
        async (lines, deaths, combined, cluster) => {
          const texts = lines.map((line) => line.join(' '));
          const own = await store(texts, ['r0010']);
          const found = new Map<string, { word: JobKey; count: number }>();
          const options: JobRunOptions = {
            batchRows: 2,
            checkpointRows: 3,
            checkpointMs: 60_000,
            parallel: 2,
            leaseMs: 20,
          };
          for (const lives of deaths) {
            const { engine } = workerOn(own.engine, { lives, cluster });
            await countWords(engine, found, combined)
              .run(options)
              .catch((error: unknown) => expect(error).toMatchObject({ code: 'ERR_CONNECTION' }));
          }
          await countWords(workerOn(own.engine, { cluster }).engine, found, combined).run(options);
          expect(new Map([...found].map(([word, { count }]) => [word, count]))).toEqual(naiveCount(texts));
          await own.engine.close();
        },
      ),
      { numRuns: scaled(2, 12, 400) },
    );
  });

  test('started again it forgets what it had', async () => {
    const own = await store(['oak', 'oak elm']);
    const found = new Map<string, { word: JobKey; count: number }>();
    await countWords(own.engine, found, false).run();
    await own.engine.table('t').put(new Put('r0002').addColumn('f', 't', 'oak'));
    await countWords(own.engine, found, false).run();
    expect(found.get('oak')!.count).toBe(2);
    await countWords(own.engine, found, false).run({ restart: true });
    expect(found.get('oak')!.count).toBe(3);
    await own.engine.close();
  });

  test('a mapper that emits no key says so', async () => {
    const own = await store(['oak']);
    const job = new JobBuilder(own.engine, 'wrong')
      .from(source)
      .map((_, emit) => emit(undefined as unknown as string, 1))
      .reduce(() => undefined);
    await expect(job.run()).rejects.toMatchObject({
      code: 'ERR_INVALID_ARGUMENT',
      message: expect.stringContaining('as a key') as string,
    });
    await own.engine.close();
  });
});

test('without a reducer, to files that hold each row once though the job died on its way', async () => {
  const texts = Array.from({ length: 200 }, (_, i) => `line ${i}`);
  const own = await store(texts, ['r0090']);
  const folder = await mkdtemp(join(tmpdir(), 'rowan-job-'));
  const job = (engine: Engine) =>
    new JobBuilder(engine, 'files').from(source).map<string, unknown>((row, emit) => {
      emit('', { text: textOf(row), at: new Date(5), big: 7n });
    });
  const options: JobRunOptions = { batchRows: 10, checkpointRows: 20, checkpointMs: 60_000, parallel: 2 };
  for (const lives of [8, 12, 9]) {
    const { engine } = workerOn(own.engine, { lives });
    await job(engine)
      .to(ndjsonFiles(folder))
      .run(options)
      .catch(() => undefined);
  }
  await job(own.engine).to(ndjsonFiles(folder)).run(options);
  const lines: string[] = [];
  for (const file of await readdir(folder)) {
    lines.push(...(await readFile(join(folder, file), 'utf8')).trim().split('\n'));
  }
  expect(lines.sort()).toEqual(
    texts
      .map((text) =>
        JSON.stringify({ text, at: { $date: '1970-01-01T00:00:00.005Z' }, big: { $bigint: '7' } }),
      )
      .sort(),
  );
  await rm(folder, { recursive: true });
  await own.engine.close();
});

test('parts of other kinds are refused where they are given', async () => {
  const { engine } = await store(['a b']);
  const job = new JobBuilder(engine, 'parts').from(source);
  const mapped = job.map<string, number>((row, emit) => emit(textOf(row), 1));
  const target = { putMany: async () => undefined };
  const refused: readonly [call: () => unknown, message: RegExp][] = [
    [() => new JobBuilder(engine, 'parts').from([1] as never), /^from\(\) takes a query or a source: /],
    [() => new JobBuilder(engine, 'parts').from(target as never), /^from\(\) takes a query or a source: /],
    [() => job.map('x' as never), /^map\(\) takes a function: .*, not "x"\.$/],
    [() => mapped.combine(1 as never), /^combine\(\) takes a function: .*, not 1\.$/],
    [() => mapped.reduce(undefined as never), /^reduce\(\) takes a function: .*, not undefined\.$/],
    ...[job, mapped, mapped.reduce(() => 1)].map((one): [() => unknown, RegExp] => [
      () => one.to(target as never),
      /^to\(\) takes a sink: /,
    ]),
    [() => entitySink(target as never), /^entitySink\(\) takes a repository, not /],
  ];
  for (const [call, message] of refused)
    expect(call).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_ARGUMENT', message: expect.stringMatching(message) }),
    );
  await engine.close();
});

test('to several sinks at once', async () => {
  const own = await store(['oak', 'elm', 'oak']);
  const oaks = new Map<string, string>();
  const others = new Map<string, string>();
  const sinks = several({
    oaks: byName((id: string) => id, oaks),
    others: byName((id: string) => id, others),
  });
  await new JobBuilder(own.engine, 'several')
    .from(source)
    .map<string, { to: 'oaks' | 'others'; item: string }>((row, emit) => {
      const item = Buffer.from(row.row).toString();
      emit('', { to: textOf(row) === 'oak' ? 'oaks' : 'others', item });
    })
    .to(sinks)
    .run();
  expect([[...oaks.keys()], [...others.keys()]]).toEqual([['r0000', 'r0002'], ['r0001']]);
  await own.engine.close();
});

const scalars = fc.oneof(
  fc.string(),
  fc.double({ noNaN: true }),
  fc.bigInt(),
  fc.boolean(),
  fc.date({ noInvalidDate: true }),
  fc.uint8Array({ maxLength: 8 }),
);
const keys = fc.oneof(scalars, fc.array(scalars, { maxLength: 3 })) as fc.Arbitrary<JobKey>;

test('keys keep their order as bytes, and come back', () => {
  const plain = (key: JobKey): unknown =>
    Object.is(key, -0) ? 0 : key instanceof Uint8Array ? [...key] : key;
  fc.assert(
    fc.property(keys, (key) => {
      const back = decodeJobKey(encodeJobKey(key));
      if (Array.isArray(key)) expect((back as JobKey[]).map(plain)).toEqual(key.map(plain));
      else expect(plain(back)).toEqual(plain(key));
    }),
  );
  const order = <T extends JobKey>(values: fc.Arbitrary<T>, compare: (a: T, b: T) => number): void =>
    fc.assert(
      fc.property(values, values, (a, b) => {
        expect(Math.sign(compareBytes(encodeJobKey(a), encodeJobKey(b)))).toBe(Math.sign(compare(a, b)));
      }),
    );
  order(fc.double({ noNaN: true }), (a, b) => (a < b ? -1 : a > b ? 1 : 0));
  order(fc.bigInt(), (a, b) => (a < b ? -1 : a > b ? 1 : 0));
  order(fc.date({ noInvalidDate: true }), (a, b) => a.getTime() - b.getTime());
  order(anyText, (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  order(fc.tuple(fc.string(), fc.bigInt()), ([a, m], [b, n]) =>
    a === b ? (m < n ? -1 : m > n ? 1 : 0) : Buffer.compare(Buffer.from(a), Buffer.from(b)),
  );
});
