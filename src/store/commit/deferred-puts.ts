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
 * Puts of one cell each that a step collects and applies at its end. Adding scattered cells (index entries) to a memstore costs
 * half the time when they come in its order, and each deferred put costs nothing but its row and value.
 */

export class DeferredPuts {
  private family = '';
  private qualifier: Uint8Array = EMPTY;
  private durability: Durability = 'USE_DEFAULT';
  private readonly rows: Uint8Array[] = [];
  /** Index i belongs to row i. */
  private readonly values: Uint8Array[] = [];
  /** How many of them are applied. */
  applied = 0;

  constructor(readonly state: TableState) {}

  get count(): number {
    return this.rows.length;
  }

  /** False: the put is of another column, or has another durability, than those collected. @throws RowanError when it is invalid. */
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

  /** Prepares the puts that are not applied yet, sorted by row. */
  prepareRest(preparation: Preparation): SortedPutBatch {
    const order = orderOfRows(this.rows, this.applied);
    const rows: Uint8Array[] = [];
    const values: Uint8Array[] = [];
    for (let i = 0; i < order.length; i++) {
      rows.push(this.rows[order[i]!]!);
      values.push(this.values[order[i]!]!);
    }
    this.applied = this.rows.length;
    return preparation.prepareBatch(this.state, this.family, this.qualifier, this.durability, rows, values);
  }

  /** Removes the puts after the first `count`; of the rest, the first `applied` are applied. */
  rollbackTo(count: number, applied: number): void {
    this.rows.length = count;
    this.values.length = count;
    this.applied = applied;
  }
}

const EMPTY = new Uint8Array(0);

/** Adds the cells of prepared rows to the memstores of their families. */

/** `superseding` collects the cells that replace older ones. */
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

/** `seq`: the sequence number of the first row. */
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
  // A memstore addresses its cells by 32-bit numbers; a full one is frozen, and the next begins.
  if (store.version.active.crowded) store.freeze();
  return store.version.active;
}
