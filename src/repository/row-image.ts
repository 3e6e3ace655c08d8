/** The newest cells of a row, before or after a change. */

import { compareBytes, concatBytes, equalBytes } from '../bytes/index.js';
import { counterAfter } from '../table/counter.js';
import {
  Cell,
  CellType,
  columnName,
  Delete,
  LATEST_TIMESTAMP,
  type MutationCell,
  type Put,
  type Result,
  Result as Row,
  type RowMutation,
} from '../table/index.js';

/** Rows with more cells are indexed by a Map. */
const FEW_CELLS = 24;

/** A row before or after a change: maintainers compare the two, and later changes of a batch start from the last. */
export class RowImage {
  private constructor(
    readonly row: Uint8Array,
    /** Cells by column. Built from `source` on demand. */
    private made: Map<string, Cell> | undefined,
    /** The row with one cell per column, in HBase's order. Undefined where only the Map is up to date. */
    private readonly source?: Result,
  ) {}

  /** `result`: as read, newer versions before older ones. */
  static of(row: Uint8Array, result: Result): RowImage {
    if (isSingle(result.cells)) return new RowImage(row, undefined, result);
    const cells = new Map<string, Cell>();
    for (const cell of result.cells) {
      const name = columnName(cell.family, cell.qualifier);
      if (!cells.has(name)) cells.set(name, cell);
    }
    return new RowImage(row, cells);
  }

  get isEmpty(): boolean {
    return this.source === undefined ? this.cells.size === 0 : this.source.isEmpty;
  }

  value(family: string, qualifier: Uint8Array): Uint8Array | undefined {
    return this.cell(family, qualifier)?.value;
  }

  cell(family: string, qualifier: Uint8Array): Cell | undefined {
    const { source } = this;
    if (this.made !== undefined || source === undefined || source.cells.length > FEW_CELLS)
      return this.cells.get(columnName(family, qualifier));
    return source.cells[placeOf(source.cells, family, qualifier)];
  }

  /** All cells, in no order. */
  all(): Iterable<Cell> {
    return this.source?.cells ?? this.cells.values();
  }

  /** The cells in HBase's order. */
  toResult(): Result {
    if (this.source !== undefined) return this.source;
    const cells = [...this.cells.values()].sort(compareColumns);
    return cells.length === 0 ? Row.EMPTY : new Row(this.row, cells);
  }

  /** The image after these mutations. A tombstone hides puts of the same change: they have the same timestamp. */
  after(mutations: readonly RowMutation[]): RowImage {
    const only = mutations.length === 1 ? mutations[0]! : undefined;
    if (only?.kind === 'put' && this.isEmpty) {
      const put = this.putAlone(only);
      if (put !== undefined) return new RowImage(this.row, undefined, put);
    }
    if (this.source !== undefined && mutations.every(isPut)) {
      const put = this.putAmong(this.source.cells, mutations);
      if (put !== undefined) return new RowImage(this.row, undefined, put);
    }
    const next = new RowImage(this.row, new Map(this.cells));
    for (const mutation of mutations) if (mutation.kind !== 'delete') next.write(mutation);
    for (const mutation of mutations) if (mutation.kind === 'delete') next.remove(mutation);
    return next;
  }

  private get cells(): Map<string, Cell> {
    this.made ??= new Map(this.source!.cells.map((cell) => [columnName(cell.family, cell.qualifier), cell]));
    return this.made;
  }

  /** The row that a put creates. Undefined when it names a column twice. */
  private putAlone(put: Put): Result | undefined {
    const cells = put.cells.map(
      ({ family, qualifier, timestamp, value }) =>
        new Cell(this.row, family, qualifier, timestamp, CellType.Put, value),
    );
    if (!isAscending(cells)) cells.sort(compareColumns);
    return isSingle(cells) ? new Row(this.row, cells) : undefined;
  }

  /** The row after puts over its cells. Undefined when there are many cells. */
  private putAmong(before: readonly Cell[], puts: readonly Put[]): Result | undefined {
    const cells = [...before];
    for (const put of puts) {
      if (cells.length + put.cells.length > FEW_CELLS) return undefined;
      for (const { family, qualifier, timestamp, value } of put.cells) {
        const at = placeOf(cells, family, qualifier);
        if (at < cells.length && cells[at]!.timestamp > timestamp) continue;
        cells[at] = new Cell(this.row, family, qualifier, timestamp, CellType.Put, value);
      }
    }
    if (cells.length > before.length && !isAscending(cells)) cells.sort(compareColumns);
    return new Row(this.row, cells);
  }

  private write(mutation: Exclude<RowMutation, { kind: 'delete' }>): void {
    switch (mutation.kind) {
      case 'put':
        for (const { family, qualifier, timestamp, value } of mutation.cells) {
          const before = this.cell(family, qualifier);
          if (before === undefined || before.timestamp <= timestamp) {
            this.set(family, qualifier, timestamp, value);
          }
        }
        return;
      case 'increment':
        for (const column of mutation.columns) {
          const { family, qualifier } = column;
          const value = counterAfter(this.value(family, qualifier), column);
          this.set(family, qualifier, Number.MAX_SAFE_INTEGER, value);
        }
        return;
      case 'append':
        for (const { family, qualifier, value } of mutation.columns) {
          const before = this.value(family, qualifier);
          const joined = before === undefined ? value : concatBytes(before, value);
          this.set(family, qualifier, Number.MAX_SAFE_INTEGER, joined);
        }
    }
  }

  private remove(mutation: Extract<RowMutation, { kind: 'delete' }>): void {
    if (mutation.cells.length === 0) this.cells.clear();
    for (const { family, qualifier, type } of mutation.cells) {
      if (type === CellType.DeleteFamily || type === CellType.DeleteFamilyVersion) {
        for (const [name, cell] of this.cells) if (cell.family === family) this.cells.delete(name);
      } else {
        this.cells.delete(columnName(family, qualifier));
      }
    }
  }

  private set(family: string, qualifier: Uint8Array, timestamp: number, value: Uint8Array): void {
    const cell = new Cell(this.row, family, qualifier, timestamp, CellType.Put, value);
    this.cells.set(columnName(family, qualifier), cell);
  }
}

/** The index of the column's cell; the insertion point when there is none. */
function placeOf(cells: readonly Cell[], family: string, qualifier: Uint8Array): number {
  let at = 0;
  for (; at < cells.length; at++) {
    const cell = cells[at]!;
    if (cell.family === family && equalBytes(cell.qualifier, qualifier)) break;
  }
  return at;
}

function isPut(mutation: RowMutation): mutation is Put {
  return mutation.kind === 'put';
}

/** Whether the mutations are newer than all cells. Explicit timestamps may be older, so that cells stay visible. */
export function areNewest(mutations: readonly RowMutation[], before: RowImage, now: number): boolean {
  if (mutations.some((mutation) => isTimed(mutation, before))) return false;
  for (const { timestamp } of before.all()) if (timestamp > now) return false;
  return true;
}

/**
 * Whether a mutation has an explicit timestamp. Cells that repeat those of the row do not count: a life that is renewed rewrites the newest
 * version of a history at its own time.
 */
export function isTimed(mutation: RowMutation, before: RowImage): boolean {
  if (!('cells' in mutation)) return false;
  if (mutation.timestamp === LATEST_TIMESTAMP && mutation.cells.every(isUntimed)) return false;
  return !isPut(mutation) || !mutation.cells.every((cell) => isUntimed(cell) || repeats(cell, before));
}

function isUntimed({ timestamp }: { readonly timestamp: number }): boolean {
  return timestamp === LATEST_TIMESTAMP;
}

function repeats({ family, qualifier, timestamp, value }: Put['cells'][number], before: RowImage): boolean {
  const cell = before.cell(family, qualifier);
  return cell !== undefined && cell.timestamp === timestamp && equalBytes(cell.value, value);
}

/**
 * The mutations without deletes of what the row does not have. Such a delete changes nothing, but on HBase its tombstone would hide what
 * another writer puts there in the same millisecond (R32). Deletes with a timestamp stay: they may be about the future.
 */
export function withoutIdleDeletes(
  image: RowImage,
  mutations: readonly RowMutation[],
): readonly RowMutation[] {
  if (mutations.every(isPut)) return mutations;
  const cells = [...image.all()];
  return mutations.flatMap((mutation): RowMutation[] => {
    if (mutation.kind !== 'delete' || mutation.timestamp !== LATEST_TIMESTAMP) return [mutation];
    if (mutation.cells.length === 0) return cells.length === 0 ? [] : [mutation];
    const left = mutation.cells.filter((deleted) => !isIdle(deleted, cells));
    if (left.length === mutation.cells.length) return [mutation];
    if (left.length === 0) return [];
    const del = new Delete(mutation.row).setDurability(mutation.durability);
    del.setCellVisibility(mutation.visibility).cells.push(...left);
    return [del];
  });
}

/** Whether a delete finds no cell to delete. */
function isIdle({ family, qualifier, type, timestamp }: MutationCell, cells: readonly Cell[]): boolean {
  if (timestamp !== LATEST_TIMESTAMP) return false;
  const isFamily = type === CellType.DeleteFamily;
  return !cells.some((cell) => cell.family === family && (isFamily || equalBytes(cell.qualifier, qualifier)));
}

/** Whether a change alters the value of one of the columns. */
export function differ(
  before: RowImage,
  after: RowImage,
  columns: readonly { readonly family: string; readonly qualifier: Uint8Array }[],
): boolean {
  return columns.some(({ family, qualifier }) => {
    const was = before.value(family, qualifier);
    const is = after.value(family, qualifier);
    return was !== is && (was === undefined || is === undefined || !equalBytes(was, is));
  });
}

function compareColumns(a: Cell, b: Cell): number {
  return a.family === b.family
    ? compareBytes(a.qualifier, b.qualifier)
    : Buffer.compare(Buffer.from(a.family), Buffer.from(b.family));
}

function isAscending(cells: readonly Cell[]): boolean {
  for (let i = 1; i < cells.length; i++) if (compareColumns(cells[i - 1]!, cells[i]!) > 0) return false;
  return true;
}

/** Whether cells in HBase's order have distinct columns. */
function isSingle(cells: readonly Cell[]): boolean {
  for (let i = 1; i < cells.length; i++) {
    const before = cells[i - 1]!;
    const cell = cells[i]!;
    if (before.family === cell.family && equalBytes(before.qualifier, cell.qualifier)) return false;
  }
  return true;
}
