/** Verifies a whole store: every byte of its files, and the invariants between files, regions and the log. */

import { compareBytes, toStringBinary } from '../../bytes/index.js';
import { CorruptionError, InvalidArgumentError, RowanError } from '../../errors.js';
import { checkOptions, describe } from '../../table/checks.js';
import type { StoreFile } from '../file/store-file.js';
import { verifySteps } from '../file/verify-file.js';
import type { Region, StoreVersion } from '../region/region.js';
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
  readonly catalog: { tables(): Iterable<TableState> };
  readonly lifecycle: {
    /** @throws ClosedError when the store was closed. */
    checkOpen(): void;
  };
}

/** How a store is verified. */
export interface StoreVerifyOptions {
  /**
   * Bytes that are read in a second at most, before compression, so that a verification of days leaves the disk to others. Every byte is
   * read twice. Default: no limit.
   */
  readonly bytesPerSecond?: number;
  /** Called after each step of at most half a MiB. What it throws ends the verification. */
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
 * @throws InvalidArgumentError for a rate that is no number above 0.
 */
export function startVerify(core: VerifiedStore, options: StoreVerifyOptions = {}): Verification {
  checkOptions('verify', options, { bytesPerSecond: true, onProgress: true });
  const { bytesPerSecond } = options;
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
  private stopped = false;
  private wake: (() => void) | undefined;
  private paused: Promise<void> | undefined;
  /** Bytes that were read since the time `since`, which a pause moves. */
  private read = 0;
  private since = performance.now();

  constructor(
    private readonly core: VerifiedStore,
    private readonly options: StoreVerifyOptions,
  ) {
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
    const seen = new Set<number>();
    let cells = 0;
    const { tables, regions, held } = retainAll(this.core);
    try {
      const all = new Map(
        held.flatMap(({ version }) => version.files.map((file) => [file.fileNo, file.size])),
      );
      this.ofFiles = all.size;
      for (const size of all.values()) this.ofBytes += size;
      for (let family = held.shift(); family !== undefined; family = held.shift()) {
        const { state, region, version } = family;
        try {
          for (const file of version.files) {
            checkInRegion(state, region, file.path, file.meta.firstRow, file.meta.lastRow);
            if (seen.has(file.fileNo)) continue;
            seen.add(file.fileNo);
            cells += await this.verifyFile(file);
            this.files++;
            this.bytes += file.size;
          }
        } finally {
          // Files that were replaced meanwhile can be removed as soon as they are verified.
          version.release();
        }
      }
    } finally {
      for (const { version } of held) version.release();
    }
    return { tables, regions, files: seen.size, cells, bytes: this.bytes };
  }

  /** Verifies a file, and returns the number of its cells. */
  private async verifyFile({ reader }: StoreFile): Promise<number> {
    const steps = verifySteps(reader);
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value.cells;
      await this.rest(step.value);
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
    if (this.stopped)
      throw new RowanError('ERR_ABORTED', 'The verification was stopped. Nothing was changed.');
  }

  private async sleep(milliseconds: number): Promise<void> {
    await new Promise<void>((resolve) => setTimeout(resolve, milliseconds).unref());
    this.core.lifecycle.checkOpen();
  }
}

/** Milliseconds after which a sleeping verification looks whether it was stopped, or the store closed. */
const LONGEST_SLEEP = 200;

interface RetainedFamily {
  readonly state: TableState;
  readonly region: Region;
  readonly version: StoreVersion;
}

/** Retains the files of this moment, so that changes of the regions do not matter. */
function retainAll(core: VerifiedStore): { tables: number; regions: number; held: RetainedFamily[] } {
  const held: RetainedFamily[] = [];
  let regions = 0;
  const tables = [...core.catalog.tables()];
  for (const state of tables) checkRegions(state);
  for (const state of tables) {
    for (const region of state.regions) {
      regions++;
      for (const store of region.stores) held.push({ state, region, version: store.version.retain() });
    }
  }
  return { tables: tables.length, regions, held };
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
