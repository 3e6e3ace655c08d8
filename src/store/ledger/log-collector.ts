/** Removes segments of the log whose every write is in files, and has those flushed who hold on to old ones. */

import type { Catalog } from '../catalog.js';
import type { StoreEnvironment } from '../environment.js';
import { joinPath, walFileName } from '../fs/index.js';
import type { FamilyStore } from '../region/family-store.js';
import type { Region } from '../region/region.js';
import type { TableState } from '../table-state.js';
import type { Journal } from './journal.js';

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
    if (settings.automatic && kept.length > settings.maxWalSegments)
      this.flushHolders(kept[0]!.closed!.lastSeq);
  }

  /** Closes the log for good; a segment whose every write is in files goes with it. */
  closeLog(): void {
    const { wal, manifest } = this.journal;
    if (wal.poisoned) {
      wal.abandon();
      return;
    }
    const closed = wal.close();
    if (manifest.poisoned) return;
    const done = closed.lastSeq < this.oldestUnflushedSeq();
    this.journal.log([
      { type: 'walClosed', ...closed },
      ...(done ? [{ type: 'walRemove' as const, number: closed.number }] : []),
    ]);
    if (done) this.unlink([closed.number]);
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
