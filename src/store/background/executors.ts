import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { ClosedError, CorruptionError, type ErrorCode, type ErrorDetails, RowanError } from '../../errors.js';
import type { FileSystem } from '../fs/file-system.js';
import type { Job, JobExecutor, JobResult } from './job.js';
import { JobRun } from './job-run.js';

/** Cells merged between two turns of the event loop: about a millisecond's work. */
const CELLS_PER_TURN = 2000;

/** Runs jobs in this thread, a piece a turn. */
export class InlineExecutor implements JobExecutor {
  private tail: Promise<unknown> = Promise.resolve();
  private closed = false;

  constructor(private readonly fileSystem: FileSystem) {}

  run(job: Job): Promise<JobResult> {
    if (this.closed) return Promise.reject(new ClosedError('The store is closed.'));
    const result = this.tail.then(() => this.runInTurns(job));
    this.tail = result.catch(() => {});
    return result;
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.tail;
  }

  private async runInTurns(job: Job): Promise<JobResult> {
    const run = await JobRun.begin(job, this.fileSystem);
    try {
      while (run.step(CELLS_PER_TURN)) await new Promise((resolve) => setImmediate(resolve));
      return run.finish();
    } catch (error) {
      run.abandon();
      throw error;
    }
  }
}

/** What a worker is sent. */
export interface WorkerRequest {
  readonly id: number;
  readonly job: Job;
}

/** What it answers. */
export type WorkerReply =
  | { readonly id: number; readonly result: JobResult }
  | { readonly id: number; readonly error: WireError };

/** A RowanError on its way between threads. */
export interface WireError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: ErrorDetails;
  readonly stack: string | undefined;
}

/**
 * The compiled worker, or undefined where there is none: when this runs from sources that were not built. In the
 * sources it is looked for in the project's `dist`.
 */
export function workerFile(): URL | undefined {
  const here = new URL('./worker.js', import.meta.url);
  const built = new URL(
    here.href.replace(/\/src\/store\/background\/worker\.js$/, '/dist/src/store/background/worker.js'),
  );
  return [here, built].find((url) => existsSync(fileURLToPath(url)));
}

interface Waiting {
  readonly resolve: (result: JobResult) => void;
  readonly reject: (error: RowanError) => void;
}

/** Runs jobs in one worker thread, started with the first of them. It does not keep the process alive by itself. */
export class WorkerExecutor implements JobExecutor {
  private worker: Worker | undefined;
  private readonly waiting = new Map<number, Waiting>();
  private nextId = 1;
  private closed = false;
  private idle: (() => void) | undefined;

  constructor(private readonly file: URL) {}

  run(job: Job): Promise<JobResult> {
    if (this.closed) return Promise.reject(new ClosedError('The store is closed.'));
    const worker = this.worker ?? this.start();
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      worker.ref();
      const request: WorkerRequest = { id, job };
      worker.postMessage(request);
    });
  }

  async close(): Promise<void> {
    this.closed = true;
    if (this.waiting.size > 0) await new Promise<void>((resolve) => (this.idle = resolve));
    await this.worker?.terminate();
    this.worker = undefined;
  }

  private start(): Worker {
    const worker = new Worker(this.file, { name: 'rowan-store' });
    worker.unref();
    worker.on('message', (reply: WorkerReply) => this.settle(reply));
    worker.on('error', (cause) =>
      this.fail(worker, new RowanError('ERR_IO', 'The store worker failed.', { cause })),
    );
    worker.on('exit', () =>
      this.fail(worker, new ClosedError('The store worker ended before its job was done.')),
    );
    this.worker = worker;
    return worker;
  }

  private settle(reply: WorkerReply): void {
    const waiting = this.waiting.get(reply.id);
    this.waiting.delete(reply.id);
    if ('error' in reply) waiting?.reject(fromWire(reply.error));
    else waiting?.resolve(reply.result);
    if (this.waiting.size > 0) return;
    this.worker?.unref();
    this.idle?.();
  }

  private fail(worker: Worker, error: RowanError): void {
    // One that failed ends a little later, when another may be at work in its place.
    if (this.worker !== worker) return;
    this.worker = undefined;
    for (const waiting of this.waiting.values()) waiting.reject(error);
    this.waiting.clear();
    this.idle?.();
  }
}

function fromWire(wire: WireError): RowanError {
  const options = { details: wire.details };
  const error =
    wire.code === 'ERR_CORRUPTION'
      ? new CorruptionError(wire.message, options)
      : new RowanError(wire.code, wire.message, options);
  if (wire.stack !== undefined) error.stack = wire.stack;
  return error;
}

export function toWire(error: unknown): WireError {
  if (error instanceof RowanError) {
    const details = Object.fromEntries(
      Object.entries(error.details).filter(([, fact]) => typeof fact !== 'function'),
    );
    return { code: error.code, message: error.message, details, stack: error.stack };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'ERR_IO', message, details: {}, stack: error instanceof Error ? error.stack : undefined };
}
