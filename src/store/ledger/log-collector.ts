/** Removes segments of the log whose every write is in files, and has those flushed who hold on to old ones. */

import type { Catalog } from '../catalog.js';
import type { StoreEnvironment } from '../environment.js';
import { joinPath, walFileName } from '../fs/index.js';
import type { Edit, WalSegmentEntry } from '../manifest/index.js';
import type { FamilyStore } from '../region/family-store.js';
import type { Region } from '../region/region.js';
import type { TableState } from '../table-state.js';
import type { Journal } from './journal.js';

/** What else is to be recorded when the log is closed, and the segments that this leaves. */
export interface LogEnd {
  readonly edits: readonly Edit[];
  readonly unneeded: readonly number[];
}

export class LogCollector {
  private collecting: Promise<void> | undefined;
  private again = false;

  constructor(
    private readonly environment: StoreEnvironment,
    private readonly journal: Journal,
    private readonly catalog: Catalog,
    private readonly requestFlush: (state: TableState, region: Region, store: FamilyStore) => void,
  ) {}

  /** Resolves when no segment that can be removed is there. */
  collect(): Promise<void> {
    this.again = true;
    this.collecting ??= this.run().finally(() => (this.collecting = undefined));
    return this.collecting;
  }

  private async run(): Promise<void> {
    while (this.again) {
      this.again = false;
      await this.collectOnce();
    }
  }

  private async collectOnce(): Promise<void> {
    const { settings } = this.environment;
    const oldest = this.oldestUnflushedSeq();
    const closed = [...this.journal.manifest.state.walSegments.values()].filter((segment) => segment.closed);
    const done = closed.filter((segment) => segment.closed!.lastSeq < oldest).map(({ number }) => number);
    if (done.length > 0) {
      await this.journal.record(done.map((number) => ({ type: 'walRemove', number })));
      this.unlink(done);
    }
    const kept = closed.filter((segment) => !done.includes(segment.number));
    if (settings.automatic && this.isTooMuch(kept)) this.flushHolders(kept[0]!.closed!.lastSeq);
  }

  /** A segment with prepared room ends when that is used up, and may be shorter than others. */
  private isTooMuch(kept: readonly WalSegmentEntry[]): boolean {
    const { maxWalSegments, walSegmentSize, walPreparedSize } = this.environment.settings;
    if (kept.length <= maxWalSegments) return false;
    const bytes = kept.reduce((sum, { closed }) => sum + closed!.length, 0);
    const most = maxWalSegments * (walSegmentSize / Math.max(1, walPreparedSize));
    return bytes > maxWalSegments * walSegmentSize || kept.length > most;
  }

  /** Closes the log for good; segments whose every write is in files go with it, and those that nobody came to write to. */
  closeLog({ edits, unneeded }: LogEnd): void {
    const { wal, manifest } = this.journal;
    if (wal.poisoned) {
      wal.abandon();
      return;
    }
    const closed = wal.close();
    if (manifest.poisoned) return;
    const oldest = this.oldestUnflushedSeq();
    const done = closed.filter((segment) => segment.lastSeq < oldest).map(({ number }) => number);
    this.journal.log([
      ...edits,
      ...closed.map((segment) => ({ type: 'walClosed' as const, ...segment })),
      ...done.map((number) => ({ type: 'walRemove' as const, number })),
    ]);
    this.unlink([...done, ...unneeded]);
  }

  private unlink(segments: readonly number[]): void {
    const { fileSystem, directory } = this.environment;
    for (const number of segments) {
      try {
        fileSystem.unlink(joinPath(directory, walFileName(number)));
      } catch {
        // A file that nothing names: the next opener removes it.
      }
    }
  }

  private oldestUnflushedSeq(): number {
    let oldest = Number.POSITIVE_INFINITY;
    for (const state of this.catalog.tables()) {
      for (const store of state.stores()) oldest = Math.min(oldest, store.oldestUnflushedSeq);
    }
    return oldest;
  }

  private flushHolders(seq: number): void {
    for (const state of this.catalog.tables()) {
      for (const region of state.regions) {
        for (const store of region.stores) {
          if (store.oldestUnflushedSeq <= seq) this.requestFlush(state, region, store);
        }
      }
    }
  }
}
