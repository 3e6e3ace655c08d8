import { compareBytes, concatBytes } from '../bytes/index.js';
import { InvalidArgumentError, QueryError } from '../errors.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { describe, isNamed, isRecord } from '../table/checks.js';
import { orderedEncoder, valueComparator } from './evaluate.js';
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

/** @throws InvalidArgumentError when the value is given and is no positive whole number. */
export function checkCount(name: string, value: number | undefined): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) return;
  throw new InvalidArgumentError(`${name} is a positive integer, not ${describe(value)}.`);
}

// — Slices: some of the entries of a Map property.

/** The bounds of a slice: keys of the Map, compared by value. */
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
  readonly isWithin: (key: unknown) => boolean;
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
  return { property, isWithin: rangeTest(column, bounds), limit };
}

/** Whether a key is within bounds. @throws RowanError `ERR_CODEC` on bounds that are no keys of the Map. */
function rangeTest(
  { property, qualifierCodec }: ColumnSchema,
  { gt, gte, lt, lte }: SliceBounds<unknown>,
): (key: unknown) => boolean {
  const codec = qualifierCodec!;
  const inOrder = orderedEncoder(codec);
  const compare = inOrder === undefined ? valueComparator(property, codec) : undefined;
  const placeOf = (key: unknown): unknown => inOrder?.(key) ?? key;
  const orderOf = (a: unknown, b: unknown): number =>
    compare?.(a, b) ?? compareBytes(a as Uint8Array, b as Uint8Array);
  for (const bound of [gt, gte, lt, lte]) if (bound !== undefined) codec.encode(bound);
  const lower = (gt ?? gte) === undefined ? undefined : placeOf(gt ?? gte);
  const upper = (lt ?? lte) === undefined ? undefined : placeOf(lt ?? lte);
  return (key) => {
    const place = placeOf(key);
    const above = lower === undefined ? 1 : orderOf(place, lower);
    const below = upper === undefined ? 1 : orderOf(upper, place);
    return (
      (above > 0 || (above === 0 && gt === undefined)) && (below > 0 || (below === 0 && lt === undefined))
    );
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
export function sliceOf(slice: MapSlice): Finish {
  return (entity) => {
    const map = entity[slice.property];
    if (!(map instanceof Map)) return;
    let kept = 0;
    for (const key of map.keys()) {
      if (kept !== slice.limit && slice.isWithin(key)) kept++;
      else map.delete(key);
    }
  };
}
