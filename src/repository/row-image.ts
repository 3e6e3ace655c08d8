/** The newest cells of a row, before a change and after it. */

import { compareBytes, concatBytes, toLatin1 } from '../bytes/index.js';
import { Cell, CellType, type Result, Result as Row, type RowMutation } from '../table/index.js';

/** A row as one change finds it or leaves it: what participants compare, and what later changes of a batch see. */
export class RowImage {
  private readonly cells: Map<string, Cell>;

  private constructor(
    readonly row: Uint8Array,
    cells: Map<string, Cell>,
    /** The row as it was read, where nothing was changed since and one version was asked for. */
    private readonly source?: Result,
  ) {
    this.cells = cells;
  }

  static of(row: Uint8Array, result: Result): RowImage {
    const cells = new Map<string, Cell>();
    for (const cell of result.cells) {
      const name = nameOf(cell.family, cell.qualifier);
      if (!cells.has(name)) cells.set(name, cell);
    }
    return new RowImage(row, cells, cells.size === result.cells.length ? result : undefined);
  }

  get isEmpty(): boolean {
    return this.cells.size === 0;
  }

  value(family: string, qualifier: Uint8Array): Uint8Array | undefined {
    return this.cells.get(nameOf(family, qualifier))?.value;
  }

  cell(family: string, qualifier: Uint8Array): Cell | undefined {
    return this.cells.get(nameOf(family, qualifier));
  }

  /** In no order. */
  all(): Iterable<Cell> {
    return this.cells.values();
  }

  /** In HBase's order. */
  toResult(): Result {
    if (this.source !== undefined) return this.source;
    const cells = [...this.cells.values()].sort((a, b) =>
      a.family === b.family
        ? compareBytes(a.qualifier, b.qualifier)
        : Buffer.compare(Buffer.from(a.family), Buffer.from(b.family)),
    );
    return cells.length === 0 ? Row.EMPTY : new Row(this.row, cells);
  }

  /** The image behind these mutations. A delete hides what the same change puts, as one timestamp has it. */
  after(mutations: readonly RowMutation[]): RowImage {
    const next = new RowImage(this.row, new Map(this.cells));
    for (const mutation of mutations) if (mutation.kind !== 'delete') next.write(mutation);
    for (const mutation of mutations) if (mutation.kind === 'delete') next.remove(mutation);
    return next;
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
        for (const { family, qualifier, amount } of mutation.columns) {
          const value = Buffer.alloc(8);
          const before = this.value(family, qualifier);
          const sum = (before === undefined ? 0n : Buffer.from(before).readBigInt64BE()) + amount;
          value.writeBigInt64BE(BigInt.asIntN(64, sum));
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
        this.cells.delete(nameOf(family, qualifier));
      }
    }
  }

  private set(family: string, qualifier: Uint8Array, timestamp: number, value: Uint8Array): void {
    const cell = new Cell(this.row, family, qualifier, timestamp, CellType.Put, value);
    this.cells.set(nameOf(family, qualifier), cell);
  }
}

function nameOf(family: string, qualifier: Uint8Array): string {
  return `${family}:${toLatin1(qualifier)}`;
}
