// — Plans the steps of one table: from its present descriptor to the declared one.

import { compareBytes, toHex, toStringBinary } from '../../bytes/index.js';
import type { EntitySchema, TableSchema } from '../../schema/types.js';
import { type FamilyDescriptor, FOREVER, type TableDescriptor } from '../../table/index.js';
import {
  placeOf,
  readStamp,
  type StampedColumn,
  shownPlace,
  stampName,
  stampOfColumn,
  stampTexts,
} from '../stamp-format.js';
import {
  liveStamp,
  stampChanges,
  stampedDescriptor,
  tableDifferences,
  undeclaredColumns,
  unmovedColumns,
  unupgradedFrom,
} from '../table-stamp.js';
import type {
  PlanOptions,
  SchemaState,
  SchemaStep,
  StepClass,
  TableState,
  UnmanagedSetting,
} from './types.js';

/** Creates a missing table as a whole, with its stamps and splits. */
export function createStep(table: TableSchema, { recorded }: SchemaState): SchemaStep {
  const descriptor = stampedDescriptor(table);
  return {
    id: `create-table:${descriptor.name}`,
    kind: 'create-table',
    class: 'online',
    why: recorded === true ? 'The table is newly declared.' : 'The table does not exist.',
    table: descriptor.name,
    to: { descriptor, splitKeys: table.splitKeys.map(toHex) },
  };
}

/** The steps of an existing table, in the order in which they are applied: splits and compactions last. */
export function alterSteps(
  table: TableSchema,
  state: TableState,
  options: PlanOptions,
  { recorded }: SchemaState,
): SchemaStep[] {
  const sets = [...setSteps(table, state.descriptor), ...pruneSteps(table, state.descriptor, options)];
  return [
    ...familySteps(table, state.descriptor, recorded === true),
    ...sets,
    ...stampSteps(table, state.descriptor),
    ...(state.enabled
      ? [
          ...splitSteps(table, state),
          ...moveSteps(table, state.descriptor),
          ...upgradeSteps(table, state.descriptor),
          ...dropColumnSteps(table, state.descriptor),
          ...retireSteps(table, state.descriptor),
          ...compactSteps(table.descriptor, sets),
        ]
      : []),
  ];
}

function familySteps({ descriptor }: TableSchema, live: TableDescriptor, recorded: boolean): SchemaStep[] {
  const table = descriptor.name;
  const missing = descriptor.families.filter(({ name }) => !hasFamily(live, name));
  const surplus = live.families.filter(({ name }) => !hasFamily(descriptor, name));
  return [
    ...missing.map(
      (family): SchemaStep => ({
        id: `add-family:${table}/${family.name}`,
        kind: 'add-family',
        class: 'online',
        why: recorded ? 'The family is newly declared.' : 'The family is declared but does not exist.',
        table,
        family: family.name,
        to: family,
      }),
    ),
    ...surplus.map(
      (family): SchemaStep => ({
        id: `drop-family:${table}/${family.name}`,
        kind: 'drop-family',
        class: 'data-loss',
        why: 'The family is not declared; dropping it deletes all of its cells.',
        table,
        family: family.name,
        from: family,
      }),
    ),
  ];
}

function hasFamily({ families }: TableDescriptor, name: string): boolean {
  return families.some((family) => family.name === name);
}

function setSteps(table: TableSchema, live: TableDescriptor): SchemaStep[] {
  return tableDifferences(table, live).map(({ family, option, live: from, declared: to }) =>
    setStep(table.descriptor, live, family, option, from, to),
  );
}

function setStep(
  declared: TableDescriptor,
  live: TableDescriptor,
  family: string | undefined,
  option: string,
  from: unknown,
  to: unknown,
): SchemaStep {
  const lives = (of: TableDescriptor): number => familyOf(of, family)?.ttl ?? FOREVER;
  const classified = classify(family, option, from, to, {
    expires: expires(lives(declared)) || expires(lives(live)),
  });
  const place = family === undefined ? '' : `/${family}`;
  return {
    id: `${option}:${live.name}${place}`,
    kind: 'set',
    ...classified,
    table: live.name,
    ...(family === undefined ? {} : { family }),
    option,
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
}

/** The change of an option back to what it was before a step. Undefined: the table has another value than the step gave it. */
export function revertedSet(
  live: TableDescriptor,
  { family, option, from, to }: SchemaStep,
): SchemaStep | undefined {
  const place: TableDescriptor | FamilyDescriptor | undefined =
    family === undefined ? live : familyOf(live, family);
  if (place === undefined) return undefined;
  const [kind, ...rest] = option!.split('.');
  const now =
    kind === 'configuration' || kind === 'metadata'
      ? place[kind][rest.join('.')]
      : (place as unknown as Readonly<Record<string, unknown>>)[option!];
  return now === to ? setStep(live, live, family, option!, to, from) : undefined;
}

function familyOf({ families }: TableDescriptor, name: string | undefined): FamilyDescriptor | undefined {
  return families.find((family) => family.name === name);
}

function pruneSteps(table: TableSchema, live: TableDescriptor, { prune }: PlanOptions): SchemaStep[] {
  if (prune !== true) return [];
  return undeclaredSettings(table, live).map(({ family, name, value }) =>
    setStep(table.descriptor, live, family, name, value, undefined),
  );
}

/** Settings and metadata that a table has but its declaration does not. */
export function undeclaredSettings(
  { descriptor }: Pick<TableSchema, 'descriptor'>,
  live: TableDescriptor,
): UnmanagedSetting[] {
  const stamps = new Set(stampTexts(live.metadata).map(([name]) => name));
  const of = (
    family: string | undefined,
    declared: TableDescriptor | FamilyDescriptor,
    actual: TableDescriptor | FamilyDescriptor,
  ): UnmanagedSetting[] =>
    (['configuration', 'metadata'] as const).flatMap((kind) =>
      Object.entries(actual[kind])
        .filter(([name]) => !Object.hasOwn(declared[kind], name))
        .filter(([name]) => kind === 'configuration' || !isKeptByOthers(name, stamps))
        .map(([name, value]) => ({
          table: live.name,
          ...(family === undefined ? {} : { family }),
          name: `${kind}.${name}`,
          value,
        })),
    );
  return [
    ...of(undefined, descriptor, live),
    ...descriptor.families.flatMap((family) => {
      const actual = familyOf(live, family.name);
      return actual === undefined ? [] : of(family.name, family, actual);
    }),
  ];
}

/**
 * Rowan's own metadata, and server attributes for which a descriptor has no option. HBase writes those in capitals
 * (IS_MOB, NORMALIZATION_ENABLED, `coprocessor$1`), and the shell cannot unset some of them.
 */
function isKeptByOthers(name: string, stamps: ReadonlySet<string>): boolean {
  return stamps.has(name) || name.startsWith('rowan.') || /^[A-Z][A-Z0-9_]*$|^coprocessor\$/.test(name);
}

/** Record types that are stamped in the table but not declared. */
export function undeclaredRecords(table: TableSchema, live: TableDescriptor): UnmanagedSetting[] {
  const declared = new Set([
    ...Object.keys(stampedDescriptor(table).metadata),
    ...table.retired.map(({ key }) => stampName(key.recordType)),
  ]);
  return stampTexts(live.metadata)
    .filter(([name]) => !declared.has(name))
    .map(([name, text]) => {
      const stamp = readStamp(text);
      const entity = typeof stamp === 'string' ? undefined : stamp.entity;
      return { table: live.name, name: name.replace('rowan.record.', 'record type '), value: entity ?? '' };
    });
}

function stampSteps(table: TableSchema, live: TableDescriptor): SchemaStep[] {
  return Object.entries(stampChanges(table, live)).map(([name, to]) => ({
    id: `stamp:${live.name}/${name}`,
    kind: 'stamp',
    class: 'online',
    why: stampReason(live.metadata[name], to),
    table: live.name,
    option: name,
    ...(live.metadata[name] === undefined ? {} : { from: live.metadata[name] }),
    to,
  }));
}

function stampReason(before: string | undefined, after: string): string {
  const now = readStamp(after);
  if (typeof now === 'string') return 'The stamp records how rows are written.';
  const name = now.entity ?? 'The entity';
  const old = before === undefined ? undefined : readStamp(before);
  if (old === undefined || typeof old === 'string') return `${name} is new in this table.`;
  const known = new Set(old.columns.map((column) => `${column.family}:${column.qualifier}`));
  const added = now.columns.filter(({ family, qualifier }) => !known.has(`${family}:${qualifier}`));
  if (added.length === 0) return `The stamp of ${name} is updated.`;
  return `${name} has new columns: ${added.map(({ property, family }) => `${property ?? ''} in ${family}`).join(', ')}.`;
}

/** Empty if the server would refuse the splits. */
function splitSteps(
  table: TableSchema,
  { descriptor, splitKeys, splitsItself = false }: TableState,
): SchemaStep[] {
  if (!table.descriptor.splitEnabled || splitsItself) return [];
  return table.splitKeys
    .filter((key) => !splitKeys.some((other) => compareBytes(key, other) === 0))
    .map((key) => ({
      id: `split:${descriptor.name}/${toStringBinary(key)}`,
      kind: 'split',
      class: 'online',
      why: 'A region is declared to begin here.',
      table: descriptor.name,
      to: toHex(key),
    }));
}

function moveSteps({ entities, descriptor }: TableSchema, live: TableDescriptor): SchemaStep[] {
  return entities.flatMap((entity): SchemaStep[] => {
    const left = unmovedColumns(entity, live);
    if (left.length === 0) return [];
    const { property, milliseconds } = entity.timeToLive;
    const ends = property !== undefined || milliseconds !== undefined;
    const names = [...new Set(left.map((column) => column.property ?? shownPlace(placeOf(column))))].join(
      ', ',
    );
    return [
      {
        id: `move-columns:${descriptor.name}/${entity.name}`,
        kind: 'move-columns',
        class: ends ? 'manual' : 'online',
        why: ends
          ? `${names} of ${entity.name} may still be at its former place. The rows have a time to live, which moved values would lose: wait until the old rows have expired, then call database.schema.settleColumns() and remove \`was\`.`
          : `Each value of ${names} at its former place is moved, with its versions and timestamps; then every row is checked again.`,
        table: descriptor.name,
        option: entity.name,
        from: left.map(placeOf),
      },
    ];
  });
}

function upgradeSteps({ entities, descriptor }: TableSchema, live: TableDescriptor): SchemaStep[] {
  return entities.flatMap((entity): SchemaStep[] => {
    const from = unupgradedFrom(entity, live);
    if (from === undefined) return [];
    const { name, version } = entity;
    return [
      {
        id: `upgrade-rows:${descriptor.name}/${name}`,
        kind: 'upgrade-rows',
        class: 'online',
        why: `Each row of ${name} that was written as version ${from}${version - from > 1 ? ' or later' : ''} is rewritten as version ${version}, at the timestamps of its cells; then the marker of every row is checked again.`,
        table: descriptor.name,
        option: name,
        from,
        to: version,
      },
    ];
  });
}

function dropColumnSteps({ entities, descriptor }: TableSchema, live: TableDescriptor): SchemaStep[] {
  return entities.flatMap((entity) =>
    undeclaredColumns(entity, live).map((column): SchemaStep => {
      const { family, kind, property } = column;
      const place = shownPlace(placeOf(column));
      const what = kind === 'columns' ? `every column of the Map ${place}` : place;
      const renamed = successorsOf(column, entity, live);
      return {
        id: `drop-column:${descriptor.name}/${entity.name}/${place}`,
        kind: 'drop-column',
        class: 'data-loss',
        why: `${entity.name} was written with ${what}${property === undefined ? '' : ` ("${property}")`} but no longer declares it: its cells are deleted from each row, in every version; then every row is checked again, and the column is removed from the stamp.${renamed.length === 0 ? '' : ` If it has a new name, as ${renamed.map((name) => `"${name}"`).join(' or ')}, declare that column with { was: ['${place}'] } instead: its values are moved.`}`,
        table: descriptor.name,
        family,
        option: entity.name,
        from: column,
      };
    }),
  );
}

/** The new properties of an entity that could have the values of a column that it no longer declares. */
function successorsOf(dropped: StampedColumn, entity: EntitySchema, live: TableDescriptor): string[] {
  const known = new Set(liveStamp(entity, live)?.columns.map(placeOf));
  return entity.columns.flatMap((column) => {
    const now = stampOfColumn(column);
    const isAlike =
      now.kind === dropped.kind && now.codec === dropped.codec && now.keyCodec === dropped.keyCodec;
    return isAlike && column.was.length === 0 && !known.has(placeOf(now)) ? [column.property] : [];
  });
}

function retireSteps({ retired, descriptor }: TableSchema, live: TableDescriptor): SchemaStep[] {
  return retired.flatMap((entity): SchemaStep[] => {
    const stamp = liveStamp(entity, live);
    if (stamp === undefined) return [];
    return [
      {
        id: `retire:${descriptor.name}/${entity.name}`,
        kind: 'retire',
        class: 'data-loss',
        why: `${entity.name} is retired: each of its rows is deleted, in every version; then every row is checked again, and its indexes and its stamp are removed.`,
        table: descriptor.name,
        option: entity.name,
        from: stamp.key,
      },
    ];
  });
}

function compactSteps(
  { name: table, compactionEnabled }: TableDescriptor,
  sets: readonly SchemaStep[],
): SchemaStep[] {
  if (!compactionEnabled) return [];
  const families = new Map<string, string[]>();
  for (const { family, option } of sets) {
    if (family === undefined || !needsCompaction(option!)) continue;
    families.set(family, [...(families.get(family) ?? []), option!]);
  }
  return [...families].map(([family, options]) => ({
    id: `compact:${table}/${family}`,
    kind: 'compact',
    class: 'rewrite',
    why: `A major compaction rewrites the family's files with the new ${options.join(', ')}. The server's next regular one would do the same.`,
    table,
    family,
  }));
}

// — The cost and the reason of a change of each option: the only place where steps get their class.

/** The class of a change, and a sentence of reason. */
interface Classification {
  readonly class: StepClass;
  readonly why: string;
}

/** The context of a change besides its two values. */
interface ChangeContext {
  /** Whether cells of the family expire, before or after the change. */
  readonly expires: boolean;
}

type Rule = (from: unknown, to: unknown, context: ChangeContext) => Classification;

const online =
  (why: string): Rule =>
  () => ({ class: 'online', why });

const rewrite =
  (what: string): Rule =>
  () => ({
    class: 'rewrite',
    why: `New files have the new ${what}; those written before keep the old one until a major compaction.`,
  });

const meaning =
  (why: string): Rule =>
  () => ({ class: 'meaning', why });

const KEEPING = ['FALSE', 'TTL', 'TRUE'];

const FAMILY_RULES: Readonly<Record<string, Rule>> = {
  versions: (from, to) =>
    (to as number) > (from as number)
      ? { class: 'online', why: 'More versions are kept from now on; those dropped before do not come back.' }
      : {
          class: 'data-loss',
          why: 'Versions above the new number are dropped at the next major compaction.',
        },
  minVersions: (from, to, { expires }) =>
    (to as number) > (from as number)
      ? { class: 'online', why: 'More versions outlive their time to live from now on.' }
      : expires
        ? {
            class: 'data-loss',
            why: 'Expired versions above the new number are dropped at the next compaction.',
          }
        : { class: 'online', why: 'Nothing expires in this family, so that nothing is kept by it.' },
  ttl: (from, to) =>
    (to as number) < (from as number)
      ? { class: 'data-loss', why: 'Cells older than the new time to live disappear at once.' }
      : {
          class: 'meaning',
          why: 'Cells that had expired are read again where no compaction has dropped them yet.',
        },
  keepDeletedCells: (from, to) =>
    KEEPING.indexOf(to as string) > KEEPING.indexOf(from as string)
      ? {
          class: 'meaning',
          why: 'Reads of earlier times find what is deleted from now on, and it takes room.',
        }
      : { class: 'data-loss', why: 'Deleted cells that were kept are dropped at the next major compaction.' },
  newVersionBehavior: meaning(
    'Which delete hides which put is decided by the order of writing, or no longer is.',
  ),
  compression: rewrite('compression'),
  dataBlockEncoding: rewrite('block encoding'),
  bloomFilter: rewrite('Bloom filter'),
  blockSize: rewrite('block size'),
  replicationScope: meaning(
    'Writes are replicated to the peers from now on (the table must exist there), or no longer are.',
  ),
  blockCache: online('Decides whether blocks are cached when they are read.'),
  inMemory: online('Only the order in which blocks leave the cache changes.'),
  cacheDataOnWrite: online('Only what is cached when files are written changes.'),
  prefetchBlocksOnOpen: online('Only what is cached when files are opened changes.'),
};

const TABLE_RULES: Readonly<Record<string, Rule>> = {
  durability: (_, to) =>
    to === 'ASYNC_WAL' || to === 'SKIP_WAL'
      ? {
          class: 'meaning',
          why: 'Writes are acknowledged before they are in the WAL: a crash may lose them.',
        }
      : { class: 'online', why: 'Writes are acknowledged when they are in the WAL.' },
  readOnly: (_, to) =>
    to === true
      ? { class: 'meaning', why: 'Every write is refused from now on.' }
      : { class: 'meaning', why: 'Writes are accepted again.' },
  regionReplication: () => ({
    class: 'offline',
    why: 'Copies of regions are made or dropped only while the table is disabled.',
  }),
  maxFileSize: online('Decides when regions are split from now on.'),
  memstoreFlushSize: online('Decides when memstores are flushed from now on.'),
  splitEnabled: online('Decides whether regions are split from now on.'),
  compactionEnabled: online('Decides whether files are merged from now on.'),
  splitPolicy: online('Decides when and where regions are split from now on.'),
};

/** The class and reason of a change of `option`, of a family or (undefined) of the table, from one value to another. */
function classify(
  family: string | undefined,
  option: string,
  from: unknown,
  to: unknown,
  context: ChangeContext,
): Classification {
  if (option.startsWith('configuration.')) {
    return { class: 'online', why: 'A setting of the server for this table; its regions are reopened.' };
  }
  if (option.startsWith('metadata.'))
    return { class: 'online', why: 'A metadata entry that nothing depends on.' };
  const rule = (family === undefined ? TABLE_RULES : FAMILY_RULES)[option];
  return rule === undefined
    ? { class: 'meaning', why: 'The effect of this option is unknown.' }
    : rule(from, to, context);
}

/** Whether the option takes full effect only when the family's files are rewritten. */
function needsCompaction(option: string): boolean {
  return ['compression', 'dataBlockEncoding', 'bloomFilter', 'blockSize'].includes(option);
}

function expires(ttl: number): boolean {
  return ttl !== FOREVER;
}
