/** The model's tables: lists of cells, what lies in memory apart from what lies in files. */

import { RowanError } from '../../src/errors.js';
import {
  CellType,
  type FamilyDescriptor,
  type Get,
  type Query,
  Result,
  Scan,
  type TableDescriptor,
} from '../../src/table/index.js';
import {
  bytes,
  compareCells,
  compareText,
  isPut,
  latin1,
  type StoredCell,
  sameColumn,
  toCell,
} from './cells.js';
import { modelFilter } from './filters.js';
import { keepRow } from './keep.js';
import { FamilyRows, familyRead } from './read.js';

export interface Surroundings {
  readonly now: () => number;
  readonly random: () => number;
}

class FamilyCells {
  memory: StoredCell[] = [];
  files: StoredCell[][] = [];

  get all(): StoredCell[] {
    return [...this.memory, ...this.files.flat()].sort(compareCells);
  }
}

export class ModelTable {
  private readonly families = new Map<string, FamilyCells>();
  private seq = 0;

  constructor(
    readonly descriptor: TableDescriptor,
    private readonly surroundings: Surroundings,
  ) {
    for (const family of descriptor.families) this.families.set(family.name, new FamilyCells());
  }

  get now(): number {
    return this.surroundings.now();
  }

  family(name: string): FamilyDescriptor {
    const family = this.descriptor.families.find((each) => each.name === name);
    if (!family) {
      throw new RowanError('ERR_NO_SUCH_FAMILY', `Table "${this.descriptor.name}" has no family "${name}".`);
    }
    return family;
  }

  /** Writes one row's change. Of equal cells in it the later one stands. */
  write(cells: readonly Omit<StoredCell, 'seq'>[]): void {
    const seq = ++this.seq;
    for (const cell of cells) {
      const { memory } = this.cellsOf(cell.family);
      const same = memory.findIndex(
        (other) =>
          other.seq === seq &&
          sameColumn(other, cell as StoredCell) &&
          other.timestamp === cell.timestamp &&
          other.type === cell.type,
      );
      if (same >= 0) memory.splice(same, 1);
      memory.push({ ...cell, seq });
    }
  }

  /** R70: of the puts in memory behind the newest one only the next is left. */
  upsert(row: string, family: string, qualifier: string): void {
    const cells = this.cellsOf(family);
    const column = cells.memory
      .filter((cell) => cell.row === row && cell.qualifier === qualifier && isPut(cell))
      .sort(compareCells);
    const doomed = new Set(column.slice(2));
    cells.memory = cells.memory.filter((cell) => !doomed.has(cell));
  }

  /** The time to live of a stored put. */
  ttlOf(cell: { row: string; family: string; qualifier: string; timestamp: number }): number {
    const found = this.cellsOf(cell.family).all.find(
      (other) =>
        other.row === cell.row &&
        other.qualifier === cell.qualifier &&
        other.timestamp === cell.timestamp &&
        other.type === CellType.Put,
    );
    return found?.ttl ?? 0;
  }

  flush(only?: string): void {
    for (const [name, cells] of this.families) {
      if (only !== undefined && name !== only) continue;
      const kept = this.keep(name, cells.memory, false);
      cells.memory = [];
      if (kept.length > 0) cells.files.push(kept);
    }
  }

  majorCompact(only?: string): void {
    for (const [name, cells] of this.families) {
      if (only !== undefined && name !== only) continue;
      const kept = this.keep(name, cells.files.flat(), true);
      cells.files = kept.length > 0 ? [kept] : [];
    }
  }

  private keep(name: string, cells: readonly StoredCell[], major: boolean): StoredCell[] {
    const family = this.family(name);
    // What counted when it was written must be known later: the model keeps the whole history.
    if (family.newVersionBehavior) return [...cells];
    const puts = cells.filter(isPut).map((cell) => cell.timestamp);
    const earliestPut = Math.min(Number.MAX_SAFE_INTEGER, ...puts);
    const kept: StoredCell[] = [];
    let row: StoredCell[] = [];
    const end = (): void => {
      kept.push(...keepRow(row, { family, now: this.now, major, earliestPut }));
    };
    for (const cell of [...cells].sort(compareCells)) {
      if (row.length > 0 && row[0]!.row !== cell.row) {
        end();
        row = [];
      }
      row.push(cell);
    }
    end();
    return kept;
  }

  get(get: Get): Result {
    const scan = new Scan().withStartRow(get.row).withStopRow(get.row, true);
    const [result] = this.read(get, scan);
    if (!result) return Result.EMPTY;
    return get.checkExistenceOnly ? new Result(result.row, []) : result;
  }

  scan(scan: Scan): Result[] {
    return this.read(scan, scan);
  }

  /** What `query` finds in the rows that `bounds` says. */
  private read(query: Query, bounds: Scan): Result[] {
    const { reversed, raw } = bounds;
    const { random } = this.surroundings;
    const filter = query.filter && modelFilter(query.filter, reversed, random);
    const names = query.families.size === 0 ? [...this.families.keys()] : [...query.families.keys()];
    const stores = this.descriptor.families
      .filter((family) => names.includes(family.name))
      .map((family) => {
        const inBounds = this.cellsOf(family.name).all.filter((cell) => isWithin(cell.row, bounds));
        return new FamilyRows(familyRead(family, query, { raw, reversed, now: this.now, filter }), inBounds);
      });
    for (const name of names) this.family(name);
    const results: Result[] = [];
    let rows = 0;
    while (rows < (bounds.limit ?? Number.POSITIVE_INFINITY) && !filter?.done) {
      const heads = stores.map((store) => store.head).filter((head) => head !== undefined);
      const row = heads.sort(compareText).at(reversed ? -1 : 0);
      if (row === undefined) break;
      const drop = filter?.dropKey(row) ?? false;
      if (drop && filter?.done) break;
      let cells = stores.flatMap((store) => store.take(row));
      if (drop) cells = [];
      else if (cells.length > 0 && filter) {
        if (filter.wholeRows) cells = filter.keep(cells);
        if (cells.length > 0 && filter.dropRow()) cells = [];
      }
      filter?.reset();
      if (cells.length === 0) continue;
      rows++;
      results.push(...parts(row, cells, bounds.batch));
    }
    return results;
  }

  private cellsOf(family: string): FamilyCells {
    this.family(family);
    return this.families.get(family)!;
  }
}

function parts(row: string, cells: readonly StoredCell[], batch = cells.length): Result[] {
  const out: Result[] = [];
  for (let i = 0; i < cells.length; i += batch) {
    out.push(new Result(bytes(row), cells.slice(i, i + batch).map(toCell), i + batch < cells.length));
  }
  return out;
}

function isWithin(row: string, scan: Scan): boolean {
  const start = latin1(scan.startRow);
  const stop = latin1(scan.stopRow);
  const sign = scan.reversed ? -1 : 1;
  if (start !== '') {
    const order = compareText(row, start) * sign;
    if (order < 0 || (order === 0 && !scan.includeStartRow)) return false;
  }
  if (stop === '') return true;
  const order = compareText(row, stop) * sign;
  return order < 0 || (order === 0 && scan.includeStopRow);
}
