import type { TableSchema } from '../schema/types.js';
import { tableDescriptor } from '../table/index.js';

/** The same table under another name. @throws SchemaError when it cannot be one. */
export function renamedTable(table: TableSchema, name: string): TableSchema {
  const { families } = table.descriptor;
  const { name: checked } = tableDescriptor(name, Object.fromEntries(families.map((f) => [f.name, {}])));
  const descriptor = Object.freeze({ ...table.descriptor, name: checked });
  return Object.freeze({ ...table, descriptor });
}
