/** Families as HBase's schema has them: attributes, strings as bytes (`ColumnFamilyDescriptorBuilder`). */

import {
  BLOOM_FILTERS,
  COMPRESSIONS,
  DATA_BLOCK_ENCODINGS,
  type FamilyDescriptor,
  FOREVER,
  KEEP_DELETED_CELLS,
} from '../../table/descriptor.js';
import type { ColumnFamilySchema } from '../wire/messages-admin.js';
import { AttributeReader, attributesOf, configurationOf, pairsOf } from './attributes.js';

/** A family's message. What its `metadata` names is written as it is, over the option of the same name. */
export function familyToSchema(family: FamilyDescriptor): ColumnFamilySchema {
  const attributes = {
    VERSIONS: String(family.versions),
    MIN_VERSIONS: String(family.minVersions),
    TTL: String(family.ttl),
    COMPRESSION: family.compression,
    DATA_BLOCK_ENCODING: family.dataBlockEncoding,
    BLOOMFILTER: family.bloomFilter,
    BLOCKSIZE: String(family.blockSize),
    BLOCKCACHE: String(family.blockCache),
    IN_MEMORY: String(family.inMemory),
    KEEP_DELETED_CELLS: family.keepDeletedCells,
    NEW_VERSION_BEHAVIOR: String(family.newVersionBehavior),
    REPLICATION_SCOPE: String(family.replicationScope),
    CACHE_DATA_ON_WRITE: String(family.cacheDataOnWrite),
    PREFETCH_BLOCKS_ON_OPEN: String(family.prefetchBlocksOnOpen),
    ...family.metadata,
  };
  return {
    name: Buffer.from(family.name, 'utf8'),
    attributes: attributesOf(attributes),
    configuration: pairsOf(family.configuration),
  };
}

/** A family from its message. What a {@link FamilyDescriptor} has no option or no value for goes into its `metadata`. */
export function familyFromSchema(schema: ColumnFamilySchema): FamilyDescriptor {
  const read = new AttributeReader(schema.attributes ?? []);
  read.dropDefault('INDEX_BLOCK_ENCODING', 'NONE');
  return Object.freeze({
    name: Buffer.from(schema.name).toString('utf8'),
    versions: read.integer('VERSIONS', 1),
    minVersions: read.integer('MIN_VERSIONS', 0),
    ttl: read.integer('TTL', FOREVER),
    compression: read.oneOf('COMPRESSION', COMPRESSIONS, 'NONE'),
    dataBlockEncoding: read.oneOf('DATA_BLOCK_ENCODING', DATA_BLOCK_ENCODINGS, 'NONE'),
    bloomFilter: read.oneOf('BLOOMFILTER', BLOOM_FILTERS, 'ROW'),
    blockSize: read.integer('BLOCKSIZE', 65536),
    blockCache: read.boolean('BLOCKCACHE', true),
    inMemory: read.boolean('IN_MEMORY', false),
    keepDeletedCells: read.oneOf('KEEP_DELETED_CELLS', KEEP_DELETED_CELLS, 'FALSE'),
    newVersionBehavior: read.boolean('NEW_VERSION_BEHAVIOR', false),
    replicationScope: read.integer('REPLICATION_SCOPE', 0),
    cacheDataOnWrite: read.boolean('CACHE_DATA_ON_WRITE', false),
    prefetchBlocksOnOpen: read.boolean('PREFETCH_BLOCKS_ON_OPEN', false),
    configuration: configurationOf(schema.configuration ?? []),
    metadata: read.rest(),
  });
}
