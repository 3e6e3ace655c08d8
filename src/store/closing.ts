import type { Maintenance } from './background/maintenance.js';
import type { FileHandleCache } from './cache/index.js';
import type { Catalog } from './catalog.js';
import type { StoreEnvironment } from './environment.js';
import type { ReaderRegistry } from './follow/reader-registry.js';
import type { DirectoryLock } from './fs/index.js';
import type { Journal } from './ledger/journal.js';
import type { LogCollector, LogRoller } from './ledger/log-roller.js';
import type { Lifecycle } from './lifecycle.js';
import type { MemoryUse } from './memory-use.js';
import type { ScannerRegistry } from './read/scanner-registry.js';
import type { WriteThrottle } from './write-throttle.js';

/** The parts of the store that closing uses. */
export interface ClosingParts {
  readonly environment: StoreEnvironment;
  readonly lifecycle: Lifecycle;
  readonly journal: Journal;
  readonly catalog: Catalog;
  readonly scanners: ScannerRegistry;
  readonly pressure: WriteThrottle;
  readonly memory: MemoryUse;
  readonly maintenance: Maintenance;
  readonly roller: LogRoller;
  readonly collector: LogCollector;
  readonly files: FileHandleCache;
  readonly readers: ReaderRegistry;
  readonly lock: DirectoryLock;
}

/** Closes a store: ends background work, makes every write durable, flushes (`flushOnClose`), and unlocks the folder. */
export class StoreClosing {
  private done: Promise<void> | undefined;

  constructor(private readonly parts: ClosingParts) {}

  /** Further calls wait for the same end. */
  close(): Promise<void> {
    this.done ??= this.closeOnce();
    return this.done;
  }

  /** Flushes memstores, the largest first, within the limits of the option. What stays in memory is replayed at the next opening. */
  private async flushBeforeEnd(): Promise<void> {
    const { environment, journal, memory, maintenance } = this.parts;
    const bounds = environment.settings.flushOnClose;
    if (bounds === undefined || journal.poisoned || memory.memstoreBytes() < bounds.minBytes) return;
    const end = performance.now() + bounds.maxMilliseconds;
    for (const place of memory.bySize()) {
      if (performance.now() >= end) return;
      // A failure is reported as for every automatic flush; the log still has the writes.
      await maintenance.flushQuietly(place);
    }
  }

  private async closeOnce(): Promise<void> {
    const { lifecycle, scanners, pressure, maintenance, roller, collector, files, lock } = this.parts;
    const { fileSystem } = this.parts.environment;
    lifecycle.end();
    scanners.cutOffAll();
    pressure.close();
    maintenance.end();
    await this.flushBeforeEnd();
    try {
      await maintenance.close();
      await lifecycle.ending();
      await roller.end();
      collector.closeLog(roller.finish());
    } finally {
      await roller.end();
      roller.finish();
      for (const state of this.parts.catalog.tables()) for (const store of state.stores()) store.close();
      files.closeAll();
      try {
        this.parts.journal.manifest.close();
      } finally {
        await this.parts.readers.close();
        await lock.release();
        fileSystem.letGo?.();
      }
    }
  }
}
