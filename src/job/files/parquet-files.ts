/** Presents the rows of Parquet files as rows of a table, so that a job reads them like any other source. */

import { Worker } from 'node:worker_threads';
import { CorruptionError, fromWire, UnsupportedError } from '../../errors.js';
import { timerDelay } from '../../table/checks.js';
import { Result, type ResultScanner, type Scan } from '../../table/index.js';
import { threadFile } from '../../threads.js';
import type { JobReadable, RowRange } from '../types.js';
import { FileScanner, positionOfRow, rangesOfFiles, rowOfPosition } from './file-position.js';
import { loadReader, openParquet, unpackers } from './parquet.js';
import { type ParquetDecoder, type ParquetItem, ParquetRows } from './parquet-rows.js';
import type { ParquetReply } from './parquet-thread.js';

/** A row of a Parquet file, with its number in place of a byte offset. */
export class ParquetRow extends Result {
  constructor(
    row: Uint8Array,
    readonly item: ParquetItem,
  ) {
    super(row, []);
  }
}

/** Parquet files as a source; each file is one split. */
export class ParquetFiles implements JobReadable {
  readonly name = 'rows of Parquet files';
  readonly ranges: readonly RowRange[];

  private constructor(
    private readonly paths: readonly string[],
    private readonly timeoutMs: number,
  ) {
    this.ranges = rangesOfFiles(paths.length);
  }

  /**
   * Opens the files.
   * @throws CorruptionError naming an invalid file; UnsupportedError for an unsupported compression, or if the package
   * is missing.
   */
  static async open(paths: readonly string[], timeoutMs: number): Promise<ParquetFiles> {
    const known = new Set(['UNCOMPRESSED', ...Object.keys(unpackers(await loadReader()))]);
    for (const path of paths) {
      const { handle, metadata } = await openParquet(path);
      await handle.close();
      const codecs = metadata.row_groups.flatMap(({ columns }) =>
        columns.map((column) => column.meta_data?.codec),
      );
      const other = codecs.find((codec) => codec !== undefined && !known.has(codec));
      if (other !== undefined) {
        throw new UnsupportedError(
          `${path} is compressed with ${other}, which is not supported here. Supported: ${[...known].join(', ')}. Write the file with one of these.`,
          { details: { file: path, codec: other } },
        );
      }
    }
    return new ParquetFiles(paths, timeoutMs);
  }

  scan(scan: Scan): ResultScanner {
    const { file, offset } = positionOfRow(scan.startRow);
    return new ParquetScanner(
      this.paths[file]!,
      file,
      offset + (scan.includeStartRow ? 0 : 1),
      this.timeoutMs,
    );
  }
}

class ParquetScanner extends FileScanner {
  private readonly decoder: ParquetDecoder;
  private rows: readonly ParquetItem[] = [];
  /** The number of the first of them. */
  private first: number;
  private at = 0;

  constructor(
    path: string,
    private readonly number: number,
    first: number,
    timeoutMs: number,
  ) {
    super(path);
    this.decoder = parquetDecoder(path, timeoutMs);
    this.first = first;
  }

  async next(): Promise<Result | undefined> {
    if (this.ended) return undefined;
    if (this.at >= this.rows.length) {
      this.first += this.rows.length;
      this.at = 0;
      this.rows = await this.decoder.rows(this.first);
    }
    const item = this.rows[this.at];
    if (item === undefined) return this.finish();
    const place = { file: this.number, offset: this.first + this.at++ };
    return new ParquetRow(rowOfPosition(place), item);
  }

  override async close(): Promise<void> {
    await super.close();
    await this.decoder.close();
  }
}

/** Heap limit of the thread in MiB: many times the objects of 64 MiB of a file. */
const LARGEST_HEAP = 1024;

/**
 * Creates a decoder.
 * @param timeoutMs time limit for one piece of at most 50,000 rows and 64 MiB.
 */
function parquetDecoder(path: string, timeoutMs: number): ParquetDecoder {
  const file = threadFile('rowan-parquet-thread');
  return file === undefined ? new ParquetRows(path) : new ThreadDecoder(file, path, timeoutMs);
}

/** Decodes a Parquet file in a thread that is terminated when it takes too much time or memory. */
class ThreadDecoder implements ParquetDecoder {
  private worker: Worker | undefined;

  constructor(
    private readonly file: URL,
    private readonly path: string,
    private readonly timeoutMs: number,
  ) {}

  async rows(first: number): Promise<readonly ParquetItem[]> {
    this.worker ??= this.begin();
    const reply = await this.ask(this.worker, first).catch(async (error: unknown) => {
      await this.close();
      throw error;
    });
    if ('error' in reply) throw fromWire(reply.error);
    return reply.rows;
  }

  private begin(): Worker {
    const worker = new Worker(this.file, {
      name: 'rowan-parquet',
      execArgv: [],
      workerData: this.path,
      resourceLimits: { maxOldGenerationSizeMb: LARGEST_HEAP },
    });
    // Errors that nobody waits for, as after the time limit, are ignored.
    return worker.on('error', () => undefined);
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
        finish();
      };
      worker.once('error', failed).once('exit', exited).once('message', answered);
      worker.postMessage(first);
    });
  }

  private failure(why: string, cause: unknown): CorruptionError {
    const reason = cause instanceof Error ? `: ${cause.message}` : '';
    return new CorruptionError(
      `${this.path} cannot be read as Parquet: ${why}${reason}. A page is probably damaged: copy the file again; ` +
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
