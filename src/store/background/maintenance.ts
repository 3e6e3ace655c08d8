import { RowanError } from '../../errors.js';
import { FOREVER } from '../../table/index.js';
import type { CommitQueue } from '../commit/commit-queue.js';
import { invariant, type StoreEnvironment } from '../environment.js';
import type { WrittenFile } from '../file/footer.js';
import { fileEntry, type StoreFile } from '../file/store-file.js';
import type { FileLedger } from '../ledger/file-ledger.js';
import type { Journal } from '../ledger/journal.js';
import type { Edit, FileEntry } from '../manifest/index.js';
import type { ChunkPool } from '../memstore/arena.js';
import type { Memstore } from '../memstore/memstore.js';
import type { Retention, ScannerRegistry } from '../read/table-scanner.js';
import { type FamilyStore, type Region, regionOf } from '../region/region.js';
import { mergedRegion, neighbors, regionGone, splitRegion } from '../region/reshape.js';
import type { TableState } from '../table-state.js';
import type { WriteThrottle } from '../write-throttle.js';
import { compactionSettingsOf, selectFiles } from './compaction-policy.js';
import type { JobExecutor, JobInput } from './job.js';
import type { MaintenanceLocks } from './maintenance-locks.js';

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

/** A family of one region of a table. */
interface Place {
  readonly state: TableState;
  readonly region: Region;
  readonly store: FamilyStore;
}

/** The parts of the store that maintenance uses. */
interface MaintenanceParts {
  readonly environment: StoreEnvironment;
  readonly journal: Journal;
  readonly ledger: FileLedger;
  readonly commits: CommitQueue;
  readonly scanners: ScannerRegistry;
  readonly throttle: WriteThrottle;
  readonly locks: MaintenanceLocks;
  readonly chunkPool: ChunkPool;
  readonly flushExecutor: JobExecutor;
  readonly compactionExecutor: JobExecutor;
}

/**
 * Flushes, compactions, splits and merges of regions: decides when each is due, runs at most one of a kind for a family, and makes
 * its result part of the store. Every result is one edit of the MANIFEST, on the disk before readers see it. Invariant:
 *
 * C7. A sorted file holds only cells of acknowledged writes. A flush freezes its memstore, so that no further cell is added, and
 *     waits until the commit queue has acknowledged or rolled back every write in it: each cell of a memstore is acknowledged or its
 *     write is in the queue, at every moment. Compactions read sorted files only. The file of a bulk load has the
 *     sequence number of a commit of its own.
 */
export class Maintenance {
  /** Background work in progress, for `drain`. */
  private readonly running = new Set<Promise<unknown>>();
  /** Families for which a flush is requested. */
  private readonly requested = new Set<FamilyStore>();
  /** Families whose files have changed since the policy last examined them. */
  private readonly changed = new Set<FamilyStore>();
  /** Families that {@link filesChanged} is examining or compacting. */
  private readonly compacting = new Set<FamilyStore>();
  private closing = false;

  constructor(
    private readonly parts: MaintenanceParts,
    private readonly collectLog: () => Promise<void>,
  ) {}

  /** Flushes a family in the background. A failure is reported to the listener; the next request tries again. */
  requestFlush(state: TableState, region: Region, store: FamilyStore): void {
    if (this.closing || this.requested.has(store)) return;
    this.requested.add(store);
    void this.inBackground('flush', async () => {
      const { throttle } = this.parts;
      try {
        await this.flush({ state, region, store });
      } catch (error) {
        this.requested.delete(store);
        throttle.failed(asRowanError('flush', error));
        throw error;
      }
      this.requested.delete(store);
      throttle.relieved();
    });
  }

  /** Removes unneeded log segments in the background. */
  requestLogCollection(): void {
    if (!this.closing && this.parts.environment.settings.automatic)
      void this.inBackground('flush', () => this.collectLog());
  }

  /** Like `flush`, but a failure is only reported to the listener. */
  async flushQuietly(place: Place): Promise<void> {
    await this.inBackground('flush', () => this.flush(place));
  }

  /** Writes everything that a family has in memory at this moment to files. */
  async flush(place: Place): Promise<void> {
    const { store } = place;
    if (!store.closed) store.freeze();
    const wanted = store.version.frozen;
    // One flush of a family at a time. Callers that come meanwhile wait, and then flush what is left.
    while (!store.closed && store.version.frozen.some((memstore) => wanted.includes(memstore))) {
      await this.parts.locks.flushOrWait(store, () => this.flushOldest(place));
    }
    if (store.closed) for (const heir of heirs(place)) await this.flush(heir);
  }

  private async flushOldest({ state, region, store }: Place): Promise<void> {
    const { environment, ledger, commits } = this.parts;
    const memstore = store.version.frozen.at(-1);
    if (!memstore) return;
    const where = { table: state.name, region: region.id, family: store.descriptor.name };
    // A file must not hold writes that a crash could remove from the log.
    await commits.awaitDecided();
    invariant(() => memstore.isWithin(commits.readPoint), 'C7');
    if (memstore.size === 0) {
      // All its writes were rolled back: there is nothing to flush.
      store.flushed(memstore, undefined);
      this.parts.throttle.relieved();
      return this.collectLog();
    }
    const fileNo = ledger.draft();
    environment.emit({ kind: 'flushBegin', bytes: memstore.bytes, ...where });
    const start = environment.now();
    memstore.retain();
    const written = await this.parts.flushExecutor
      .run({
        kind: 'flush',
        path: ledger.path(fileNo),
        fileNo,
        family: store.descriptor,
        memstore: memstore.share(),
        ...this.retention(),
      })
      .then(
        (result) => result.written,
        (error) => {
          ledger.discard(fileNo);
          throw error;
        },
      )
      .finally(() => memstore.release());
    if (!written) ledger.discard(fileNo);
    await ledger.publishFiles({
      files: written ? [{ written, family: store.descriptor }] : [],
      edits: flushEdits(region, store, memstore, written),
      adopt: ([file]) => store.flushed(memstore, file),
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
    this.parts.throttle.relieved();
    await this.collectLog();
    this.filesChanged({ state, region, store });
  }

  /**
   * Called when the files of a family have changed: compacts some of them while the policy selects any, then splits the region if it
   * is too large. Called by everything that adds files, and when the store is opened, for work that was not done
   * before it was closed.
   */
  filesChanged(place: Place): void {
    const { state, region, store } = place;
    const isOff = this.closing || !this.parts.environment.settings.automatic;
    if (isOff || region.reshaping || store.closed || store.version.files.length === 0) return;
    this.changed.add(store);
    if (this.compacting.has(store)) return;
    this.compacting.add(store);
    void this.inBackground('compaction', async () => {
      try {
        // One round for all changes that happen during a round.
        while (this.changed.delete(store) && state.descriptor.compactionEnabled) {
          while (!this.closing && (await this.compact(place)));
        }
      } finally {
        this.compacting.delete(store);
        this.changed.delete(store);
      }
      this.requestSplit(state, region);
    });
  }

  /** Like {@link filesChanged}, for every family of these tables. */
  allFilesChanged(tables: Iterable<TableState>): void {
    for (const state of tables) this.regionsChanged(state, state.regions);
  }

  /** Compacts the files that the policy selects, once; false when there was nothing to do. */
  async compact(place: Place): Promise<boolean> {
    const { store } = place;
    return this.parts.locks.compact(store, async () => {
      if (store.closed) return false;
      const dropped = await this.dropExpired(place);
      const selected = this.selectedFiles(place);
      if (selected.length === 0) return dropped;
      await this.compactFiles(place, selected);
      return true;
    });
  }

  /** The files to compact next; those that are shared with another region come first. */
  private selectedFiles({ state, region: { startKey, endKey }, store }: Place): readonly StoreFile[] {
    const { files } = store.version;
    const configuration = { ...state.descriptor.configuration, ...store.descriptor.configuration };
    const selection = selectFiles(
      files.map((file) => ({ size: file.size, reference: file.isReference(startKey, endKey) })),
      compactionSettingsOf(this.parts.environment.settings.compaction, configuration),
    );
    return selection === undefined ? [] : files.slice(selection.start, selection.end);
  }

  /** Flushes, then compacts all files of a family into one and drops what is hidden. */
  async majorCompact(place: Place): Promise<void> {
    const { store } = place;
    await this.flush(place);
    await this.parts.locks.compact(store, async () => {
      // A bulk load may have overtaken a write that was in memory already.
      while (!store.closed && !store.filesAreOldest) await this.flush(place);
      const files = store.version.files;
      if (!store.closed && files.length > 0) await this.compactFiles(place, files);
    });
    if (store.closed) for (const heir of heirs(place)) await this.majorCompact(heir);
  }

  /** Writes one file in place of several. It is a major compaction if no other file and no older write is left. */
  private async compactFiles(place: Place, files: readonly StoreFile[]): Promise<void> {
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
      const written = await this.runCompaction(place, files, fileNo, major);
      await ledger.publishFiles({
        files: written ? [{ written, family: store.descriptor }] : [],
        edits: replacementEdits(region, store, files, written),
        adopt: (added) => store.replaceFiles(files, added),
      });
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
  ): Promise<WrittenFile | undefined> {
    const { environment, ledger, compactionExecutor } = this.parts;
    const { written } = await compactionExecutor.run({
      kind: 'compaction',
      path: ledger.path(fileNo),
      fileNo,
      family: store.descriptor,
      inputs: files.map((file): JobInput => ({ path: file.path, fileNo: file.fileNo, seq: file.seq })),
      inputBytes: files.reduce((sum, { size }) => sum + size, 0),
      allFiles: major,
      startKey: region.startKey,
      endKey: region.endKey,
      ...this.retention(),
      timeToPurgeDeletes: environment.settings.timeToPurgeDeletes,
    });
    return written;
  }

  /** Drops files in which every cell has expired, without reading them (R26). */
  private async dropExpired({ state, region, store }: Place): Promise<boolean> {
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

  private requestSplit(state: TableState, region: Region): void {
    const limit = state.descriptor.maxFileSize ?? this.parts.environment.settings.maxFileSize;
    if (this.closing || region.reshaping || !state.descriptor.splitEnabled) return;
    if (!region.stores.some((store) => store.fileBytes > limit)) return;
    void this.inBackground('split', async () => {
      await this.split(state, region, undefined);
    });
  }

  /** Splits a region at `splitKey`, or at its middle; false when it has no middle (a single row, or nothing in files). */
  async split(state: TableState, region: Region, splitKey: Uint8Array | undefined): Promise<boolean> {
    const outcome = await this.reshape([region], async () => {
      for (const store of region.stores) {
        await this.flush({ state, region, store });
        await this.parts.locks.compacted(store);
      }
      const daughters = await state.changes.run(() =>
        this.parts.locks.runExclusive(region.stores, async () =>
          region.retired ? 'retired' : splitRegion(this.parts, state, region, splitKey),
        ),
      );
      if (daughters === undefined || daughters === 'retired') return daughters;
      this.parts.environment.emit({
        kind: 'split',
        table: state.name,
        region: region.id,
        daughters: [daughters[0].id, daughters[1].id],
      });
      return daughters;
    });
    if (outcome === 'retired') {
      // Another region has the key now.
      const holder = splitKey && !this.closing ? regionOf(state.regions, splitKey) : region;
      return splitKey && !holder.retired ? this.split(state, holder, splitKey) : false;
    }
    this.regionsChanged(state, outcome ?? []);
    return outcome !== undefined;
  }

  /**
   * Merges adjacent regions.
   * @throws InvalidArgumentError when they are not adjacent, or one of them was split or merged meanwhile.
   */
  async mergeRegions(state: TableState, given: readonly Region[]): Promise<void> {
    const regions = neighbors(state, given);
    const merged = await this.reshape(regions, async () => {
      // Most of the work, without blocking other work on these regions.
      for (const place of placesOf(state, regions))
        while (hasSharedFiles(place)) if (!(await this.compact(place))) break;
      return state.changes.run(async () => {
        const places = placesOf(state, regions);
        const stores = places.map(({ store }) => store);
        return this.parts.locks.runExclusive(stores, async () => {
          if (regions.some((region) => region.retired)) return 'retired';
          await this.prepareRegionMerge(places);
          return mergedRegion(this.parts, state, regions);
        });
      });
    });
    if (merged === 'retired') throw regionGone(state, regions);
    this.parts.environment.emit({
      kind: 'regionsMerged',
      table: state.name,
      regions: regions.map(({ id }) => id),
      region: merged.id,
    });
    this.regionsChanged(state, [merged]);
  }

  /**
   * Flushes what the families have in memory at one moment (C9), and compacts shared files. Called while no other flush or
   * compaction of the families runs.
   */
  private async prepareRegionMerge(places: readonly Place[]): Promise<void> {
    for (const { store } of places) store.freeze();
    const frozen = places.map(({ store }) => store.version.frozen);
    for (const [index, place] of places.entries()) {
      const { store } = place;
      while (store.version.frozen.some((memstore) => frozen[index]!.includes(memstore)))
        await this.flushOldest(place);
      while (hasSharedFiles(place)) await this.compactFiles(place, this.selectedFiles(place));
    }
  }

  /**
   * Runs a split or merge when no other of these regions runs. Returns 'retired' without running it if one of them no longer exists.
   */
  private async reshape<T>(regions: readonly Region[], change: () => Promise<T>): Promise<T | 'retired'> {
    for (let busy = reshaped(regions); busy !== undefined; busy = reshaped(regions)) await busy.reshaping;
    if (regions.some((region) => region.retired)) return 'retired';
    let ended!: () => void;
    const reshaping = new Promise<void>((resolve) => (ended = resolve));
    for (const region of regions) region.reshaping = reshaping;
    try {
      return await change();
    } finally {
      for (const region of regions) region.reshaping = undefined;
      ended();
      this.parts.throttle.relieved();
    }
  }

  private regionsChanged(state: TableState, regions: readonly Region[]): void {
    for (const place of placesOf(state, regions)) this.filesChanged(place);
  }

  private retention(): Retention {
    const { scanners, commits, environment } = this.parts;
    return scanners.retention(commits.readPoint, environment.now());
  }

  /** Starts no more automatic work; requested work is still done. */
  end(): void {
    this.closing = true;
  }

  /** Waits for running work, and accepts no more. */
  async close(): Promise<void> {
    this.end();
    await this.drain();
    await this.parts.flushExecutor.close();
    await this.parts.compactionExecutor.close();
  }

  /** Resolves when no automatic work is in progress. */
  async drain(): Promise<void> {
    while (this.running.size > 0) await Promise.allSettled([...this.running]);
  }

  private inBackground(work: 'flush' | 'compaction' | 'split', action: () => Promise<void>): Promise<void> {
    const running = action().catch((cause: unknown) => {
      const { environment } = this.parts;
      const error = asRowanError(work, cause);
      if (error.code === 'ERR_CORRUPTION') environment.emit({ kind: 'corruption', error });
      environment.emit({ kind: 'backgroundError', work, error });
    });
    this.running.add(running);
    void running.finally(() => this.running.delete(running));
    return running;
  }
}

function asRowanError(work: string, cause: unknown): RowanError {
  if (cause instanceof RowanError) return cause;
  return new RowanError('ERR_IO', `A ${work} failed: ${String(cause)}`, { cause });
}

/** Where the rows of a family's region are since it was split or merged; empty when its table was dropped. */
function heirs({ state, region, store }: Place): Place[] {
  const places: Place[] = [];
  for (const each of state.regions) {
    const heir = region.overlaps(each) ? each.byFamily.get(store.descriptor.name) : undefined;
    if (heir && !heir.closed && heir.familyNumber === store.familyNumber)
      places.push({ state, region: each, store: heir });
  }
  return places;
}

function placesOf(state: TableState, regions: readonly Region[]): Place[] {
  return regions.flatMap((region) => region.stores.map((store) => ({ state, region, store })));
}

function reshaped(regions: readonly Region[]): Region | undefined {
  return regions.find(({ reshaping }) => reshaping !== undefined);
}

/** Whether a file of the family has rows of another region. */
function hasSharedFiles({ region: { startKey, endKey }, store }: Place): boolean {
  return !store.closed && store.version.files.some((file) => file.isReference(startKey, endKey));
}
