/** Tables as HBase's schema has them (`TableDescriptorBuilder`). */

import { DURABILITIES, type TableDescriptor } from '../../table/descriptor.js';
import { parseTableName } from '../../table/table-name.js';
import type { TableSchema } from '../wire/messages-admin.js';
import type { TableNameMessage } from '../wire/messages-rpc.js';
import { AttributeReader, attributesOf, configurationOf, pairsOf } from './attributes.js';
import { familyFromSchema, familyToSchema } from './family-codec.js';

/** Written by the server into every table; `DEFAULT` is what holds without it. */
const FILE_TRACKER = 'hbase.store.file-tracker.impl';

export function tableNameMessage(name: string): TableNameMessage {
  const { namespace, qualifier } = parseTableName(name);
  return { namespace: Buffer.from(namespace, 'utf8'), qualifier: Buffer.from(qualifier, 'utf8') };
}

export function tableNameText(name: TableNameMessage): string {
  const namespace = Buffer.from(name.namespace).toString('utf8');
  const qualifier = Buffer.from(name.qualifier).toString('utf8');
  return namespace === 'default' ? qualifier : `${namespace}:${qualifier}`;
}

/** A table's message. What its `metadata` names is written as it is, over the option of the same name. */
export function tableToSchema(table: TableDescriptor): TableSchema {
  const attributes: Record<string, string> = {};
  if (table.durability !== 'USE_DEFAULT') attributes['DURABILITY'] = table.durability;
  if (table.maxFileSize !== undefined) attributes['MAX_FILESIZE'] = String(table.maxFileSize);
  if (table.memstoreFlushSize !== undefined) {
    attributes['MEMSTORE_FLUSHSIZE'] = String(table.memstoreFlushSize);
  }
  if (table.readOnly) attributes['READONLY'] = 'true';
  if (!table.splitEnabled) attributes['SPLIT_ENABLED'] = 'false';
  if (!table.compactionEnabled) attributes['COMPACTION_ENABLED'] = 'false';
  if (table.regionReplication !== 1) attributes['REGION_REPLICATION'] = String(table.regionReplication);
  if (table.splitPolicy !== undefined) attributes['SPLIT_POLICY'] = table.splitPolicy;
  return {
    tableName: tableNameMessage(table.name),
    attributes: attributesOf({ ...attributes, ...table.metadata }),
    columnFamilies: table.families.map(familyToSchema),
    configuration: pairsOf(table.configuration),
  };
}

/** A table from its message. What a {@link TableDescriptor} has no option for goes into its `metadata`. */
export function tableFromSchema(schema: TableSchema): TableDescriptor {
  const read = new AttributeReader(schema.attributes ?? []);
  read.dropDefault(FILE_TRACKER, 'DEFAULT');
  read.dropDefault('IS_META', 'false');
  const families = (schema.columnFamilies ?? []).map(familyFromSchema);
  families.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  return Object.freeze({
    name: schema.tableName === undefined ? '' : tableNameText(schema.tableName),
    families: Object.freeze(families),
    durability: read.oneOf('DURABILITY', DURABILITIES, 'USE_DEFAULT'),
    maxFileSize: read.integer('MAX_FILESIZE', undefined),
    memstoreFlushSize: read.integer('MEMSTORE_FLUSHSIZE', undefined),
    readOnly: read.boolean('READONLY', false),
    splitEnabled: read.boolean('SPLIT_ENABLED', true),
    compactionEnabled: read.boolean('COMPACTION_ENABLED', true),
    regionReplication: read.integer('REGION_REPLICATION', 1),
    splitPolicy: read.text('SPLIT_POLICY'),
    // The server keeps a table's settings among its attributes; a setting is told by its name.
    configuration: Object.freeze({
      ...read.withPrefix('hbase.'),
      ...configurationOf(schema.configuration ?? []),
    }),
    metadata: read.rest(),
  });
}
