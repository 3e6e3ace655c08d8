/** Which properties an entity's conditions can name. */

import { AvroCodec } from '../codec/index.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import type { PropertyResolver } from './condition.js';
import { literalOf } from './key-conditions.js';
import { propertyNames } from './projection.js';
import { mapColumn, qualifierOf } from './slice.js';

/** Tells columns and key parts from the heads of embedded objects. */
export function resolverOf(schema: EntitySchema): PropertyResolver {
  return {
    entity: schema.name,
    names: propertyNames(schema),
    kindOf(property) {
      const column = schema.columnsByProperty.get(property);
      if (column !== undefined) return isDocument(column) ? 'document' : 'value';
      if (schema.key.parts.some((part) => part.name === property && part.recoverable)) return 'value';
      const head = `${property}.`;
      return schema.columns.some((other) => other.property.startsWith(head)) ? 'object' : undefined;
    },
    entryOf(property, key) {
      const qualifier = qualifierOf(mapColumn(schema, property), key);
      return { qualifier, name: `${property}[${literalOf(key)}]` };
    },
  };
}

/** Whether the column holds objects whose properties can be asked. */
function isDocument({ kind, codec }: ColumnSchema): boolean {
  return kind === 'column' && (codec instanceof AvroCodec || codec.name.startsWith('json'));
}
