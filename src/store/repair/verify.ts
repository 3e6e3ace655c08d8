/** Verifies a whole store: every byte of its files, and the invariants between files, regions and the log. */

import { compareBytes, toStringBinary } from '../../bytes/index.js';
import { CorruptionError, InvalidArgumentError, RowanError } from '../../errors.js';
import { checkOptions, checkPositiveInteger, describe } from '../../table/checks.js';
import type { FileMeta } from '../file/footer.js';
import type { StoreFile } from '../file/store-file.js';
import { type BlockRange, blockRanges, verifyFound, verifyRange } from '../file/verify-file.js';
import type { ReaderThreads } from '../parallel/reader-threads.js';
import { verifyInThread } from '../parallel/threaded-verify.js';
import type { Region } from '../region/region.js';
import type { TableState } from '../table-state.js';

export interface VerifyReport {
  readonly tables: number;
  readonly regions: number;
  readonly files: number;
  readonly cells: number;
  readonly bytes: number;
}

/** The parts of a store that are verified. */
interface VerifiedStore {
  readonly readerThreads: ReaderThreads | undefined;
  readonly catalog: { tables(): Iterable<TableState> };
  readonly lifecycle: {
    /** @throws ClosedError when the store was closed. */
    checkOpen(): void;
  };
}

/** The verification of some blocks of a file: the bytes of each step, and the metadata by their cells. */
type Steps = Generator<number, FileMeta | undefined> | AsyncGenerator<number, FileMeta | undefined>;

/** Bytes of a range of blocks that one thread verifies at a time. */
const RANGE_BYTES = 1 << 23;

/** A file, and what was found in its ranges. */
interface FileState {
  readonly file: StoreFile;
  readonly found: FileMeta[];
  /** Ranges that are not verified yet. */
  left: number;
}

/** Some blocks of a file, which is retained for them. */
interface Range {
  readonly of: FileState;
  readonly number: number;
  readonly blocks: BlockRange;
}

/** How a store is verified. */
export interface StoreVerifyOptions {
  /**
   * Bytes that are read in a second at most, before compression, so that a verification of days leaves the disk to others. Every byte is
   * read twice. Default: no limit.
   */
  readonly bytesPerSecond?: number;
  /**
   * The threads that read, each other blocks; the event loop is free meanwhile. Default 1: the calling thread, as always in a store in
   * memory or opened with `background: 'inline'`.
   */
  readonly threads?: number;
  /** Called after each step of at most half a MiB, with `threads` of a MiB. What it throws ends the verification. */
  readonly onProgress?: (progress: VerifyProgress) => void;
}

/** How far a verification is. */
export interface VerifyProgress {
  /** Files that are done, and all files. */
  readonly files: number;
  readonly ofFiles: number;
  /** Bytes in the files that are done, and in all files. */
  readonly bytes: number;
  readonly ofBytes: number;
}

/** A verification that runs beside reads and writes. */
export interface Verification {
  /** Resolves at the end. @throws CorruptionError for the first fault; RowanError `ERR_ABORTED` after `stop`, `ERR_CLOSED`. */
  readonly done: Promise<VerifyReport>;
  readonly progress: VerifyProgress;
  /** Stops after the present step, until `resume`. */
  pause(): void;
  resume(): void;
  /** Ends it after the present step. */
  stop(): void;
}

/**
 * Begins to verify a store.
 * @throws InvalidArgumentError for a rate that is no number above 0, or a number of threads that is no positive integer.
 */
export function startVerify(core: VerifiedStore, options: StoreVerifyOptions = {}): Verification {
  checkOptions('verify', options, { bytesPerSecond: true, threads: true, onProgress: true });
  const { bytesPerSecond, threads = 1 } = options;
  checkPositiveInteger(threads, 'threads');
  if (bytesPerSecond !== undefined && !(Number.isFinite(bytesPerSecond) && bytesPerSecond > 0)) {
    throw new InvalidArgumentError(
      `verify: bytesPerSecond is a number above 0, not ${describe(bytesPerSecond)}.`,
    );
  }
  return new RunningVerification(core, options);
}

class RunningVerification implements Verification {
  readonly done: Promise<VerifyReport>;
  private files = 0;
  private ofFiles = 0;
  private bytes = 0;
  private ofBytes = 0;
  private cells = 0;
  private stopped = false;
  /** The first error, of whichever thread. */
  private failure: { readonly error: unknown } | undefined;
  private wake: (() => void) | undefined;
  private paused: Promise<void> | undefined;
  /** Bytes that were read since the time `since`, which a pause moves. */
  private read = 0;
  private since = performance.now();

  /** Undefined: the calling thread reads. */
  private readonly pool: ReaderThreads | undefined;
  private readonly threads: number;

  constructor(
    private readonly core: VerifiedStore,
    private readonly options: StoreVerifyOptions,
  ) {
    const { threads = 1 } = options;
    this.pool = threads === 1 ? undefined : core.readerThreads;
    this.threads = this.pool === undefined ? 1 : threads;
    this.done = this.run();
    // Nobody need wait for the end.
    this.done.catch(() => undefined);
  }

  get progress(): VerifyProgress {
    const { files, ofFiles, bytes, ofBytes } = this;
    return { files, ofFiles, bytes, ofBytes };
  }

  pause(): void {
    this.paused ??= new Promise((resolve) => (this.wake = resolve));
  }

  resume(): void {
    this.paused = undefined;
    this.wake?.();
  }

  stop(): void {
    this.stopped = true;
    this.resume();
  }

  private async run(): Promise<VerifyReport> {
    const { tables, regions, held } = retainAll(this.core);
    const files = held.length;
    this.ofFiles = files;
    for (const { size } of held) this.ofBytes += size;
    const size = this.pool === undefined ? Number.POSITIVE_INFINITY : RANGE_BYTES;
    const ranges = held.flatMap((file) => rangesOf(file, size));
    await Promise.all(Array.from({ length: this.threads }, () => this.verifyNext(ranges)));
    if (this.failure !== undefined) throw this.failure.error;
    return { tables, regions, files, cells: this.cells, bytes: this.bytes };
  }

  /** Verifies ranges until none is left. After an error none is begun. */
  private async verifyNext(ranges: Range[]): Promise<void> {
    try {
      for (let range = ranges.shift(); range !== undefined; range = ranges.shift()) {
        const { of, number, blocks } = range;
        const { file, found } = of;
        try {
          found[number] = await this.verifyBlocks(file, blocks);
          if (--of.left > 0) continue;
          this.cells += verifyFound(file.reader, found).cells;
          this.files++;
          this.bytes += file.size;
        } finally {
          // A file that was replaced meanwhile can be removed as soon as it is verified.
          file.release();
        }
      }
    } catch (error) {
      this.failure ??= { error };
      for (const { of } of ranges.splice(0)) of.file.release();
    }
  }

  private async verifyBlocks(file: StoreFile, blocks: BlockRange): Promise<FileMeta> {
    const { pool, threads } = this;
    if (pool === undefined) return this.takeSteps(verifyRange(file.reader, blocks));
    try {
      return await this.takeSteps(verifyInThread(pool, threads, file, blocks));
    } catch (error) {
      // The thread has ended, or another process has removed the file, which is still open here.
      if (!(error instanceof RowanError && error.code === 'ERR_IO')) throw error;
      return this.takeSteps(verifyRange(file.reader, blocks));
    }
  }

  private async takeSteps(steps: Steps): Promise<FileMeta> {
    try {
      for (;;) {
        const step = await steps.next();
        if (step.done) return step.value!;
        await this.rest(step.value);
      }
    } finally {
      await steps.return(undefined);
    }
  }

  /** Waits after a step of so many bytes. */
  private async rest(bytes: number): Promise<void> {
    this.options.onProgress?.(this.progress);
    await new Promise((resolve) => setImmediate(resolve));
    const { bytesPerSecond } = this.options;
    if (bytesPerSecond !== undefined) {
      this.read += bytes;
      const due = this.since + (this.read / bytesPerSecond) * 1000;
      for (let left = due - performance.now(); left > 0 && !this.stopped; left = due - performance.now())
        await this.sleep(Math.min(left, LONGEST_SLEEP));
    }
    while (this.paused !== undefined) {
      await this.paused;
      this.read = 0;
      this.since = performance.now();
    }
    this.core.lifecycle.checkOpen();
    if (this.stopped || this.failure !== undefined)
      throw new RowanError('ERR_ABORTED', 'The verification was stopped. Nothing was changed.');
  }

  private async sleep(milliseconds: number): Promise<void> {
    await new Promise<void>((resolve) => setTimeout(resolve, milliseconds).unref());
    this.core.lifecycle.checkOpen();
  }
}

/** Milliseconds after which a sleeping verification looks whether it was stopped, or the store closed. */
const LONGEST_SLEEP = 200;

/** Retains the files of this moment, each once, so that changes of the regions do not matter. */
function retainAll(core: VerifiedStore): { tables: number; regions: number; held: StoreFile[] } {
  const held = new Map<number, StoreFile>();
  let regions = 0;
  const tables = [...core.catalog.tables()];
  for (const state of tables) checkRegions(state);
  for (const state of tables) {
    for (const region of state.regions) {
      regions++;
      for (const { version } of region.stores) {
        for (const file of version.files) {
          checkInRegion(state, region, file.path, file.meta.firstRow, file.meta.lastRow);
          held.set(file.fileNo, file);
        }
      }
    }
  }
  for (const file of held.values()) file.retain();
  // The largest first, so that no thread waits long for the last one.
  const files = [...held.values()].sort((a, b) => b.size - a.size);
  return { tables: tables.length, regions, held: files };
}

/** Divides a file, which is retained, into ranges; each retains it. */
function rangesOf(file: StoreFile, bytes: number): Range[] {
  const ranges = blockRanges(file.meta, bytes);
  const of = { file, found: [], left: ranges.length };
  for (let i = 1; i < ranges.length; i++) file.retain();
  return ranges.map((blocks, number) => ({ of, number, blocks }));
}

/** Verifies that the regions cover all rows without gap or overlap. */
function checkRegions(state: TableState): void {
  let expected: Uint8Array = new Uint8Array(0);
  state.regions.forEach((region, index) => {
    const last = index === state.regions.length - 1;
    if (compareBytes(region.startKey, expected) !== 0 || (region.endKey.length === 0) !== last) {
      throw new CorruptionError(
        `Table "${state.name}": region ${region.id} begins at ${toStringBinary(region.startKey)} where ` +
          `${toStringBinary(expected)} should be, or ends wrongly. Restore the store from a copy.`,
        { details: { table: state.name } },
      );
    }
    expected = region.endKey;
  });
}

function checkInRegion(
  state: TableState,
  region: Region,
  path: string,
  firstRow: Uint8Array,
  lastRow: Uint8Array,
): void {
  const outside =
    compareBytes(lastRow, region.startKey) < 0 ||
    (region.endKey.length > 0 && compareBytes(firstRow, region.endKey) >= 0);
  if (!outside) return;
  throw new CorruptionError(
    `Table "${state.name}": no row of "${path}" is in its region ${region.id}. Restore the store from a copy.`,
    { details: { table: state.name, file: path } },
  );
}
