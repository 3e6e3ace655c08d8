import { InvalidArgumentError, SchemaError } from '../errors.js';
import { describe, isRecord, MAX_FAMILY_LENGTH } from './checks.js';
import type { Durability } from './mutation.js';

/** HBase's rules (`TableName.java`): Unicode letters are legal. */
const NAMESPACE = /^[_\p{Alphabetic}0-9]+$/u;
const QUALIFIER = /^[_\p{Alphabetic}0-9][-_.\p{Alphabetic}0-9]*$/u;

/** The namespace of tables named without one. */
export const DEFAULT_NAMESPACE = 'default';

interface TableNameParts {
  readonly namespace: string;
  readonly qualifier: string;
}

/**
 * Splits "namespace:name" or "name" by HBase's rules.
 * @throws InvalidArgumentError for an invalid table name.
 */
export function parseTableName(name: string): TableNameParts {
  if (typeof name !== 'string') {
    throw new InvalidArgumentError(`The name of a table is a string, not ${describe(name)}.`);
  }
  const colon = name.indexOf(':');
  const namespace = colon < 0 ? DEFAULT_NAMESPACE : name.slice(0, colon);
  const qualifier = name.slice(colon + 1);
  if (!NAMESPACE.test(namespace) || !QUALIFIER.test(qualifier)) {
    throw new InvalidArgumentError(
      `"${name}" is not a table name. Write "name" or "namespace:name"; a namespace has letters, digits and _, ` +
        'a name also - and . after its first character.',
    );
  }
  return { namespace, qualifier };
}

/** The name by which HBase lists the table: without the default namespace. */
export function canonicalTableName(name: string): string {
  const { namespace, qualifier } = parseTableName(name);
  return namespace === DEFAULT_NAMESPACE ? qualifier : `${namespace}:${qualifier}`;
}

/** Tables with the records of work, of which some frees space, as dropping an index does: a full store takes writes of them. */
export const RECORD_TABLES = { jobs: 'rowan_jobs', schema: 'rowan_schema' } as const;

// — Table and family descriptors: HBase's options, names and defaults, checked and frozen.

export const COMPRESSIONS = ['NONE', 'GZ', 'SNAPPY', 'LZ4', 'ZSTD', 'BROTLI', 'LZO'] as const;
export type Compression = (typeof COMPRESSIONS)[number];

export const BLOOM_FILTERS = ['NONE', 'ROW', 'ROWCOL'] as const;
export type BloomFilter = (typeof BLOOM_FILTERS)[number];

export const DATA_BLOCK_ENCODINGS = ['NONE', 'PREFIX', 'DIFF', 'FAST_DIFF', 'ROW_INDEX_V1'] as const;
export type DataBlockEncoding = (typeof DATA_BLOCK_ENCODINGS)[number];

export const KEEP_DELETED_CELLS = ['FALSE', 'TRUE', 'TTL'] as const;
export type KeepDeletedCells = (typeof KEEP_DELETED_CELLS)[number];

export const DURABILITIES = ['USE_DEFAULT', 'SKIP_WAL', 'ASYNC_WAL', 'SYNC_WAL', 'FSYNC_WAL'] as const;

/** "Never expires", in seconds (`HConstants.FOREVER`). */
export const FOREVER = 2147483647;

/** A stored column family. Each option is HBase's option of the same name in the shell. */
export interface FamilyDescriptor {
  readonly name: string;
  /** Versions kept; default 1. */
  readonly versions: number;
  /** Versions kept even when they have expired; default 0. */
  readonly minVersions: number;
  /** Seconds, or {@link FOREVER}. */
  readonly ttl: number;
  readonly compression: Compression;
  readonly dataBlockEncoding: DataBlockEncoding;
  readonly bloomFilter: BloomFilter;
  /** Bytes of a data block before encoding and compression; default 65536. */
  readonly blockSize: number;
  readonly blockCache: boolean;
  readonly inMemory: boolean;
  readonly keepDeletedCells: KeepDeletedCells;
  readonly newVersionBehavior: boolean;
  /** 0 local, 1 global. Stored for HBase; the embedded engine does not replicate. */
  readonly replicationScope: number;
  readonly cacheDataOnWrite: boolean;
  readonly prefetchBlocksOnOpen: boolean;
  /** `hbase.…` settings of this family (shell: CONFIGURATION). */
  readonly configuration: Readonly<Record<string, string>>;
  /** User-defined values (shell: METADATA). */
  readonly metadata: Readonly<Record<string, string>>;
}

/** Options of a family; omitted ones have HBase's defaults. `ttl` also accepts `'FOREVER'`. */
export type FamilyOptions = {
  readonly [Option in keyof Omit<FamilyDescriptor, 'name' | 'ttl'>]?: FamilyDescriptor[Option];
} & {
  /** Seconds, as in HBase, or 'FOREVER'. The `ttl` of an entity and of a write is milliseconds. */
  readonly ttl?: number | 'FOREVER';
};

export interface TableDescriptor {
  /** "namespace:name", or "name" in the default namespace. */
  readonly name: string;
  /** In the byte order of their names. */
  readonly families: readonly FamilyDescriptor[];
  readonly durability: Durability;
  /** Bytes at which a region is split; undefined: the engine's default. */
  readonly maxFileSize: number | undefined;
  /** Bytes at which a memstore is flushed; undefined: the engine's default. */
  readonly memstoreFlushSize: number | undefined;
  readonly readOnly: boolean;
  readonly splitEnabled: boolean;
  readonly compactionEnabled: boolean;
  readonly regionReplication: number;
  readonly splitPolicy: string | undefined;
  readonly configuration: Readonly<Record<string, string>>;
  readonly metadata: Readonly<Record<string, string>>;
}

/** The names of a table's families, in their order. */
export function familyNames({ families }: TableDescriptor): string[] {
  return families.map(({ name }) => name);
}

export type TableOptions = {
  readonly [Option in keyof Omit<TableDescriptor, 'name' | 'families'>]?: TableDescriptor[Option];
};

const FAMILY_DEFAULTS: Omit<FamilyDescriptor, 'name'> = Object.freeze({
  versions: 1,
  minVersions: 0,
  ttl: FOREVER,
  compression: 'NONE',
  dataBlockEncoding: 'NONE',
  bloomFilter: 'ROW',
  blockSize: 65536,
  blockCache: true,
  inMemory: false,
  keepDeletedCells: 'FALSE',
  newVersionBehavior: false,
  replicationScope: 0,
  cacheDataOnWrite: false,
  prefetchBlocksOnOpen: false,
  configuration: Object.freeze({}),
  metadata: Object.freeze({}),
});

const TABLE_DEFAULTS: Omit<TableDescriptor, 'name' | 'families'> = Object.freeze({
  durability: 'USE_DEFAULT',
  maxFileSize: undefined,
  memstoreFlushSize: undefined,
  readOnly: false,
  splitEnabled: true,
  compactionEnabled: true,
  regionReplication: 1,
  splitPolicy: undefined,
  configuration: Object.freeze({}),
  metadata: Object.freeze({}),
});

const FAMILY_FLAGS = [
  'blockCache',
  'inMemory',
  'newVersionBehavior',
  'cacheDataOnWrite',
  'prefetchBlocksOnOpen',
] as const;

/** The rules that a family violates, each as a sentence with the family, the option and the remedy. Empty when there are none. */
function familyProblems(name: string, options: FamilyOptions): string[] {
  const problems: string[] = [];
  const where = `Family "${name}"`;
  if (name === '' || /[:/\\\p{Cc}]/u.test(name) || name.startsWith('.') || name === 'recovered.edits') {
    problems.push(
      `${where}: a family name has no ':', '/', '\\' or control character and does not begin with '.'.`,
    );
  }
  if (Buffer.byteLength(name) > MAX_FAMILY_LENGTH)
    problems.push(`${where}: the name is over ${MAX_FAMILY_LENGTH} bytes.`);
  for (const option of Object.keys(options)) {
    if (!(option in FAMILY_DEFAULTS)) {
      problems.push(
        `${where}: unknown option "${option}". Known: ${Object.keys(FAMILY_DEFAULTS).join(', ')}.`,
      );
    }
  }
  const all = { ...FAMILY_DEFAULTS, ...withoutUndefined(options) };
  const oneOf = (option: string, value: string, allowed: readonly string[]): void => {
    if (!allowed.includes(value))
      problems.push(`${where}: ${option} is ${JSON.stringify(value)}; write one of ${allowed.join(', ')}.`);
  };
  oneOf('compression', all.compression, COMPRESSIONS);
  oneOf('dataBlockEncoding', all.dataBlockEncoding, DATA_BLOCK_ENCODINGS);
  oneOf('bloomFilter', all.bloomFilter, BLOOM_FILTERS);
  oneOf('keepDeletedCells', all.keepDeletedCells, KEEP_DELETED_CELLS);
  const integer = (option: string, value: number | 'FOREVER', min: number, max: number): void => {
    if (!Number.isSafeInteger(value) || (value as number) < min || (value as number) > max) {
      problems.push(`${where}: ${option} is ${String(value)}; it is an integer from ${min} to ${max}.`);
    }
  };
  integer('versions', all.versions, 1, 2147483647);
  integer('minVersions', all.minVersions, 0, 2147483647);
  if (all.ttl !== 'FOREVER') integer('ttl (seconds)', all.ttl, 1, FOREVER);
  integer('blockSize', all.blockSize, 1024, 16 * 1024 * 1024);
  integer('replicationScope', all.replicationScope, 0, 1);
  for (const option of FAMILY_FLAGS) {
    if (typeof all[option] !== 'boolean')
      problems.push(`${where}: ${option} is ${JSON.stringify(all[option])}; write true or false.`);
  }
  problems.push(...textProblems(where, all));
  if (all.minVersions > all.versions) {
    problems.push(`${where}: minVersions ${all.minVersions} is above versions ${all.versions}.`);
  }
  return problems;
}

/**
 * A family with HBase's default for every omitted option.
 * @throws SchemaError with every rule that it violates.
 */
export function familyDescriptor(name: string, options: FamilyOptions = {}): FamilyDescriptor {
  const problems = familyProblems(name, options);
  if (problems.length > 0) throw new SchemaError(problems.join('\n'), problems);
  return completeFamily(name, options);
}

/** The family with defaults for omitted options, which were checked before. */
function completeFamily(name: string, options: FamilyOptions): FamilyDescriptor {
  const given = withoutUndefined(options);
  const ttl = given.ttl === 'FOREVER' || given.ttl === undefined ? FOREVER : given.ttl;
  return Object.freeze({
    ...FAMILY_DEFAULTS,
    ...given,
    name,
    ttl,
    configuration: Object.freeze({ ...given.configuration }),
    metadata: Object.freeze({ ...given.metadata }),
  });
}

/**
 * A table with these families.
 * @throws SchemaError with every rule that the name, the families or the options violate.
 */
export function tableDescriptor(
  name: string,
  families: Readonly<Record<string, FamilyOptions>> | readonly FamilyDescriptor[],
  options: TableOptions = {},
): TableDescriptor {
  checkGiven(name, families, options);
  const problems: string[] = [];
  const given: [string, FamilyOptions][] = Array.isArray(families)
    ? (families as readonly FamilyDescriptor[]).map(({ name: family, ...rest }) => [family, rest])
    : Object.entries(families as Readonly<Record<string, FamilyOptions>>);
  if (given.length === 0) problems.push(`Table "${name}": declare at least one column family.`);
  const seen = new Set<string>();
  for (const [family, rest] of given) {
    problems.push(...familyProblems(family, rest));
    if (seen.has(family)) problems.push(`Table "${name}": family "${family}" is declared twice.`);
    seen.add(family);
  }
  for (const option of Object.keys(options)) {
    if (!(option in TABLE_DEFAULTS)) {
      problems.push(
        `Table "${name}": unknown option "${option}". Known: ${Object.keys(TABLE_DEFAULTS).join(', ')}.`,
      );
    }
  }
  const all = { ...TABLE_DEFAULTS, ...withoutUndefined(options) };
  if (!(DURABILITIES as readonly string[]).includes(all.durability)) {
    problems.push(
      `Table "${name}": durability is "${all.durability}"; write one of ${DURABILITIES.join(', ')}.`,
    );
  }
  problems.push(...tableOptionProblems(name, all));
  let canonical = name;
  try {
    canonical = canonicalTableName(name);
  } catch (error) {
    problems.push((error as Error).message);
  }
  if (problems.length > 0) throw new SchemaError(problems.join('\n'), problems);
  return Object.freeze({
    ...all,
    name: canonical,
    families: Object.freeze(
      given
        .map(([family, rest]) => completeFamily(family, rest))
        .sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name))),
    ),
    configuration: Object.freeze({ ...all.configuration }),
    metadata: Object.freeze({ ...all.metadata }),
  });
}

const ownTables = new Map<string, TableDescriptor>();

/** The descriptor of a table that Rowan has for itself: one family with the defaults. Made once, as each opening asks for several. */
export function ownTableDescriptor(name: string, family: string): TableDescriptor {
  const key = `${name} ${family}`;
  let descriptor = ownTables.get(key);
  if (descriptor === undefined) {
    descriptor = tableDescriptor(name, { [family]: {} });
    ownTables.set(key, descriptor);
  }
  return descriptor;
}

/**
 * A validated and frozen copy of a descriptor from any source.
 * @throws SchemaError as {@link tableDescriptor}, also when it is not a descriptor at all.
 */
export function checkedDescriptor(descriptor: TableDescriptor): TableDescriptor {
  const given: Partial<TableDescriptor> | null | undefined = descriptor;
  if (
    typeof given !== 'object' ||
    given === null ||
    typeof given.name !== 'string' ||
    !isFamilies(given.families)
  ) {
    throw new SchemaError(
      'A table descriptor has a name and a list of families. Create it with tableDescriptor().',
    );
  }
  const { name, families, ...options } = descriptor;
  return tableDescriptor(name, families, options);
}

function isFamilies(families: unknown): boolean {
  return Array.isArray(families) && families.every((family) => typeof family?.name === 'string');
}

/** Checks settings that are stored and passed on unchanged. */
function textProblems(
  where: string,
  given: Partial<Pick<TableDescriptor, 'configuration' | 'metadata'>>,
): string[] {
  const problems: string[] = [];
  for (const option of ['configuration', 'metadata'] as const) {
    const value: unknown = given[option];
    if (!isRecord(value)) {
      problems.push(
        `${where}: ${option} is ${JSON.stringify(value)}; it is an object whose values are strings.`,
      );
      continue;
    }
    for (const [key, text] of Object.entries(value)) {
      if (typeof text !== 'string')
        problems.push(`${where}: ${option} "${key}" is ${JSON.stringify(text)}; write a string.`);
    }
  }
  return problems;
}

/** @throws SchemaError when the arguments do not have the types of a table's. */
function checkGiven(name: unknown, families: unknown, options: unknown): void {
  if (typeof name !== 'string')
    throw new SchemaError(`The name of a table is a string, not ${describe(name)}.`);
  const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;
  if (!isObject(families) || !Object.values(families as object).every(isObject)) {
    throw new SchemaError(
      `Table "${name}": the families are an object of options by name, or a list of descriptors, not ${describe(families)}.`,
    );
  }
  if (!isObject(options)) {
    throw new SchemaError(`Table "${name}": its options are an object, not ${describe(options)}.`);
  }
}

function tableOptionProblems(name: string, all: Omit<TableDescriptor, 'name' | 'families'>): string[] {
  const problems: string[] = [];
  for (const option of ['readOnly', 'splitEnabled', 'compactionEnabled'] as const) {
    if (typeof all[option] !== 'boolean')
      problems.push(`Table "${name}": ${option} is ${JSON.stringify(all[option])}; write true or false.`);
  }
  if (all.splitPolicy !== undefined && typeof all.splitPolicy !== 'string')
    problems.push(
      `Table "${name}": splitPolicy is ${JSON.stringify(all.splitPolicy)}; write the name of one.`,
    );
  problems.push(...textProblems(`Table "${name}"`, all));
  const integer = (option: 'maxFileSize' | 'memstoreFlushSize' | 'regionReplication', max: number): void => {
    const value = all[option];
    if (value === undefined || (Number.isSafeInteger(value) && value >= 1 && value <= max)) return;
    problems.push(`Table "${name}": ${option} is ${String(value)}; it is an integer from 1 to ${max}.`);
  };
  integer('maxFileSize', Number.MAX_SAFE_INTEGER);
  integer('memstoreFlushSize', Number.MAX_SAFE_INTEGER);
  integer('regionReplication', 1000);
  return problems;
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

function withoutUndefined<T extends object>(options: T): Defined<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Defined<T>;
}
