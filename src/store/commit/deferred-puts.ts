import { compareBytes, orderOfRows } from '../../bytes/index.js';
import { checkRow } from '../../table/checks.js';
import { CellType, type Durability, LATEST_TIMESTAMP, type WaitingPut } from '../../table/index.js';
import type { Memstore } from '../memstore/memstore.js';
import type { FamilyStore } from '../region/family-store.js';
import { regionOf } from '../region/region.js';
import type { TableState } from '../table-state.js';
import type { Preparation, PreparedRow, SortedPutBatch } from './preparation.js';
import type { WrittenCells } from './written-cells.js';

/**
 * Puts of one cell each that wait for the end of a step. Cells of many rows that stand apart, as the entries of an index
 * do, are put into a memstore in half the time when they come in its order; and nothing is kept of each but its bytes.
 */

export class DeferredPuts {
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
  take(preparation: Preparation): SortedPutBatch {
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

/** Puts the cells of prepared rows into the memstores of their families. */

/** `superseding`: takes the cells that are to take the place of older ones. */
export function applyToMemstore(
  prepared: PreparedRow,
  seq: number,
  written: WrittenCells,
  superseding: WrittenCells | undefined,
): void {
  const { region, row, cells, now, ttls, ttl, upserts } = prepared;
  let bytes = 0;
  let family = '';
  let memstore: Memstore | undefined;
  for (let i = 0; i < cells.length; i++) {
    const { family: own, qualifier, timestamp, type, value } = cells[i]!;
    const sameFamily = own === family;
    if (!sameFamily) memstore = memstoreFor(region.byFamily.get(own)!);
    family = own;
    const ref = memstore!.add(
      row,
      qualifier,
      timestamp === LATEST_TIMESTAMP ? now : timestamp,
      type,
      seq,
      ttls ? ttls[i]! : ttl,
      value,
      sameFamily,
    );
    written.add(memstore!, ref);
    if (upserts?.[i]) superseding!.add(memstore!, ref);
    bytes += value.length;
  }
  prepared.bytes = bytes;
}

/** `seq`: the number of its first row. */
export function applyBatchToMemstore(run: SortedPutBatch, seq: number, written: WrittenCells): void {
  const { state, family, qualifier, rows, values, times, parts } = run;
  let end: Uint8Array | undefined;
  let store: FamilyStore | undefined;
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!;
    const value = values[i]!;
    if (end === undefined || (end.length > 0 && compareBytes(row, end) >= 0)) {
      const region = regionOf(state.regions, row);
      end = region.endKey;
      store = region.byFamily.get(family)!;
      parts.push({ region, rows: 0, bytes: 0 });
    }
    const memstore = memstoreFor(store!);
    written.add(memstore, memstore.add(row, qualifier, times[i]!, CellType.Put, seq + i, 0, value));
    const part = parts[parts.length - 1]!;
    part.rows++;
    part.bytes += value.length;
  }
}

function memstoreFor(store: FamilyStore): Memstore {
  // What cannot be named by a place in it goes to the next.
  if (store.version.active.crowded) store.freeze();
  return store.version.active;
}
