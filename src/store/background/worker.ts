/** A worker thread of a store: runs flushes and compactions one after another, and reads for scans. */

import { parentPort, workerData } from 'node:worker_threads';
import { toWire } from '../../errors.js';
import { EncryptedFileSystem } from '../encryption/encrypted-file-system.js';
import { StoreKeys } from '../encryption/keys.js';
import { NodeFileSystem } from '../fs/index.js';
import type { ScanRequest } from '../parallel/protocol.js';
import { ScanRuns } from '../parallel/scan-run.js';
import type { Job, JobResult, WorkerReply, WorkerRequest, WorkerSetup } from './job.js';
import { JobRun } from './job-run.js';

const { folder, keys } = workerData as WorkerSetup;
const disk = new NodeFileSystem(folder);
const fileSystem = keys === undefined ? disk : new EncryptedFileSystem(disk, StoreKeys.shared(keys));
let tail: Promise<void> = Promise.resolve();

const scans = new ScanRuns(fileSystem, (reply, moved) => parentPort?.postMessage(reply, moved));

parentPort?.on('message', (request: WorkerRequest | ScanRequest) => {
  if ('scan' in request) scans.receive(request);
  else tail = tail.then(() => answer(request));
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
    return await work.finish();
  } catch (error) {
    work.abandon();
    throw error;
  }
}
