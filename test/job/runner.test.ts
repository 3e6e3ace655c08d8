import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ioError, RowanError } from '../../src/errors.js';
import { JobStore } from '../../src/job/job-store.js';
import { runJob } from '../../src/job/runner.js';
import type { JobDefinition, JobProgress, JobRunOptions, SplitWork } from '../../src/job/types.js';
import {
  type CheckAndMutate,
  type Engine,
  Put,
  Scan,
  type Table,
  tableDescriptor,
} from '../../src/table/index.js';
import { scaled } from '../proof/scale.js';
import { memoryStore, type TestStore } from '../store/engine/support.js';
import { workerOn } from './support.js';

let store: TestStore;
beforeEach(async () => {
  store = await memoryStore();
});
afterEach(() => store.engine.close());

function rowName(number: number): string {
  return `row${String(number).padStart(6, '0')}`;
}

async function fill(rows: number, splits: readonly number[] = []): Promise<void> {
  await store.engine.admin.createTable(
    tableDescriptor('t', { f: {} }),
    splits.map((at) => Buffer.from(rowName(at))),
  );
  const puts = Array.from({ length: rows }, (_, i) => new Put(rowName(i)).addColumn('f', 'q', `value ${i}`));
  if (puts.length > 0) await store.engine.table('t').putAll(puts);
}

/** What a job did to each row, as an idempotent sink sees it. */
interface Seen {
  readonly rows: Map<string, number>;
  readonly definition: JobDefinition;
}

function countingJob(name = 'count', more: Partial<SplitWork> = {}): Seen {
  const rows = new Map<string, number>();
  const definition: JobDefinition = {
    name,
    signature: 'counts rows',
    phases: [
      {
        table: 't',
        ranges: [],
        scan: () => new Scan(),
        open: (context) => ({
          rows(batch) {
            for (const { row } of batch) {
              const key = Buffer.from(row).toString();
              rows.set(key, (rows.get(key) ?? 0) + 1);
              context.count('rows');
            }
          },
          ...more,
        }),
      },
    ],
  };
  return { rows, definition };
}

const FAST: JobRunOptions = { batchRows: 7, checkpointRows: 20, checkpointMs: 60_000 };

describe('a pass over a table', () => {
  test('works every row of every region once, and counts them', async () => {
    await fill(1000, [100, 500, 501]);
    const { rows, definition } = countingJob();
    const outcome = await runJob(store.engine, definition, FAST);
    expect(rows.size).toBe(1000);
    expect([...rows.values()].every((times) => times === 1)).toBe(true);
    expect(outcome).toMatchObject({ rows: 1000, splits: 4, counters: { rows: 1000 }, resumed: false });
  });

  test('cuts a large region into several splits, each with rows', async () => {
    await fill(2000);
    await store.engine.admin.flush('t');
    const perSplit: number[] = [];
    const { definition } = countingJob();
    const counted: JobDefinition = {
      ...definition,
      phases: [
        {
          ...definition.phases[0]!,
          open: ({ split }) => ({
            rows: (batch) => {
              perSplit[split] = (perSplit[split] ?? 0) + batch.length;
            },
          }),
        },
      ],
    };
    const size = (await store.engine.admin.getRegions('t'))[0]!.storeFileSize;
    const outcome = await runJob(store.engine, counted, { splitBytes: Math.ceil(size / 8) });
    expect(outcome.splits).toBeGreaterThanOrEqual(6);
    expect(perSplit.reduce((sum, n) => sum + n, 0)).toBe(2000);
    expect(Math.max(...perSplit)).toBeLessThan(2000 / 3);
  });

  test('a lane without a split is woken by the end of the last, and sleeps no longer', async () => {
    await fill(20, [10]);
    let ended = 0;
    const { definition } = countingJob('woken', {
      // The first split to end waits for nobody, the other for the lane of the first to have gone to sleep.
      async finish() {
        if (ended++ === 0) return;
        while (vi.getTimerCount() === 0) await new Promise<void>((done) => setImmediate(done));
      },
    });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      expect(await runJob(store.engine, definition, { parallel: 2 })).toMatchObject({ rows: 20 });
    } finally {
      vi.useRealTimers();
    }
  });

  test('a worker that learns by its sign of life that its split was taken goes on with what is left', async () => {
    await fill(20);
    let taken = false;
    const { rows, definition } = countingJob('taken');
    const phase = definition.phases[0]!;
    const states = new JobStore(store.engine.table('rowan_jobs'), 'taken');
    const outcome = await runJob(
      store.engine,
      {
        ...definition,
        phases: [
          {
            ...phase,
            async open(context) {
              const work = await phase.open(context);
              return {
                ...work,
                async rows(batch) {
                  await work.rows(batch);
                  while (taken && context.attempt === 1 && !context.signal.aborted)
                    await new Promise<void>((done) => setImmediate(done));
                  if (taken) return;
                  // Somebody who took this worker for dead claims the split, and dies. Signs of life get in between.
                  while (!taken) {
                    const before = (await states.splits(0)).get(0)!;
                    const claim = { ...before.value, owner: 'other', beat: before.value.beat + 1 };
                    taken = (await states.setSplit(0, 0, before, claim)) !== undefined;
                  }
                },
              };
            },
          },
        ],
      },
      { batchRows: 5, leaseMs: 8 },
    );
    expect(outcome).toMatchObject({ rows: 20 });
    expect(rows.size).toBe(20);
  });

  test('a worker whose claim came too late looks again, and counts what the other did', async () => {
    await fill(20);
    const { rows, definition } = countingJob('late');
    const states = new JobStore(store.engine.table('rowan_jobs'), 'late');
    let raced = false;
    const racing = (table: Table): Table =>
      new Proxy(table, {
        get(target, name) {
          const member = Reflect.get(target, name, target) as unknown;
          if (name === 'checkAndMutate') {
            return async (check: CheckAndMutate) => {
              if (!raced && Buffer.from(check.row).includes('\0s')) {
                raced = true;
                const counters = { rows: 20 };
                const done = {
                  state: 'done',
                  owner: 'other',
                  beat: 3,
                  attempt: 1,
                  rows: 20,
                  bytes: 0,
                  counters,
                } as const;
                await states.setSplit(0, 0, undefined, done);
              }
              return target.checkAndMutate(check);
            };
          }
          return typeof member === 'function' ? (member.bind(target) as unknown) : member;
        },
      });
    const { engine } = workerOn(store.engine, { cluster: true });
    const outcome = await runJob(
      { ...engine, table: (name) => racing(engine.table(name)) },
      definition,
      FAST,
    );
    expect(raced).toBe(true);
    expect(outcome).toMatchObject({ rows: 20, counters: { rows: 20 } });
    expect(rows.size).toBe(0);
  });

  test('an empty table is a job without rows', async () => {
    await fill(0);
    const { definition } = countingJob();
    expect(await runJob(store.engine, definition)).toMatchObject({ rows: 0, counters: {} });
  });

  test('a job that is done is not done again, and says what it did', async () => {
    await fill(50);
    const { rows, definition } = countingJob();
    const first = await runJob(store.engine, definition, FAST);
    const second = await runJob(store.engine, definition, FAST);
    expect(second).toEqual({ ...first, resumed: true });
    expect([...rows.values()].every((times) => times === 1)).toBe(true);
    await runJob(store.engine, definition, { ...FAST, restart: true });
    expect([...rows.values()].every((times) => times === 2)).toBe(true);
  });

  test('refuses to go on with other work under the same name', async () => {
    await fill(10);
    const { definition } = countingJob();
    await runJob(store.engine, definition);
    await expect(runJob(store.engine, { ...definition, signature: 'other' })).rejects.toMatchObject({
      code: 'ERR_JOB',
      message: expect.stringContaining('restart: true') as string,
    });
  });

  test('refuses options that can never be right', async () => {
    const { definition } = countingJob();
    for (const options of [
      { parallel: 0 },
      { batchRows: Number.NaN },
      { rowsPerSecond: -1 },
      { shard: { index: 2, count: 2 } },
      { unknown: 1 } as JobRunOptions,
    ]) {
      await expect(runJob(store.engine, definition, options)).rejects.toMatchObject({
        code: 'ERR_INVALID_ARGUMENT',
      });
    }
  });

  test('an abort ends it at a checkpoint from which it goes on', async () => {
    await fill(500, [250]);
    const stop = new AbortController();
    const { rows, definition } = countingJob('aborted');
    const aborting = {
      ...definition,
      phases: [
        {
          ...definition.phases[0]!,
          open: (context: Parameters<JobDefinition['phases'][0]['open']>[0]) => {
            const work = definition.phases[0]!.open(context) as SplitWork;
            return {
              rows: (batch: Parameters<SplitWork['rows']>[0]) => {
                void work.rows(batch);
                if (rows.size > 100) stop.abort();
              },
            };
          },
        },
      ],
    };
    await expect(runJob(store.engine, aborting, { ...FAST, signal: stop.signal })).rejects.toMatchObject({
      code: 'ERR_ABORTED',
    });
    expect(rows.size).toBeLessThan(500);
    const outcome = await runJob(store.engine, definition, FAST);
    expect(outcome).toMatchObject({ rows: 500, counters: { rows: 500 }, resumed: true });
    expect(rows.size).toBe(500);
  });

  test('an error of the work ends the job with that error; fixed, it goes on', async () => {
    await fill(300);
    let broken = true;
    const { rows, definition } = countingJob('broken');
    const phase = definition.phases[0]!;
    const failing: JobDefinition = {
      ...definition,
      phases: [
        {
          ...phase,
          open: (context) => {
            const work = phase.open(context) as SplitWork;
            return {
              rows(batch) {
                if (broken && rows.size > 150) throw new TypeError('cannot read this row');
                return work.rows(batch);
              },
            };
          },
        },
      ],
    };
    await expect(runJob(store.engine, failing, FAST)).rejects.toThrow('cannot read this row');
    broken = false;
    expect(await runJob(store.engine, failing, FAST)).toMatchObject({ rows: 300, counters: { rows: 300 } });
    expect([...rows.keys()].sort()).toEqual(Array.from({ length: 300 }, (_, i) => rowName(i)));
  });

  test('an error that may pass is tried again', async () => {
    await fill(100);
    let failures = 2;
    const { definition } = countingJob('busy', {
      commit() {
        if (failures-- > 0) throw new RowanError('ERR_BUSY', 'later', { retryable: true });
        return undefined;
      },
    });
    expect(await runJob(store.engine, definition, FAST)).toMatchObject({ counters: { rows: 100 } });
  });

  test('a full disk ends it at once', async () => {
    await fill(100);
    for (const errno of ['ENOSPC', 'EDQUOT']) {
      let commits = 0;
      const { definition } = countingJob(errno, {
        commit() {
          commits++;
          throw ioError('write', '/out/part-0', errno);
        },
      });
      await expect(runJob(store.engine, definition, FAST)).rejects.toMatchObject({ details: { errno } });
      expect(commits).toBe(1);
    }
  });

  test('gives back at the next attempt what commit answered at the last checkpoint', async () => {
    await fill(100);
    const begun: unknown[] = [];
    let done = 0;
    const definition: JobDefinition = {
      name: 'kept',
      signature: 'kept',
      phases: [
        {
          table: 't',
          ranges: [],
          scan: () => new Scan(),
          open: ({ resumed, attempt }) => {
            begun.push([attempt, resumed]);
            return {
              rows: (batch) => {
                if (done >= 40 && attempt === 1) throw new RowanError('ERR_BUSY', 'x', { retryable: true });
                done += batch.length;
              },
              commit: () => ({ done }),
            };
          },
        },
      ],
    };
    await runJob(store.engine, definition, FAST);
    expect(begun[0]).toEqual([1, undefined]);
    expect(begun[1]).toEqual([2, { done: expect.any(Number) as number }]);
  });

  test('reports progress that grows to the whole', async () => {
    await fill(1000, [300, 600]);
    const reports: JobProgress[] = [];
    const { definition } = countingJob();
    await runJob(store.engine, definition, { ...FAST, onProgress: (progress) => reports.push(progress) });
    const last = reports.at(-1)!;
    expect(last).toMatchObject({ rows: 1000, splits: 3, splitsDone: 3, fraction: 1, remainingMs: 0 });
    expect(reports.every(({ fraction }, i) => i === 0 || fraction >= reports[i - 1]!.fraction)).toBe(true);
  });
});

describe('several workers', () => {
  test('of one job share its splits; no row is worked twice', async () => {
    await fill(2000, [200, 400, 600, 800, 1000, 1200, 1400, 1600, 1800]);
    const { rows, definition } = countingJob('shared');
    const workers = Array.from({ length: 4 }, () => workerOn(store.engine, { cluster: true }).engine);
    const outcomes = await Promise.all(
      workers.map((engine, index) =>
        runJob(engine, definition, { ...FAST, parallel: 2, shard: { index, count: 4 } }),
      ),
    );
    for (const outcome of outcomes) expect(outcome.counters).toEqual({ rows: 2000 });
    expect(rows.size).toBe(2000);
    expect([...rows.values()].every((times) => times === 1)).toBe(true);
  });

  test('take over the splits of a dead one, once its lease is over', async () => {
    await fill(600, [300]);
    const dying = workerOn(store.engine, { cluster: true, lives: 9 });
    const { rows, definition } = countingJob('dead');
    await expect(runJob(dying.engine, definition, { ...FAST, parallel: 1 })).rejects.toThrow('dead');
    expect(rows.size).toBeLessThan(600);
    const living = workerOn(store.engine, { cluster: true });
    const outcome = await runJob(living.engine, definition, { ...FAST, leaseMs: 40 });
    expect(outcome.counters).toEqual({ rows: 600 });
    expect(rows.size).toBe(600);
  });

  test('one that was taken for dead finds out and does no more', async () => {
    await fill(100);
    let release = (): void => undefined;
    const stalled = new Promise<void>((done) => {
      release = done;
    });
    const { definition, rows } = countingJob('stalled');
    const phase = definition.phases[0]!;
    let first = true;
    const definitionOf = (stall: boolean): JobDefinition => ({
      ...definition,
      phases: [
        {
          ...phase,
          open: (context) => {
            const work = phase.open(context) as SplitWork;
            return {
              rows: work.rows,
              commit: async () => {
                if (!stall || !first) return undefined;
                first = false;
                await stalled;
                return undefined;
              },
            };
          },
        },
      ],
    });
    const sleeping = workerOn(store.engine, { cluster: true });
    // Its signs of life come seldom, so it looks dead to a worker that expects them often.
    const slow = runJob(sleeping.engine, definitionOf(true), { ...FAST, leaseMs: 1_000_000_000 });
    const other = workerOn(store.engine, { cluster: true });
    const outcome = await runJob(other.engine, definitionOf(false), { ...FAST, leaseMs: 40 });
    expect(outcome.counters).toEqual({ rows: 100 });
    release();
    expect((await slow).counters).toEqual({ rows: 100 });
    expect(rows.size).toBe(100);
  });
});

test('whoever dies when: every row is worked, and counters are those of one run', async () => {
  const rowsOf = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 120 });
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.integer({ min: 1, max: 399 }), { maxLength: 4 }),
      rowsOf,
      fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 5 }),
      fc.integer({ min: 1, max: 3 }),
      fc.boolean(),
      async (splits, numbers, deaths, parallel, cluster) => {
        const own = await memoryStore();
        try {
          const engine: Engine = own.engine;
          await engine.admin.createTable(
            tableDescriptor('t', { f: {} }),
            splits.sort((a, b) => a - b).map((at) => Buffer.from(rowName(at))),
          );
          await engine.table('t').putAll(numbers.map((n) => new Put(rowName(n)).addColumn('f', 'q', 'v')));
          const { rows, definition } = countingJob('any');
          const options: JobRunOptions = {
            batchRows: 3,
            checkpointRows: 5,
            checkpointMs: 60_000,
            parallel,
            leaseMs: 20,
          };
          for (const lives of deaths) {
            await runJob(workerOn(engine, { lives, cluster }).engine, definition, options).catch(
              (error: unknown) => expect(error).toMatchObject({ code: 'ERR_CONNECTION' }),
            );
          }
          const outcome = await runJob(workerOn(engine, { cluster }).engine, definition, options);
          const wanted = [...new Set(numbers)].map(rowName).sort();
          expect([...rows.keys()].sort()).toEqual(wanted);
          expect(outcome.counters).toEqual({ rows: wanted.length });
          expect(outcome.rows).toBe(wanted.length);
        } finally {
          await own.engine.close();
        }
      },
    ),
    { numRuns: scaled(15, 50, 2000) },
  );
});

test('large rows of raw work are flushed a few at a time', async () => {
  await fill(40);
  const flushed = [0];
  const raw = { row: () => void flushed[flushed.length - 1]!++, flush: () => void flushed.push(0) };
  await runJob(store.engine, countingJob('raw', { raw }).definition, { batchBytes: 50 });
  expect(Math.max(...flushed)).toBeLessThanOrEqual(2);
  expect(flushed.reduce((sum, rows) => sum + rows)).toBe(40);
});

test('an error of a job that the work itself throws ends it: the split is not lost to another worker', async () => {
  await fill(3);
  const { definition } = countingJob('thrown', {
    commit() {
      throw new RowanError('ERR_JOB', 'Too many values of one key.');
    },
  });
  await expect(runJob(store.engine, definition)).rejects.toThrow('Too many values');
});
