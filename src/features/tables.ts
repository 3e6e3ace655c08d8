import { schemaTableDescriptor } from '../codec/index.js';
import { INDEX_FAMILY, indexTableName } from '../indexes/index.js';
import { dictionaryTableDescriptor } from '../key/index.js';
import { changesDescriptor, outboxDescriptor } from '../repository/index.js';
import { avroColumns, type Schema } from '../schema/index.js';
import type { EntitySchema, TableSchema } from '../schema/types.js';
import { type TableDescriptor, tableDescriptor } from '../table/index.js';
import { summaryTableDescriptor } from './summaries/rows.js';

/** The tables that features keep beside those of the declarations. */

/**
 * `rowan_schemas` where a column holds Avro, `rowan_dictionaries` where a key has a `substitute` part, `rowan_outbox` where
 * an entity has copies, rules or summaries, `rowan_changes` where changes are kept, and the tables of indexes and summaries.
 */
export function systemTables({ entities }: Pick<Schema, 'entities'>): TableSchema[] {
  const descriptors: TableDescriptor[] = [];
  if (entities.some(({ key }) => key.substitutions.length > 0)) descriptors.push(dictionaryTableDescriptor());
  if (entities.some((entity) => avroColumns(entity).length > 0)) descriptors.push(schemaTableDescriptor());
  if (
    entities.some(
      ({ copies, references, summaries }) => copies.length + references.length + summaries.length > 0,
    )
  )
    descriptors.push(outboxDescriptor());
  if (entities.some(({ changesKept }) => changesKept !== undefined)) descriptors.push(changesDescriptor());
  const tablesOf = (has: (entity: EntitySchema) => boolean): string[] =>
    [...new Set(entities.filter(has).map(({ table }) => table.descriptor.name))].sort();
  for (const name of tablesOf(({ indexes }) => indexes.length > 0))
    descriptors.push(indexTableDescriptor(name));
  for (const name of tablesOf(({ summaries }) => summaries.length > 0))
    descriptors.push(summaryTableDescriptor(name));
  return descriptors.map((descriptor) => ({
    descriptor,
    entities: [],
    retired: [],
    splitKeys: [],
    signature: '',
    declaration: undefined,
  }));
}

/** The table of the entries of a table's indexes. */
export function indexTableDescriptor(table: string): TableDescriptor {
  return tableDescriptor(indexTableName(table), { [INDEX_FAMILY]: {} });
}
