/**
 * The format of a stamp, which records in a table's metadata how the rows of one record type were written. See
 * docs/formats.md. Format 2 is JSON; format 1, of the first releases, was text: `key …; marker d:5f; d:6e column text`.
 */

import { fromHex, toHex, toStringBinary } from '../bytes/index.js';
import type { ColumnSchema, EntitySchema, FormerPlaceSchema } from '../schema/types.js';

const PREFIX = 'rowan.record';
const FORMAT = 2;

/** A column in a stamp. */
export interface StampedColumn {
  readonly family: string;
  /** In hex. */
  readonly qualifier: string;
  readonly kind: string;
  readonly codec: string;
  /** For a Map: the codec of its keys. */
  readonly keyCodec?: string;
  /** Undefined in format 1. */
  readonly property?: string;
}

export interface RecordStamp {
  /** Undefined in format 1. */
  readonly entity: string | undefined;
  readonly key: string;
  /** "family:qualifier in hex"; null if the entity has no marker. */
  readonly marker: string | null;
  readonly columns: readonly StampedColumn[];
  /** The schema version with which rows are written. */
  readonly version: number;
  /** The oldest version of which there may be rows. */
  readonly oldest: number;
  /** Former places whose values were moved, if nothing has been declared there since -> the new place. */
  readonly moved?: Readonly<Record<string, string>>;
}

/** The name of a stamp in the metadata: of a record type, or of the only entity of a table without one. */
export function stampName(recordType: number | undefined): string {
  return recordType === undefined ? PREFIX : `${PREFIX}.${recordType}`;
}

/** The stamps in a table's metadata, by name, as stored text. */
export function stampTexts(metadata: Readonly<Record<string, string>>): [name: string, text: string][] {
  return Object.entries(metadata).filter(([name]) => name === PREFIX || name.startsWith(`${PREFIX}.`));
}

/** The stamp of an entity's declaration. */
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

/** The stamp of a column's declaration. */
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

/** The stamp that a former column had. */
export function stampOfFormer(
  column: ColumnSchema,
  { family, qualifier, codec }: FormerPlaceSchema,
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

/** The place of a column, which identifies it in a stamp. */
export function placeOf({ family, qualifier }: Pick<StampedColumn, 'family' | 'qualifier'>): string {
  return `${family}:${qualifier}`;
}

/** A place as in declarations: `d:p` for `d:70`. */
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

/** The column with its fields in a fixed order, so that equal columns have equal text. */
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

/** Parses a stamp; if it cannot be read, returns a sentence that says why. */
export function readStamp(text: string): RecordStamp | string {
  if (text.startsWith('key ')) return readText(text);
  const read = parseJson(text);
  if (typeof read !== 'object' || read === null) return 'it is not a stamp of Rowan';
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
    return `its format is ${String(format)}, but this version of Rowan reads only up to ${FORMAT}`;
  }
  const whole =
    typeof key === 'string' &&
    (marker === null || typeof marker === 'string') &&
    [version, oldest].every((one) => Number.isInteger(one));
  if (!whole || !Array.isArray(columns) || !columns.every(isColumn)) return 'it lacks required fields';
  if (!isPlaces(moved)) return 'its list of moved columns is invalid';
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

/** Parses format 1. Quoted names (of enumerations) may contain the separator. */
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

/** Parses `d:6e[uint32] columns text`. */
function readTextColumn(name: string, value: string): StampedColumn {
  const [, family = '', qualifier = '', keyCodec] = /^([^:]*):([0-9a-f]*)(?:\[(.*)\])?$/su.exec(name) ?? [];
  const space = value.indexOf(' ');
  const column = { family, qualifier, kind: value.slice(0, space), codec: value.slice(space + 1) };
  return keyCodec === undefined ? column : { ...column, keyCodec };
}

/** The key codec `text` was called `string` when the first tables were stamped; its bytes have not changed. */
function withTextCodec(key: string): string {
  return key.replace(/(?<=[:(])string(?=[ )]|$)/g, 'text');
}
