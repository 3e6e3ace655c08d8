import { deserialize } from 'node:v8';
import type { Worker } from 'node:worker_threads';
import {
  fromWire,
  InvalidArgumentError,
  RowanError,
  throwIfAborted,
  toWire,
  type WireError,
} from '../../errors.js';
import { type OperationOptions, Result, type ResultScanner, type Scan } from '../../table/index.js';
import { definitionOf, type MappedRows, type MappedSource } from '../pipeline/phases.js';
import type { PreparedJob } from '../pipeline/pipeline.js';
import { runJob } from '../runner.js';
import type { Counters, JobOutcome, JobReadable, JobRunOptions } from '../types.js';

export type MapperRequest =
  | {
      readonly id: number;
      readonly call: 'open';
      readonly scan: number;
      readonly start: Uint8Array;
      readonly isStartIncluded: boolean;
      readonly stop: Uint8Array;
    }
  | { readonly id: number; readonly call: 'next' | 'close'; readonly scan: number };

/** The result of mapping some rows of one scan. */
export interface MappedBatch {
  /** The last row; undefined at the end. */
  readonly last: Uint8Array | undefined;
  readonly rows: number;
  readonly bytes: number;
  readonly counters: Counters;
  /** Serialized by V8: keys as latin1 strings (undefined without a reduce), and values. */
  readonly pairs: Uint8Array;
}

export interface Pairs {
  readonly keys: readonly string[] | undefined;
  readonly values: readonly unknown[];
}

export type MapperReply =
  | { readonly ready: true; readonly signature: string }
  | { readonly failed: ThreadError }
  | { readonly id: number; readonly batch: MappedBatch | undefined }
  | { readonly id: number; readonly error: ThreadError };

/** An error sent between threads: one of Rowan's, or any other. */
type ThreadError =
  | { readonly rowan: WireError }
  | { readonly name: string; readonly message: string; readonly stack: string | undefined };

/** The messages between a process and its mapper threads. */
export function toThread(error: unknown): ThreadError {
  if (error instanceof RowanError) return { rowan: toWire(error) };
  if (!(error instanceof Error)) return { name: 'Error', message: String(error), stack: undefined };
  const { name, message, stack } = error;
  return { name, message, stack };
}

function fromThread(error: ThreadError): Error {
  if ('rowan' in error) return fromWire(error.rowan);
  const made = new Error(error.message);
  made.name = error.name;
  if (error.stack !== undefined) made.stack = error.stack;
  return made;
}

// — Presents mapper threads as a source that a job reads.

/** How many batches of a scan are requested ahead. */
const AHEAD = 2;
/** How many splits a thread works on: one is read while another waits for its checkpoint. */
const SPLITS_OF_A_THREAD = 2;
/**
 * Rows and milliseconds between two checkpoints of a split, each of which writes data to be sorted in this one thread.
 */
const CHECKPOINT_ROWS = 200_000;
const CHECKPOINT_MS = 5000;
/** Split size. Small splits keep all threads busy until near the end. */
const SPLIT_BYTES = 32 << 20;

/**
 * Runs a job whose rows are read, mapped and combined by threads; this thread keeps the states, and runs reduce and
 * sink. Terminates the threads at the end.
 * `begin` is called once their messages are handled, and starts them.
 * @throws as `begin` and `runJob`; RowanError `ERR_JOB` when a thread ends early.
 */
export async function runWithMappers(
  job: PreparedJob,
  workers: readonly Worker[],
  begin: () => Promise<void>,
  options: JobRunOptions = {},
): Promise<JobOutcome> {
  const threads = workers.map((worker) => new MapperThread(worker));
  try {
    await begin();
    const { engine, name, steps } = job;
    const { signature } = definitionOf(engine, name, steps);
    for (const thread of threads) await thread.ready(signature);
    const mapping: MappedSource = { reader: new MappedRowsReader(threads), unpack };
    return await runJob(engine, definitionOf(engine, name, steps, mapping), {
      parallel: SPLITS_OF_A_THREAD * threads.length,
      checkpointRows: CHECKPOINT_ROWS,
      checkpointMs: CHECKPOINT_MS,
      splitBytes: SPLIT_BYTES,
      ...options,
    });
  } finally {
    await Promise.all(threads.map((thread) => thread.end()));
  }
}

/** A row that represents a batch. */
class BatchRow extends Result {
  constructor(
    row: Uint8Array,
    readonly batch: MappedBatch,
  ) {
    super(row, []);
  }
}

function unpack(row: Result): MappedRows {
  const { batch } = row as BatchRow;
  return {
    weight: batch,
    counters: batch.counters,
    *pairs() {
      const { keys, values } = deserialize(batch.pairs) as Pairs;
      for (let at = 0; at < values.length; at++) {
        yield [keys?.[at] ?? '', values[at]];
      }
    },
  };
}

class MappedRowsReader implements JobReadable {
  readonly name = 'mapped rows';
  private nextScan = 1;

  constructor(private readonly threads: readonly MapperThread[]) {}

  scan(scan: Scan, options: OperationOptions = {}): ResultScanner {
    const free = this.threads.reduce((idlest, thread) => (thread.scans < idlest.scans ? thread : idlest));
    return new MappedScanner(free, this.nextScan++, scan, options.signal);
  }
}

/** A scan running in a thread; each of its rows is a batch. */
class MappedScanner implements ResultScanner {
  private readonly coming: Promise<MappedBatch | undefined>[] = [];
  private readonly opened: Promise<unknown>;
  private ended = false;
  private closed = false;

  constructor(
    private readonly thread: MapperThread,
    private readonly scan: number,
    { startRow, includeStartRow, stopRow }: Scan,
    private readonly signal: AbortSignal | undefined,
  ) {
    thread.scans++;
    this.opened = thread.ask({
      call: 'open',
      scan,
      start: startRow,
      isStartIncluded: includeStartRow,
      stop: stopRow,
    });
    this.opened.catch(() => undefined);
  }

  async next(): Promise<Result | undefined> {
    throwIfAborted(this.signal);
    while (!this.ended && this.coming.length < AHEAD) {
      const batch = this.thread.ask({ call: 'next', scan: this.scan });
      batch.catch(() => undefined);
      this.coming.push(batch);
    }
    await this.opened;
    const batch = await this.coming.shift();
    if (batch?.last !== undefined) return new BatchRow(batch.last, batch);
    this.ended = true;
    return undefined;
  }

  async nextBatch(): Promise<Result[]> {
    const row = await this.next();
    return row === undefined ? [] : [row];
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.ended = true;
    this.thread.scans--;
    // A terminated thread has nothing to close.
    await this.thread.ask({ call: 'close', scan: this.scan }).catch(() => undefined);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Result, void> {
    try {
      for (let row = await this.next(); row !== undefined; row = await this.next()) yield row;
    } finally {
      await this.close();
    }
  }
}

interface Waiting {
  readonly resolve: (batch: MappedBatch | undefined) => void;
  readonly reject: (error: Error) => void;
}

type WithoutId<T> = T extends { readonly id: number } ? Omit<T, 'id'> : never;

/** One thread, with requests and answers. */
class MapperThread {
  /** The number of its open scans. */
  scans = 0;
  private readonly waiting = new Map<number, Waiting>();
  private nextId = 1;
  private failure: Error | undefined;
  private readonly started: Promise<string>;

  constructor(private readonly worker: Worker) {
    this.started = new Promise((resolve, reject) => {
      worker.on('message', (reply: MapperReply) => {
        if ('ready' in reply) resolve(reply.signature);
        else if ('failed' in reply) this.fail(fromThread(reply.failed), reject);
        else this.settle(reply);
      });
      worker.on('error', (cause) => this.fail(ended(cause), reject));
      worker.on('exit', () => this.fail(ended(undefined), reject));
    });
    this.started.catch(() => undefined);
  }

  /**
   * Waits until the thread is ready.
   * @throws InvalidArgumentError when the thread's job differs; the error that prevented its start.
   */
  async ready(signature: string): Promise<void> {
    const own = await this.started;
    if (own === signature) return;
    throw new InvalidArgumentError(
      `The module creates different jobs in different threads: here (${signature}), and in a thread (${own}). What it reads and ` +
        'does must not depend on time, random values or the process.',
    );
  }

  ask(request: WithoutId<MapperRequest>): Promise<MappedBatch | undefined> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, ...request });
    });
  }

  async end(): Promise<void> {
    this.failure ??= ended(undefined);
    await this.worker.terminate();
  }

  private settle(reply: Extract<MapperReply, { readonly id: number }>): void {
    const waiting = this.waiting.get(reply.id);
    this.waiting.delete(reply.id);
    if ('error' in reply) waiting?.reject(fromThread(reply.error));
    else waiting?.resolve(reply.batch);
  }

  private fail(error: Error, reject: (error: Error) => void): void {
    this.failure ??= error;
    reject(this.failure);
    for (const waiting of this.waiting.values()) waiting.reject(this.failure);
    this.waiting.clear();
  }
}

function ended(cause: unknown): RowanError {
  const why = cause instanceof Error ? `: ${cause.message}` : '';
  return new RowanError(
    'ERR_JOB',
    `A mapper thread ended before its work was done${why}. Progress is kept: run the job again to resume it.`,
    { cause },
  );
}
