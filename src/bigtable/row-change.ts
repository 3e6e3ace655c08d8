import { compareBytes, EMPTY_BYTES, toHex } from '../bytes/index.js';
import { RowanError } from '../errors.js';
import {
  checkRow,
  nextTimestamp,
  prepareDelete,
  prepareDelta,
  type RowReader,
} from '../store/commit/row-operations.js';
import type { ScanContext } from '../store/scan/store-read.js';
import { Cell, CellType, LATEST_TIMESTAMP } from '../table/checks.js';
import type { Get } from '../table/get-and-scan.js';
import type { Delete, RowMutation } from '../table/mutation.js';
import { Result } from '../table/result.js';
import type { CheckCondition, RowMutations } from '../table/row-mutations.js';
import type { KnownTable } from './descriptors.js';
import { addPut, at, deleteCells, mutationsOf, partsOf, readsRow, setCell, upTo } from './mutations.js';
import { MAX_FILTER, tooLarge } from './names.js';
import type { Predicate } from './predicate.js';
import { ReadPlan } from './read-plan.js';
import { type CellMutation, chain, column, interleave, type RowFilter, wholeFamily } from './wire.js';

/**
 * Changes whose result depends on the row in ways that Bigtable cannot evaluate: the row is read, the change is
 * computed here, and made if the row has not changed in between.
 */

/** A row as read, with every stored version. */
export class ReadRow implements RowReader {
  readonly families: readonly string[];

  constructor(
    readonly row: Uint8Array,
    private readonly cells: readonly Cell[],
    private readonly known: KnownTable,
    private readonly context: ScanContext,
  ) {
    this.families = [...known.families.keys()];
  }

  read(get: Get): Result {
    return new ReadPlan(get, this.known).decidedRow(get, this.cells, this.context);
  }

  meets(condition: CheckCondition): boolean {
    return checkRow(this.row, condition, this).matches;
  }

  /** Computes the mutations of a change, and the results of its increments and appends. */
  work(change: RowMutation | RowMutations): { readonly mutations: CellMutation[]; readonly result: Result } {
    const mutations: CellMutation[] = [];
    const answered: Cell[] = [];
    for (const part of partsOf(change)) {
      if (part.kind === 'put') addPut(part, mutations);
      else if (part.kind === 'delete') this.addDelete(part, mutations);
      else {
        const { now } = this.context;
        const timeAfter = (cell: Cell): number =>
          cell.timestamp < now ? LATEST_TIMESTAMP : nextTimestamp(cell);
        for (const cell of prepareDelta(part, this, LATEST_TIMESTAMP, timeAfter)) {
          const { family, qualifier, value, timestamp } = cell;
          mutations.push(setCell(family, qualifier, value, timestamp));
          const time = timestamp === LATEST_TIMESTAMP ? now : timestamp;
          if (part.returnResults)
            answered.push(new Cell(this.row, family, qualifier, time, CellType.Put, value));
        }
      }
    }
    return { mutations, result: answered.length === 0 ? Result.EMPTY : new Result(this.row, answered) };
  }

  private addDelete(del: Delete, out: CellMutation[]): void {
    if (!readsRow(del)) {
      out.push(...mutationsOf(del));
      return;
    }
    for (const { type, family, qualifier, timestamp } of prepareDelete(del, this, LATEST_TIMESTAMP)) {
      if (type === CellType.DeleteFamily && timestamp === LATEST_TIMESTAMP) {
        out.push({ deleteFromFamily: { familyName: family } });
      } else if (type === CellType.DeleteFamily || type === CellType.DeleteFamilyVersion) {
        const isOne = type === CellType.DeleteFamilyVersion;
        for (const name of this.columnsOf(family, timestamp, isOne)) {
          out.push(deleteCells(family, name, isOne ? at(timestamp) : upTo(timestamp)));
        }
      } else if (type === CellType.DeleteColumn) {
        out.push(deleteCells(family, qualifier, upTo(timestamp)));
      } else if (timestamp !== LATEST_TIMESTAMP) {
        out.push(deleteCells(family, qualifier, at(timestamp)));
      }
    }
  }

  /** The columns of a family with a version at a timestamp, or at or before it. */
  private columnsOf(family: string, timestamp: number, isOne: boolean): Uint8Array[] {
    const out: Uint8Array[] = [];
    for (const cell of this.cells) {
      if (cell.family !== family) continue;
      if (isOne ? cell.timestamp !== timestamp : cell.timestamp > timestamp) continue;
      const last = out.at(-1);
      if (last === undefined || compareBytes(last, cell.qualifier) !== 0) out.push(cell.qualifier);
    }
    return out;
  }

  /**
   * Whether each column still has the newest version that was read, and no column was added.
   * @throws RowanError `ERR_TOO_LARGE` when the row is too large to be expressed as a filter.
   */
  unchanged(): Predicate {
    const newest = this.cells.filter((cell, i) => i === 0 || !isOfOneColumn(this.cells[i - 1]!, cell));
    // A missing row matches no filter.
    if (newest.length === 0) return { filter: PASS, satisfiedBy: 'nothing' };
    const size = newest.reduce((sum, { qualifier, value, family }) => {
      return sum + 3 * qualifier.length + 2 * value.length + 3 * family.length + 64;
    }, 0);
    if (size > MAX_FILTER) {
      throw tooLarge(
        `A change that has to read the row ${toHex(this.row.subarray(0, 32))} compares`,
        size,
        'bytes',
        MAX_FILTER,
      );
    }
    const others: RowFilter[] = [];
    for (const family of this.families) others.push(...this.others(family, newest));
    const none = { condition: { predicateFilter: interleave(others), trueFilter: BLOCK, falseFilter: PASS } };
    return { filter: chain(...newest.map(isStill), none), satisfiedBy: 'something' };
  }

  /** All columns of a family except those that were read. */
  private others(family: string, newest: readonly Cell[]): RowFilter[] {
    const read = newest.filter((cell) => cell.family === family).map(({ qualifier }) => qualifier);
    if (read.length === 0) return [wholeFamily(family)];
    const out: RowFilter[] = [];
    let last: Uint8Array | undefined;
    for (const qualifier of read) {
      // No column sorts before the empty qualifier.
      if (last !== undefined) {
        out.push({
          columnRangeFilter: { familyName: family, startQualifierOpen: last, endQualifierOpen: qualifier },
        });
      } else if (qualifier.length > 0) {
        out.push({
          columnRangeFilter: {
            familyName: family,
            startQualifierClosed: EMPTY_BYTES,
            endQualifierOpen: qualifier,
          },
        });
      }
      last = qualifier;
    }
    out.push({ columnRangeFilter: { familyName: family, startQualifierOpen: last! } });
    return out;
  }
}
const PASS: RowFilter = { passAllFilter: true };
const BLOCK: RowFilter = { blockAllFilter: true };

function isOfOneColumn(a: Cell, b: Cell): boolean {
  return a.family === b.family && compareBytes(a.qualifier, b.qualifier) === 0;
}

/** Passes the row if this is still the newest version of the column. */
function isStill({ family, qualifier, timestamp, value }: Cell): RowFilter {
  const predicateFilter = chain(
    column(family, qualifier),
    { cellsPerColumnLimitFilter: 1 },
    { timestampRangeFilter: at(timestamp) },
    { valueRangeFilter: { startValueClosed: value, endValueClosed: value } },
  );
  return { condition: { predicateFilter, trueFilter: PASS, falseFilter: BLOCK } };
}

/** How often a change is computed again because others have changed the row. */
export const ATTEMPTS = 100;

export function overtaken(table: string, row: Uint8Array): RowanError {
  return new RowanError(
    'ERR_BUSY',
    `Other writers changed the row ${toHex(row.subarray(0, 32))} of table "${table}" at each of ${ATTEMPTS} attempts to change it. Try again later.`,
    { retryable: true, details: { table, keyHex: toHex(row) } },
  );
}
