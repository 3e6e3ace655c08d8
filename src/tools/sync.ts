import { compareBytes } from '../bytes/index.js';
import type { CellSelection } from '../job/table-pass.js';
import type { JobOutcome } from '../job/types.js';
import { Cell, CellType, Result, type Table } from '../table/index.js';
import { type Difference, rangeOf } from './comparison.js';
import { type TableOf, writeRows } from './copy.js';
import { CellPlaces, RowReader, sameCells } from './row-reader.js';
import { compareTables, type VerifyOptions } from './verify.js';

// — Changes rows of the second table to match the first.

export interface RepairOptions {
  /** Whether to write cells that the second table lacks. Default true. */
  readonly puts?: boolean;
  /** Whether to delete cells that the first table lacks. Default true. */
  readonly deletes?: boolean;
}

/**
 * Deleting a version may uncover an older one that must be deleted too. A row that others keep writing to is given up
 * after this many rounds.
 */
const MAX_ROUNDS = 100;

/**
 * Writes missing cells and deletes extra ones of each row, and compares again; returns how many rows are now equal.
 * Others differ because of the options (`puts`, `deletes`), or because a delete marker of the second table hides what
 * was written.
 */
async function repairRows(
  table: Table,
  differences: readonly Difference[],
  selection: CellSelection,
  options: RepairOptions,
): Promise<number> {
  let repaired = 0;
  let open = differences;
  for (let round = 0; round < MAX_ROUNDS; round++) {
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

/** The cells to write: missing puts and delete markers, and a marker for each extra version. */
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

/** The present state of these rows; undefined for a missing one. */
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

// — Makes a table equal to another (HBase SyncTable).

export interface SyncOptions extends VerifyOptions, RepairOptions {}

/**
 * Makes the second table equal to the first: writes missing versions, and deletes extra ones, each with a marker of
 * exactly that version. Counters: those of `verifyTables`, and `repaired`: rows that differed and are now equal,
 * compared again after the write. A row that still differs is hidden by a delete marker of the second table (a major
 * compaction there makes it visible to the next run), or is being written to.
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
