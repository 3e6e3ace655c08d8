import {
  BLOOM_FILTERS,
  COMPRESSIONS,
  DATA_BLOCK_ENCODINGS,
  DURABILITIES,
  type FamilyDescriptor,
  type FamilyOptions,
  FOREVER,
  familyDescriptor,
  KEEP_DELETED_CELLS,
  type TableDescriptor,
} from '../table/index.js';
import { booleanOf, CommandError, integerOf, Options, textOf } from './options.js';
import { inspect, RubyHash, type RubyValue } from './ruby/index.js';

// — Family options in `create` and `alter`, with HBase's spellings.

type Draft = { -readonly [Option in keyof FamilyDescriptor]: FamilyDescriptor[Option] };

const UNITS: Readonly<Record<string, number>> = { DAY: 86_400, HOUR: 3600, MINUTE: 60, SECOND: 1 };

/** Setters by option. HBase options for which a {@link FamilyDescriptor} has no field are kept as metadata. */
const FAMILY_SETTERS: Readonly<Record<string, (draft: Draft, value: RubyValue) => void>> = {
  BLOCKCACHE: (draft, value) => {
    draft.blockCache = booleanOf(value);
  },
  REPLICATION_SCOPE: (draft, value) => {
    draft.replicationScope = integerOf(value, 'REPLICATION_SCOPE');
  },
  CACHE_DATA_ON_WRITE: (draft, value) => {
    draft.cacheDataOnWrite = booleanOf(value);
  },
  IN_MEMORY: (draft, value) => {
    draft.inMemory = booleanOf(value);
  },
  TTL: (draft, value) => {
    draft.ttl = ttlOf(value);
  },
  DATA_BLOCK_ENCODING: (draft, value) => {
    draft.dataBlockEncoding = enumOf(value, DATA_BLOCK_ENCODINGS, 'io.encoding.DataBlockEncoding');
  },
  BLOCKSIZE: (draft, value) => {
    draft.blockSize = integerOf(value, 'BLOCKSIZE');
  },
  VERSIONS: (draft, value) => {
    draft.versions = integerOf(value, 'VERSIONS');
    if (draft.versions < 1) throw new CommandError('Maximum versions must be positive');
  },
  MIN_VERSIONS: (draft, value) => {
    draft.minVersions = integerOf(value, 'MIN_VERSIONS');
  },
  KEEP_DELETED_CELLS: (draft, value) => {
    draft.keepDeletedCells = enumOf(upper(value), KEEP_DELETED_CELLS, 'KeepDeletedCells');
  },
  PREFETCH_BLOCKS_ON_OPEN: (draft, value) => {
    draft.prefetchBlocksOnOpen = booleanOf(value);
  },
  NEW_VERSION_BEHAVIOR: (draft, value) => {
    draft.newVersionBehavior = booleanOf(value);
  },
  BLOOMFILTER: (draft, value) => {
    draft.bloomFilter = supported(upper(value), BLOOM_FILTERS, 'BloomFilter type');
  },
  COMPRESSION: (draft, value) => {
    draft.compression = supported(upper(value), COMPRESSIONS, 'Compression');
  },
  METADATA: (draft, value) => {
    draft.metadata = merged(draft.metadata, value, 'METADATA');
  },
  CONFIGURATION: (draft, value) => {
    draft.configuration = merged(draft.configuration, value, 'CONFIGURATION');
  },
};

/** Options that only HBase's servers use: stored unchanged. */
const KEPT_OF_FAMILY = [
  'CACHE_INDEX_ON_WRITE',
  'CACHE_BLOOMS_ON_WRITE',
  'EVICT_BLOCKS_ON_CLOSE',
  'IN_MEMORY_COMPACTION',
  'COMPRESS_TAGS',
  'IS_MOB',
  'MOB_THRESHOLD',
  'COMPRESSION_COMPACT',
  'STORAGE_POLICY',
  'MOB_COMPACT_PARTITION_POLICY',
  'DFS_REPLICATION',
];

/**
 * Applies an argument to the present family.
 * @param ignored receives unknown options, which HBase ignores with a message too.
 */
export function familyOf(
  arg: RubyValue,
  known: (name: string) => FamilyDescriptor | undefined,
  ignored: (family: string, option: string) => void,
): FamilyDescriptor {
  if (typeof arg === 'string') return checkedFamily(textOf(arg), {});
  const options = Options.of(arg, `${inspect(arg)} describes no column family.`);
  const name = textOf(options.take('NAME'));
  const draft: Draft = { ...(known(name) ?? checkedFamily(name, {})) };
  for (const [option, set] of Object.entries(FAMILY_SETTERS)) {
    if (options.has(option)) set(draft, options.take(option));
  }
  for (const option of KEPT_OF_FAMILY) {
    if (options.has(option)) draft.metadata = { ...draft.metadata, [option]: textOf(options.take(option)) };
  }
  for (const option of options.left()) ignored(name, option);
  checkMaster(draft);
  const { name: _, ...rest } = draft;
  return familyDescriptor(name, rest);
}

function checkedFamily(name: string, options: FamilyOptions): FamilyDescriptor {
  const colon = name.indexOf(':');
  if (colon >= 0) {
    throw new CommandError(
      `Illegal character <58>. Column Family names cannot contain control characters or colons: ${name}`,
    );
  }
  return familyDescriptor(name, options);
}

/** Makes the checks of HBase's master. */
function checkMaster(draft: Draft): void {
  const bypass =
    'Set hbase.table.sanity.checks to false at conf or table descriptor if you want to bypass sanity checks';
  const refuse = (why: string): CommandError =>
    new CommandError(`org.apache.hadoop.hbase.DoNotRetryIOException: ${why}. ${bypass}`);
  if (draft.ttl <= 0) throw refuse(`TTL for column family ${draft.name} must be positive`);
  if (draft.minVersions > draft.versions) {
    throw refuse(`Min versions for column family ${draft.name} must be less than the Max versions`);
  }
  if (draft.blockSize < 1024 || draft.blockSize > 16 * 1024 * 1024) {
    throw refuse(`Block size for column family ${draft.name}  must be between 1K and 16MB.`);
  }
}

/**
 * Parses `86400`, `'86400'`, `FOREVER`, `'1 DAY 2 HOURS'`, `'86400 SECONDS (1 DAY)'`. Anything else is 0, as in HBase.
 */
function ttlOf(value: RubyValue): number {
  // A non-positive value is refused later, with the family's name.
  if (typeof value === 'bigint') return value < 0n ? Number(value) : integerOf(value, 'TTL');
  const text = textOf(value).trim().toUpperCase();
  if (text === 'FOREVER') return FOREVER;
  if (/^\d+$/.test(text)) return integerOf(text, 'TTL');
  const whole = /^(\d+) SECONDS? \((.*)\)$/.exec(text);
  const units = whole === null ? text : whole[2]!;
  if (!/^(?:\d+ (?:DAY|HOUR|MINUTE|SECOND)S?\s*)+$/.test(units)) return 0;
  let seconds = 0;
  for (const [, count, unit] of units.matchAll(/(\d+) (DAY|HOUR|MINUTE|SECOND)S?/g)) {
    seconds += Number(count) * UNITS[unit!]!;
  }
  if (whole !== null && Number(whole[1]) !== seconds) {
    throw new CommandError(
      `Malformed TTL string: TTL values in seconds and human readable format do not match`,
    );
  }
  return seconds;
}

function upper(value: RubyValue): string {
  return textOf(value).toUpperCase();
}

function enumOf<V extends string>(value: RubyValue, values: readonly V[], javaClass: string): V {
  const text = textOf(value);
  const found = values.find((each) => each === text);
  if (found !== undefined) return found;
  throw new CommandError(`No enum constant org.apache.hadoop.hbase.${javaClass}.${text}`);
}

function supported<V extends string>(text: string, values: readonly V[], what: string): V {
  const found = values.find((value) => value === text);
  if (found !== undefined) return found;
  throw new CommandError(`${what} ${text} is not supported. Use one of ${values.join(' ')}`);
}

/** Adds entries; nil removes one. */
function merged(
  before: Readonly<Record<string, string>>,
  value: RubyValue,
  what: string,
): Readonly<Record<string, string>> {
  if (!(value instanceof RubyHash)) throw new CommandError(`${what} must be a Hash type`);
  const after = { ...before };
  for (const [key, each] of value.pairs()) {
    if (each === null) delete after[textOf(key)];
    else after[textOf(key)] = textOf(each);
  }
  return after;
}

// — Table options in `create` and `alter`, with HBase's spellings.

export type TableDraft = { -readonly [Option in keyof TableDescriptor]: TableDescriptor[Option] };

const TABLE_SETTERS: Readonly<Record<string, (draft: TableDraft, value: RubyValue) => void>> = {
  REGION_REPLICATION: (draft, value) => {
    draft.regionReplication = integerOf(value, 'REGION_REPLICATION');
  },
  MAX_FILESIZE: (draft, value) => {
    draft.maxFileSize = integerOf(value, 'MAX_FILESIZE');
  },
  READONLY: (draft, value) => {
    draft.readOnly = booleanOf(value);
  },
  COMPACTION_ENABLED: (draft, value) => {
    draft.compactionEnabled = booleanOf(value);
  },
  SPLIT_ENABLED: (draft, value) => {
    draft.splitEnabled = booleanOf(value);
  },
  MEMSTORE_FLUSHSIZE: (draft, value) => {
    draft.memstoreFlushSize = integerOf(value, 'MEMSTORE_FLUSHSIZE');
  },
  DURABILITY: (draft, value) => {
    const text = textOf(value);
    const found = DURABILITIES.find((durability) => durability === text);
    if (found === undefined) {
      throw new CommandError(`No enum constant org.apache.hadoop.hbase.client.Durability.${text}`);
    }
    draft.durability = found;
  },
  SPLIT_POLICY: (draft, value) => {
    draft.splitPolicy = textOf(value);
  },
  METADATA: (draft, value) => {
    draft.metadata = merged(draft.metadata, value, 'METADATA');
  },
  CONFIGURATION: (draft, value) => {
    draft.configuration = merged(draft.configuration, value, 'CONFIGURATION');
  },
};

/** Options that only HBase's servers use: stored unchanged. */
const KEPT_OF_TABLE = [
  'MERGE_ENABLED',
  'NORMALIZATION_ENABLED',
  'NORMALIZER_TARGET_REGION_COUNT',
  'NORMALIZER_TARGET_REGION_SIZE',
  'PRIORITY',
  'FLUSH_POLICY',
  'REGION_MEMSTORE_REPLICATION',
  'OWNER',
];

/** How to remove attributes for which a descriptor has a field. */
const PLACES: Readonly<Record<string, (draft: TableDraft) => boolean>> = {
  MAX_FILESIZE: (draft) => reset(draft, 'maxFileSize', undefined),
  MEMSTORE_FLUSHSIZE: (draft) => reset(draft, 'memstoreFlushSize', undefined),
  SPLIT_POLICY: (draft) => reset(draft, 'splitPolicy', undefined),
  DURABILITY: (draft) => reset(draft, 'durability', 'USE_DEFAULT'),
  READONLY: (draft) => reset(draft, 'readOnly', false),
  SPLIT_ENABLED: (draft) => reset(draft, 'splitEnabled', true),
  COMPACTION_ENABLED: (draft) => reset(draft, 'compactionEnabled', true),
  REGION_REPLICATION: (draft) => reset(draft, 'regionReplication', 1),
};

/** Removes every table option from the hash and applies it. */
export function setTableOptions(draft: TableDraft, options: Options): void {
  for (const [option, set] of Object.entries(TABLE_SETTERS)) {
    if (options.has(option)) set(draft, options.take(option));
  }
  for (const option of KEPT_OF_TABLE) {
    if (options.has(option)) draft.metadata = { ...draft.metadata, [option]: textOf(options.take(option)) };
  }
}

/** Removes an attribute (`table_att_unset`). @throws CommandError when the table has none of that name. */
export function unsetAttribute(draft: TableDraft, name: string): void {
  const known = Object.hasOwn(PLACES, name) ? PLACES[name]!(draft) : false;
  const metadata = withoutKey(draft.metadata, name);
  const configuration = withoutKey(draft.configuration, name);
  const found = known || Object.hasOwn(draft.metadata, name) || Object.hasOwn(draft.configuration, name);
  if (!found) throw new CommandError(`Could not find attribute: ${name}`);
  draft.metadata = metadata;
  draft.configuration = configuration;
}

/** Removes a setting (`table_conf_unset`). @throws CommandError when the table has none of that name. */
export function unsetConfiguration(draft: TableDraft, name: string): void {
  if (!Object.hasOwn(draft.configuration, name))
    throw new CommandError(`Could not find configuration: ${name}`);
  draft.configuration = withoutKey(draft.configuration, name);
}

function reset<K extends keyof TableDraft>(draft: TableDraft, place: K, value: TableDraft[K]): boolean {
  const set = draft[place] !== value;
  draft[place] = value;
  return set;
}

function withoutKey(
  entries: Readonly<Record<string, string>>,
  name: string,
): Readonly<Record<string, string>> {
  const { [name]: _, ...rest } = entries;
  return rest;
}
