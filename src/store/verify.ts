/** Checks a whole store: every byte of its files, and the invariants that tie files, regions and the log together. */

import { compareBytes, toStringBinary } from '../bytes/index.js';
import { CorruptionError } from '../errors.js';
import { verifySortedFile } from './file/index.js';
import type { Region } from './region/region.js';
import type { StoreCore } from './store-core.js';
import type { TableState } from './table-state.js';

export interface VerifyReport {
  readonly tables: number;
  readonly regions: number;
  readonly files: number;
  readonly cells: number;
  readonly bytes: number;
}

/** @throws CorruptionError for the first thing that is wrong. */
export async function verifyStore(core: StoreCore): Promise<VerifyReport> {
  const seen = new Set<number>();
  let regions = 0;
  let cells = 0;
  let bytes = 0;
  let tables = 0;
  for (const state of [...core.catalog.tables()]) {
    tables++;
    checkRegions(state);
    for (const region of state.regions) {
      regions++;
      for (const store of region.stores) {
        const version = store.version.retain();
        try {
          for (const file of version.files) {
            checkInRegion(state, region, file.path, file.meta.firstRow, file.meta.lastRow);
            if (seen.has(file.fileNo)) continue;
            seen.add(file.fileNo);
            cells += verifySortedFile(file.reader).cells;
            bytes += file.size;
            await new Promise((resolve) => setImmediate(resolve));
          }
        } finally {
          version.release();
        }
      }
    }
  }
  return { tables, regions, files: seen.size, cells, bytes };
}

/** Regions follow one another from the beginning to the end. */
function checkRegions(state: TableState): void {
  let expected: Uint8Array = new Uint8Array(0);
  state.regions.forEach((region, index) => {
    const last = index === state.regions.length - 1;
    if (compareBytes(region.startKey, expected) !== 0 || (region.endKey.length === 0) !== last) {
      throw new CorruptionError(
        `Table "${state.name}": region ${region.id} begins at ${toStringBinary(region.startKey)} where ` +
          `${toStringBinary(expected)} should be, or ends wrongly. Restore the store from a copy.`,
        { details: { table: state.name } },
      );
    }
    expected = region.endKey;
  });
}

function checkInRegion(
  state: TableState,
  region: Region,
  path: string,
  firstRow: Uint8Array,
  lastRow: Uint8Array,
): void {
  const outside =
    compareBytes(lastRow, region.startKey) < 0 ||
    (region.endKey.length > 0 && compareBytes(firstRow, region.endKey) >= 0);
  if (!outside) return;
  throw new CorruptionError(
    `Table "${state.name}": no row of "${path}" is in its region ${region.id}. Restore the store from a copy.`,
    { details: { table: state.name, file: path } },
  );
}
