import { FOREVER } from '../../table/index.js';
import type { CommitQueue } from '../commit/commit-queue.js';
import { invariant, type StoreEnvironment } from '../environment.js';
import type { WrittenFile } from '../file/footer.js';
import { fileEntry, type StoreFile } from '../file/store-file.js';
import type { FileLedger } from '../ledger/file-ledger.js';
import { type Edit, type FileEntry, mergedHistory, type TableHistory } from '../manifest/index.js';
import type { Memstore } from '../memstore/memstore.js';
import type { Retention, ScannerRegistry } from '../read/scanner-registry.js';
import type { FamilyStore, Region } from '../region/region.js';
import type { TableState } from '../table-state.js';
import type { WriteThrottle } from '../write-throttle.js';
import { compactionSettingsOf, selectFiles } from './compaction-policy.js';
import type { Drops } from './drop-watch.js';
import type { CompactionJob, JobExecutor, JobInput, JobResult } from './job.js';

/** A family of one region of a table. */
export interface Place {
  readonly state: TableState;
  readonly region: Region;
  readonly store: FamilyStore;
}

/** The parts of the store that flushes and compactions use. */
export interface FamilyWorkParts {
  readonly environment: StoreEnvironment;
  readonly ledger: FileLedger;
  readonly commits: CommitQueue;
  readonly scanners: ScannerRegistry;
  readonly throttle: WriteThrottle;
  readonly flushExecutor: JobExecutor;
  readonly compactionExecutor: JobExecutor;
}

/**
 * One flush or compaction of a family: chooses its input, writes the new file, and makes it part of the store. Every result is one edit
 * of the MANIFEST, on the disk before readers see it. `Maintenance` decides when each runs. Invariant:
 *
 * C7. A sorted file holds only cells of acknowledged writes. A flush freezes its memstore, so that no further cell is added, and
 *     waits until the commit queue has acknowledged or rolled back every write in it: each cell of a memstore is acknowledged or its
 *     write is in the queue, at every moment. Compactions read sorted files only. The file of a bulk load has the
 *     sequence number of a commit of its own.
 */
export class FamilyWork {
  constructor(
    private readonly parts: FamilyWorkParts,
    private readonly collectLog: () => Promise<void>,
  ) {}

  /**
   * Writes the oldest memstore that is frozen to a file.
   * @returns false where there was nothing to write.
   */
  async flushOldest(place: Place): Promise<boolean> {
    const { state, region, store } = place;
    const { environment, ledger, commits, throttle, flushExecutor } = this.parts;
    const memstore = store.version.frozen.at(-1);
    if (!memstore) return false;
    const where = { table: state.name, region: region.id, family: store.descriptor.name };
    // A file must not hold writes that a crash could remove from the log.
    await commits.awaitDecided();
    invariant(() => memstore.isWithin(commits.readPoint), 'C7');
    if (memstore.size === 0) {
      // All its writes were rolled back: there is nothing to flush.
      store.flushed(memstore, undefined);
      throttle.relieved();
      await this.collectLog();
      return false;
    }
    const fileNo = ledger.draft();
    environment.emit({ kind: 'flushBegin', bytes: memstore.bytes, ...where });
    const start = environment.now();
    memstore.retain();
    const { written, drops } = await flushExecutor
      .run({
        kind: 'flush',
        path: ledger.path(fileNo),
        fileNo,
        family: store.descriptor,
        memstore: memstore.share(),
        ...this.retention(),
      })
      .catch((error: unknown) => {
        ledger.discard(fileNo);
        throw error;
      })
      .finally(() => memstore.release());
    if (!written) ledger.discard(fileNo);
    const history = this.historyAfter(place, fileNo, drops);
    await ledger.publishFiles({
      files: written ? [{ written, family: store.descriptor }] : [],
      edits: [...flushEdits(region, store, memstore, written), ...historyEdits(state, history)],
      adopt: ([file]) => {
        store.flushed(memstore, file);
        state.history = mergedHistory(state.history, history);
      },
    });
    store.bytesFlushed += written?.size ?? 0;
    environment.emit({
      kind: 'flushEnd',
      file: written ? fileNo : undefined,
      cells: written?.meta.cells ?? 0,
      bytesWritten: written?.size ?? 0,
      milliseconds: environment.now() - start,
      ...where,
    });
    throttle.relieved();
    await this.collectLog();
    return true;
  }

  /** The files to compact next; those that are shared with another region come first. */
  selectedFiles({ state, region: { startKey, endKey }, store }: Place): readonly StoreFile[] {
    const { files } = store.version;
    const configuration = { ...state.descriptor.configuration, ...store.descriptor.configuration };
    const selection = selectFiles(
      files.map((file) => ({ size: file.size, reference: file.isReference(startKey, endKey) })),
      compactionSettingsOf(this.parts.environment.settings.compaction, configuration),
    );
    return selection === undefined ? [] : files.slice(selection.start, selection.end);
  }

  /** Writes one file in place of several: a major compaction ({@link CompactionJob.major}), whenever it can be one. */
  async compactFiles(place: Place, files: readonly StoreFile[]): Promise<void> {
    const { state, region, store } = place;
    const { environment, ledger } = this.parts;
    // A delete marker may be dropped only if everything that it could hide is merged with it: nothing older is in another file,
    // nor in memory, where writes older than a bulk-loaded file may be.
    const major = files.length === store.version.files.length && store.filesAreOldest;
    const where = { table: state.name, region: region.id, family: store.descriptor.name };
    const numbers = files.map((file) => file.fileNo);
    const fileNo = ledger.draft();
    environment.emit({ kind: 'compactionBegin', files: numbers, major, ...where });
    const start = environment.now();
    for (const file of files) file.retain();
    try {
      const { written, drops } = await this.runCompaction(place, files, fileNo, major);
      const history = this.historyAfter(place, fileNo, drops, files);
      let later = history;
      await ledger.publishFiles({
        files: written ? [{ written, family: store.descriptor }] : [],
        edits: [...replacementEdits(region, store, files, written), ...historyEdits(state, history)],
        adopt: (added) => {
          // Puts were written meanwhile.
          if (history.lastLoss === undefined) later = this.historyAfter(place, fileNo, drops, files);
          store.replaceFiles(files, added);
          state.history = mergedHistory(state.history, later);
        },
      });
      if (later.lastLoss !== history.lastLoss)
        await ledger.publishFiles({ files: [], edits: historyEdits(state, later), adopt: () => {} });
      store.bytesCompacted += written?.size ?? 0;
      environment.emit({
        kind: 'compactionEnd',
        files: numbers,
        file: written ? fileNo : undefined,
        major,
        bytesRead: files.reduce((sum, each) => sum + each.size, 0),
        bytesWritten: written?.size ?? 0,
        milliseconds: environment.now() - start,
        ...where,
      });
    } finally {
      for (const file of files) file.release();
      ledger.discard(fileNo);
    }
  }

  private async runCompaction(
    { region, store }: Place,
    files: readonly StoreFile[],
    fileNo: number,
    major: boolean,
  ): Promise<JobResult> {
    const { environment, ledger, compactionExecutor } = this.parts;
    return compactionExecutor.run({
      kind: 'compaction',
      path: ledger.path(fileNo),
      fileNo,
      family: store.descriptor,
      inputs: files.map((file): JobInput => ({ path: file.path, fileNo: file.fileNo, seq: file.seq })),
      inputBytes: files.reduce((sum, { size }) => sum + size, 0),
      major,
      startKey: region.startKey,
      endKey: region.endKey,
      ...this.retention(),
      timeToPurgeDeletes: environment.settings.timeToPurgeDeletes,
    });
  }

  /**
   * What a flush or compaction adds to the history of its table. Puts that it has dropped are a loss where single versions are deleted:
   * the ones that were newer may be those. So are markers that hid puts which the compaction has not merged: a copy hides those for ever.
   */
  private historyAfter(
    { state, store }: Place,
    fileNo: number,
    { isLoss, markers: droppedMarkers, ...drops }: Drops,
    merged: readonly StoreFile[] = [],
  ): TableHistory {
    const { environment } = this.parts;
    const versionDeletes = Math.max(state.history.versionDeletes, drops.versionDeletes);
    const mayReappear =
      versionDeletes > 0 &&
      (drops.versionDeletes > 0 || store.version.files.some(({ meta }) => meta.deletes > 0));
    const uncovers = droppedMarkers !== undefined && hasPutsUntil(store, droppedMarkers.until, merged);
    if (!isLoss && !uncovers && !(drops.hasPuts && mayReappear)) return { droppedMarkers, versionDeletes };
    const random = Math.floor(environment.settings.random() * 0x100000000);
    return { droppedMarkers, versionDeletes, lastLoss: `${fileNo}-${environment.now()}-${random}` };
  }

  /**
   * Drops files in which every cell has expired, without reading them (R26).
   * @returns whether there were any.
   */
  async dropExpired({ state, region, store }: Place): Promise<boolean> {
    const { environment, ledger } = this.parts;
    const { ttl, minVersions } = store.descriptor;
    if (ttl === FOREVER || minVersions > 0) return false;
    const oldest = this.retention().now - ttl * 1000;
    const expired = store.version.files.filter((file) => file.isExpired(oldest));
    if (expired.length === 0) return false;
    await ledger.publishFiles({
      files: [],
      edits: replacementEdits(region, store, expired, undefined),
      adopt: () => store.replaceFiles(expired, []),
    });
    environment.emit({
      kind: 'filesExpired',
      files: expired.map((file) => file.fileNo),
      table: state.name,
      region: region.id,
      family: store.descriptor.name,
    });
    return true;
  }

  private retention(): Retention {
    const { scanners, commits, environment } = this.parts;
    return scanners.retention(commits.readPoint, environment.now());
  }
}

// — The MANIFEST edits of flushes and compactions.

function flushEdits(
  region: Region,
  store: FamilyStore,
  memstore: Memstore,
  written: WrittenFile | undefined,
): Edit[] {
  const at = { region: region.id, family: store.familyNumber };
  const edits: Edit[] = [{ type: 'flushed', ...at, seq: memstore.maxSeq }];
  if (written) edits.push({ type: 'fileAdd', ...at, file: entryOf(written) });
  return edits;
}

/** The edit of a table whose history changes. */
function historyEdits({ id, history }: TableState, added: TableHistory): Edit[] {
  const { lastLoss, droppedMarkers, versionDeletes } = added;
  const isKnown = versionDeletes === history.versionDeletes && droppedMarkers === undefined;
  return isKnown && lastLoss === undefined ? [] : [{ type: 'tableAlter', id, history: added }];
}

/** Whether the family has puts up to a timestamp in memory, or in other files than these. */
function hasPutsUntil({ version }: FamilyStore, timestamp: number, except: readonly StoreFile[]): boolean {
  const { active, frozen, files } = version;
  return (
    [active, ...frozen].some(({ earliestPut }) => earliestPut <= timestamp) ||
    files.some((file) => !except.includes(file) && file.meta.earliestPutTimestamp <= timestamp)
  );
}

function replacementEdits(
  region: Region,
  store: FamilyStore,
  removed: readonly StoreFile[],
  written: WrittenFile | undefined,
): Edit[] {
  const at = { region: region.id, family: store.familyNumber };
  const edits: Edit[] = removed.map((file) => ({ type: 'fileRemove', ...at, number: file.fileNo }));
  if (written) edits.push({ type: 'fileAdd', ...at, file: entryOf(written) });
  return edits;
}

function entryOf({ meta, size, footerCrc }: WrittenFile): FileEntry {
  return fileEntry(meta, size, footerCrc, undefined);
}
