import { compareBytes } from '../bytes/index.js';
import type { CellSelection } from '../job/table-pass.js';
import type { JobOutcome } from '../job/types.js';
import { Cell, CellType, Result, type Table } from '../table/index.js';
import { type Difference, rangeOf } from './comparison.js';
import { type TableOf, writeRows } from './copy.js';
import { CellPlaces, RowReader, sameCells } from './row-reader.js';
import { compareTables, type VerifyOptions } from './verify.js';

/** Makes rows of the second table like those of the first. */

export interface RepairOptions {
  /** Writes cells that the second table does not have. Default true. */
  readonly puts?: boolean;
  /** Deletes cells that the first table does not have. Default true. */
  readonly deletes?: boolean;
}

/**
 * A version that is deleted may bring an older one to light, which is to be deleted too. A row that others write to all the while
 * is given up after so many times.
 */
const MOST_ROUNDS = 100;

/**
 * Writes what lacks and deletes what is too much of each row, and looks again: answers how many rows are now the same. The others
 * are as they may be (`puts`, `deletes`), or a delete marker of the second table hides what was written.
 */
export async function repairRows(
  table: Table,
  differences: readonly Difference[],
  selection: CellSelection,
  options: RepairOptions,
): Promise<number> {
  let repaired = 0;
  let open = differences;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const changes = open.map((difference) => new Result(difference.row, changesOf(difference, options)));
    const changed = open.filter((_, at) => !changes[at]!.isEmpty);
    if (changed.length === 0) break;
    await writeRows(
      table,
      changes.filter((change) => !change.isEmpty),
    );
    const now = await readAgain(table, changed, selection);
    open = changed.flatMap((before, at): Difference[] => {
      const found = now[at];
      if (sameCells(before.wanted?.cells ?? [], found?.cells ?? [])) {
        repaired++;
        return [];
      }
      const stuck = sameCells(before.found?.cells ?? [], found?.cells ?? []);
      return stuck ? [] : [differenceOf(before, found)];
    });
  }
  return repaired;
}

/** The cells that are written: puts and markers that lack, and markers of versions that are too much. */
function changesOf({ row, wanted, found }: Difference, { puts, deletes }: RepairOptions): Cell[] {
  const here = new CellPlaces(wanted?.cells ?? []);
  const there = new CellPlaces(found?.cells ?? []);
  const lacking = puts === false ? [] : (wanted?.cells ?? []).filter((cell) => !there.has(cell));
  const surplus =
    deletes === false
      ? []
      : (found?.cells ?? []).filter((cell) => cell.type === CellType.Put && !here.hasPlaceOf(cell));
  return [
    ...lacking,
    ...surplus.map(
      ({ family, qualifier, timestamp }) =>
        new Cell(row, family, qualifier, timestamp, CellType.Delete, new Uint8Array(0)),
    ),
  ];
}

function differenceOf(before: Difference, found: Result | undefined): Difference {
  const { row, wanted } = before;
  if (wanted === undefined) return { kind: 'extra', row, found: found! };
  return found === undefined ? { kind: 'missing', row, wanted } : { kind: 'different', row, wanted, found };
}

/** These rows as they are now; undefined for one that is not there. */
async function readAgain(
  table: Table,
  rows: readonly Difference[],
  selection: CellSelection,
): Promise<(Result | undefined)[]> {
  const reader = new RowReader(table, rangeOf(rows), selection);
  try {
    const found: (Result | undefined)[] = [];
    for (const { row } of rows) {
      let next = await reader.peek();
      while (next !== undefined && compareBytes(next.row, row) < 0) {
        reader.take();
        next = await reader.peek();
      }
      found.push(next !== undefined && compareBytes(next.row, row) === 0 ? next : undefined);
    }
    return found;
  } finally {
    await reader.close();
  }
}

/** Makes a table like another, where they differ (HBase SyncTable). */

export interface SyncOptions extends VerifyOptions, RepairOptions {}

/**
 * Makes the second table like the first: writes versions that it lacks, and deletes those that the first does not have, each with a
 * marker of exactly that version. Counters: those of `verifyTables`, and `repaired`: rows that differed and are now the same, looked
 * at again after they were written. A row that stays different is hidden by a delete marker of the second table (a major
 * compaction there makes it visible to the next run), or is written to by others.
 * @throws as `verifyTables`.
 */
export function syncTables(first: TableOf, second: TableOf, options: SyncOptions = {}): Promise<JobOutcome> {
  const { puts = true, deletes = true } = options;
  const table = second.engine.table(second.table);
  return compareTables(
    'sync',
    JSON.stringify({ puts, deletes }),
    first,
    second,
    options,
    (differences, context, selection) =>
      repairRows(table, differences, selection, { puts, deletes }).then((rows) =>
        context.count('repaired', rows),
      ),
  );
}
