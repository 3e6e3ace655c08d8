import { RowanError } from '../../errors.js';
import type { Journal } from '../ledger/journal.js';
import type { ChunkPool } from '../memstore/arena.js';
import { type FamilyStore, type Region, regionOf } from '../region/region.js';
import { mergedRegion, neighbors, regionGone, splitRegion } from '../region/reshape.js';
import type { TableState } from '../table-state.js';
import { FamilyWork, type FamilyWorkParts, type Place } from './family-work.js';
import type { MaintenanceLocks } from './maintenance-locks.js';

/** The parts of the store that maintenance uses. */
interface MaintenanceParts extends FamilyWorkParts {
  readonly journal: Journal;
  readonly locks: MaintenanceLocks;
  readonly chunkPool: ChunkPool;
}

/**
 * Flushes, compactions, splits and merges of regions: decides when each is due, and runs at most one of a kind for a family.
 * {@link FamilyWork} does the flushes and compactions, `region/reshape.ts` changes the regions.
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
  /**
   * Recovery has not read all of the log yet. Only flushes are done meanwhile: memory does not tell which segments of the log are
   * needed, nor what delete markers hide.
   */
  recovering = false;
  private readonly families: FamilyWork;

  constructor(
    private readonly parts: MaintenanceParts,
    private readonly collectLog: () => Promise<void>,
  ) {
    this.families = new FamilyWork(parts, async () => {
      if (!this.recovering) await collectLog();
    });
  }

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
        throttle.failed(backgroundError('flush', error));
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

  private async flushOldest(place: Place): Promise<void> {
    if (await this.families.flushOldest(place)) this.filesChanged(place);
  }

  /**
   * Called when the files of a family have changed: compacts some of them while the policy selects any, then splits the region if it
   * is too large. Called by everything that adds files, and when the store is opened, for work that was not done
   * before it was closed.
   */
  filesChanged(place: Place): void {
    const { state, region, store } = place;
    const isOff = this.closing || this.recovering || !this.parts.environment.settings.automatic;
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
      const dropped = await this.families.dropExpired(place);
      const selected = this.families.selectedFiles(place);
      if (selected.length === 0) return dropped;
      await this.families.compactFiles(place, selected);
      return true;
    });
  }

  /** Flushes, then compacts all files of a family into one and drops what is hidden. */
  async majorCompact(place: Place): Promise<void> {
    const { store } = place;
    await this.flush(place);
    await this.parts.locks.compact(store, async () => {
      // A bulk load may have overtaken a write that was in memory already.
      while (!store.closed && !store.filesAreOldest) await this.flush(place);
      const files = store.version.files;
      if (!store.closed && files.length > 0) await this.families.compactFiles(place, files);
    });
    if (store.closed) for (const heir of heirs(place)) await this.majorCompact(heir);
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
      while (hasSharedFiles(place))
        await this.families.compactFiles(place, this.families.selectedFiles(place));
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
      const error = backgroundError(work, cause);
      if (error.code === 'ERR_CORRUPTION') environment.emit({ kind: 'corruption', error });
      environment.emit({ kind: 'backgroundError', work, error });
    });
    this.running.add(running);
    void running.finally(() => this.running.delete(running));
    return running;
  }
}

/** What the listener gets of a failure. */
function backgroundError(work: string, cause: unknown): RowanError {
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
