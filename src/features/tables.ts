import { schemaTableDescriptor } from '../codec/index.js';
import { dictionaryTableDescriptor } from '../key/index.js';
import { outboxDescriptor } from '../repository/index.js';
import { avroColumns, formerAvro, type Schema } from '../schema/index.js';
import type { EntitySchema, TableSchema } from '../schema/types.js';
import type { TableDescriptor } from '../table/index.js';
import { CHANGES_TABLE, changesDescriptor } from './changes/table.js';
import { indexTableDescriptor } from './indexes/entry.js';
import { summaryTableDescriptor } from './summaries/rows.js';

/** Rowan's own tables, which are created beside the declared ones. */

type Entities = readonly EntitySchema[];

/** Each function returns the tables of one kind that these entities need. */
const TABLES: readonly ((entities: Entities) => readonly TableDescriptor[])[] = [
  (entities) => when(entities, ({ key }) => key.substitutions.length > 0, dictionaryTableDescriptor),
  (entities) =>
    when(
      entities,
      (entity) => avroColumns(entity).length + formerAvro(entity).length > 0,
      schemaTableDescriptor,
    ),
  (entities) =>
    when(
      entities,
      ({ copies, references, summaries, mutual, computed }) =>
        copies.length + references.length + summaries.length + computed.length > 0 || mutual !== undefined,
      outboxDescriptor,
    ),
  (entities) => when(entities, ({ changesKept }) => changesKept !== undefined, changesDescriptor),
  (entities) => beside(entities, ({ indexes }) => indexes.length > 0, indexTableDescriptor),
  (entities) => beside(entities, ({ summaries }) => summaries.length > 0, summaryTableDescriptor),
];

/** Tables beside a table that are made of its rows. */
const MADE_OF_ROWS: readonly ((table: string) => TableDescriptor)[] = [
  indexTableDescriptor,
  summaryTableDescriptor,
];

/** The names of the tables that features make of the rows of this table. */
export function tablesMadeOf(table: string): readonly string[] {
  return MADE_OF_ROWS.map((descriptor) => descriptor(table).name);
}

/** Tables whose rows have the numbers of commits of their own store, so that they mean nothing in another embedded store. */
export const TABLES_OF_COMMITS: readonly string[] = [CHANGES_TABLE];

function when(
  entities: Entities,
  has: (entity: EntitySchema) => boolean,
  descriptor: () => TableDescriptor,
): readonly TableDescriptor[] {
  return entities.some(has) ? [descriptor()] : [];
}

function beside(
  entities: Entities,
  has: (entity: EntitySchema) => boolean,
  descriptor: (table: string) => TableDescriptor,
): readonly TableDescriptor[] {
  const names = new Set(entities.filter(has).map(({ table }) => table.descriptor.name));
  return [...names].sort().map(descriptor);
}

/**
 * `rowan_schemas` where a column holds, or held, Avro, `rowan_dictionaries` where a key has a `substitute` part, `rowan_outbox` where
 * an entity has copies, rules, summaries, mutual links or computed columns, `rowan_changes` where changes are kept, and the tables of indexes and summaries.
 */
export function systemTables({ entities }: Pick<Schema, 'entities'>): TableSchema[] {
  return TABLES.flatMap((tables) => tables(entities)).map((descriptor) => ({
    descriptor,
    entities: [],
    retired: [],
    splitKeys: [],
    signature: '',
    declaration: undefined,
  }));
}
