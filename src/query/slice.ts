import { compareBytes, concatBytes } from '../bytes/index.js';
import { InvalidArgumentError, QueryError } from '../errors.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { describe, isNamed, isRecord } from '../table/checks.js';
import type { Finish } from './row.js';

// — Run-time checks of options: names and numbers.

/** @throws InvalidArgumentError when the options are no object, or have an unknown name. */
export function checkNames(doing: string, options: object, known: readonly string[]): void {
  if (!isNamed(options)) {
    throw new InvalidArgumentError(
      `${doing}: the options are ${describe(options)}. Give an object, or nothing.`,
    );
  }
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new InvalidArgumentError(
    `${doing} has no option "${unknown}". It takes ${known.join(', ')}; conditions on columns go into where().`,
    { details: { option: unknown } },
  );
}

/** @throws QueryError when the value is given and is no positive whole number. */
export function checkCount(name: string, value: number | undefined): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) return;
  throw new QueryError(`${name} is a positive integer, not ${describe(value)}.`);
}

// — Slices: some of the entries of a Map property.

/** The bounds of a slice, by the bytes of keys, which are their stored order. */
export interface SliceBounds<K> {
  readonly gt?: K;
  readonly gte?: K;
  readonly lt?: K;
  readonly lte?: K;
  /** The most entries. */
  readonly limit?: number;
}

export interface MapSlice {
  readonly property: string;
  /** Bytes of the qualifiers, including the prefix; inclusive. */
  readonly start: Uint8Array;
  readonly startInclusive: boolean;
  /** Undefined: the end of the property's cells. */
  readonly stop: Uint8Array | undefined;
  readonly stopInclusive: boolean;
  readonly limit: number | undefined;
}

const BOUNDS: readonly string[] = ['gt', 'gte', 'lt', 'lte', 'limit'];

/** @throws QueryError when the property is no Map, or the bounds are invalid. */
export function parseSlice(schema: EntitySchema, property: string, bounds: SliceBounds<unknown>): MapSlice {
  const column = mapColumn(schema, property);
  const fail = (why: string): QueryError =>
    new QueryError(`slice: ${schema.name}.${property}: ${why}`, {
      details: { entity: schema.name, property },
    });
  if (!isRecord(bounds)) throw fail(`the bounds are ${describe(bounds)}.`);
  const unknown = Object.keys(bounds).find((name) => !BOUNDS.includes(name));
  if (unknown !== undefined) throw fail(`unknown bound "${unknown}". Write ${BOUNDS.join(', ')}.`);
  const { gt, gte, lt, lte, limit } = bounds as SliceBounds<unknown>;
  if ((gt !== undefined && gte !== undefined) || (lt !== undefined && lte !== undefined)) {
    throw fail('write one of gt and gte, and one of lt and lte.');
  }
  checkCount(`slice: the limit of ${property}`, limit);
  const bytes = (key: unknown): Uint8Array | undefined =>
    key === undefined ? undefined : qualifierOf(column, key);
  return {
    property,
    start: bytes(gt ?? gte) ?? column.qualifier,
    startInclusive: gt === undefined,
    stop: bytes(lt ?? lte),
    stopInclusive: lte !== undefined,
    limit,
  };
}

/** The Map column of a property. @throws QueryError when it is no Map, or is `@Packed`. */
export function mapColumn(schema: EntitySchema, property: string): ColumnSchema {
  const column = schema.columnsByProperty.get(property);
  if (column?.kind === 'columns' && column.window === undefined) return column;
  throw new QueryError(
    `${schema.name}.${typeof property === 'string' ? property : describe(property)} is no Map of columns${column?.window ? ': a range over the key cuts packed points' : ''}.`,
    { details: { entity: schema.name, property } },
  );
}

/** The qualifier of an entry. @throws RowanError `ERR_CODEC`. */
export function qualifierOf(column: ColumnSchema, key: unknown): Uint8Array {
  return concatBytes(column.qualifier, column.qualifierCodec!.encode(key));
}

/** Reduces the Map of loaded entities. */
export function sliceOf(schema: EntitySchema, slice: MapSlice): Finish {
  const column = mapColumn(schema, slice.property);
  return (entity) => {
    const map = entity[slice.property];
    if (!(map instanceof Map)) return;
    let kept = 0;
    for (const key of map.keys()) {
      if (kept !== slice.limit && isWithin(slice, qualifierOf(column, key))) kept++;
      else map.delete(key);
    }
  };
}

function isWithin(slice: MapSlice, qualifier: Uint8Array): boolean {
  const { start, startInclusive, stop, stopInclusive } = slice;
  const above = compareBytes(qualifier, start);
  if (above < 0 || (above === 0 && !startInclusive)) return false;
  if (stop === undefined) return true;
  const below = compareBytes(qualifier, stop);
  return below < 0 || (below === 0 && stopInclusive);
}
