/** Workers that cannot start, or end at work. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { fromWire, RowanError, toWire } from '../../../src/errors.js';
import { WorkerExecutor } from '../../../src/store/background/executors.js';
import type { Job, JobExecutor, JobResult } from '../../../src/store/background/job.js';
import { openEmbedded } from '../../../src/store/engine.js';
import { Put, tableDescriptor } from '../../../src/table/index.js';
import { withFolder } from '../engine/support.js';

/** The result of a job without output. */
const DONE: JobResult = {
  written: undefined,
  drops: { isLoss: false, markers: undefined, hasPuts: false, versionDeletes: 0 },
};

class Recorder implements JobExecutor {
  jobs = 0;
  async run(): Promise<JobResult> {
    this.jobs++;
    return DONE;
  }
  async close(): Promise<void> {}
}

const job = {} as Job;

async function withWorker(
  code: string,
  body: (executor: WorkerExecutor, inline: Recorder, causes: RowanError[]) => Promise<void>,
): Promise<void> {
  await withFolder(async (folder) => {
    const path = join(folder, 'worker.mjs');
    writeFileSync(path, code);
    const inline = new Recorder();
    const causes: RowanError[] = [];
    const executor = new WorkerExecutor(
      pathToFileURL(path),
      { folder: undefined, keys: undefined },
      inline,
      (cause) => causes.push(cause),
    );
    await body(executor, inline, causes);
    await executor.close();
  });
}

test('jobs run inline when no worker can be started, and one event says so', () =>
  withWorker('throw new Error("no such module");', async (executor, inline, causes) => {
    expect(await Promise.all([executor.run(job), executor.run(job)])).toEqual([DONE, DONE]);
    await executor.run(job);
    expect(inline.jobs).toBe(3);
    expect(causes).toEqual([expect.objectContaining({ message: expect.stringContaining('no such module') })]);
  }));

test('a worker that is killed at work fails its jobs as ones to be tried again, and another is started', () =>
  withWorker(
    `import { parentPort } from 'node:worker_threads';
     parentPort.postMessage({ ready: true });
     parentPort.on('message', ({ id, job }) => {
       if (job.dies) process.exit(1);
       parentPort.postMessage({ id, result: ${JSON.stringify(DONE)} });
     });`,
    async (executor, inline, causes) => {
      await executor.run(job);
      await expect(executor.run({ dies: true } as unknown as Job)).rejects.toMatchObject({
        code: 'ERR_IO',
        retryable: true,
      });
      expect(await executor.run(job)).toEqual(DONE);
      expect(inline.jobs).toBe(0);
      expect(causes).toEqual([]);
    },
  ));

test('a worker is started by the first job that is not small, and has all jobs from then on', () =>
  withWorker(
    `import { parentPort } from 'node:worker_threads';
     parentPort.postMessage({ ready: true });
     parentPort.on('message', ({ id }) => parentPort.postMessage({ id, result: ${JSON.stringify(DONE)} }));`,
    async (executor, inline) => {
      const flush = (cells: number) => ({ kind: 'flush', memstore: { refs: { length: cells } } }) as Job;
      const merge = (inputBytes: number) => ({ kind: 'compaction', inputBytes }) as Job;
      for (const small of [flush(8192), merge(65_536)]) await executor.run(small);
      expect(inline.jobs).toBe(2);
      await executor.run(merge(65_537));
      await executor.run(merge(1));
      expect(inline.jobs).toBe(2);
    },
  ));

test('a store merges small files without a worker, and others with one', () =>
  withFolder(async (folder) => {
    const workerPath = join(folder, 'worker.mjs');
    writeFileSync(workerPath, 'throw new Error("started");');
    const kinds: string[] = [];
    const engine = await openEmbedded(join(folder, 'store'), {
      workerPath,
      automatic: false,
      onEvent: ({ kind }) => kinds.push(kind),
    });
    await engine.admin.createTable(tableDescriptor('t', { f: {} }));
    const merge = async (bytes: number): Promise<void> => {
      for (const row of ['a', 'b']) {
        await engine.table('t').put(new Put(row).addColumn('f', 'q', Buffer.alloc(bytes)));
        await engine.admin.flush('t');
      }
      await engine.admin.majorCompact('t');
    };
    await merge(10);
    expect(kinds).toContain('compactionEnd');
    expect(kinds).not.toContain('inlineWork');
    await merge(40_000);
    expect(kinds).toContain('inlineWork');
    await engine.close();
  }));

test('a worker has nothing of how its process was started', () =>
  withWorker(
    `import { parentPort } from 'node:worker_threads';
     parentPort.postMessage({ ready: true });
     parentPort.on('message', ({ id }) =>
       parentPort.postMessage({ id, result: { written: process.execArgv.length } }));`,
    async (executor) => {
      const before = process.execArgv;
      process.execArgv = ['--input-type=module'];
      try {
        expect(await executor.run(job)).toEqual({ written: 0 });
      } finally {
        process.execArgv = before;
      }
    },
  ));

test('an error keeps between threads whether it may be tried again', () => {
  for (const retryable of [true, false]) {
    const error = new RowanError('ERR_IO', 'x', { retryable, details: { file: 'f' } });
    expect(fromWire(structuredClone(toWire(error)))).toMatchObject({
      code: 'ERR_IO',
      retryable,
      details: { file: 'f' },
    });
  }
});
