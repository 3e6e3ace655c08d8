import { Worker } from 'node:worker_threads';
import { ClosedError, fromWire, RowanError } from '../../errors.js';
import type { FileSystem } from '../fs/file-system.js';
import type { HeldFolder } from '../fs/node-fs.js';
import type { Job, JobExecutor, JobResult, WorkerReply, WorkerRequest } from './job.js';
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

interface Waiting {
  readonly job: Job;
  readonly resolve: (result: JobResult | Promise<JobResult>) => void;
  readonly reject: (error: RowanError) => void;
}

/**
 * Runs jobs in one worker thread, started with the first of them. It does not keep the process alive by itself. Where no
 * worker can be started its jobs run inline, those that wait for it included; one that ends at work is started anew.
 */
/** Cells of a flush for which no thread is started: that takes longer. */
const FEW_CELLS = 8192;

function isSmall(job: Job): boolean {
  return job.kind === 'flush' && job.memstore.refs.length <= FEW_CELLS;
}

export class WorkerExecutor implements JobExecutor {
  private worker: Worker | undefined;
  /** The present worker has said that it can work. */
  private ready = false;
  private unusable = false;
  private readonly waiting = new Map<number, Waiting>();
  private nextId = 1;
  private closed = false;
  private idle: (() => void) | undefined;

  constructor(
    private readonly file: URL,
    /** The store's folder, by which the worker finds it whatever its name is by then. */
    private readonly folder: HeldFolder | undefined,
    private readonly inline: JobExecutor,
    /** Told once, when no worker can be started. */
    private readonly onUnusable: (cause: RowanError) => void,
  ) {}

  run(job: Job): Promise<JobResult> {
    if (this.closed) return Promise.reject(new ClosedError('The store is closed.'));
    if (!this.unusable && this.worker === undefined && !isSmall(job)) this.start();
    const { worker } = this;
    if (worker === undefined) return this.inline.run(job);
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { job, resolve, reject });
      worker.ref();
      const request: WorkerRequest = { id, job };
      worker.postMessage(request);
    });
  }

  async close(): Promise<void> {
    this.closed = true;
    if (this.waiting.size > 0) await new Promise<void>((resolve) => (this.idle = resolve));
    const { worker } = this;
    this.worker = undefined;
    await worker?.terminate();
    await this.inline.close();
  }

  private start(): void {
    this.ready = false;
    let worker: Worker;
    try {
      // Clean: what this process was started with (loaders, -e, --inspect) is not the worker's.
      worker = new Worker(this.file, { name: 'rowan-store', execArgv: [], workerData: this.folder });
    } catch (cause) {
      this.goInline(startFailure(cause));
      return;
    }
    worker.unref();
    worker.on('message', (reply: WorkerReply) => this.settle(reply));
    worker.on('error', (cause) => this.fail(worker, cause));
    worker.on('exit', () => this.fail(worker, undefined));
    this.worker = worker;
  }

  private settle(reply: WorkerReply): void {
    if ('ready' in reply) {
      this.ready = true;
      return;
    }
    const waiting = this.waiting.get(reply.id);
    this.waiting.delete(reply.id);
    if ('error' in reply) waiting?.reject(fromWire(reply.error));
    else waiting?.resolve(reply.result);
    this.settled();
  }

  private settled(): void {
    if (this.waiting.size > 0) return;
    this.worker?.unref();
    this.idle?.();
  }

  private fail(worker: Worker, cause: unknown): void {
    // One that failed ends a little later, when another may be at work in its place.
    if (this.worker !== worker) return;
    this.worker = undefined;
    if (!this.ready) {
      this.goInline(startFailure(cause));
      return;
    }
    const error = new RowanError(
      'ERR_IO',
      'The thread that flushes and compacts ended before its job was done. Nothing is lost: ask again, and another is ' +
        'started.',
      { cause, retryable: true },
    );
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
    this.settled();
  }

  private goInline(cause: RowanError): void {
    this.unusable = true;
    this.onUnusable(cause);
    for (const { job, resolve } of this.waiting.values()) resolve(this.inline.run(job));
    this.waiting.clear();
    this.settled();
  }
}

function startFailure(cause: unknown): RowanError {
  return new RowanError(
    'ERR_IO',
    `No thread for flushes and compactions could be started (${cause instanceof Error ? cause.message : 'it ended'}). ` +
      'They run in the calling thread, in small steps. Ship worker.js beside the program, or set background: "inline".',
    { cause },
  );
}
