/**
 * Puts of one cell each that wait for the end of a step. Cells of many rows that stand apart, as the entries of an index
 * do, are put into a memstore in half the time when they come in its order; and nothing is kept of each but its bytes.
 */

import { compareBytes } from '../../bytes/index.js';
import { checkRow } from '../../table/checks.js';
import {
  CellType,
  type Durability,
  LATEST_TIMESTAMP,
  type MutationCell,
  type WaitingPut,
} from '../../table/index.js';
import type { TableState } from '../table-state.js';

export class WaitingPuts {
  private family = '';
  private qualifier: Uint8Array = EMPTY;
  private durability: Durability = 'USE_DEFAULT';
  private readonly rows: Uint8Array[] = [];
  /** The cell of each. */
  private readonly cells: (readonly MutationCell[])[] = [];
  /** How many of them were made. */
  made = 0;

  constructor(readonly state: TableState) {}

  get count(): number {
    return this.rows.length;
  }

  /** False: it is of another column, or is to be as durable as others are not. @throws RowanError when it is refused. */
  add({ row, family, qualifier, value, durability }: WaitingPut): boolean {
    if (this.rows.length === 0) {
      this.family = family;
      this.qualifier = qualifier;
      this.durability = durability;
    } else if (family !== this.family || qualifier !== this.qualifier || durability !== this.durability) {
      return false;
    }
    const cells = [{ family, qualifier, timestamp: LATEST_TIMESTAMP, type: CellType.Put, value }];
    this.state.checkCells(checkRow(row), cells);
    this.rows.push(row);
    this.cells.push(cells);
    return true;
  }

  /** Gives those that were not made to `make`, in the order of their rows. */
  make(make: (row: Uint8Array, cells: readonly MutationCell[], durability: Durability) => void): void {
    const { rows, cells, durability } = this;
    const order = new Uint32Array(rows.length - this.made);
    for (let i = 0; i < order.length; i++) order[i] = this.made + i;
    this.made = rows.length;
    order.sort((a, b) => compareBytes(rows[a]!, rows[b]!) || a - b);
    for (const at of order) make(rows[at]!, cells[at]!, durability);
  }

  /** Forgets those behind the first `count`; of those that are left the first `made` were made. */
  backTo(count: number, made: number): void {
    this.rows.length = count;
    this.cells.length = count;
    this.made = made;
  }
}

const EMPTY = new Uint8Array(0);
