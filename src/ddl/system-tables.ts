/** The tables that Rowan itself needs for some declarations. */

import { schemaTableDescriptor } from '../codec/index.js';
import { dictionaryTableDescriptor } from '../key/index.js';
import { avroColumns, type Schema } from '../schema/index.js';
import type { TableSchema } from '../schema/types.js';
import type { TableDescriptor } from '../table/index.js';

/** `rowan_schemas` where a column holds Avro, `rowan_dictionaries` where a key has a `substitute` part. */
export function systemTables({ entities }: Pick<Schema, 'entities'>): TableSchema[] {
  const descriptors: TableDescriptor[] = [];
  if (entities.some(({ key }) => key.substitutions.length > 0)) descriptors.push(dictionaryTableDescriptor());
  if (entities.some((entity) => avroColumns(entity).length > 0)) descriptors.push(schemaTableDescriptor());
  return descriptors.map((descriptor) => ({
    descriptor,
    entities: [],
    splitKeys: [],
    signature: '',
    declaration: undefined,
  }));
}
