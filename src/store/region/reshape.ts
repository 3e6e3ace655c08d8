/**
 * Splits and merges of regions. A split replaces a region by two daughters, which share its files until compactions give each its
 * own (R84). A merge replaces adjacent regions by one, which has the files of all of them.
 */

import { compareBytes, equalBytes, toStringBinary } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import type { MovedCells } from '../commit/commit-queue.js';
import { invariant } from '../environment.js';
import { byAge, type StoreFile } from '../file/store-file.js';
import type { FileLedger } from '../ledger/file-ledger.js';
import type { Journal } from '../ledger/journal.js';
import type { Edit } from '../manifest/index.js';
import type { ChunkPool } from '../memstore/arena.js';
import type { TableState } from '../table-state.js';
import { FamilyStore, Region } from './region.js';

/** The part of the commit queue that it uses. */
interface ReshapeCommits {
  readonly readPoint: number;
  moved(cells: MovedCells): void;
}

/** The parts of the store that splits and merges use. */
interface ReshapeParts {
  readonly journal: Journal;
  readonly ledger: FileLedger;
  readonly chunkPool: ChunkPool;
  readonly commits: ReshapeCommits;
}

/**
 * Splits a region and returns the daughters, which have replaced it. Undefined when it cannot be split: its files hold fewer
 * than two rows. The caller ensures that nothing else changes the files of the region meanwhile.
 * @throws InvalidArgumentError when `splitKey` is not strictly inside the region.
 */
export async function splitRegion(
  parts: ReshapeParts,
  state: TableState,
  region: Region,
  splitKey: Uint8Array | undefined,
): Promise<readonly [Region, Region] | undefined> {
  if (splitKey && (!region.contains(splitKey) || equalBytes(splitKey, region.startKey))) {
    throw new InvalidArgumentError(
      `Split key ${toStringBinary(splitKey)} is not strictly inside the region ` +
        `[${toStringBinary(region.startKey)}, ${toStringBinary(region.endKey)}) of table "${state.name}".`,
      { details: { table: state.name } },
    );
  }
  const middle = splitKey ?? middleRow(region);
  if (!middle) return undefined;
  const ranges = [
    [region.startKey, middle],
    [middle, region.endKey],
  ] as const;
  const daughters = ranges.map(([startKey, endKey]) => daughterOf(parts, region, startKey, endKey));
  await replaceRegions(parts, state, [region], daughters);
  return [daughters[0]!, daughters[1]!];
}

/**
 * Merges `parents`, which are adjacent and in key order, and returns the region that has replaced them. The caller ensures that
 * nothing else changes their files meanwhile, and that no file has rows outside of its region: rows that a compaction dropped
 * for one region would reappear. For each family:
 *
 * C9. No write in memory is older than a flushed write of any of the regions. After a crash the log is replayed from one sequence
 *     number on, which would otherwise lose the older write, or bring back what compactions have dropped.
 */
export async function mergedRegion(
  parts: ReshapeParts,
  state: TableState,
  parents: readonly Region[],
): Promise<Region> {
  const first = parents[0]!;
  const id = parts.journal.manifest.newId();
  const stores = first.stores.map(({ familyNumber, descriptor }, index) => {
    const merged = parents.map(({ stores }) => stores[index]!);
    const flushedSeq = Math.max(...merged.map((store) => store.flushedSeq));
    invariant(() => merged.every((store) => store.oldestUnflushedSeq > flushedSeq), 'C9');
    const files = merged.flatMap((store) => store.version.files).sort((a, b) => byAge(a.entry(), b.entry()));
    return new FamilyStore(id, familyNumber, descriptor, files, flushedSeq, parts.chunkPool);
  });
  const region = new Region(id, state.id, first.startKey, parents.at(-1)!.endKey, stores);
  await replaceRegions(parts, state, parents, [region]);
  return region;
}

async function replaceRegions(
  { ledger, commits }: ReshapeParts,
  state: TableState,
  parents: readonly Region[],
  heirs: readonly Region[],
): Promise<void> {
  try {
    await ledger.publishFiles({
      files: [],
      edits: replacingEdits(state, parents, heirs),
      adopt: () => takePlace(commits, state, parents, heirs),
    });
  } catch (error) {
    for (const heir of heirs) for (const store of heir.stores) store.close();
    throw error;
  }
}

function takePlace(
  commits: ReshapeCommits,
  state: TableState,
  parents: readonly Region[],
  heirs: readonly Region[],
): void {
  // Writes that came while the edit was being synced are only in the memory of the parents.
  const moved: MovedCells = new Map();
  for (const parent of parents)
    for (const heir of heirs) adoptMemstores(parent, heir, commits.readPoint, moved);
  commits.moved(moved);
  state.regions = state.regions.flatMap((each) => {
    if (each === parents[0]) return heirs;
    return parents.includes(each) ? [] : [each];
  });
  for (const parent of parents) {
    parent.retired = true;
    for (const store of parent.stores) store.close();
  }
}

/** Checks regions that are to be merged, and returns them in order. @throws InvalidArgumentError unless they are two or more adjacent regions of the table. */
export function neighbors(state: TableState, given: readonly Region[]): readonly Region[] {
  const first = state.regions.findIndex((region) => given.includes(region));
  const regions = state.regions.slice(first, first + given.length);
  if (given.some((region) => !state.regions.includes(region))) throw regionGone(state, given);
  if (given.length > 1 && regions.every((region) => given.includes(region))) return regions;
  throw new InvalidArgumentError(
    `The regions of table "${state.name}" from ${given.map(({ startKey }) => toStringBinary(startKey)).join(', ')} on are not adjacent, ` +
      'or not two or more different ones. Name adjacent regions, each once.',
    { details: { table: state.name } },
  );
}

/** The error for a merge whose regions another change has replaced. */
export function regionGone(state: TableState, regions: readonly Region[]): InvalidArgumentError {
  return new InvalidArgumentError(
    `A region of table "${state.name}" was split or merged, or its table dropped, during this merge of ${regions.length} regions. ` +
      'Nothing was merged; list the regions again.',
    { details: { table: state.name } },
  );
}

/** The middle row of the largest file, if it is strictly inside the region. */
export function middleRow(region: Region): Uint8Array | undefined {
  let largest: StoreFile | undefined;
  for (const store of region.stores) {
    for (const file of store.version.files) if (!largest || file.size > largest.size) largest = file;
  }
  const row = largest?.reader.middleRow();
  return row && region.contains(row) && compareBytes(row, region.startKey) > 0 ? row : undefined;
}

function daughterOf(
  { journal, chunkPool }: ReshapeParts,
  parent: Region,
  startKey: Uint8Array,
  endKey: Uint8Array,
): Region {
  const id = journal.manifest.newId();
  const stores = parent.stores.map((store) => {
    const files = store.version.files.filter(
      ({ meta }) =>
        compareBytes(meta.lastRow, startKey) >= 0 &&
        (endKey.length === 0 || compareBytes(meta.firstRow, endKey) < 0),
    );
    return new FamilyStore(id, store.familyNumber, store.descriptor, files, store.flushedSeq, chunkPool);
  });
  return new Region(id, parent.table, startKey, endKey, stores);
}

function replacingEdits(state: TableState, parents: readonly Region[], heirs: readonly Region[]): Edit[] {
  const edits: Edit[] = parents.map(({ id }) => ({ type: 'regionRemove', id }));
  for (const { id, startKey, endKey, stores } of heirs) {
    edits.push({ type: 'regionAdd', id, table: state.id, startKey, endKey });
    for (const store of stores) {
      const at = { region: id, family: store.familyNumber };
      for (const file of store.version.files) edits.push({ type: 'fileAdd', ...at, file: file.entry() });
      if (store.flushedSeq >= 0) edits.push({ type: 'flushed', ...at, seq: store.flushedSeq });
    }
  }
  return edits;
}

/** Copies the cells of `heir`'s rows. `moved` records the new positions of cells beyond the read point, which may be rolled back. */
function adoptMemstores(parent: Region, heir: Region, readPoint: number, moved: MovedCells): void {
  parent.stores.forEach((store, index) => {
    const target = heir.stores[index]!.version.active;
    for (const memstore of [...store.version.frozen, store.version.active]) {
      const cursor = memstore.cursor();
      for (let more = cursor.seekToFirst(); more; more = cursor.next()) {
        const row = cursor.key.subarray(cursor.rowOffset, cursor.rowOffset + cursor.rowLength);
        if (!heir.contains(row)) continue;
        const ref = target.add(
          row,
          cursor.key.subarray(cursor.qualifierOffset, cursor.qualifierOffset + cursor.qualifierLength),
          cursor.timestamp,
          cursor.type,
          cursor.seq,
          cursor.ttl,
          cursor.value.subarray(cursor.valueOffset, cursor.valueOffset + cursor.valueLength),
        );
        if (cursor.seq <= readPoint) continue;
        const places = moved.get(memstore) ?? new Map();
        moved.set(memstore, places.set(cursor.ref, { memstore: target, ref }));
      }
    }
  });
}
