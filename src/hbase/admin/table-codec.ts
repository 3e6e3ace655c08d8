import {
  BLOOM_FILTERS,
  COMPRESSIONS,
  DATA_BLOCK_ENCODINGS,
  DURABILITIES,
  type FamilyDescriptor,
  FOREVER,
  KEEP_DELETED_CELLS,
  parseTableName,
  type TableDescriptor,
} from '../../table/descriptor.js';
import type { ColumnFamilySchema, TableSchema } from '../wire/messages-admin.js';
import type { TableNameMessage } from '../wire/messages-rpc.js';

// — HBase's attribute maps: bytes to bytes, used as text to text.

type BytesPair = { readonly first: Uint8Array; readonly second: Uint8Array };
type NamePair = { readonly name: string; readonly value: string };

function attributesOf(values: Readonly<Record<string, string>>): BytesPair[] {
  return Object.entries(values).map(([key, value]) => ({
    first: Buffer.from(key, 'utf8'),
    second: Buffer.from(value, 'utf8'),
  }));
}

export function pairsOf(values: Readonly<Record<string, string>>): NamePair[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}

export function configurationOf(pairs: readonly NamePair[]): Readonly<Record<string, string>> {
  return Object.freeze(Object.fromEntries(pairs.map(({ name, value }) => [name, value])));
}

/**
 * Reads known attributes and removes them from the map. One with an invalid value stays in the map, and the default is returned, so
 * that a later write preserves the value.
 */
class AttributeReader {
  private readonly left = new Map<string, string>();

  constructor(attributes: readonly BytesPair[]) {
    for (const { first, second } of attributes) {
      this.left.set(Buffer.from(first).toString('utf8'), Buffer.from(second).toString('utf8'));
    }
  }

  integer<D extends number | undefined>(name: string, fallback: D): number | D {
    return this.take(name, fallback, (text) => (/^-?\d+$/.test(text) ? Number(text) : undefined));
  }

  boolean(name: string, fallback: boolean): boolean {
    return this.take(name, fallback, (text) => {
      const lower = text.toLowerCase();
      return lower === 'true' ? true : lower === 'false' ? false : undefined;
    });
  }

  text(name: string): string | undefined {
    return this.take(name, undefined, (text) => text);
  }

  oneOf<V extends string>(name: string, values: readonly V[], fallback: V): V {
    return this.take(name, fallback, (text) => values.find((value) => value === text.toUpperCase()));
  }

  /** Removes an attribute that has its default value. */
  dropDefault(name: string, value: string): void {
    if (this.left.get(name) === value) this.left.delete(name);
  }

  /** Removes and returns all attributes with a prefix. */
  withPrefix(prefix: string): Record<string, string> {
    const taken: Record<string, string> = {};
    for (const [name, value] of this.left) {
      if (!name.startsWith(prefix)) continue;
      taken[name] = value;
      this.left.delete(name);
    }
    return taken;
  }

  /** The attributes that were not read. */
  rest(): Readonly<Record<string, string>> {
    return Object.freeze(Object.fromEntries(this.left));
  }

  private take<V, D>(name: string, fallback: D, parse: (text: string) => V | undefined): V | D {
    const text = this.left.get(name);
    if (text === undefined) return fallback;
    const value = parse(text);
    if (value === undefined) return fallback;
    this.left.delete(name);
    return value;
  }
}

// — Family descriptors in HBase's encoding: attributes, strings as bytes (`ColumnFamilyDescriptorBuilder`).

/** Encodes a family. Its `metadata` is written unchanged, and overrides options of the same name. */
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

/** Decodes a family. Attributes without an equivalent in {@link FamilyDescriptor} go into its `metadata`. */
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

// — Table descriptors in HBase's encoding (`TableDescriptorBuilder`).

/** An attribute that the server writes into every table; `DEFAULT` is its default value. */
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

/** Encodes a table. Its `metadata` is written unchanged, and overrides options of the same name. */
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

/** Decodes a table. Attributes without an equivalent in {@link TableDescriptor} go into its `metadata`. */
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
    // The server keeps a table's settings among its attributes; their names tell them apart.
    configuration: Object.freeze({
      ...read.withPrefix('hbase.'),
      ...configurationOf(schema.configuration ?? []),
    }),
    metadata: read.rest(),
  });
}
