/** Rows, cells and values as the page shows them: never more of a value than a person reads, never code. */

import { toHex, toStringBinary } from '../../bytes/index.js';
import { storedCodec, storedValue } from '../../key/index.js';
import type { KeyPiece } from '../../key/types.js';
import type { ColumnSchema, EntitySchema } from '../../schema/types.js';
import { type Cell, CellType, CellWithTtl, type Result } from '../../table/index.js';
import type { CellShown, Json, PieceShown, RowShown, ValueShown } from './api.js';
import { pictureType } from './cell-value.js';

/** Characters of a value in a list of rows, and where one row is looked at. */
export const LIST_CHARACTERS = 400;
export const DETAIL_CHARACTERS = 64 * 1024;

const CELL_TYPES: ReadonlyMap<number, string> = new Map(
  Object.entries(CellType).map(([name, code]) => [code, name]),
);

/** A property's value; `bytes` and `time` are those of its cell. */
export function shownValue(value: unknown, most: number, bytes = 0, time = 0): ValueShown {
  const shown = jsonOf(value, most);
  return { ...shown, bytes, time };
}

function jsonOf(value: unknown, most: number): Pick<ValueShown, 'value' | 'type' | 'cut'> {
  if (value === null || value === undefined) return { value: null, type: 'null' };
  if (typeof value === 'string') return cutText(value, 'text', most);
  if (typeof value === 'boolean') return { value, type: 'boolean' };
  if (typeof value === 'number')
    return { value: hasJson(value) ? value : shownNumber(value), type: 'number' };
  if (typeof value === 'bigint') return { value: String(value), type: 'number' };
  if (value instanceof Date) {
    return { value: Number.isNaN(value.getTime()) ? 'no date' : value.toISOString(), type: 'time' };
  }
  if (value instanceof Uint8Array) return printedBytes(value, most);
  const text = JSON.stringify(value, replaced) ?? 'null';
  if (text.length > most) return { value: text.slice(0, most), type: 'text', cut: true };
  return { value: JSON.parse(text) as Json, type: 'json' };
}

const hasJson = (value: number): boolean => Number.isFinite(value) && !Object.is(value, -0);

const shownNumber = (value: number): string => (Object.is(value, -0) ? '-0' : String(value));

/** Dates are texts already when JSON asks. */
function replaced(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (value instanceof Uint8Array) return toStringBinary(value);
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, of]) => [keyText(key), of]));
  return value;
}

function keyText(key: unknown): string {
  if (key instanceof Uint8Array) return toStringBinary(key);
  return key instanceof Date ? key.toISOString() : String(key);
}

function cutText(
  text: string,
  type: ValueShown['type'],
  most: number,
): Pick<ValueShown, 'value' | 'type' | 'cut'> {
  return text.length > most ? { value: text.slice(0, most), type, cut: true } : { value: text, type };
}

function printedBytes(bytes: Uint8Array, most: number): Pick<ValueShown, 'value' | 'type' | 'cut'> {
  if (bytes.length <= most) return { value: toStringBinary(bytes), type: 'bytes' };
  return { value: toStringBinary(bytes.subarray(0, most)), type: 'bytes', cut: true };
}

/** A property with what is stored for its value objects. */
export function storedProperty(
  { kind, codec, qualifierCodec, window }: ColumnSchema,
  value: unknown,
): unknown {
  const stored = (of: unknown): unknown => (of === null || of === undefined ? of : storedValue(codec, of));
  if (value instanceof Map) {
    const keyOf = (key: unknown): unknown => (window === undefined ? storedValue(qualifierCodec!, key) : key);
    return new Map([...value].map(([key, of]) => [keyOf(key), stored(of)]));
  }
  if (kind !== 'versions' || !Array.isArray(value)) return stored(value);
  return value.map((version: { readonly value: unknown }) => ({ ...version, value: stored(version.value) }));
}

/** The columns of an entity, found by their cells. */
export class ColumnFinder {
  private readonly single = new Map<string, ColumnSchema>();
  private readonly several: readonly ColumnSchema[];

  constructor(readonly schema: EntitySchema) {
    for (const column of schema.columns) {
      if (column.kind !== 'columns') this.single.set(`${column.family}:${toHex(column.qualifier)}`, column);
    }
    this.several = schema.columns.filter(({ kind }) => kind === 'columns');
  }

  of({ family, qualifier }: Cell): ColumnSchema | undefined {
    return (
      this.single.get(`${family}:${toHex(qualifier)}`) ??
      this.several.find(
        (column) =>
          column.family === family &&
          Buffer.compare(qualifier.subarray(0, column.qualifier.length), column.qualifier) === 0,
      )
    );
  }

  isMarker({ family, qualifier }: Cell): boolean {
    const { marker } = this.schema;
    return (
      marker !== undefined && marker.family === family && Buffer.compare(marker.qualifier, qualifier) === 0
    );
  }
}

/** The problem, as a sentence. */
export const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A cell as HBase has it and, where a column is declared there, as its codec reads it. */
export function shownCell(cell: Cell, columns: ColumnFinder | undefined, most: number): CellShown {
  const { value: printed, cut } = printedBytes(cell.value, most);
  const shown: CellShown = {
    family: cell.family,
    qualifier: toStringBinary(cell.qualifier),
    time: cell.timestamp,
    type: CELL_TYPES.get(cell.type) ?? String(cell.type),
    value: String(printed),
    bytes: cell.value.length,
    ...(cut === true && { cut }),
    ...(pictureType(cell.value) !== undefined && { picture: true }),
    ...(cell instanceof CellWithTtl && { timeToLive: cell.ttl }),
  };
  if (columns?.isMarker(cell) === true) return { ...shown, property: '(marker)' };
  const column = columns?.of(cell);
  if (column === undefined) return shown;
  const named = { ...shown, property: column.property };
  if (cell.type !== CellType.Put) return named;
  try {
    const decoded = shownValue(
      storedCodec(column.codec).decode(cell.value),
      most,
      cell.value.length,
      cell.timestamp,
    );
    return { ...named, decoded };
  } catch (error) {
    return { ...named, problem: reason(error) };
  }
}

/** A row as its entity; what cannot be decoded is said with the reason, and the rest of it is shown. */
export function shownRow(result: Result, columns: ColumnFinder | undefined, most: number): RowShown {
  const { row } = result;
  const place = { row: toHex(row), printed: toStringBinary(row) };
  if (columns === undefined) {
    return { ...place, entity: null, values: {}, problem: 'No declared key has these bytes.' };
  }
  const { schema } = columns;
  const values: Record<string, ValueShown> = {};
  const problems: string[] = [];
  try {
    for (const [part, value] of Object.entries(schema.key.stored.decode(row)))
      values[part] = shownValue(value, most);
  } catch (error) {
    problems.push(reason(error));
  }
  const newest = newestCells(result, columns);
  try {
    const entity = schema.mapper.fromResult(result) as Record<string, unknown> | null;
    for (const column of entity === null ? [] : schema.columns) {
      const { property, path } = column;
      const value = storedProperty(column, path.reduce<unknown>(inside, entity));
      if (value === undefined) continue;
      const cell = newest.get(property);
      values[property] = shownValue(value, most, cell?.value.length, cell?.timestamp);
    }
  } catch (error) {
    problems.push(reason(error));
    for (const [property, cell] of newest) {
      const { decoded } = shownCell(cell, columns, most);
      if (decoded !== undefined) values[property] = decoded;
    }
  }
  return {
    ...place,
    entity: schema.name,
    values,
    ...(problems.length > 0 && { problem: problems.join(' ') }),
  };
}

function inside(object: unknown, name: string): unknown {
  return typeof object === 'object' && object !== null ? Reflect.get(object, name) : undefined;
}

function newestCells({ cells }: Result, columns: ColumnFinder): Map<string, Cell> {
  const newest = new Map<string, Cell>();
  for (const cell of cells) {
    const property = columns.of(cell)?.property;
    if (property !== undefined && !newest.has(property)) newest.set(property, cell);
  }
  return newest;
}

const ABOUT: readonly (readonly [RegExp, PieceShown['kind'], string])[] = [
  [/^salt\(/, 'salt', 'The salt spreads neighbors over regions; it is computed from other parts.'],
  [/^bucket\(/, 'bucket', 'The bucket spreads rows that come at one time.'],
  [/^hash\(/, 'hash', 'A digest: keys are found by it, and do not lie in the order of the value.'],
  [/^(desc\()?timeBucket\(/, 'time', 'The span of time that the row is of.'],
  [/^recordType\(/, 'type', 'The record type tells the entities of one table apart.'],
  [/^literal\(/, 'literal', 'The same in every key.'],
];

/** The bytes of a key, or of what keys begin with, element by element, each with what it is for. */
export function shownPieces(row: Uint8Array, pieces: readonly KeyPiece[], isWhole = true): PieceShown[] {
  return pieces.map(({ element, parts, start, end }, at) => {
    const bytes = row.subarray(start, end);
    const ends = at + 1 < pieces.length || !isWhole ? terminatorOf(element, bytes) : 0;
    const known = ABOUT.find(([pattern]) => pattern.test(element));
    return {
      element,
      kind: known?.[1] ?? 'part',
      printed: toStringBinary(bytes.subarray(0, bytes.length - ends)),
      hex: toHex(bytes),
      ...(ends > 0 && { end: toStringBinary(bytes.subarray(bytes.length - ends)) }),
      about: known?.[2] ?? partAbout(element, parts),
    };
  });
}

/** Bytes that only end a text or bytes of any length where another element follows: 00 01, inverted FF FE. */
function terminatorOf(element: string, bytes: Uint8Array): number {
  if (!/:(text|bytes)|desc\(/.test(element)) return 0;
  const [before, last] = bytes.subarray(-2);
  return (before === 0 && last === 1) || (before === 255 && last === 254) ? 2 : 0;
}

function partAbout(element: string, parts: readonly string[]): string {
  const name = parts.join(', ');
  if (/reverseTimestamp/i.test(element)) return `${name} kept reversed: the newest comes first.`;
  if (/desc\(/.test(element)) return `${name} kept inverted: the greatest comes first.`;
  if (/reverse/i.test(element)) return `${name} kept reversed, to spread keys or to be found by its end.`;
  if (/:text$/.test(element))
    return `${name}; where another element follows, 00 01 ends it and lets shorter texts come first.`;
  return `${name}, as its codec writes it.`;
}
