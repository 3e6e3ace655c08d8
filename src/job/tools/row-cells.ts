/** Cells as they are stored, written into another table as they were: versions, markers and timestamps. */

import { type Cell, CellType, Delete, Put, type RowMutation, RowMutations } from '../../table/index.js';

/**
 * What writes these cells of one row. Their timestamps decide what hides what, so that writing them twice, or in another
 * order, changes nothing. (A time to live of single cells is not seen by readers, and not carried over.)
 */
export function writeOfCells(row: Uint8Array, cells: readonly Cell[]): Put | RowMutations {
  const put = new Put(row);
  const deletes: Delete[] = [];
  for (const cell of cells) {
    const { family, qualifier, timestamp, value } = cell;
    if (cell.type === CellType.Put) put.addColumn(family, qualifier, value, timestamp);
    else deletes.push(deleteOf(row, cell));
  }
  if (deletes.length === 0) return put;
  const mutations: RowMutation[] = put.cells.length === 0 ? deletes : [put, ...deletes];
  return new RowMutations(row).add(...mutations);
}

/** One marker as a mutation of its own: markers of one Delete may push each other out (R29). */
function deleteOf(row: Uint8Array, { type, family, qualifier, timestamp }: Cell): Delete {
  const del = new Delete(row);
  switch (type) {
    case CellType.DeleteFamily:
      return del.addFamily(family, timestamp);
    case CellType.DeleteFamilyVersion:
      return del.addFamilyVersion(family, timestamp);
    case CellType.DeleteColumn:
      return del.addColumns(family, qualifier, timestamp);
    default:
      return del.addColumn(family, qualifier, timestamp);
  }
}
