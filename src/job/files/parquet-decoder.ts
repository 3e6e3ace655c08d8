/** Decodes a Parquet file in a thread that is terminated when it takes too much time or memory. */

import { Worker } from 'node:worker_threads';
import { CorruptionError, fromWire } from '../../errors.js';
import { timerDelay } from '../../table/checks.js';
import { threadFile } from '../../threads.js';
import { type ParquetDecoder, type ParquetItem, ParquetRows } from './parquet-rows.js';
import type { ParquetReply } from './parquet-thread.js';

/** Heap limit of the thread in MiB: many times the objects of 64 MiB of a file. */
const LARGEST_HEAP = 1024;

/**
 * Creates a decoder.
 * @param timeoutMs time limit for one piece of at most 50,000 rows and 64 MiB.
 */
export function parquetDecoder(path: string, timeoutMs: number): ParquetDecoder {
  const file = threadFile('rowan-parquet-thread');
  return file === undefined ? new ParquetRows(path) : new ThreadDecoder(file, path, timeoutMs);
}

class ThreadDecoder implements ParquetDecoder {
  private worker: Worker | undefined;

  constructor(
    private readonly file: URL,
    private readonly path: string,
    private readonly timeoutMs: number,
  ) {}

  async rows(first: number): Promise<readonly ParquetItem[]> {
    this.worker ??= new Worker(this.file, {
      name: 'rowan-parquet',
      execArgv: [],
      workerData: this.path,
      resourceLimits: { maxOldGenerationSizeMb: LARGEST_HEAP },
    });
    const reply = await this.ask(this.worker, first).catch(async (error: unknown) => {
      await this.close();
      throw error;
    });
    if ('error' in reply) throw fromWire(reply.error);
    return reply.rows;
  }

  private ask(worker: Worker, first: number): Promise<ParquetReply> {
    return new Promise((resolve, reject) => {
      const ended = (why: string, cause?: unknown) => (): void =>
        settle(() => reject(this.failure(why, cause)));
      const timer = setTimeout(
        ended(`its rows from number ${first} on were not decoded in ${this.timeoutMs} ms`),
        timerDelay(this.timeoutMs),
      );
      const failed = (cause: unknown): void => ended('the thread that decodes it failed', cause)();
      const exited = ended('the thread that decodes it ended');
      const answered = (reply: ParquetReply): void => settle(() => resolve(reply));
      const settle = (finish: () => void): void => {
        clearTimeout(timer);
        worker.off('error', failed).off('exit', exited).off('message', answered);
        // Errors after the time limit concern nobody.
        worker.on('error', () => {});
        finish();
      };
      worker.once('error', failed).once('exit', exited).once('message', answered);
      worker.postMessage(first);
    });
  }

  private failure(why: string, cause: unknown): CorruptionError {
    const said = cause instanceof Error ? `: ${cause.message}` : '';
    return new CorruptionError(
      `${this.path} cannot be read as Parquet: ${why}${said}. A page is probably damaged: copy the file again; ` +
        'on a slow machine, set a larger timeoutMs.',
      { cause, details: { file: this.path } },
    );
  }

  async close(): Promise<void> {
    const { worker } = this;
    this.worker = undefined;
    await worker?.terminate();
  }
}
