/** Generates programs that create declared tables: with HBase's Java Admin, and with Rowan's. */

import { toHex } from '../bytes/index.js';
import {
  DEFAULT_NAMESPACE,
  type FamilyDescriptor,
  FOREVER,
  parseTableName,
  type TableDescriptor,
} from '../table/index.js';
import type { CreatableTable } from './create-table.js';

/** Generates a Java class with a `create(Admin)` that creates the namespaces and tables. */
export function javaSource(tables: readonly CreatableTable[]): string {
  const namespaces = namespacesOf(tables).map(
    (name) => `    admin.createNamespace(NamespaceDescriptor.create(${java(name)}).build());`,
  );
  return `import org.apache.hadoop.hbase.KeepDeletedCells;
import org.apache.hadoop.hbase.NamespaceDescriptor;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Durability;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.util.Bytes;

public final class CreateTables {
  /** A namespace or table that exists is an exception: leave its line out. */
  public static void create(Admin admin) throws java.io.IOException {
${[...namespaces, ...tables.map(javaTable)].join('\n')}
  }
}
`;
}

function javaTable({ descriptor, splitKeys }: CreatableTable): string {
  const calls = [
    ...javaTableOptions(descriptor),
    ...descriptor.families.map((family) => `.setColumnFamily(${javaFamily(family)})`),
  ];
  const splits = splitKeys.map((key) => `        Bytes.fromHex("${toHex(key)}")`);
  const arrays = splits.length === 0 ? '' : `,\n      new byte[][] {\n${splits.join(',\n')}\n      }`;
  return `    admin.createTable(
      TableDescriptorBuilder.newBuilder(TableName.valueOf(${java(descriptor.name)}))
        ${calls.join('\n        ')}
        .build()${arrays});`;
}

function javaTableOptions(table: TableDescriptor): string[] {
  const calls: string[] = [];
  if (table.durability !== 'USE_DEFAULT') calls.push(`.setDurability(Durability.${table.durability})`);
  if (table.maxFileSize !== undefined) calls.push(`.setMaxFileSize(${table.maxFileSize}L)`);
  if (table.memstoreFlushSize !== undefined) calls.push(`.setMemStoreFlushSize(${table.memstoreFlushSize}L)`);
  if (table.readOnly) calls.push('.setReadOnly(true)');
  if (!table.splitEnabled) calls.push('.setSplitEnabled(false)');
  if (!table.compactionEnabled) calls.push('.setCompactionEnabled(false)');
  if (table.regionReplication !== 1) calls.push(`.setRegionReplication(${table.regionReplication})`);
  if (table.splitPolicy !== undefined)
    calls.push(`.setRegionSplitPolicyClassName(${java(table.splitPolicy)})`);
  for (const [name, value] of Object.entries({ ...table.configuration, ...table.metadata })) {
    calls.push(`.setValue(${java(name)}, ${java(value)})`);
  }
  return calls;
}

function javaFamily(family: FamilyDescriptor): string {
  const calls = [
    `.setMaxVersions(${family.versions})`,
    `.setMinVersions(${family.minVersions})`,
    `.setTimeToLive(${family.ttl})`,
    `.setCompressionType(Compression.Algorithm.${family.compression})`,
    `.setDataBlockEncoding(DataBlockEncoding.${family.dataBlockEncoding})`,
    `.setBloomFilterType(BloomType.${family.bloomFilter})`,
    `.setBlocksize(${family.blockSize})`,
    `.setBlockCacheEnabled(${family.blockCache})`,
    `.setInMemory(${family.inMemory})`,
    `.setKeepDeletedCells(KeepDeletedCells.${family.keepDeletedCells})`,
    `.setNewVersionBehavior(${family.newVersionBehavior})`,
    `.setScope(${family.replicationScope})`,
    `.setCacheDataOnWrite(${family.cacheDataOnWrite})`,
    `.setPrefetchBlocksOnOpen(${family.prefetchBlocksOnOpen})`,
    ...Object.entries(family.configuration).map(
      ([name, value]) => `.setConfiguration(${java(name)}, ${java(value)})`,
    ),
    ...Object.entries(family.metadata).map(
      ([name, value]) => `.setValue(Bytes.toBytes(${java(name)}), Bytes.toBytes(${java(value)}))`,
    ),
  ];
  return `ColumnFamilyDescriptorBuilder.newBuilder(Bytes.toBytes(${java(family.name)}))
          ${calls.join('\n          ')}
          .build()`;
}

/** Generates a module with a `createTables(admin)` on `rowan-orm/table`. */
export function typescriptSource(tables: readonly CreatableTable[]): string {
  const namespaces = namespacesOf(tables).map(
    (name) =>
      `  if (!(await admin.listNamespaces()).includes(${literal(name)})) await admin.createNamespace(${literal(name)});`,
  );
  return `import { type Admin, tableDescriptor } from 'rowan-orm/table';

/** Creates the tables that are not there. */
export async function createTables(admin: Admin): Promise<void> {
${[...namespaces, ...tables.map(typescriptTable)].join('\n')}
}
`;
}

function typescriptTable({ descriptor, splitKeys }: CreatableTable): string {
  const { name, families, ...options } = descriptor;
  const declared = Object.fromEntries(
    families.map(({ name: family, ttl, ...rest }) => [
      family,
      { ttl: ttl === FOREVER ? 'FOREVER' : ttl, ...rest },
    ]),
  );
  const splits = splitKeys.map((key) => `Buffer.from('${toHex(key)}', 'hex')`).join(', ');
  return `  if (!(await admin.tableExists(${literal(name)}))) {
    await admin.createTable(tableDescriptor(${literal(name)}, ${literal(declared)}, ${literal(options)}), [${splits}]);
  }`;
}

function namespacesOf(tables: readonly CreatableTable[]): string[] {
  const names = new Set(tables.map(({ descriptor }) => parseTableName(descriptor.name).namespace));
  names.delete(DEFAULT_NAMESPACE);
  return [...names].sort();
}

/** A value as a TypeScript literal: JSON, with two characters escaped that end lines in TypeScript. */
function literal(value: unknown): string {
  return ascii(JSON.stringify(value));
}

function java(text: string): string {
  return ascii(JSON.stringify(text));
}

/** Escapes of UTF-16 code units, which Java and TypeScript have in common. */
function ascii(json: string): string {
  return json.replace(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
