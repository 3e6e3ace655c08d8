import type { Maintenance } from './background/maintenance.js';
import type { FileHandleCache } from './cache/index.js';
import type { Catalog } from './catalog.js';
import type { StoreEnvironment } from './environment.js';
import type { ReaderDesk } from './follow/reader-desk.js';
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
  readonly desk: ReaderDesk;
  readonly lock: DirectoryLock;
}

/** Closes a store: ends its work, makes every write durable, flushes (`flushOnClose`), and lets go of the folder. */
export class StoreClosing {
  private done: Promise<void> | undefined;

  constructor(private readonly parts: ClosingParts) {}

  /** Calling it again waits for the same end. */
  close(): Promise<void> {
    this.done ??= this.closeOnce();
    return this.done;
  }

  /** Writes memory to files, the largest first, as far as the option says: what is left is replayed at the next opening. */
  private async flushBeforeEnd(): Promise<void> {
    const { environment, journal, memory, maintenance } = this.parts;
    const bounds = environment.settings.flushOnClose;
    if (bounds === undefined || journal.poisoned || memory.memstoreBytes() < bounds.minBytes) return;
    const end = performance.now() + bounds.maxMilliseconds;
    for (const place of memory.bySize()) {
      if (performance.now() >= end) return;
      // What fails is told as every flush of the store's own is; the log has the writes.
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
        await this.parts.desk.close();
        await lock.release();
        fileSystem.letGo?.();
      }
    }
  }
}
