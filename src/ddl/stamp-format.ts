/**
 * The stamp of one record type: how a table's metadata keeps what its rows were written with. docs/formats.md has it.
 * Format 2 is JSON; format 1, which the first releases wrote, was text: `key …; marker d:5f; d:6e column text`.
 */

import { fromHex, toHex, toStringBinary } from '../bytes/index.js';
import type { ColumnSchema, EntitySchema, FormerPlace } from '../schema/types.js';

const PREFIX = 'rowan.record';
const FORMAT = 2;

/** A column as the stamp has it. */
export interface StampedColumn {
  readonly family: string;
  /** In hex. */
  readonly qualifier: string;
  readonly kind: string;
  readonly codec: string;
  /** Of a Map: the codec of its keys. */
  readonly keyCodec?: string;
  /** Unknown in format 1. */
  readonly property?: string;
}

export interface RecordStamp {
  /** Unknown in format 1. */
  readonly entity: string | undefined;
  readonly key: string;
  /** "family:qualifier in hex"; null: the entity has none. */
  readonly marker: string | null;
  readonly columns: readonly StampedColumn[];
  /** The version that rows are written as. */
  readonly version: number;
  /** The oldest version that there may be rows of. */
  readonly oldest: number;
  /** Places whose values were moved, and nothing was declared at since -> where to. */
  readonly moved?: Readonly<Record<string, string>>;
}

/** The name in the metadata: of a record type, or of the only entity of a table without one. */
export function stampName(recordType: number | undefined): string {
  return recordType === undefined ? PREFIX : `${PREFIX}.${recordType}`;
}

/** The stamps in a table's metadata, by name, as they are written. */
export function stampTexts(metadata: Readonly<Record<string, string>>): [name: string, text: string][] {
  return Object.entries(metadata).filter(([name]) => name === PREFIX || name.startsWith(`${PREFIX}.`));
}

/** The stamp of an entity as it is declared. */
export function stampOfEntity(entity: EntitySchema): RecordStamp {
  const { marker } = entity;
  return {
    entity: entity.name,
    key: entity.key.signature,
    marker: marker === undefined ? null : `${marker.family}:${toHex(marker.qualifier)}`,
    columns: entity.columns.map(stampOfColumn),
    version: entity.version,
    oldest: entity.version,
  };
}

/** A column as it is declared. */
export function stampOfColumn({
  family,
  qualifier,
  kind,
  codec,
  qualifierCodec,
  property,
}: ColumnSchema): StampedColumn {
  return {
    family,
    qualifier: toHex(qualifier),
    kind,
    codec: codec.name,
    ...(qualifierCodec === undefined ? {} : { keyCodec: qualifierCodec.name }),
    property,
  };
}

/** A former place of a column as the stamp of the time had it. */
export function stampOfFormer(
  column: ColumnSchema,
  { family, qualifier, codec }: FormerPlace,
): StampedColumn {
  return {
    family,
    qualifier: toHex(qualifier),
    kind: column.kind,
    codec: codec.name,
    ...(column.qualifierCodec === undefined ? {} : { keyCodec: column.qualifierCodec.name }),
    property: column.property,
  };
}

/** Where a column stands: what tells the columns of a stamp apart. */
export function placeOf({ family, qualifier }: Pick<StampedColumn, 'family' | 'qualifier'>): string {
  return `${family}:${qualifier}`;
}

/** A place as declarations write it: `d:p` of `d:70`. */
export function shownPlace(place: string): string {
  const colon = place.indexOf(':');
  return `${place.slice(0, colon + 1)}${toStringBinary(fromHex(place.slice(colon + 1)))}`;
}

export function writeStamp({
  entity,
  key,
  marker,
  columns,
  version,
  oldest,
  moved = {},
}: RecordStamp): string {
  const sorted = [...columns].sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1)).map(inOrder);
  const versions = version === 1 ? {} : { version, ...(oldest < version && { oldest }) };
  const places = Object.entries(moved).sort(([a], [b]) => (a < b ? -1 : 1));
  const notes = places.length === 0 ? {} : { moved: Object.fromEntries(places) };
  return JSON.stringify({ format: FORMAT, entity, key, marker, columns: sorted, ...versions, ...notes });
}

/** One text for one column, in whatever order its fields were read. */
function inOrder({ family, qualifier, kind, codec, keyCodec, property }: StampedColumn): StampedColumn {
  return {
    family,
    qualifier,
    kind,
    codec,
    ...(keyCodec === undefined ? {} : { keyCodec }),
    ...(property === undefined ? {} : { property }),
  };
}

/** The stamp, or a sentence that says why it cannot be read. */
export function readStamp(text: string): RecordStamp | string {
  if (text.startsWith('key ')) return readText(text);
  const read = parseJson(text);
  if (typeof read !== 'object' || read === null) return 'it is not one that Rowan writes';
  const {
    format,
    entity,
    key,
    marker,
    columns,
    version = 1,
    oldest = version,
    moved = {},
  } = read as Partial<RecordStamp> & {
    format?: unknown;
  };
  if (format !== FORMAT) {
    return `its format is ${String(format)}, and this version of Rowan reads up to ${FORMAT}`;
  }
  const whole =
    typeof key === 'string' &&
    (marker === null || typeof marker === 'string') &&
    [version, oldest].every((one) => Number.isInteger(one));
  if (!whole || !Array.isArray(columns) || !columns.every(isColumn)) return 'it lacks what a stamp has';
  if (!isPlaces(moved)) return 'what it notes of moved columns are no places';
  const name = typeof entity === 'string' ? entity : undefined;
  return { entity: name, key, marker, columns, version, oldest, moved };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isPlaces(value: unknown): value is Readonly<Record<string, string>> {
  return (
    typeof value === 'object' && value !== null && Object.values(value).every((to) => typeof to === 'string')
  );
}

function isColumn(value: unknown): value is StampedColumn {
  if (typeof value !== 'object' || value === null) return false;
  const { family, qualifier, kind, codec } = value as Partial<StampedColumn>;
  return [family, qualifier, kind, codec].every((item) => typeof item === 'string');
}

/** Format 1. Names in quotes (those of an enumeration) may hold the separator. */
function readText(text: string): RecordStamp {
  const items = text.match(/(?:"(?:[^"\\]|\\.)*"|(?!; ).)+/gsu) ?? [];
  const columns: StampedColumn[] = [];
  let key = '';
  let marker: string | null = null;
  for (const item of items) {
    const [, name = '', value = ''] = /^(\S+) (.*)$/su.exec(item.trimStart()) ?? [];
    if (name === 'key') key = withTextCodec(value);
    else if (name === 'marker') marker = value === 'none' ? null : value;
    else columns.push(readTextColumn(name, value));
  }
  return { entity: undefined, key, marker, columns, version: 1, oldest: 1 };
}

/** `d:6e[uint32] columns text`. */
function readTextColumn(name: string, value: string): StampedColumn {
  const [, family = '', qualifier = '', keyCodec] = /^([^:]*):([0-9a-f]*)(?:\[(.*)\])?$/su.exec(name) ?? [];
  const space = value.indexOf(' ');
  const column = { family, qualifier, kind: value.slice(0, space), codec: value.slice(space + 1) };
  return keyCodec === undefined ? column : { ...column, keyCodec };
}

/** The key codec `text` was called `string` when the first tables were stamped; its bytes are the same. */
function withTextCodec(key: string): string {
  return key.replace(/(?<=[:(])string(?=[ )]|$)/g, 'text');
}
