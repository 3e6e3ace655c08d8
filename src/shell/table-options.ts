/** The options of a table in `create` and `alter`, with HBase's spellings. */

import { DURABILITIES, type TableDescriptor } from '../table/index.js';
import { CommandError } from './command-error.js';
import { merged } from './family-options.js';
import { booleanOf, integerOf, type Options, textOf } from './options.js';
import type { RubyValue } from './ruby/index.js';

export type TableDraft = { -readonly [Option in keyof TableDescriptor]: TableDescriptor[Option] };

const SETTERS: Readonly<Record<string, (draft: TableDraft, value: RubyValue) => void>> = {
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

/** HBase's options that only its servers act on: they are kept, and written as they are. */
const KEPT = [
  'MERGE_ENABLED',
  'NORMALIZATION_ENABLED',
  'NORMALIZER_TARGET_REGION_COUNT',
  'NORMALIZER_TARGET_REGION_SIZE',
  'PRIORITY',
  'FLUSH_POLICY',
  'REGION_MEMSTORE_REPLICATION',
  'OWNER',
];

/** Where the value of an attribute stands that a descriptor has a place for. */
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

/** Takes every option that is a table's out of the hash, and sets it. */
export function setTableOptions(draft: TableDraft, options: Options): void {
  for (const [option, set] of Object.entries(SETTERS)) {
    if (options.has(option)) set(draft, options.take(option));
  }
  for (const option of KEPT) {
    if (options.has(option)) draft.metadata = { ...draft.metadata, [option]: textOf(options.take(option)) };
  }
}

/** Takes an attribute away (`table_att_unset`). @throws CommandError when the table has none of that name. */
export function unsetAttribute(draft: TableDraft, name: string): void {
  const known = Object.hasOwn(PLACES, name) ? PLACES[name]!(draft) : false;
  const metadata = withoutKey(draft.metadata, name);
  const configuration = withoutKey(draft.configuration, name);
  const found = known || Object.hasOwn(draft.metadata, name) || Object.hasOwn(draft.configuration, name);
  if (!found) throw new CommandError(`Could not find attribute: ${name}`);
  draft.metadata = metadata;
  draft.configuration = configuration;
}

/** Takes a setting away (`table_conf_unset`). @throws CommandError when the table has none of that name. */
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
