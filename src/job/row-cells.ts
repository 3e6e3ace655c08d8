/** Converts cells with their timestamps into the mutations that write them unchanged. */

import {
  type Cell,
  CellType,
  CellWithTtl,
  Delete,
  type Durability,
  Put,
  type RowMutation,
  RowMutations,
} from '../table/index.js';

/** Returns undefined if there are no cells. Each keeps its timestamp and remaining time to live. */
export function copyOf(
  row: Uint8Array,
  cells: readonly Cell[],
  durability: Durability = 'USE_DEFAULT',
): RowMutation | RowMutations | undefined {
  const mutations = mutationsOf(row, cells, durability);
  if (mutations.length < 2) return mutations[0];
  return new RowMutations(row).add(...mutations);
}

/** The same as separate mutations: one put for each time to live, and one delete with all markers. */
export function mutationsOf(
  row: Uint8Array,
  cells: readonly Cell[],
  durability: Durability = 'USE_DEFAULT',
): readonly (Put | Delete)[] {
  if (cells.length > 0 && cells.every(isLastingPut)) {
    const put = new Put(row).setDurability(durability);
    put.cells.push(...cells);
    return [put];
  }
  const puts = new Map<number, Put>();
  let del: Delete | undefined;
  for (const cell of cells) {
    const { family, qualifier, timestamp, type, value } = cell;
    if (type === CellType.Put) {
      const ttl = cell instanceof CellWithTtl ? cell.ttl : 0;
      let put = puts.get(ttl);
      if (put === undefined) {
        put = new Put(row).setTtl(ttl === 0 ? undefined : ttl).setDurability(durability);
        puts.set(ttl, put);
      }
      put.cells.push({ family, qualifier, timestamp, type, value });
    } else {
      // Adds the cell directly, since the methods of Delete drop a family's other markers once the whole family is
      // deleted.
      del ??= new Delete(row).setDurability(durability);
      del.cells.push({ family, qualifier, timestamp, type, value });
    }
  }
  return [...puts.values(), ...(del === undefined ? [] : [del])];
}

function isLastingPut(cell: Cell): boolean {
  return cell.type === CellType.Put && !(cell instanceof CellWithTtl);
}
