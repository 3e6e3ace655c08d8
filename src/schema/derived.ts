/** The common part of compiled indexes and summaries: names, codecs of their parts, signatures and ids. */

import { type AnyClass, emittedType, type IndexOptions } from '../../decorators/index.js';
import { toBytes, toHex } from '../bytes/index.js';
import { BaseCodec, conversionOf, storedValue, unorderedText } from '../key/codecs/index.js';
import { murmur3 } from '../key/digest.js';
import { inferKeyCodec, int64, type KeyCodec, type KeyLayout, text } from '../key/index.js';
import { isList as isAnyList, isPlainObject, isRecord } from '../table/checks.js';
import type { CollectedEntity } from './collect.js';
import type { ColumnSchema, EntitySchema } from './types.js';

/** The names that indexes and summaries may have. */
export const NAME_PATTERN: RegExp = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/**
 * The codec of a property for which a key, digest, index or summary names none: that of the key if it holds the whole
 * value, else the column's, else that of the type emitted by the compiler, else text. Items of a list are text.
 * Undefined when no key can hold the property.
 */
export function partCodec(
  { target, key, columns }: PropertyOwner,
  name: string,
  each?: IndexOptions['each'],
): KeyCodec<unknown> | undefined {
  const own = key?.parts.find((one) => one.name === name && one.recoverable);
  if (own !== undefined) return own.codec;
  const type = emittedType(target, name);
  const column = columns.find(({ property }) => property === name);
  if (column === undefined) {
    return type === undefined ? (text as KeyCodec<unknown>) : inferKeyCodec(type);
  }
  if (column.kind === 'counter') return int64 as KeyCodec<unknown>;
  const codec = column.kind === 'columns' && each === 'keys' ? column.qualifierCodec : column.codec;
  if (codec instanceof BaseCodec) return codec;
  if (isList(column)) return key === undefined ? undefined : (text as KeyCodec<unknown>);
  const inferred = inferKeyCodec(type) ?? text;
  return (inferred === text && codec?.compare !== undefined ? unorderedText : inferred) as KeyCodec<unknown>;
}

/** The declarations in which a property is looked up. `key` is undefined while the key itself is compiled. */
interface PropertyOwner {
  readonly target: AnyClass;
  readonly key: KeyLayout | undefined;
  readonly columns: readonly ColumnSchema[];
}

/** Whether a column may hold several values. */
export function isList({ codec, kind }: Pick<ColumnSchema, 'codec' | 'kind'>): boolean {
  return kind === 'columns' || /^(?:json|avro)/.test(codec.name);
}

/** The codec of the values of a JSON column that an index lists. Undefined: none does. */
export function listedCodec(
  { columnsByProperty, indexes }: Pick<EntitySchema, 'columnsByProperty' | 'indexes'>,
  property: string,
): KeyCodec<unknown> | undefined {
  const column = columnsByProperty.get(property);
  if (column?.kind !== 'column' || !column.codec.name.startsWith('json')) return undefined;
  const index = indexes.find(({ several }) => several === property);
  return index?.layout.parts.find(({ name }) => name === property)?.codec;
}

/** What is stored for the values in a condition on one property. */
function storedIn(codec: { readonly name: string }, asked: unknown): unknown {
  if (conversionOf(codec) === undefined) return asked;
  if (isAnyList(asked)) return asked.map((one) => storedIn(codec, one));
  if (isPlainObject(asked)) {
    return Object.fromEntries(
      Object.entries(asked).map(([operator, one]) => [operator, storedIn(codec, one)]),
    );
  }
  try {
    return storedValue(codec, asked);
  } catch {
    // Null, true of `exists`, a part of a text, and mistakes that the condition's compiler reports.
    return asked;
  }
}

/**
 * The entity's version as part of a signature. Another version may derive other values from stored rows, so entries
 * of the earlier one must not count.
 */
export function versionMark({ declaration }: Pick<CollectedEntity, 'declaration'>): [] | [number] {
  const { schemaVersion = 1 } = declaration;
  return schemaVersion === 1 ? [] : [schemaVersion];
}

/** The digest of a signature: entries and summary figures begin with it. */
export function digestOf(signature: string): Uint8Array {
  const id = new Uint8Array(4);
  new DataView(id.buffer).setUint32(0, murmur3(toBytes(signature)));
  return id;
}

/** A condition as text, the same in every process. Of value objects it has what is stored. */
export function textOf(where: object, { key, columns }: Pick<PropertyOwner, 'key' | 'columns'>): string {
  const stored = Object.entries(where).map(([property, asked]: [string, unknown]) => {
    const { codec } =
      columns.find((column) => column.property === property) ??
      key?.parts.find(({ name }) => name === property) ??
      {};
    return [property, codec === undefined ? asked : storedIn(codec, asked)] as const;
  });
  return JSON.stringify(Object.fromEntries(stored), (_, item: unknown) => {
    if (typeof item === 'bigint') return `${item}n`;
    if (item instanceof Uint8Array) return toHex(item);
    if (!isRecord(item)) return item;
    return Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
