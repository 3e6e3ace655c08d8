/** Runs a module's job with threads that read a copy of an embedded store. */

import { copyFile, link, mkdir, readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Database } from '../database.js';
import type { JobOutcome, JobRunOptions } from '../job/types.js';
import { runWithMappers } from '../job/workers/pool.js';
import type { EmbeddedEngine } from '../store/engine.js';
import { parseStoreFileName } from '../store/fs/index.js';
import { threadFile } from '../threads.js';
import { jobOf } from './job-module.js';
import type { JobWorkerData, JobWorkerStore } from './job-worker.js';

interface WorkersOptions {
  /** The folder of the store that `db` has open. */
  readonly place: string;
  readonly module: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly workers: number;
  readonly run: JobRunOptions;
}

/**
 * Runs the job.
 * @throws as `runWithMappers`.
 */
export async function runInWorkers(
  db: Database<EmbeddedEngine>,
  { place, module, exports, workers, run }: WorkersOptions,
): Promise<JobOutcome> {
  const job = await jobOf(module, exports, db);
  // Next to the store, so that files can be hard-linked. Files that a killed process left there are obsolete, since
  // only one process can have the store.
  const folder = `${resolve(place)}-job-copies`;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  try {
    // The published command includes the file.
    const file = threadFile('rowan-job-thread')!;
    // Threads load their modules while the copies are made.
    const workerData: JobWorkerData = { module: resolve(module) };
    const threads = Array.from(
      { length: workers },
      () => new Worker(file, { name: 'rowan-job', workerData }),
    );
    const begin = async (): Promise<void> => {
      for (const [at, store] of (await copies(db.engine, folder, workers)).entries()) {
        threads[at]!.postMessage(store satisfies JobWorkerStore);
      }
    };
    return await runWithMappers(job, threads, begin, run);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Copies the store once for each thread, since a store can be opened only once. All copies have the same state. */
async function copies(engine: EmbeddedEngine, folder: string, count: number): Promise<string[]> {
  const paths = Array.from({ length: count }, (_, at) => join(folder, String(at)));
  const [first, ...others] = paths as [string, ...string[]];
  // Flushed first, so that threads need not replay the WAL.
  for (const { name } of await engine.admin.listTables()) await engine.admin.flush(name);
  await engine.checkpoint(first);
  for (const path of others) await copyCheckpoint(first, path);
  return paths;
}

/** Copies a checkpoint that no process has open: immutable files are hard-linked. */
async function copyCheckpoint(from: string, to: string): Promise<void> {
  await mkdir(to);
  for (const name of await readdir(from)) {
    const [source, target] = [join(from, name), join(to, name)];
    if (parseStoreFileName(name)?.kind === 'sorted')
      await link(source, target).catch(() => copyFile(source, target));
    else await copyFile(source, target);
  }
}
