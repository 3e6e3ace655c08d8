/**
 * Puts of one cell each that wait for the end of a step. Cells of many rows that stand apart, as the entries of an index
 * do, are put into a memstore in half the time when they come in its order; and nothing is kept of each but its bytes.
 */

import { orderOfRows } from '../../bytes/index.js';
import { checkRow } from '../../table/checks.js';
import type { Durability, WaitingPut } from '../../table/index.js';
import type { TableState } from '../table-state.js';
import type { Preparation } from './preparation.js';
import type { PreparedRun } from './prepared-run.js';

export class WaitingPuts {
  private family = '';
  private qualifier: Uint8Array = EMPTY;
  private durability: Durability = 'USE_DEFAULT';
  private readonly rows: Uint8Array[] = [];
  /** The value of each. */
  private readonly values: Uint8Array[] = [];
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
      this.state.checkFamily(family);
    } else if (family !== this.family || qualifier !== this.qualifier || durability !== this.durability) {
      return false;
    }
    this.state.checkSize(checkRow(row), family, qualifier, value);
    this.rows.push(row);
    this.values.push(value);
    return true;
  }

  /** Those that were not made, in the order of their rows. */
  take(preparation: Preparation): PreparedRun {
    const order = orderOfRows(this.rows, this.made);
    const rows: Uint8Array[] = [];
    const values: Uint8Array[] = [];
    for (let i = 0; i < order.length; i++) {
      rows.push(this.rows[order[i]!]!);
      values.push(this.values[order[i]!]!);
    }
    this.made = this.rows.length;
    return preparation.run(this.state, this.family, this.qualifier, this.durability, rows, values);
  }

  /** Forgets those behind the first `count`; of those that are left the first `made` were made. */
  backTo(count: number, made: number): void {
    this.rows.length = count;
    this.values.length = count;
    this.made = made;
  }
}

const EMPTY = new Uint8Array(0);
