import { fromHex } from '../bytes/index.js';
import { compileSchema } from '../mapper/index.js';
import { AdoptedSchema, type Schema } from '../schema/index.js';
import { OwnCells } from '../schema/own-cells.js';
import type { EntitySchema, TableSchema } from '../schema/types.js';
import type { FamilyDescriptor, TableDescriptor } from '../table/index.js';
import {
  placeOf,
  type RecordStamp,
  readStamp,
  type StampedColumn,
  shownPlace,
  stampName,
  stampOfColumn,
  stampOfEntity,
  stampOfFormer,
  stampTexts,
  writeStamp,
} from './stamp-format.js';

// — Compares declarations with the stamps of a table, so that a program whose declarations would misread stored bytes
// fails when it opens the table. The content of stamps is defined in {@link import('./stamp-format.js')}.

/** The descriptor of a new table, including its stamps. */
export function stampedDescriptor(table: TableSchema): TableDescriptor {
  const { descriptor } = table;
  return Object.freeze({
    ...descriptor,
    metadata: Object.freeze({ ...descriptor.metadata, ...stampOf(table) }),
  });
}

/** The stamps of the table's entities, as metadata. */
export function stampOf(table: TableSchema): Record<string, string> {
  return Object.fromEntries(
    table.entities.map((entity) => [stampName(entity.key.recordType), writeStamp(stampOfEntity(entity))]),
  );
}

/** The stamp of an entity in a live table; undefined if there is none or it cannot be read. */
export function liveStamp(entity: EntitySchema, live: TableDescriptor): RecordStamp | undefined {
  const text = live.metadata[stampName(entity.key.recordType)];
  const stamp = text === undefined ? undefined : readStamp(text);
  return typeof stamp === 'string' ? undefined : stamp;
}

/** The places of row markers, for entities whose tables were written under an earlier declaration. */
function storedMarkers(
  entities: readonly EntitySchema[],
  tables: ReadonlyMap<string, TableDescriptor>,
): Map<EntitySchema['target'], string> {
  const markers = new Map<EntitySchema['target'], string>();
  for (const entity of entities) {
    const live = tables.get(entity.table.descriptor.name);
    const family = live && liveStamp(entity, live)?.marker?.split(':')[0];
    if (family != null && entity.marker !== undefined) markers.set(entity.target, family);
  }
  return markers;
}

/** Every way in which declarations contradict the stamps, each as a sentence. Columns may be added and removed. */
export function stampProblems(table: TableSchema, live: TableDescriptor): string[] {
  return [...table.entities, ...table.retired].flatMap((entity) => {
    const mixed = mixedRecords(entity, live);
    if (mixed !== undefined) return [mixed];
    const text = live.metadata[stampName(entity.key.recordType)];
    if (text === undefined) return [];
    const stamp = readStamp(text);
    if (typeof stamp === 'string') {
      return [
        `${entity.name}: the stamp in the table's metadata cannot be read: ${stamp}. Open the table with the version of Rowan that wrote it, or a newer one.`,
      ];
    }
    if (table.retired.includes(entity)) return retirementProblems(entity, stamp);
    return contradictions(entity, stamp, stampOfEntity(entity));
  });
}

/** Checks that rows with and without a record type do not share a table, where each would be read as the other. */
function mixedRecords(entity: EntitySchema, live: TableDescriptor): string | undefined {
  const { recordType } = entity.key;
  const untyped = stampName(undefined);
  const names = stampTexts(live.metadata).map(([name]) => name);
  if (recordType !== undefined && names.includes(untyped)) {
    return `${entity.name}: it has the record type ${recordType}, but the table has rows without one${writer(live, untyped)}, and the two could not be distinguished. Leave out recordType(), or store the entity in a new table.`;
  }
  const typed = names.find((name) => name !== untyped);
  if (recordType === undefined && typed !== undefined) {
    return `${entity.name}: it has no record type, but the table has rows with one${writer(live, typed)}, and the two could not be distinguished. Declare recordType, or store the entity in a new table.`;
  }
  return undefined;
}

function writer(live: TableDescriptor, name: string): string {
  const stamp = readStamp(live.metadata[name]!);
  return typeof stamp === 'string' || stamp.entity === undefined ? '' : ` (by ${stamp.entity})`;
}

function contradictions(entity: EntitySchema, before: RecordStamp, now: RecordStamp): string[] {
  const problems: string[] = [];
  const add = (text: string): void => void problems.push(`${entity.name}: ${text}`);
  if (!isReadableKey(before.key, now.key)) {
    add(
      `its row keys were written as [${before.key}] and are now declared as [${now.key}]; existing rows would not be found. Restore the key, or declare the new one as an entity in a table of its own and change the keys (docs/rekey.md).`,
    );
  }
  if (before.marker !== now.marker) {
    add(
      `its marker was written as ${shownMarker(before)} and is now declared as ${shownMarker(now)}. Keep it there with @Entity({ marker }).`,
    );
  }
  problems.push(...versionProblems(entity, before));
  const declared = new Map(now.columns.map((column) => [placeOf(column), column]));
  const stored = new Map(before.columns.map((column) => [placeOf(column), column]));
  const former = formerPlaces(entity);
  const read = readPlaces(entity);
  const removed = before.columns.filter(
    (column) => !declared.has(placeOf(column)) && !former.has(placeOf(column)) && !read.has(placeOf(column)),
  );
  for (const [place, column] of read) {
    const old = stored.get(place);
    if (old === undefined || readsOld(entity, before, old)) continue;
    add(
      `an @Upgrade reads "${column.property}" at ${shownPlace(place)}, which was written as ${describe(old)} and is declared as ${describe(column)}. Declare the codec that it had.`,
    );
  }
  for (const [place, column] of former) {
    const old = stored.get(place);
    if (old === undefined || isReadable(old, column)) continue;
    add(
      `"${column.property}" was at ${shownPlace(place)}, which was written as ${describe(old)} and is now declared as ${describe(column)}. Name the old codec in its \`was\`: formerly(column, codec, migrate).`,
    );
  }
  if (before.entity !== undefined && before.entity !== entity.name && removed.length > 0) {
    add(
      `the table's rows were written by ${before.entity}, with columns that ${entity.name} does not have. If it is the same entity, keep its name: @Entity({ name: '${before.entity}' }); if not, store it in a table of its own or with a record type.`,
    );
  }
  for (const [place, column] of declared) {
    const old = stored.get(place);
    if (old !== undefined) {
      if (!isReadable(old, column) && !readsOld(entity, before, old)) {
        add(
          `${shownPlace(place)} was written as ${describe(old)} and is now declared as ${describe(column)}. Restore the codec, or give the property another column.`,
        );
      }
      continue;
    }
    const to = movedTo(place, before);
    if (to !== undefined && !declared.has(to) && !read.has(to)) {
      const now = stored.get(to)?.property;
      add(
        `"${column.property}" is declared at ${shownPlace(place)}, from which values were moved to ${shownPlace(to)}${now === undefined ? '' : ` ("${now}")`}: ` +
          `they would not be read there, and if moved back they would be hidden by the delete markers of that move. Use the declarations of the program that moved them, or give the property a new column with \`was\`: ${shownPlace(to)}.`,
      );
      continue;
    }
    const moved = removed.find((other) => other.property !== undefined && other.property === column.property);
    if (moved === undefined) continue;
    add(
      `"${column.property}" was written to ${shownPlace(placeOf(moved))} and is now declared at ${shownPlace(place)}; existing values would not be read. Name the old column in { was: [...] } until it has been moved, restore it, or give the property another name.`,
    );
  }
  return problems;
}

function shownMarker({ marker }: RecordStamp): string {
  return marker === null ? 'none' : shownPlace(marker);
}

/** Where the values of a place were moved to; undefined if they were not moved. */
function movedTo(place: string, { moved = {} }: RecordStamp): string | undefined {
  const passed = new Set([place]);
  let to: string | undefined;
  for (let next = moved[place]; next !== undefined && !passed.has(next); next = moved[next]) {
    to = next;
    passed.add(next);
  }
  return to;
}

/** Reasons why removing a retired entity could remove the wrong rows. */
function retirementProblems({ name, key }: EntitySchema, before: RecordStamp): string[] {
  if (before.entity !== undefined && before.entity !== name) {
    return [
      `${name}: it is retired, but the rows of its record type were written by ${before.entity}. Declare that one as retired, or leave ${name} out.`,
    ];
  }
  if (isReadableKey(before.key, key.signature)) return [];
  return [
    `${name}: it is retired, but its row keys were written as [${before.key}] and are declared as [${key.signature}], so its rows could not be recognized reliably. Restore the key.`,
  ];
}

/** The metadata without the stamp of an entity. */
export function metadataWithout(entity: EntitySchema, live: TableDescriptor): TableDescriptor['metadata'] {
  const { [stampName(entity.key.recordType)]: _, ...rest } = live.metadata;
  return rest;
}

/** Problems with rows of schema versions that the declarations cannot read. */
function versionProblems({ name, version, upgrades }: EntitySchema, before: RecordStamp): string[] {
  if (before.version > version) {
    return [
      `${name}: its rows were written as version ${before.version}, but its schemaVersion is ${version}. Use the declarations of the program that wrote them.`,
    ];
  }
  const first = upgrades[0]?.from ?? version;
  if (before.oldest >= first) return [];
  return [
    `${name}: there may be rows of version ${before.oldest}, but its schemaVersion is ${version} without @Upgrade(${before.oldest}). Restore the upgrades from that version on until rows have been upgraded (rowan schema apply), or declare an upgrade for it.`,
  ];
}

/** Whether an upgrade from a version that still has rows reads the place with the codec that it had. */
function readsOld({ upgrades }: EntitySchema, { oldest }: RecordStamp, old: StampedColumn): boolean {
  return upgrades.some(
    ({ from, old: columns }) =>
      from >= oldest &&
      columns
        .map(stampOfColumn)
        .some((column) => placeOf(column) === placeOf(old) && isReadable(old, column)),
  );
}

/** The former places of the entity's columns, with their stamps. */
function formerPlaces({ columns }: EntitySchema): Map<string, StampedColumn> {
  const moved = columns.flatMap((column) => column.was.map((place) => stampOfFormer(column, place)));
  return new Map(moved.map((column) => [placeOf(column), column]));
}

/** The places that the entity's upgrades read and where none of its columns is stored. */
function readPlaces({ columns, upgrades }: EntitySchema): Map<string, StampedColumn> {
  const own = new Set(columns.map((column) => placeOf(stampOfColumn(column))));
  const read = upgrades.flatMap(({ old }) => old.map(stampOfColumn));
  return new Map(
    read.filter((column) => !own.has(placeOf(column))).map((column) => [placeOf(column), column]),
  );
}

/** The moved columns of an entity whose values may still be at their former places, according to the live stamp. */
export function unmovedColumns(entity: EntitySchema, live: TableDescriptor): StampedColumn[] {
  const former = formerPlaces(entity);
  return (liveStamp(entity, live)?.columns ?? []).filter((column) => former.has(placeOf(column)));
}

/** The oldest version below the present one of which there may be rows, according to the live stamp. */
export function unupgradedFrom(entity: EntitySchema, live: TableDescriptor): number | undefined {
  const oldest = liveStamp(entity, live)?.oldest;
  return oldest === undefined || oldest >= entity.version || entity.upgrades.length === 0
    ? undefined
    : oldest;
}

/** The metadata to store once the former places are empty and all rows have the present version. */
export function movedStamp(entity: EntitySchema, live: TableDescriptor): Record<string, string> {
  const stamp = liveStamp(entity, live);
  if (stamp === undefined) return {};
  const former = new Set([...formerPlaces(entity).keys(), ...readPlaces(entity).keys()]);
  const columns = stamp.columns.filter((column) => !former.has(placeOf(column)));
  const moved: Record<string, string> = { ...stamp.moved };
  for (const column of entity.columns) {
    const to = placeOf(stampOfColumn(column));
    for (const place of column.was) moved[placeOf(stampOfFormer(column, place))] = to;
  }
  const text = writeStamp({ ...stamp, columns, oldest: stamp.version, moved });
  return { [stampName(entity.key.recordType)]: text };
}

/**
 * Columns in the live stamp that the entity does not declare at any place, so that nothing reads their values. Columns
 * of undeclared families are omitted, since dropping the family drops them.
 */
export function undeclaredColumns(entity: EntitySchema, live: TableDescriptor): StampedColumn[] {
  const own = new OwnCells(entity);
  const families = new Set(entity.table.descriptor.families.map(({ name }) => name));
  return (liveStamp(entity, live)?.columns ?? []).filter(
    ({ family, qualifier }) => families.has(family) && !own.has(family, fromHex(qualifier)),
  );
}

/** The metadata to store once a column's place is empty. Records of columns that were moved there are dropped too. */
export function droppedStamp(
  entity: EntitySchema,
  live: TableDescriptor,
  dropped: StampedColumn,
): Record<string, string> {
  const stamp = liveStamp(entity, live);
  if (stamp === undefined) return {};
  const droppedPlace = placeOf(dropped);
  const columns = stamp.columns.filter((column) => placeOf(column) !== droppedPlace);
  const moved = Object.entries(stamp.moved ?? {}).filter(([place]) => movedTo(place, stamp) !== droppedPlace);
  const text = writeStamp({ ...stamp, columns, moved: Object.fromEntries(moved) });
  return { [stampName(entity.key.recordType)]: text };
}

/** Whether values written as `old` are read correctly as `now`. */
function isReadable(old: StampedColumn, now: StampedColumn): boolean {
  if (old.kind !== now.kind || old.keyCodec !== now.keyCodec) return false;
  return old.codec === now.codec || isWiderEnumeration(old.codec, now.codec);
}

function isReadableKey(old: string, now: string): boolean {
  return old === now || isWiderEnumeration(old, now);
}

const ENUMERATION = /(enumeration|numericEnum)\((?:(?:"(?:[^"\\]|\\.)*"=)?\d+,?)+(;2)?\)/gu;
const ENUMERATED = /(?:"(?:[^"\\]|\\.)*"=|(?<=[(,]))\d+/gu;

/** Whether two names of codecs or layouts are equal, apart from members added to enumerations. */
function isWiderEnumeration(old: string, now: string): boolean {
  const frame = (text: string): string => text.replace(ENUMERATION, '$1($2)');
  const before = old.match(ENUMERATION) ?? [];
  const after = now.match(ENUMERATION) ?? [];
  return (
    frame(old) === frame(now) &&
    before.every((enumeration, i) => {
      const names = new Set(after[i]!.match(ENUMERATED));
      return enumeration.match(ENUMERATED)!.every((name) => names.has(name));
    })
  );
}

function describe({ kind, codec, keyCodec }: StampedColumn): string {
  return `${kind}${keyCodec === undefined ? '' : `[${keyCodec}]`} ${codec}`;
}

/** The metadata to add so that later openings know these entities; empty if there is nothing to add. */
export function stampChanges(table: TableSchema, live: TableDescriptor): Record<string, string> {
  const changes: Record<string, string> = {};
  for (const entity of table.entities) {
    const name = stampName(entity.key.recordType);
    const now = stampOfEntity(entity);
    const before = liveStamp(entity, live);
    const kept = (before?.columns ?? []).filter(
      (old) => !now.columns.some((column) => placeOf(column) === placeOf(old)),
    );
    const columns = [...now.columns, ...kept];
    const taken = new Set(columns.map(placeOf));
    const moved = Object.entries(before?.moved ?? {}).filter(([place]) => !taken.has(place));
    const text = writeStamp({
      ...now,
      columns,
      oldest: before?.oldest ?? now.oldest,
      moved: Object.fromEntries(moved),
    });
    if (text !== live.metadata[name]) changes[name] = text;
  }
  return changes;
}

/**
 * Adapts declarations to tables that were written under earlier ones: returns the schema with markers in the families
 * that they were written to.
 */
export function adoptMarkers(declared: Schema, live: ReadonlyMap<string, TableDescriptor>): AdoptedSchema {
  const markers = storedMarkers(declared.entities, live);
  const isAsStored = declared.entities.every(({ target, marker }) => {
    const family = markers.get(target);
    return family === undefined || family === marker?.family;
  });
  if (isAsStored) return AdoptedSchema.of(declared);
  const classes = [...declared.entities, ...declared.retired].map(({ target }) => target);
  return AdoptedSchema.of(compileSchema(classes, markers, declared.subscribers));
}

// — Compares the options of a live table with the declared ones.

/** One option of a table or family that differs from the declaration. */
export interface TableDifference {
  readonly table: string;
  /** Undefined for an option of the table itself. */
  readonly family: string | undefined;
  /** The name as in `@Table`: `versions`, `ttl`, `compression`, …; for settings `configuration.hbase.x`. */
  readonly option: string;
  readonly declared: unknown;
  readonly live: unknown;
  /**
   * `meaning`: the option decides which cells are kept and read (versions, time to live, deleted cells). `storage`: it decides how they are stored.
   */
  readonly effect: 'meaning' | 'storage';
  /** Whether the option is declared explicitly; otherwise the declared value is HBase's default. */
  readonly explicit: boolean;
}

/** The options that decide which cells exist. */
const MEANING: ReadonlySet<string> = new Set([
  'versions',
  'minVersions',
  'ttl',
  'keepDeletedCells',
  'newVersionBehavior',
]);

const FAMILY_OPTIONS = [
  'versions',
  'minVersions',
  'ttl',
  'compression',
  'dataBlockEncoding',
  'bloomFilter',
  'blockSize',
  'blockCache',
  'inMemory',
  'keepDeletedCells',
  'newVersionBehavior',
  'replicationScope',
  'cacheDataOnWrite',
  'prefetchBlocksOnOpen',
] as const satisfies readonly (keyof FamilyDescriptor)[];

const TABLE_OPTIONS = [
  'durability',
  'maxFileSize',
  'memstoreFlushSize',
  'readOnly',
  'splitEnabled',
  'compactionEnabled',
  'regionReplication',
  'splitPolicy',
] as const satisfies readonly (keyof TableDescriptor)[];

type Options = Readonly<Record<string, unknown>>;

/**
 * Compares options. Families missing in the live table are left to the caller. Settings are compared only if declared.
 */
export function tableDifferences(
  { descriptor, declaration }: Pick<TableSchema, 'descriptor' | 'declaration'>,
  live: TableDescriptor,
): TableDifference[] {
  const of = (family: string | undefined, given: Options | undefined) => {
    const compare = (option: string, declared: unknown, actual: unknown): TableDifference[] =>
      declared === actual
        ? []
        : [
            {
              table: descriptor.name,
              family,
              option,
              declared,
              live: actual,
              effect: MEANING.has(option) ? 'meaning' : 'storage',
              explicit: given !== undefined && Object.hasOwn(given, option.split('.')[0]!),
            },
          ];
    return compare;
  };
  const table = of(undefined, declaration as Options | undefined);
  const differences = TABLE_OPTIONS.flatMap((option) => table(option, descriptor[option], live[option]));
  differences.push(...settings(table, descriptor, live));
  for (const family of descriptor.families) {
    const actual = live.families.find(({ name }) => name === family.name);
    if (actual === undefined) continue;
    const compare = of(family.name, declaration?.families[family.name] as Options | undefined);
    differences.push(
      ...FAMILY_OPTIONS.flatMap((option) => compare(option, family[option], actual[option])),
      ...settings(compare, family, actual),
    );
  }
  return differences;
}

type Settings = Pick<TableDescriptor, 'configuration' | 'metadata'>;

function settings(
  compare: (option: string, declared: unknown, actual: unknown) => TableDifference[],
  declared: Settings,
  live: Settings,
): TableDifference[] {
  return (['configuration', 'metadata'] as const).flatMap((kind) =>
    Object.entries(declared[kind]).flatMap(([name, value]) =>
      compare(`${kind}.${name}`, value, live[kind][name]),
    ),
  );
}

/** Returns e.g. "d.versions is 1, declared 3". */
export function describeDifference({ family, option, declared, live }: TableDifference): string {
  const place = family === undefined ? option : `${family}.${option}`;
  return `${place} is ${String(live)}, declared ${String(declared)}`;
}
