/** Puts the cells of prepared rows into the memstores of their families. */

import { compareBytes } from '../../bytes/index.js';
import { CellType, LATEST_TIMESTAMP } from '../../table/index.js';
import type { Memstore } from '../memstore/memstore.js';
import type { FamilyStore } from '../region/family-store.js';
import { regionOf } from '../region/region.js';
import type { PreparedRow } from './preparation.js';
import type { PreparedRun } from './prepared-run.js';
import type { WrittenCells } from './written-cells.js';

/** The bytes of the row's values. `superseding`: takes the cells that are to take the place of older ones. */
export function placeRow(
  { region, row, cells, now, ttls, ttl, upserts }: PreparedRow,
  seq: number,
  written: WrittenCells,
  superseding: WrittenCells | undefined,
): number {
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
  return bytes;
}

/** `seq`: the number of its first row. */
export function placeRun(run: PreparedRun, seq: number, written: WrittenCells): void {
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
