import type { KeyDictionary } from '../key/index.js';
import type { EntitySchema } from '../schema/types.js';
import { CompiledMapper } from './entity-mapper.js';

/**
 * The schema of an entity with `substitute` parts, bound to the dictionaries of a database: its key takes and gives
 * texts. The schema itself when it has none.
 */
export function bindDictionaries(
  schema: EntitySchema,
  dictionary: (name: string) => KeyDictionary,
): EntitySchema {
  const key = schema.key.bind(dictionary);
  if (key === schema.key) return schema;
  const tableName = schema.table.descriptor.name;
  return Object.freeze({ ...schema, key, mapper: new CompiledMapper({ ...schema, key, tableName }) });
}
