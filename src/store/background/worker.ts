/** The worker thread for flushes and compactions: runs one job after another, and answers each. */

import { parentPort, workerData } from 'node:worker_threads';
import { toWire } from '../../errors.js';
import { type HeldFolder, NodeFileSystem } from '../fs/index.js';
import type { Job, JobResult, WorkerReply, WorkerRequest } from './job.js';
import { JobRun } from './job-run.js';

const fileSystem = new NodeFileSystem((workerData as HeldFolder | null) ?? undefined);
let tail: Promise<void> = Promise.resolve();

parentPort?.on('message', (request: WorkerRequest) => {
  tail = tail.then(() => answer(request));
});

const ready: WorkerReply = { ready: true };
parentPort?.postMessage(ready);

async function answer({ id, job }: WorkerRequest): Promise<void> {
  let reply: WorkerReply;
  try {
    reply = { id, result: await run(job) };
  } catch (error) {
    reply = { id, error: toWire(error) };
  }
  parentPort?.postMessage(reply);
}

async function run(job: Job): Promise<JobResult> {
  const work = await JobRun.begin(job, fileSystem);
  try {
    while (work.step(Number.MAX_SAFE_INTEGER));
    return work.finish();
  } catch (error) {
    work.abandon();
    throw error;
  }
}
