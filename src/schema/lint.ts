import type { TableSchema } from './types.js';

/** Families beyond which flushes and compactions of all suffer from the largest (HBase book, "On the number of column families"). */
const MANY_FAMILIES = 3;
/** Bytes of a name that every single cell repeats (HBase book, "Try to minimize row and column sizes"). */
const LONG_FAMILY = 4;
const LONG_QUALIFIER = 16;

/** What breaks no rule but is likely to cost. */
export function lintTables(tables: readonly TableSchema[]): string[] {
  return tables.flatMap((table) => {
    const name = `Table "${table.descriptor.name}"`;
    const { families } = table.descriptor;
    const warnings: string[] = [];
    if (families.length > MANY_FAMILIES) {
      warnings.push(
        `${name} has ${families.length} families; more than ${MANY_FAMILIES} cost flushes and compactions. Merge those that are read together.`,
      );
    }
    for (const family of families) {
      if (Buffer.byteLength(family.name) > LONG_FAMILY) {
        warnings.push(
          `${name}: the family name "${family.name}" stands in every cell. Shorten it to one or two letters.`,
        );
      }
    }
    for (const entity of table.entities) {
      for (const column of entity.columns) {
        if (column.qualifier.length > LONG_QUALIFIER) {
          warnings.push(
            `${entity.name}.${column.property}: its qualifier of ${column.qualifier.length} bytes stands in every cell. Shorten it.`,
          );
        }
      }
    }
    return warnings;
  });
}
