/** Verifies a whole store: every byte of its files, and the invariants between files, regions and the log. */

import { compareBytes, toStringBinary } from '../../bytes/index.js';
import { CorruptionError } from '../../errors.js';
import { verifySteps } from '../file/verify-file.js';
import type { Region, StoreFile, StoreVersion } from '../region/region.js';
import type { TableState } from '../table-state.js';

export interface VerifyReport {
  readonly tables: number;
  readonly regions: number;
  readonly files: number;
  readonly cells: number;
  readonly bytes: number;
}

/** The parts of a store that are verified. */
interface VerifiedStore {
  readonly catalog: { tables(): Iterable<TableState> };
  readonly lifecycle: {
    /** @throws ClosedError when the store was closed. */
    checkOpen(): void;
  };
}

/** @throws CorruptionError for the first fault. */
export async function verifyStore(core: VerifiedStore): Promise<VerifyReport> {
  const seen = new Set<number>();
  let cells = 0;
  let bytes = 0;
  const { tables, regions, held } = retainAll(core);
  try {
    for (const { state, region, version } of held) {
      for (const file of version.files) {
        checkInRegion(state, region, file.path, file.meta.firstRow, file.meta.lastRow);
        if (seen.has(file.fileNo)) continue;
        seen.add(file.fileNo);
        cells += await verifyInTurns(file, core);
        bytes += file.size;
      }
    }
  } finally {
    for (const { version } of held) version.release();
  }
  return { tables, regions, files: seen.size, cells, bytes };
}

/** Verifies a file, and returns the number of its cells. */
async function verifyInTurns({ reader }: StoreFile, core: VerifiedStore): Promise<number> {
  const steps = verifySteps(reader);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value.cells;
    await new Promise((resolve) => setImmediate(resolve));
    core.lifecycle.checkOpen();
  }
}

interface RetainedFamily {
  readonly state: TableState;
  readonly region: Region;
  readonly version: StoreVersion;
}

/** Retains the files of this moment, so that changes of the regions do not matter. */
function retainAll(core: VerifiedStore): { tables: number; regions: number; held: RetainedFamily[] } {
  const held: RetainedFamily[] = [];
  let regions = 0;
  const tables = [...core.catalog.tables()];
  for (const state of tables) checkRegions(state);
  for (const state of tables) {
    for (const region of state.regions) {
      regions++;
      for (const store of region.stores) held.push({ state, region, version: store.version.retain() });
    }
  }
  return { tables: tables.length, regions, held };
}

/** Verifies that the regions cover all rows without gap or overlap. */
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
