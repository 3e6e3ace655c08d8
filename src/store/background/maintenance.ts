/**
 * Flushes, compactions and splits: when each is due, one at a time for a family, and how its outcome becomes part of
 * the store. Every outcome is one edit of the manifest, on the disk before readers see it.
 */

import { RowanError } from '../../errors.js';
import { FOREVER } from '../../table/index.js';
import { selectFiles } from '../compact/policy.js';
import type { WrittenFile } from '../file/file-meta.js';
import type { Edit, FileEntry } from '../manifest/index.js';
import type { Memstore } from '../memstore/memstore.js';
import type { FamilyStore } from '../region/family-store.js';
import type { Region } from '../region/region.js';
import { regionOf } from '../region/region.js';
import { splitRegion } from '../region/split.js';
import { fileEntry, type StoreFile } from '../region/store-file.js';
import type { StoreCore } from '../store-core.js';
import type { TableState } from '../table-state.js';
import { FamilyWork } from './family-work.js';
import type { JobExecutor, JobInput } from './job.js';

/** A family of a region of a table. */
interface Place {
  readonly state: TableState;
  readonly region: Region;
  readonly store: FamilyStore;
}

export class Maintenance {
  /** Work under way, for `drain`. */
  private readonly running = new Set<Promise<unknown>>();
  private readonly work = new FamilyWork();
  /** Families that will be flushed soon. */
  private readonly requested = new Set<FamilyStore>();
  closing = false;

  constructor(
    private readonly core: StoreCore,
    private readonly flushExecutor: JobExecutor,
    private readonly compactionExecutor: JobExecutor,
  ) {}

  /** Flushes a family some time soon; what goes wrong is told to the listener and tried again with the next request. */
  requestFlush(state: TableState, region: Region, store: FamilyStore): void {
    if (this.closing || this.requested.has(store)) return;
    this.requested.add(store);
    this.inBackground('flush', async () => {
      const { pressure } = this.core;
      try {
        await this.flush({ state, region, store });
      } catch (error) {
        this.requested.delete(store);
        pressure.failed(asRowanError('flush', error));
        throw error;
      }
      this.requested.delete(store);
      pressure.relieved();
      this.requestCompaction({ state, region, store });
    });
  }

  /** Removes what is not needed of the log some time soon. */
  requestLogCollection(): void {
    if (!this.closing && this.core.settings.automatic)
      this.inBackground('flush', () => this.core.collectLog());
  }

  /** Writes everything a family has in memory at this moment to files. */
  async flush(place: Place): Promise<void> {
    const { store } = place;
    if (!store.closed) store.freeze();
    const wanted = store.version.frozen;
    // One flush of a family at a time; who comes meanwhile waits, and then sees to what is left.
    while (!store.closed && store.version.frozen.some((memstore) => wanted.includes(memstore))) {
      await this.work.flushOrWait(store, () => this.flushOldest(place));
    }
    if (store.closed) for (const heir of heirs(place)) await this.flush(heir);
  }

  private async flushOldest({ state, region, store }: Place): Promise<void> {
    const core = this.core;
    const memstore = store.version.frozen.at(-1);
    if (!memstore) return;
    const where = { table: state.name, region: region.id, family: store.descriptor.name };
    core.emit({ kind: 'flushBegin', bytes: memstore.bytes, ...where });
    const start = core.now();
    // Nothing may be in a file that a crash could take back from the log.
    await core.commits.settle();
    const fileNo = core.newFileNumber();
    const path = core.filePath(fileNo);
    memstore.retain();
    const { written } = await this.flushExecutor
      .run({
        kind: 'flush',
        path,
        fileNo,
        family: store.descriptor,
        memstore: memstore.share(),
        now: core.now(),
        smallestReadPoint: core.smallestReadPoint(),
      })
      .finally(() => memstore.release());
    await core.recordFile(
      fileNo,
      written,
      store.descriptor,
      flushEdits(region, store, memstore, written),
      (file) => store.flushed(memstore, file),
    );
    store.bytesFlushed += written?.size ?? 0;
    core.emit({
      kind: 'flushEnd',
      file: written ? fileNo : undefined,
      cells: written?.meta.cells ?? 0,
      bytesWritten: written?.size ?? 0,
      milliseconds: core.now() - start,
      ...where,
    });
    core.pressure.relieved();
    await core.collectLog();
  }

  /** Merges some files of a family if the policy finds it worth while. */
  requestCompaction(place: Place): void {
    const { state, region, store } = place;
    if (this.closing || !this.core.settings.automatic || !state.descriptor.compactionEnabled) return;
    if (this.work.isCompacting(store) || region.splitting || store.closed) return;
    this.inBackground('compaction', async () => {
      const merged = await this.compact(place);
      if (merged) this.requestCompaction(place);
      else this.requestSplit(state, region);
    });
  }

  /** As `requestCompaction`, waited for; false when there was nothing to do. */
  async compact(place: Place): Promise<boolean> {
    const { region, store } = place;
    return this.work.compact(store, async () => {
      if (store.closed) return false;
      const dropped = await this.dropExpired(place);
      const files = store.version.files;
      const selection = selectFiles(
        files.map((file) => ({
          size: file.size,
          reference: file.isReference(region.startKey, region.endKey),
        })),
        this.core.settings.compaction,
      );
      if (!selection) return dropped;
      await this.merge(place, files.slice(selection.start, selection.end));
      return true;
    });
  }

  /** Flushes, then merges all files of a family into one and drops what is hidden. */
  async majorCompact(place: Place): Promise<void> {
    const { store } = place;
    await this.flush(place);
    await this.work.compact(store, async () => {
      const files = store.version.files;
      if (!store.closed && files.length > 0) await this.merge(place, files);
    });
    if (store.closed) for (const heir of heirs(place)) await this.majorCompact(heir);
  }

  private async merge(place: Place, files: readonly StoreFile[]): Promise<void> {
    const { state, region, store } = place;
    const core = this.core;
    const major = files.length === store.version.files.length;
    const where = { table: state.name, region: region.id, family: store.descriptor.name };
    const numbers = files.map((file) => file.fileNo);
    core.emit({ kind: 'compactionBegin', files: numbers, major, ...where });
    const start = core.now();
    const fileNo = core.newFileNumber();
    for (const file of files) file.retain();
    try {
      const { written } = await this.compactionExecutor.run({
        kind: 'compaction',
        path: core.filePath(fileNo),
        fileNo,
        family: store.descriptor,
        inputs: files.map((file): JobInput => ({ path: file.path, fileNo: file.fileNo, seq: file.seq })),
        allFiles: major,
        startKey: region.startKey,
        endKey: region.endKey,
        now: core.now(),
        smallestReadPoint: core.smallestReadPoint(),
        timeToPurgeDeletes: core.settings.timeToPurgeDeletes,
      });
      const edits = replacementEdits(region, store, files, written);
      await core.recordFile(fileNo, written, store.descriptor, edits, (file) =>
        store.replaceFiles(files, file ? [file] : []),
      );
      store.bytesCompacted += written?.size ?? 0;
      core.emit({
        kind: 'compactionEnd',
        files: numbers,
        file: written ? fileNo : undefined,
        major,
        bytesRead: files.reduce((sum, each) => sum + each.size, 0),
        bytesWritten: written?.size ?? 0,
        milliseconds: core.now() - start,
        ...where,
      });
    } finally {
      for (const file of files) file.release();
    }
  }

  /** Drops files whose every cell has expired, without reading them (R26). */
  private async dropExpired({ state, region, store }: Place): Promise<boolean> {
    const { ttl, minVersions } = store.descriptor;
    if (ttl === FOREVER || minVersions > 0) return false;
    const oldest = this.core.now() - ttl * 1000;
    const expired = store.version.files.filter((file) => file.isExpired(oldest));
    if (expired.length === 0) return false;
    await this.core.record(replacementEdits(region, store, expired, undefined));
    store.replaceFiles(expired, []);
    this.core.emit({
      kind: 'filesExpired',
      files: expired.map((file) => file.fileNo),
      table: state.name,
      region: region.id,
      family: store.descriptor.name,
    });
    return true;
  }

  private requestSplit(state: TableState, region: Region): void {
    const limit = state.descriptor.maxFileSize ?? this.core.settings.maxFileSize;
    if (this.closing || region.splitting || !state.descriptor.splitEnabled) return;
    if (!region.stores.some((store) => store.fileBytes > limit)) return;
    this.inBackground('split', async () => {
      await this.split(state, region, undefined);
    });
  }

  /** Splits a region at `splitKey`, or at its middle; false when it has none (a single row, or nothing in files). */
  async split(state: TableState, region: Region, splitKey: Uint8Array | undefined): Promise<boolean> {
    if (region.splitting) {
      await region.splitting;
      // Its daughter has the key now.
      const holder = splitKey && !this.closing ? regionOf(state.regions, splitKey) : region;
      return splitKey && !holder.retired ? this.split(state, holder, splitKey) : false;
    }
    let ended!: () => void;
    region.splitting = new Promise((resolve) => (ended = resolve));
    try {
      for (const store of region.stores) {
        await this.flush({ state, region, store });
        await this.work.compacted(store);
      }
      const daughters = await state.changes.run(() =>
        this.exclude(region.stores, async () =>
          region.retired ? undefined : splitRegion(this.core, state, region, splitKey),
        ),
      );
      if (!daughters) return false;
      this.core.emit({
        kind: 'split',
        table: state.name,
        region: region.id,
        daughters: [daughters[0].id, daughters[1].id],
      });
      for (const daughter of daughters) {
        for (const store of daughter.stores) this.requestCompaction({ state, region: daughter, store });
      }
      return true;
    } finally {
      region.splitting = undefined;
      ended();
      this.core.pressure.relieved();
    }
  }

  /** Runs `change` while no flush or compaction of `stores` runs or begins. */
  exclude<T>(stores: readonly FamilyStore[], change: () => Promise<T>): Promise<T> {
    return this.work.exclude(stores, change);
  }

  /** Starts no more work of its own and resolves when what runs has ended. */
  async close(): Promise<void> {
    this.closing = true;
    while (this.running.size > 0) await Promise.allSettled([...this.running]);
    await this.flushExecutor.close();
    await this.compactionExecutor.close();
  }

  /** Resolves when no work that the store began by itself is under way. */
  async drain(): Promise<void> {
    while (this.running.size > 0) await Promise.allSettled([...this.running]);
  }

  private inBackground(work: 'flush' | 'compaction' | 'split', action: () => Promise<void>): void {
    const running = action().catch((cause: unknown) => {
      const error = asRowanError(work, cause);
      if (error.code === 'ERR_CORRUPTION') this.core.emit({ kind: 'corruption', error });
      this.core.emit({ kind: 'backgroundError', work, error });
    });
    this.running.add(running);
    void running.finally(() => this.running.delete(running));
  }
}

function asRowanError(work: string, cause: unknown): RowanError {
  if (cause instanceof RowanError) return cause;
  return new RowanError('ERR_IO', `A ${work} failed: ${String(cause)}`, { cause });
}

/** Where the rows of a family's region are since it was split; nowhere when its table is gone. */
function heirs({ state, region, store }: Place): Place[] {
  const places: Place[] = [];
  for (const each of state.regions) {
    const heir = region.contains(each.startKey) ? each.byFamily.get(store.descriptor.name) : undefined;
    if (heir && !heir.closed && heir.familyNumber === store.familyNumber)
      places.push({ state, region: each, store: heir });
  }
  return places;
}

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
