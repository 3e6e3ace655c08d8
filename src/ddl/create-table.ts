import { toStringBinary } from '../bytes/index.js';
import type { TableSchema } from '../schema/types.js';
import {
  DEFAULT_NAMESPACE,
  type FamilyDescriptor,
  FOREVER,
  parseTableName,
  type TableDescriptor,
} from '../table/index.js';
import { INDEX_DDL } from './feature-ddl.js';
import { stampedDescriptor } from './table-stamp.js';

// — Ruby literals for the HBase shell (JRuby).

/**
 * A string as a Ruby literal. Single quotes, in which only `\\` and `\'` are escapes; text with control characters uses
 * double quotes, where a newline can be escaped.
 */
export function rubyString(text: string): string {
  if (!/\p{Cc}/u.test(text)) return `'${text.replace(/[\\']/g, '\\$&')}'`;
  const escaped = text.replace(/[\\"#]|\p{Cc}/gu, (char) => {
    const code = char.codePointAt(0)!;
    return code >= 0x20 && code < 0x7f ? `\\${char}` : `\\u{${code.toString(16)}}`;
  });
  return `"${escaped}"`;
}

/**
 * Bytes for an option that the shell parses with `Bytes.toBytesBinary` (SPLITS). Ruby leaves `\xHH` unchanged in single
 * quotes. The hex digits are upper case, since toBytesBinary silently misreads lower-case ones.
 */
export function rubyBinary(bytes: Uint8Array): string {
  return `'${toStringBinary(bytes).replaceAll("'", '\\x27')}'`;
}

/**
 * Bytes for an argument that the shell takes as a Ruby string (`split`, rows): in double quotes, where Ruby interprets
 * the escapes.
 */
export function rubyBytes(bytes: Uint8Array): string {
  return `"${[...bytes].map((byte) => `\\x${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')}"`;
}

/** A string, number or boolean as a Ruby literal. */
export function rubyValue(value: string | number | boolean): string {
  return typeof value === 'string' ? rubyString(value) : String(value);
}

/** A hash of strings: `{'a' => 'b'}`; with `indent`, one entry a line. */
function rubyHash(entries: Readonly<Record<string, string>>, indent?: string): string {
  const pairs = Object.entries(entries).map(([key, value]) => `${rubyString(key)} => ${rubyString(value)}`);
  return `{${indent ?? ''}${pairs.join(indent === undefined ? ', ' : `,${indent}`)}}`;
}

// — Generates HBase shell statements that create declared tables.

/** The width at which statements are wrapped. */
const LINE_WIDTH = 110;

/** The input of a `create` statement. */
export interface CreatableTable {
  readonly descriptor: TableDescriptor;
  readonly splitKeys: readonly Uint8Array[];
}

/** Returns `create_namespace` statements for the namespaces of the tables, except the default one. */
export function createNamespaceStatements(tables: readonly CreatableTable[]): string[] {
  const names = new Set(tables.map(({ descriptor }) => parseTableName(descriptor.name).namespace));
  names.delete(DEFAULT_NAMESPACE);
  return [...names].sort().map((name) => `create_namespace ${rubyString(name)}`);
}

/**
 * Returns one `create` statement with every family option, the table options that differ from the default, and SPLITS.
 */
export function createTableStatement({ descriptor, splitKeys }: CreatableTable): string {
  const clauses = descriptor.families.map(familyClause);
  const options = tableOptions(descriptor);
  if (options.length > 0) clauses.push(hash(options));
  if (splitKeys.length > 0) clauses.push(`SPLITS => ${list(splitKeys.map(rubyBinary))}`);
  return [`create ${rubyString(descriptor.name)}`, ...clauses].join(',\n  ');
}

/** Returns the statements that create a schema's tables, including the metadata about their entities. */
export function schemaScript(
  tables: readonly TableSchema[],
  options: { readonly namespaces?: boolean } = {},
): string {
  return createScript(creatableTables(tables, tables), options);
}

/** The tables that the DDL creates. Index tables carry metadata about the indexes of the `declared` tables. */
export function creatableTables(
  tables: readonly TableSchema[],
  declared: readonly TableSchema[],
): CreatableTable[] {
  const stamps = new Map(INDEX_DDL === undefined ? [] : declared.map(INDEX_DDL.created));
  return tables.map((table) => {
    const descriptor = stampedDescriptor(table);
    const metadata = { ...descriptor.metadata, ...stamps.get(descriptor.name) };
    return { descriptor: { ...descriptor, metadata }, splitKeys: table.splitKeys };
  });
}

/** Returns the whole script: namespaces, then tables, in the given order. */
export function createScript(
  tables: readonly CreatableTable[],
  options: { readonly namespaces?: boolean } = {},
): string {
  const lines: string[] = [];
  const namespaces = options.namespaces === false ? [] : createNamespaceStatements(tables);
  if (namespaces.length > 0) {
    lines.push(
      '# create_namespace fails where the namespace exists: then leave the line out.',
      ...namespaces,
      '',
    );
  }
  for (const table of tables) lines.push(createTableStatement(table), '');
  return lines.join('\n');
}

/** The shell's names of family options, in the order in which they are written. */
export const SHELL_FAMILY_OPTIONS = {
  versions: 'VERSIONS',
  minVersions: 'MIN_VERSIONS',
  ttl: 'TTL',
  compression: 'COMPRESSION',
  dataBlockEncoding: 'DATA_BLOCK_ENCODING',
  bloomFilter: 'BLOOMFILTER',
  blockSize: 'BLOCKSIZE',
  blockCache: 'BLOCKCACHE',
  inMemory: 'IN_MEMORY',
  keepDeletedCells: 'KEEP_DELETED_CELLS',
  newVersionBehavior: 'NEW_VERSION_BEHAVIOR',
  replicationScope: 'REPLICATION_SCOPE',
  cacheDataOnWrite: 'CACHE_DATA_ON_WRITE',
  prefetchBlocksOnOpen: 'PREFETCH_BLOCKS_ON_OPEN',
} as const satisfies Record<keyof Omit<FamilyDescriptor, 'name' | 'configuration' | 'metadata'>, string>;

/** The shell's names of table options. */
export const SHELL_TABLE_OPTIONS = {
  maxFileSize: 'MAX_FILESIZE',
  memstoreFlushSize: 'MEMSTORE_FLUSHSIZE',
  durability: 'DURABILITY',
  readOnly: 'READONLY',
  splitEnabled: 'SPLIT_ENABLED',
  compactionEnabled: 'COMPACTION_ENABLED',
  regionReplication: 'REGION_REPLICATION',
  splitPolicy: 'SPLIT_POLICY',
} as const satisfies Record<
  keyof Omit<TableDescriptor, 'name' | 'families' | 'configuration' | 'metadata'>,
  string
>;

/**
 * Writes every option of the shell's `cfd` that a declaration can set, so that the script does not depend on defaults.
 */
export function familyClause(family: FamilyDescriptor): string {
  const options = Object.entries(SHELL_FAMILY_OPTIONS).map(([option, name]) => {
    const value = family[option as keyof typeof SHELL_FAMILY_OPTIONS];
    return `${name} => ${rubyValue(option === 'ttl' && value === FOREVER ? 'FOREVER' : value)}`;
  });
  return hash([`NAME => ${rubyString(family.name)}`, ...options, ...settings(family)]);
}

function tableOptions(table: TableDescriptor): string[] {
  const options: string[] = [];
  if (table.maxFileSize !== undefined) options.push(`MAX_FILESIZE => '${table.maxFileSize}'`);
  if (table.memstoreFlushSize !== undefined)
    options.push(`MEMSTORE_FLUSHSIZE => '${table.memstoreFlushSize}'`);
  if (table.durability !== 'USE_DEFAULT') options.push(`DURABILITY => '${table.durability}'`);
  if (table.readOnly) options.push('READONLY => true');
  if (!table.splitEnabled) options.push('SPLIT_ENABLED => false');
  if (!table.compactionEnabled) options.push('COMPACTION_ENABLED => false');
  if (table.regionReplication !== 1) options.push(`REGION_REPLICATION => ${table.regionReplication}`);
  if (table.splitPolicy !== undefined) options.push(`SPLIT_POLICY => ${rubyString(table.splitPolicy)}`);
  return [...options, ...settings(table)];
}

function settings(of: Pick<TableDescriptor, 'configuration' | 'metadata'>): string[] {
  const options: string[] = [];
  for (const [name, entries] of [
    ['CONFIGURATION', of.configuration],
    ['METADATA', of.metadata],
  ] as const) {
    if (Object.keys(entries).length === 0) continue;
    const short = `${name} => ${rubyHash(entries)}`;
    options.push(short.length < LINE_WIDTH ? short : `${name} => ${rubyHash(entries, '\n     ')}`);
  }
  return options;
}

/** Options in braces, wrapped into lines. */
function hash(options: readonly string[]): string {
  return `{${wrap(options, '   ')}}`;
}

function list(items: readonly string[]): string {
  return `[${wrap(items, '    ')}]`;
}

function wrap(items: readonly string[], indent: string): string {
  let text = '';
  let column = 3;
  for (const [index, item] of items.entries()) {
    const last = index === items.length - 1;
    const piece = last ? item : `${item},`;
    if (index > 0 && column + 1 + piece.length > LINE_WIDTH) {
      text += `\n${indent}${piece}`;
      column = indent.length + piece.length;
    } else {
      text += index > 0 ? ` ${piece}` : piece;
      column += piece.length + 1;
    }
  }
  return text;
}
