/** What programs give of an entity. */

import type { ColumnSchema, EntitySchema } from './types.js';

/**
 * The columns whose values whoever puts an entity may give: none of what Rowan sets itself (versions, times of deletion, copies), no
 * counters, histories or packed columns.
 */
export function givenColumns(schema: EntitySchema): ColumnSchema[] {
  const copied = new Set(schema.copies.flatMap(({ fields }) => fields.map(({ column }) => column)));
  return schema.columns.filter(
    (column) =>
      (column.kind === 'column' || column.kind === 'columns') &&
      column.window === undefined &&
      column.property !== schema.versionProperty &&
      column.property !== schema.deletedProperty &&
      !copied.has(column),
  );
}
