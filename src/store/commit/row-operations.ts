/**
 * Computes the cells of increments, appends and deletes, and the outcome of checks, from the present cells of a row: HBase's
 * `HRegion.reckonDeltas`, `prepareDeleteTimestamps` and `checkAndMutateInternal` (R28-R31, R67-R75).
 */

import { compareBytes, concatBytes, EMPTY_BYTES } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { counterAfter } from '../../table/counter.js';
import {
  type Append,
  type Cell,
  CellType,
  CellWithTtl,
  type CheckCondition,
  type CompareOperator,
  type Delete,
  Get,
  type Increment,
  LATEST_TIMESTAMP,
  type MutationCell,
  type Result,
  type RowMutation,
} from '../../table/index.js';

/** A cell of an increment or append. Its time to live is the mutation's, or carried over from the value it replaces. */
export interface PreparedCell extends MutationCell {
  readonly ttl: number;
}

/** Reads a row with every write so far, acknowledged or not. */
export interface RowReader {
  /** `withTtl`: cells that have a time to live of their own are {@link CellWithTtl}s. */
  read(get: Get, withTtl?: boolean): Result;
  readonly families: readonly string[];
}

/** The delete markers of a delete with their final timestamps; `now` replaces LATEST_TIMESTAMP. */
export function prepareDelete(del: Delete, reader: RowReader, now: number): MutationCell[] {
  if (del.cells.length === 0) {
    const timestamp = del.timestamp === LATEST_TIMESTAMP ? now : del.timestamp;
    return reader.families.map((family) => ({
      family,
      qualifier: EMPTY_BYTES,
      timestamp,
      type: CellType.DeleteFamily,
      value: EMPTY_BYTES,
    }));
  }
  const taken = new Map<string, number>();
  return del.cells.map((cell) => {
    if (cell.timestamp !== LATEST_TIMESTAMP) return cell;
    if (cell.type !== CellType.Delete) return { ...cell, timestamp: now };
    // The n-th "newest version" of a column in one delete is the column's n-th newest (R30).
    const column = `${cell.family}:${Buffer.from(cell.qualifier).toString('latin1')}`;
    const count = (taken.get(column) ?? 0) + 1;
    taken.set(column, count);
    const get = new Get(del.row).addColumn(cell.family, cell.qualifier).readVersions(count);
    const found = reader.read(get).cells;
    return { ...cell, timestamp: found.length < count ? now : found[count - 1]!.timestamp };
  });
}

/**
 * The new cells of an increment or append. `timeAfter` returns the timestamp of a cell that replaces another.
 * @throws InvalidArgumentError when an incremented value is not 8 bytes long.
 */
export function prepareDelta(
  mutation: Increment | Append,
  reader: RowReader,
  now: number,
  timeAfter: (cell: Cell) => number,
): PreparedCell[] {
  const get = new Get(mutation.row);
  get.timeRange = mutation.timeRange;
  for (const column of mutation.columns) get.addColumn(column.family, column.qualifier);
  const current = reader.read(get, true);
  const out: PreparedCell[] = [];
  if (mutation.kind === 'increment') {
    for (const column of mutation.columns) {
      const cell = current.getLatest(column.family, column.qualifier);
      out.push(successor(column, cell, counterAfter(cell?.value, column), mutation, now, timeAfter));
    }
  } else {
    for (const column of mutation.columns) {
      const cell = current.getLatest(column.family, column.qualifier);
      const value = cell ? concatBytes(cell.value, column.value) : column.value;
      out.push(successor(column, cell, value, mutation, now, timeAfter));
    }
  }
  return out;
}

/** The cell that replaces `cell`, with its time to live or the mutation's (R69); the first has the column's own timestamp, if any. */
function successor(
  column: Increment['columns'][number] | Append['columns'][number],
  cell: Cell | undefined,
  value: Uint8Array,
  mutation: RowMutation,
  now: number,
  timeAfter: (cell: Cell) => number,
): PreparedCell {
  const first = column.timestamp === LATEST_TIMESTAMP ? now : column.timestamp;
  return {
    family: column.family,
    qualifier: column.qualifier,
    timestamp: cell ? timeAfter(cell) : first,
    type: CellType.Put,
    value,
    ttl: mutation.ttl ?? (cell instanceof CellWithTtl ? cell.ttl : 0),
  };
}

/** @throws InvalidArgumentError at the greatest timestamp: a value written there would not be the newest. */
export function nextTimestamp(cell: Cell): number {
  if (cell.timestamp + 1 < LATEST_TIMESTAMP) return cell.timestamp + 1;
  throw new InvalidArgumentError(
    `Cannot increment or append to ${cell.family}:${Buffer.from(cell.qualifier).toString('latin1')}: its value has ` +
      'the greatest possible timestamp, so no later value can be written. Delete that version first.',
    { details: { family: cell.family } },
  );
}

/** The outcome of a check. */
interface CheckOutcome {
  readonly matches: boolean;
  /** The timestamp of the compared cell, 0 if there was none (R75). */
  readonly timestamp: number;
}

/** Evaluates a condition on a row (R72-R74). */
export function checkRow(row: Uint8Array, condition: CheckCondition, reader: RowReader): CheckOutcome {
  const get = new Get(row);
  get.timeRange = condition.timeRange;
  if (condition.kind === 'filter') {
    const found = reader.read(get.setFilter(condition.filter)).cells[0];
    return { matches: found !== undefined, timestamp: found?.timestamp ?? 0 };
  }
  const cell = reader.read(get.addColumn(condition.family, condition.qualifier)).cells[0];
  const expected = condition.value;
  if (expected === null || expected.length === 0) {
    const wanted = condition.operator !== 'NOT_EQUAL';
    if (!cell) return { matches: wanted, timestamp: 0 };
    return { matches: (cell.value.length === 0) === wanted, timestamp: cell.timestamp };
  }
  if (!cell) return { matches: false, timestamp: 0 };
  const matches = operatorHolds(condition.operator, compareBytes(expected, cell.value));
  return { matches, timestamp: cell.timestamp };
}

function operatorHolds(operator: CompareOperator, comparison: number): boolean {
  switch (operator) {
    case 'LESS':
      return comparison < 0;
    case 'LESS_OR_EQUAL':
      return comparison <= 0;
    case 'EQUAL':
      return comparison === 0;
    case 'NOT_EQUAL':
      return comparison !== 0;
    case 'GREATER_OR_EQUAL':
      return comparison >= 0;
    case 'GREATER':
      return comparison > 0;
    case 'NO_OP':
      throw new InvalidArgumentError('NO_OP compares nothing. Check with one of the other operators.');
  }
}
