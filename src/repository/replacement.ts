/** Replacements: puts that delete everything that the entity does not have, in the same step. */

import { startsWithBytes } from '../bytes/index.js';
import { OwnCells } from '../schema/own-cells.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { CellType, columnName, Delete, Get, type RowMutation } from '../table/index.js';
import type { Change, ResolvedChange } from './change.js';
import { applyWriteOptions, timestampOf, type WriteOptions } from './options.js';
import type { RowImage } from './row-image.js';

type Entity = Readonly<Record<string, unknown>>;

/**
 * A put of the whole entity as a replacement. Where columns are not known by their names, the stored ones are read first: those of
 * Maps, and with `removesUnknown` the undeclared ones.
 * @param mutations of the put: what is resolved of it may rewrite stored columns.
 * @param kept the column that stays without a value in the entity: its version.
 */
export function replacementOf(
  schema: EntitySchema,
  kept: ColumnSchema | undefined,
  entity: Entity,
  put: Change,
  mutations: readonly RowMutation[],
  removesUnknown: boolean,
  options: WriteOptions | undefined,
): Change {
  const del = new Delete(put.row, timestampOf(options));
  for (const column of schema.columns) {
    if (column.kind === 'columns' || column === kept) continue;
    if (isMissing(entity, column)) del.addColumns(column.family, column.qualifier);
  }
  applyWriteOptions([del], options);
  const maps = schema.columns.filter(({ kind }) => kind === 'columns');
  const own = removesUnknown ? new OwnCells(schema) : undefined;
  const droppable = (family: string, qualifier: Uint8Array): boolean =>
    maps.some((column) => column.family === family && startsWithBytes(qualifier, column.qualifier)) ||
    (own !== undefined && schema.families.includes(family) && !own.has(family, qualifier));
  const families = removesUnknown ? schema.families : maps.map(({ family }) => family);
  let { reads } = put;
  if (families.length > 0) {
    reads ??= new Get(put.row);
    for (const family of families) reads.addFamily(family);
  }
  return {
    ...put,
    operation: 'replace',
    reads,
    resolve: (before) => {
      const resolved = put.resolve(before);
      const removal = new Delete(del.row, del.timestamp).setDurability(del.durability);
      removal.cells.push(...del.cells);
      if (before !== undefined) dropStored(droppable, before, mutations, removal);
      return removal.cells.length === 0 ? resolved : joinDeletes(resolved, removal);
    },
  };
}

/** Whether the entity has no value for the column, so that a replacement deletes it. */
function isMissing(source: Entity, column: ColumnSchema): boolean {
  let value: unknown = source;
  for (const step of column.path) {
    if (value === undefined || value === null) return value === undefined;
    value = (value as Entity)[step];
  }
  return value === undefined;
}

/** Adds the stored columns that are `droppable` and absent in the new entity. Compares the bytes of their names. */
function dropStored(
  droppable: (family: string, qualifier: Uint8Array) => boolean,
  before: RowImage,
  mutations: readonly RowMutation[],
  del: Delete,
): void {
  const kept = new Set<string>();
  for (const mutation of mutations) {
    if (!('cells' in mutation)) continue;
    for (const { family, qualifier } of mutation.cells) kept.add(columnName(family, qualifier));
  }
  for (const { family, qualifier } of before.all()) {
    if (droppable(family, qualifier) && !kept.has(columnName(family, qualifier)))
      del.addColumns(family, qualifier);
  }
}

/** Joins the deletes of the mutations into one, and drops rewrites of deleted cells. */
function joinDeletes({ mutations, ...resolved }: ResolvedChange, del: Delete): ResolvedChange {
  const deleted = new Set(del.cells.map(({ family, qualifier }) => columnName(family, qualifier)));
  for (const mutation of mutations) if (mutation.kind === 'delete') del.cells.push(...mutation.cells);
  const rest = mutations.filter((mutation) => mutation.kind !== 'delete');
  for (const mutation of rest) {
    if (mutation.kind !== 'put') continue;
    const left = mutation.cells.filter(
      ({ family, qualifier, type }) => type !== CellType.Put || !deleted.has(columnName(family, qualifier)),
    );
    mutation.cells.splice(0, mutation.cells.length, ...left);
  }
  return { mutations: [...rest.filter((m) => m.kind !== 'put' || m.cells.length > 0), del], ...resolved };
}
