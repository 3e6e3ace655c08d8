/** The steps of one table: from its descriptor as it is to the one that is declared. */

import { compareBytes, toHex, toStringBinary } from '../../bytes/index.js';
import type { TableSchema } from '../../schema/types.js';
import { type FamilyDescriptor, FOREVER, type TableDescriptor } from '../../table/index.js';
import { placeOf, readStamp, shownPlace, stampName, stampTexts } from '../stamp-format.js';
import {
  liveStamp,
  stampChanges,
  stampedDescriptor,
  tableDifferences,
  undeclaredColumns,
  unmovedColumns,
  unupgradedFrom,
} from '../table-stamp.js';
import { expires, judge, needsCompaction } from './option-rules.js';
import type { PlanOptions, SchemaStep, TableState, UnmanagedSetting } from './types.js';

/** A table that is not there is created as a whole, with its stamps and splits. */
export function createStep(table: TableSchema): SchemaStep {
  const descriptor = stampedDescriptor(table);
  return {
    id: `create-table:${descriptor.name}`,
    kind: 'create-table',
    class: 'online',
    why: 'The table is not there.',
    table: descriptor.name,
    to: { descriptor, splitKeys: table.splitKeys.map(toHex) },
  };
}

/** The steps of a table that is there, in the order of their doing: splits and compactions last. */
export function alterSteps(table: TableSchema, state: TableState, options: PlanOptions): SchemaStep[] {
  const sets = [...setSteps(table, state.descriptor), ...pruneSteps(table, state.descriptor, options)];
  return [
    ...familySteps(table, state.descriptor),
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

function familySteps({ descriptor }: TableSchema, live: TableDescriptor): SchemaStep[] {
  const table = descriptor.name;
  const missing = descriptor.families.filter(({ name }) => !hasFamily(live, name));
  const surplus = live.families.filter(({ name }) => !hasFamily(descriptor, name));
  return [
    ...missing.map(
      (family): SchemaStep => ({
        id: `add-family:${table}/${family.name}`,
        kind: 'add-family',
        class: 'online',
        why: 'The family is declared and not there.',
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
        why: 'The family is not declared; dropping it drops all of its cells.',
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
  const judged = judge(family, option, from, to, {
    expires: expires(lives(declared)) || expires(lives(live)),
  });
  const place = family === undefined ? '' : `/${family}`;
  return {
    id: `${option}:${live.name}${place}`,
    kind: 'set',
    ...judged,
    table: live.name,
    ...(family === undefined ? {} : { family }),
    option,
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
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

/** Settings and metadata that a table has and its declaration does not. */
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
 * Rowan's own notes, and attributes of the server that a descriptor has no option for: HBase writes those in capitals
 * (IS_MOB, NORMALIZATION_ENABLED, `coprocessor$1`), and some of them no shell unsets.
 */
function isKeptByOthers(name: string, stamps: ReadonlySet<string>): boolean {
  return stamps.has(name) || name.startsWith('rowan.') || /^[A-Z][A-Z0-9_]*$|^coprocessor\$/.test(name);
}

/** Record types that the table was written with and that nobody declares. */
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
  if (typeof now === 'string') return 'What rows are written with is noted.';
  const name = now.entity ?? 'The entity';
  const old = before === undefined ? undefined : readStamp(before);
  if (old === undefined || typeof old === 'string') return `${name} is new in this table.`;
  const known = new Set(old.columns.map((column) => `${column.family}:${column.qualifier}`));
  const added = now.columns.filter(({ family, qualifier }) => !known.has(`${family}:${qualifier}`));
  if (added.length === 0) return `What is noted of ${name} is brought up to date.`;
  return `${name} has new columns: ${added.map(({ property, family }) => `${property ?? ''} in ${family}`).join(', ')}.`;
}

/** None where the server would refuse them. */
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
      why: 'A region is to begin here, and none does.',
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
          ? `${names} of ${entity.name} may stand where it stood before. Its rows end, and what is moved would not: wait until those that were written before have ended, then say so with database.schema.settleColumns(), and leave out \`was\`.`
          : `Each value of ${names} that stands where it stood before is moved, with its versions and times; then every row is looked at again.`,
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
        why: `Each row of ${name} that was written as version ${from}${version - from > 1 ? ' or later' : ''} is written as version ${version}, at the times of its cells; then the marker of every row is looked at again.`,
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
      return {
        id: `drop-column:${descriptor.name}/${entity.name}/${place}`,
        kind: 'drop-column',
        class: 'data-loss',
        why: `${entity.name} was written with ${what}${property === undefined ? '' : ` ("${property}")`} and does not declare it: its cells are removed from each row, with every version; then every row is looked at again, and the table's note of it is forgotten.`,
        table: descriptor.name,
        family,
        option: entity.name,
        from: column,
      };
    }),
  );
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
        why: `${entity.name} is retired: each of its rows is removed, with every version; then every row is looked at again, its indexes are removed, and what the table notes of it is forgotten.`,
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
    why: `A major compaction writes the family's files anew, with the new ${options.join(', ')}. It may be left to the server.`,
    table,
    family,
  }));
}
