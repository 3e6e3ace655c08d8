/** Splits a region: two daughters that share the parent's files until compactions give each its own (R84). */

import { compareBytes, equalBytes, toStringBinary } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import type { MovedCells } from '../commit/written-cells.js';
import type { FileLedger } from '../ledger/file-ledger.js';
import type { Journal } from '../ledger/journal.js';
import type { Edit } from '../manifest/index.js';
import type { ChunkPool } from '../memstore/arena.js';
import type { TableState } from '../table-state.js';
import { FamilyStore } from './family-store.js';
import { Region } from './region.js';
import type { StoreFile } from './store-file.js';

/** What the queue of writes is told of a split. */
export interface SplitCommits {
  readonly readPoint: number;
  moved(cells: MovedCells): void;
}

/** The parts of the store that a split has to do with. */
export interface SplitParts {
  readonly journal: Journal;
  readonly ledger: FileLedger;
  readonly chunkPool: ChunkPool;
  readonly commits: SplitCommits;
}

/**
 * The daughters, already in the place of `region`; undefined when it cannot be split: it has no files, or one row only.
 * Nothing else may change the files of the region meanwhile.
 * @throws InvalidArgumentError when `splitKey` is not strictly inside the region.
 */
export async function splitRegion(
  parts: SplitParts,
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
  try {
    await parts.ledger.publishFiles({
      files: [],
      edits: splitEdits(state, region, daughters),
      adopt: () => takePlace(parts.commits, state, region, daughters),
    });
  } catch (error) {
    for (const daughter of daughters) for (const store of daughter.stores) store.close();
    throw error;
  }
  return [daughters[0]!, daughters[1]!];
}

function takePlace(
  commits: SplitCommits,
  state: TableState,
  parent: Region,
  daughters: readonly Region[],
): void {
  // Writes that came while the edit was on its way to the disk are in the parent's memory only.
  const moved: MovedCells = new Map();
  for (const daughter of daughters) adoptMemstores(parent, daughter, commits.readPoint, moved);
  commits.moved(moved);
  state.regions = state.regions.flatMap((each) => (each === parent ? daughters : [each]));
  parent.retired = true;
  for (const store of parent.stores) store.close();
}

/** The middle of the largest file, if it is strictly inside the region. */
function middleRow(region: Region): Uint8Array | undefined {
  let largest: StoreFile | undefined;
  for (const store of region.stores) {
    for (const file of store.version.files) if (!largest || file.size > largest.size) largest = file;
  }
  const row = largest?.reader.middleRow();
  return row && region.contains(row) && compareBytes(row, region.startKey) > 0 ? row : undefined;
}

function daughterOf(
  { journal, chunkPool }: SplitParts,
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

function splitEdits(state: TableState, parent: Region, daughters: readonly Region[]): Edit[] {
  const edits: Edit[] = [{ type: 'regionRemove', id: parent.id }];
  for (const { id, startKey, endKey, stores } of daughters) {
    edits.push({ type: 'regionAdd', id, table: state.id, startKey, endKey });
    for (const store of stores) {
      const at = { region: id, family: store.familyNumber };
      for (const file of store.version.files) edits.push({ type: 'fileAdd', ...at, file: file.entry() });
      if (store.flushedSeq >= 0) edits.push({ type: 'flushed', ...at, seq: store.flushedSeq });
    }
  }
  return edits;
}

/** `moved` is told where the cells behind the read point are now: they may have to be taken back. */
function adoptMemstores(parent: Region, daughter: Region, readPoint: number, moved: MovedCells): void {
  parent.stores.forEach((store, index) => {
    const target = daughter.stores[index]!.version.active;
    for (const memstore of [...store.version.frozen, store.version.active]) {
      const cursor = memstore.cursor();
      for (let more = cursor.seekToFirst(); more; more = cursor.next()) {
        const row = cursor.key.subarray(cursor.rowOffset, cursor.rowOffset + cursor.rowLength);
        if (!daughter.contains(row)) continue;
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
