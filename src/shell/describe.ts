import { type FamilyDescriptor, FOREVER, type TableDescriptor } from '../table/index.js';
import type { ShellCommand } from './command.js';

/** Formats tables and families like HBase's `describe`. */

/** The options that `describe` of HBase 2.6 prints individually; others are printed under METADATA. */
const FAMILY_KEYWORDS = new Set(
  (
    'BLOOMFILTER REPLICATION_SCOPE VERSIONS MIN_VERSIONS COMPRESSION TTL BLOCKSIZE IN_MEMORY BLOCKCACHE ' +
    'KEEP_DELETED_CELLS DATA_BLOCK_ENCODING INDEX_BLOCK_ENCODING'
  ).split(' '),
);
const TABLE_KEYWORDS = new Set(
  'DURABILITY MAX_FILESIZE MEMSTORE_FLUSHSIZE PRIORITY READONLY REGION_REPLICATION NORMALIZATION_ENABLED IS_META OWNER'.split(
    ' ',
  ),
);

const SIZES = [
  ['TB', 2 ** 40],
  ['GB', 2 ** 30],
  ['MB', 2 ** 20],
  ['KB', 2 ** 10],
  ['B', 1],
] as const;

/** Sorts options in the iteration order of a `java.util.HashMap`, in which `describe` prints them. */
function inHashOrder(keys: readonly string[]): string[] {
  let capacity = 32;
  while (keys.length > capacity * 0.75) capacity *= 2;
  const bucket = (key: string): number => {
    let hash = 1;
    for (const byte of Buffer.from(key, 'utf8')) hash = (Math.imul(31, hash) + ((byte << 24) >> 24)) | 0;
    return (hash ^ (hash >>> 16)) & (capacity - 1);
  };
  return keys
    .map((key, index) => ({ key, index, bucket: bucket(key) }))
    .sort((a, b) => a.bucket - b.bucket || a.index - b.index)
    .map(({ key }) => key);
}

/** Returns `{NAME => 'f', VERSIONS => '1', …}`. */
export function familyText(family: FamilyDescriptor): string {
  const values = familyValues(family);
  const ordered = inHashOrder(Object.keys(values));
  const own = ordered.filter((key) => FAMILY_KEYWORDS.has(key)).map((key) => `${key} => '${values[key]}'`);
  const metadata = ordered
    .filter((key) => !FAMILY_KEYWORDS.has(key))
    .map((key) => `'${key}' => '${values[key]}'`);
  const parts = [`NAME => '${family.name}'`, ...own];
  if (metadata.length > 0) parts.push(`METADATA => {${metadata.join(', ')}}`);
  const configuration = Object.entries(family.configuration);
  if (configuration.length > 0) {
    parts.push(
      `CONFIGURATION => {${configuration.map(([key, value]) => `'${key}' => '${value}'`).join(', ')}}`,
    );
  }
  return `{${parts.join(', ')}}`;
}

function familyValues(family: FamilyDescriptor): Readonly<Record<string, string>> {
  const values: Record<string, string> = {
    BLOOMFILTER: family.bloomFilter,
    REPLICATION_SCOPE: String(family.replicationScope),
    VERSIONS: String(family.versions),
    MIN_VERSIONS: String(family.minVersions),
    COMPRESSION: family.compression,
    TTL: ttlText(family.ttl),
    BLOCKSIZE: sizeText(family.blockSize),
    IN_MEMORY: String(family.inMemory),
    BLOCKCACHE: String(family.blockCache),
    KEEP_DELETED_CELLS: family.keepDeletedCells,
    DATA_BLOCK_ENCODING: family.dataBlockEncoding,
    INDEX_BLOCK_ENCODING: 'NONE',
  };
  if (family.cacheDataOnWrite) values['CACHE_DATA_ON_WRITE'] = 'true';
  if (family.newVersionBehavior) values['NEW_VERSION_BEHAVIOR'] = 'true';
  if (family.prefetchBlocksOnOpen) values['PREFETCH_BLOCKS_ON_OPEN'] = 'true';
  return { ...values, ...family.metadata };
}

/** Returns e.g. `93784 SECONDS (1 DAY 2 HOURS 3 MINUTES 4 SECONDS)`. */
function ttlText(seconds: number): string {
  if (seconds === FOREVER) return 'FOREVER';
  const parts: string[] = [];
  let left = seconds;
  for (const [unit, length] of [
    ['DAY', 86_400],
    ['HOUR', 3600],
    ['MINUTE', 60],
    ['SECOND', 1],
  ] as const) {
    const count = Math.floor(left / length);
    left -= count * length;
    if (count > 0) parts.push(`${count} ${unit}${count > 1 ? 'S' : ''}`);
  }
  return parts.length === 0 ? `${seconds} SECONDS` : `${seconds} SECONDS (${parts.join(' ')})`;
}

/** Returns e.g. `5368709120 B (5GB)`, `8200 B (8KB 8B)`. */
function sizeText(bytes: number): string {
  const parts: string[] = [];
  let left = bytes;
  for (const [unit, size] of SIZES) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) parts.push(`${count}${unit}`);
  }
  return `${bytes} B (${parts.join(' ')})`;
}

/** The text that `describe` prints after the name: `, {TABLE_ATTRIBUTES => {…}}`. */
export function tableAttributesText(table: TableDescriptor): string {
  const values = tableValues(table);
  const keys = Object.keys(values).sort();
  const own = keys.filter((key) => TABLE_KEYWORDS.has(key)).map((key) => `${key} => '${values[key]}'`);
  const rest = keys.filter((key) => !TABLE_KEYWORDS.has(key)).map((key) => `'${key}' => '${values[key]}'`);
  return `, {TABLE_ATTRIBUTES => {${[...own, `METADATA => {${rest.join(', ')}}`].join(', ')}}}`;
}

/** A table as in HBase's errors: `'t', {TABLE_ATTRIBUTES => …}, {NAME => 'f', …}`. */
export function tableText(table: TableDescriptor): string {
  return [`'${table.name}'${tableAttributesText(table)}`, ...table.families.map(familyText)].join(', ');
}

function tableValues(table: TableDescriptor): Readonly<Record<string, string>> {
  const values: Record<string, string> = { 'hbase.store.file-tracker.impl': 'DEFAULT' };
  if (table.durability !== 'USE_DEFAULT') values['DURABILITY'] = table.durability;
  if (table.maxFileSize !== undefined) values['MAX_FILESIZE'] = sizeText(table.maxFileSize);
  if (table.memstoreFlushSize !== undefined) values['MEMSTORE_FLUSHSIZE'] = sizeText(table.memstoreFlushSize);
  if (table.readOnly) values['READONLY'] = 'true';
  if (!table.splitEnabled) values['SPLIT_ENABLED'] = 'false';
  if (!table.compactionEnabled) values['COMPACTION_ENABLED'] = 'false';
  if (table.regionReplication !== 1) values['REGION_REPLICATION'] = String(table.regionReplication);
  if (table.splitPolicy !== undefined) values['SPLIT_POLICY'] = table.splitPolicy;
  return { ...values, ...table.configuration, ...table.metadata };
}

/** The output of `help 'command'`. */
export function describeCommand({ name, summary, examples, aliases = [] }: ShellCommand): string {
  const also = aliases.length === 0 ? '' : ` Also: ${aliases.join(', ')}.`;
  return `${name}: ${summary}${also}\n${examples.map((example) => `\n  hbase> ${example}`).join('')}\n`;
}

/** The output of `help`. */
export function overview(commands: readonly ShellCommand[]): string {
  const groups = new Map<string, string[]>();
  for (const { group, name } of commands) groups.set(group, [...(groups.get(group) ?? []), name]);
  const lines = [
    `Type help 'COMMAND' for a command, help 'GROUP' for a group of them.`,
    '',
    'COMMAND GROUPS:',
  ];
  for (const [group, names] of groups) {
    lines.push(`  Group name: ${group}`, `  Commands: ${names.sort().join(', ')}`, '');
  }
  lines.push(
    'Quote the names of tables and columns, separate arguments by commas, and write options as Ruby hashes:',
    "  {NAME => 'f', VERSIONS => 5}",
    'Write bytes in double quotes: "key\\x03\\xff".',
  );
  return `${lines.join('\n')}\n`;
}
