import type { Worker } from 'node:worker_threads';
import { ClosedError, fromWire, RowanError } from '../../errors.js';
import type { FileSystem } from '../fs/file-system.js';
import type { Job, JobExecutor, JobResult, WorkerReply, WorkerRequest, WorkerSetup } from './job.js';
import { JobRun } from './job-run.js';

/** Cells merged in one turn of the event loop: about a millisecond of work. */
const CELLS_PER_TURN = 2000;

/** Runs jobs in the calling thread, one step in each turn of the event loop. While a job's file is synced, the next one runs. */
export class InlineExecutor implements JobExecutor {
  /** The job that runs. */
  private tail: Promise<unknown> = Promise.resolve();
  /** The jobs whose results are not there yet. */
  private readonly unfinished = new Set<Promise<JobResult>>();
  private closed = false;

  constructor(private readonly fileSystem: FileSystem) {}

  run(job: Job): Promise<JobResult> {
    if (this.closed) return Promise.reject(new ClosedError('The store is closed.'));
    const run = this.tail.then(() => this.runInTurns(job));
    // Without its result, which has the memory that the job read and wrote with.
    this.tail = run.then(
      () => {},
      () => {},
    );
    const result = run.then(finished);
    this.unfinished.add(result);
    const ended = (): boolean => this.unfinished.delete(result);
    void result.then(ended, ended);
    return result;
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.allSettled(this.unfinished);
  }

  private async runInTurns(job: Job): Promise<JobRun> {
    const run = await JobRun.begin(job, this.fileSystem);
    try {
      while (run.step(CELLS_PER_TURN)) await new Promise((resolve) => setImmediate(resolve));
      return run;
    } catch (error) {
      run.abandon();
      throw error;
    }
  }
}

async function finished(run: JobRun): Promise<JobResult> {
  try {
    return await run.finish();
  } catch (error) {
    run.abandon();
    throw error;
  }
}

interface Waiting {
  readonly job: Job;
  readonly resolve: (result: JobResult | Promise<JobResult>) => void;
  readonly reject: (error: RowanError) => void;
}

/** The largest small flush, in cells. Small jobs run inline while there is no worker, because starting one takes longer. */
const SMALL_FLUSH_CELLS = 8192;
/** The largest small merge: bytes of its inputs together. */
const SMALL_MERGE_BYTES = 65_536;

function isSmall(job: Job): boolean {
  return job.kind === 'flush'
    ? job.memstore.refs.length <= SMALL_FLUSH_CELLS
    : job.inputBytes <= SMALL_MERGE_BYTES;
}

/**
 * Runs jobs in one worker thread. The first job that is not small starts it, and it does not keep the process alive. If no worker can
 * be started, all jobs run inline, those that wait for it included. A worker that dies is replaced with the next job.
 */
export class WorkerExecutor implements JobExecutor {
  private worker: Worker | undefined;
  /** The present worker has reported that it is ready. */
  private ready = false;
  private unusable = false;
  private readonly waiting = new Map<number, Waiting>();
  private nextId = 1;
  private closed = false;
  private idle: (() => void) | undefined;

  constructor(
    private readonly file: URL,
    private readonly setup: WorkerSetup,
    private readonly inline: JobExecutor,
    /** Called once, when no worker can be started. */
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
    // Loaded here: most processes start no thread.
    const threads = process.getBuiltinModule('node:worker_threads');
    let worker: Worker;
    try {
      // Without execArgv: loaders, -e or --inspect of this process must not apply to the worker.
      worker = new threads.Worker(this.file, { name: 'rowan-store', execArgv: [], workerData: this.setup });
    } catch (cause) {
      this.fallBackToInline(startFailure(cause));
      return;
    }
    worker.unref();
    worker.on('message', (reply: WorkerReply) => this.onReply(reply));
    worker.on('error', (cause) => this.fail(worker, cause));
    worker.on('exit', () => this.fail(worker, undefined));
    this.worker = worker;
  }

  private onReply(reply: WorkerReply): void {
    if ('ready' in reply) {
      this.ready = true;
      return;
    }
    const waiting = this.waiting.get(reply.id);
    this.waiting.delete(reply.id);
    if ('error' in reply) waiting?.reject(fromWire(reply.error));
    else waiting?.resolve(reply.result);
    this.unrefIfIdle();
  }

  private unrefIfIdle(): void {
    if (this.waiting.size > 0) return;
    this.worker?.unref();
    this.idle?.();
  }

  private fail(worker: Worker, cause: unknown): void {
    // A failed worker also emits `exit`, when another may have replaced it.
    if (this.worker !== worker) return;
    this.worker = undefined;
    if (!this.ready) {
      this.fallBackToInline(startFailure(cause));
      return;
    }
    const error = new RowanError(
      'ERR_IO',
      'The thread that flushes and compacts ended before its job was done. Nothing is lost: try again, and another is ' +
        'started.',
      { cause, retryable: true },
    );
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
    this.unrefIfIdle();
  }

  private fallBackToInline(cause: RowanError): void {
    this.unusable = true;
    this.onUnusable(cause);
    for (const { job, resolve } of this.waiting.values()) resolve(this.inline.run(job));
    this.waiting.clear();
    this.unrefIfIdle();
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
