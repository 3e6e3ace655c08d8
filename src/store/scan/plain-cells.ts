/** The newest cells of a row as one memstore or file has them, if nothing in it hides or expires. */

import { CellType, type RawRow } from '../../table/index.js';
import type { CellCursor } from '../cursor.js';
import type { CellMaker, RowBuilder } from './row-builder.js';

/** Cells of older versions that are walked over; where there are more a scanner is quicker. */
const MOST_OLDER = 32;

/**
 * Copies the first cell that can be seen of every column of `row` into `raw`, or into `out` when `raw` is null, and
 * leaves the cursor behind the row. False when a marker, a time to live or many versions are about: it takes a matcher
 * then, and what was copied is of no use.
 */
export function copyPlainCells(
  cursor: CellCursor,
  maker: CellMaker,
  row: Uint8Array,
  readPoint: number,
  raw: RawRow | null,
  out: RowBuilder | null,
): boolean {
  let last: Uint8Array | undefined;
  let index = 0;
  let older = 0;
  do {
    if (cursor.seq > readPoint) continue;
    if (cursor.type !== CellType.Put || cursor.ttl !== 0) return false;
    if (last !== undefined && isColumn(cursor, last)) {
      if (++older > MOST_OLDER) return false;
    } else if (raw !== null) {
      last = maker.makeRaw(cursor, raw, index++);
    } else {
      const cell = maker.make(cursor, row, index++);
      last = cell.qualifier;
      out!.add(cell);
    }
  } while (cursor.nextInRow(row));
  return true;
}

function isColumn(cursor: CellCursor, qualifier: Uint8Array): boolean {
  const { length } = qualifier;
  if (cursor.qualifierLength !== length) return false;
  const { key, qualifierOffset } = cursor;
  for (let i = length - 1; i >= 0; i--) if (key[qualifierOffset + i] !== qualifier[i]) return false;
  return true;
}
