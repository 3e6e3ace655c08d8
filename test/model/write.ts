/** What mutations write into the model (R7, R28-R31, R67-R76). */

import { InvalidArgumentError } from '../../src/errors.js';
import {
  type Append,
  Cell,
  CellType,
  type CheckAndMutate,
  type CheckAndMutateResult,
  type Delete,
  Get,
  type Increment,
  LATEST_TIMESTAMP,
  type Put,
  Result,
  type RowMutation,
  RowMutations,
} from '../../src/table/index.js';
import { bytes, compareText, latin1, type StoredCell } from './cells.js';
import type { ModelTable } from './store.js';

type NewCell = Omit<StoredCell, 'seq'>;

interface Prepared {
  readonly cells: readonly NewCell[];
  readonly result: Result;
  /** Columns that increments and appends have written to families of one version. */
  readonly upserts: readonly NewCell[];
}

const NOTHING: Pick<Prepared, 'result' | 'upserts'> = { result: Result.EMPTY, upserts: [] };

/** Applies a change of one row; puts without a time get `now`, or `notBefore` if that is later (R75). */
export function apply(table: ModelTable, change: RowMutation | RowMutations, notBefore = 0): Result {
  const mutations = change instanceof RowMutations ? change.mutations : [change];
  const prepared = mutations.map((mutation) => prepare(table, mutation, notBefore));
  table.write(prepared.flatMap(({ cells }) => cells));
  for (const cell of prepared.flatMap(({ upserts }) => upserts)) {
    table.upsert(cell.row, cell.family, cell.qualifier);
  }
  const results = prepared.flatMap(({ result }) => result.cells);
  return results.length === 0 ? Result.EMPTY : new Result(change.row, results);
}

function prepare(table: ModelTable, mutation: RowMutation, notBefore: number): Prepared {
  switch (mutation.kind) {
    case 'put':
      return { cells: putCells(table, mutation, notBefore), ...NOTHING };
    case 'delete':
      return { cells: deleteCells(table, mutation), ...NOTHING };
    default:
      return deltaCells(table, mutation);
  }
}

function putCells(table: ModelTable, put: Put, notBefore: number): NewCell[] {
  const now = Math.max(table.now, notBefore);
  return put.cells.map((cell) => {
    table.family(cell.family);
    return {
      row: latin1(put.row),
      family: cell.family,
      qualifier: latin1(cell.qualifier),
      timestamp: cell.timestamp === LATEST_TIMESTAMP ? now : cell.timestamp,
      type: CellType.Put,
      value: latin1(cell.value),
      ttl: put.ttl ?? 0,
    };
  });
}

function deleteCells(table: ModelTable, del: Delete): NewCell[] {
  const { now } = table;
  const settle = (timestamp: number): number => (timestamp === LATEST_TIMESTAMP ? now : timestamp);
  const rest = { row: latin1(del.row), value: '', ttl: del.ttl ?? 0 };
  if (del.cells.length === 0) {
    return table.descriptor.families.map((family) => ({
      ...rest,
      family: family.name,
      qualifier: '',
      timestamp: settle(del.timestamp),
      type: CellType.DeleteFamily,
    }));
  }
  return del.cells.map((cell, index) => {
    table.family(cell.family);
    const qualifier = latin1(cell.qualifier);
    let timestamp = settle(cell.timestamp);
    if (cell.type === CellType.Delete && cell.timestamp === LATEST_TIMESTAMP) {
      const before = del.cells
        .slice(0, index)
        .filter(
          (other) =>
            other.type === CellType.Delete &&
            other.timestamp === LATEST_TIMESTAMP &&
            other.family === cell.family &&
            latin1(other.qualifier) === qualifier,
        ).length;
      const get = new Get(del.row).addColumn(cell.family, cell.qualifier).readVersions(before + 1);
      timestamp = table.get(get).cells[before]?.timestamp ?? now;
    }
    return { ...rest, family: cell.family, qualifier, timestamp, type: cell.type };
  });
}

function deltaCells(table: ModelTable, mutation: Increment | Append): Prepared {
  const { now } = table;
  const columns = [...mutation.columns].sort(
    (a, b) => compareText(a.family, b.family) || compareText(latin1(a.qualifier), latin1(b.qualifier)),
  );
  const cells = columns.map((column): NewCell => {
    const family = table.family(column.family);
    const get = new Get(mutation.row).addColumn(family.name, column.qualifier);
    get.timeRange = mutation.timeRange;
    const current = table.get(get).cells[0];
    const place = { row: latin1(mutation.row), family: family.name, qualifier: latin1(column.qualifier) };
    const carried = current ? table.ttlOf({ ...place, timestamp: current.timestamp }) : 0;
    return {
      ...place,
      timestamp: current ? Math.max(now, current.timestamp + 1) : now,
      type: CellType.Put,
      value: 'amount' in column ? sum(current, column.amount) : joined(current, column.value),
      ttl: mutation.ttl ?? carried,
    };
  });
  const given = cells.map(
    (cell) =>
      new Cell(
        mutation.row,
        cell.family,
        bytes(cell.qualifier),
        cell.timestamp,
        CellType.Put,
        bytes(cell.value),
      ),
  );
  return {
    cells,
    result: mutation.returnResults ? new Result(mutation.row, given) : Result.EMPTY,
    upserts: cells.filter((cell) => table.family(cell.family).versions === 1),
  };
}

function sum(current: Cell | undefined, amount: bigint): string {
  const out = Buffer.alloc(8);
  let before = 0n;
  if (current) {
    if (current.value.length !== 8) throw new InvalidArgumentError('The value is no counter of 8 bytes.');
    before = Buffer.from(current.value).readBigInt64BE(0);
  }
  out.writeBigInt64BE(BigInt.asIntN(64, before + amount));
  return out.toString('latin1');
}

function joined(current: Cell | undefined, value: Uint8Array): string {
  return (current ? latin1(current.value) : '') + latin1(value);
}

/** R72-R75. */
export function checkAndMutate(table: ModelTable, check: CheckAndMutate): CheckAndMutateResult {
  const { condition } = check;
  const get = new Get(check.row);
  get.timeRange = condition.timeRange;
  if (condition.kind === 'filter') get.setFilter(condition.filter);
  else get.addColumn(condition.family, condition.qualifier);
  const cell = table.get(get).cells[0];
  let matches: boolean;
  if (condition.kind === 'filter') matches = cell !== undefined;
  else {
    const expected = condition.value ?? new Uint8Array(0);
    if (expected.length === 0) {
      matches = (cell === undefined || cell.value.length === 0) === (condition.operator !== 'NOT_EQUAL');
    } else {
      matches =
        cell !== undefined && holds(compareText(latin1(expected), latin1(cell.value)), condition.operator);
    }
  }
  if (!matches) return { success: false, result: undefined };
  const result = apply(table, check.action, cell?.timestamp ?? 0);
  return { success: true, result: result.isEmpty ? undefined : result };
}

function holds(order: number, operator: string): boolean {
  if (operator === 'EQUAL') return order === 0;
  if (operator === 'NOT_EQUAL') return order !== 0;
  if (order === 0) return operator.endsWith('OR_EQUAL');
  return operator.startsWith(order < 0 ? 'LESS' : 'GREATER');
}
