import type { Worker } from 'node:worker_threads';
import { ClosedError, RowanError } from '../../errors.js';
import type { WorkerSetup } from '../background/job.js';
import { diskOf } from '../encryption/encrypted-file-system.js';
import { type FileSystem, NodeFileSystem } from '../fs/index.js';
import type { ScanReply, ScanRequest } from './protocol.js';

/** Milliseconds without scans after which the threads end. */
const IDLE_TIMEOUT = 10_000;

/** A scan that threads work for. */
export interface ThreadedWork {
  /** A message for the scan. */
  receive(thread: ReaderThread, reply: ScanReply): void;
  /** The thread has ended, and sends nothing more. */
  lost(thread: ReaderThread, error: RowanError): void;
}

/** A thread that reads for scans. It keeps the process alive only while a scan waits for it. */
export class ReaderThread {
  readonly scans = new Map<number, ThreadedWork>();
  ended = false;
  private waiting = 0;

  constructor(
    private readonly worker: Worker,
    private readonly onEnd: (thread: ReaderThread) => void,
  ) {
    worker.unref();
    worker.on('message', (reply: ScanReply | { readonly ready: true }) => {
      if (!('ready' in reply)) this.scans.get(reply.scan)?.receive(this, reply);
    });
    worker.on('error', (cause) => this.end(cause));
    worker.on('exit', () => this.end(undefined));
  }

  send(request: ScanRequest): void {
    if (!this.ended) this.worker.postMessage(request);
  }

  /** Keeps the process alive until `unref`. May be called more than once. */
  ref(): void {
    if (this.waiting++ === 0) this.worker.ref();
  }

  unref(): void {
    if (--this.waiting === 0) this.worker.unref();
  }

  /** Ends the thread; resolves when it has ended. */
  async terminate(): Promise<void> {
    this.end(new ClosedError('The store is closed.'));
    await this.worker.terminate();
  }

  private end(cause: unknown): void {
    if (this.ended) return;
    this.ended = true;
    this.onEnd(this);
    const error =
      cause instanceof ClosedError
        ? cause
        : new RowanError(
            'ERR_IO',
            `A thread that reads for queries ended before its work was done${cause instanceof Error ? ` (${cause.message})` : ''}. ` +
              'Run the query again: another is started. Or leave out threads.',
            { cause, retryable: true },
          );
    const scans = [...this.scans.values()];
    this.scans.clear();
    for (const scan of scans) scan.lost(this, error);
  }
}

/** What worker threads of a store begin with; undefined where its files are not on the disk. */
export function workerSetup(fileSystem: FileSystem): WorkerSetup | undefined {
  const disk = diskOf(fileSystem);
  return disk instanceof NodeFileSystem
    ? { folder: disk.held, keys: fileSystem.encryption?.share() }
    : undefined;
}

/** The threads that read for the scans of a store: started when they are needed, and ended when they are not. */
export class ReaderThreads {
  private readonly threads: ReaderThread[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private closed = false;
  private nextScan = 1;

  constructor(
    /** The file of the worker. */
    private readonly file: URL,
    private readonly setup: WorkerSetup,
  ) {}

  /** A number for a scan. */
  nextNumber(): number {
    return this.nextScan++;
  }

  /** Returns `count` threads: those with the fewest scans. Starts them where needed. @throws RowanError `ERR_IO`. */
  take(count: number): readonly ReaderThread[] {
    if (this.closed) throw new ClosedError('The store is closed.');
    clearTimeout(this.timer);
    while (this.threads.length < count) this.threads.push(this.start());
    return [...this.threads].sort((a, b) => a.scans.size - b.scans.size).slice(0, count);
  }

  /** Called when a scan has ended in a thread. */
  detached(): void {
    if (this.threads.some(({ scans }) => scans.size > 0)) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.endAll(), IDLE_TIMEOUT);
    this.timer.unref();
  }

  /** Ends all threads. Scans that are open fail. */
  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    await this.endAll();
  }

  private async endAll(): Promise<void> {
    await Promise.all([...this.threads].map((thread) => thread.terminate()));
  }

  private start(): ReaderThread {
    // Loaded here: most processes start no thread.
    const { Worker: Thread } = process.getBuiltinModule('node:worker_threads');
    let worker: Worker;
    try {
      // Without execArgv: as for flushes and compactions.
      worker = new Thread(this.file, { name: 'rowan-reader', execArgv: [], workerData: this.setup });
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new RowanError(
        'ERR_IO',
        `No thread could be started to read (${why}). Run the query without threads.`,
        { cause },
      );
    }
    return new ReaderThread(worker, (ended) => {
      const at = this.threads.indexOf(ended);
      if (at >= 0) this.threads.splice(at, 1);
    });
  }
}
