/**
 * The external form of an entity: a tree of fields derived from its compiled declaration, and the reader of values by
 * it.
 */

import { isLost, text } from '../codec/index.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { describe, isInstance, isList, isPlainObject, isRecord } from '../table/checks.js';
import { type Issue, MAX_ISSUES } from './standard.js';
import { type AnyCodec, readValue } from './values.js';

/** A property, or one of an embedded object. */
export type Field = {
  readonly name: string;
  /** Whether the value is required and may not be null. */
  readonly required: boolean;
  readonly nullable: boolean;
} & (
  | { readonly kind: 'value'; readonly codec: AnyCodec }
  | { readonly kind: 'map'; readonly key: AnyCodec; readonly codec: AnyCodec }
  /** A history: values with their timestamps. */
  | { readonly kind: 'versions'; readonly codec: AnyCodec }
  | { readonly kind: 'object'; readonly fields: readonly Field[] }
);

/** Which properties of an entity a schema covers. */
export type Shape = 'input' | 'patch' | 'key' | 'entity';

/** A time to live in milliseconds. */
const TTL: AnyCodec = {
  name: 'int53',
  encode(value) {
    if (Number.isSafeInteger(value) && (value as number) > 0) return;
    throw new Error(
      `a time to live must be a positive whole number of milliseconds, not ${describe(value)}.`,
    );
  },
};

/** The keys of packed columns: times in ms, within the span that the row's key gives. */
const TIME: AnyCodec = {
  name: 'int53',
  encode(value) {
    if (Number.isSafeInteger(value)) return;
    throw new Error(`the time of a point must be a whole number of milliseconds, not ${describe(value)}.`);
  },
};

/** The codec of a key part; for a part stored by a dictionary, that of its texts. */
export function partCodec({ key }: EntitySchema, name: string): AnyCodec {
  if (key.substitutions.some(({ part }) => part === name)) return text;
  return key.parts.find((part) => part.name === name)!.codec as unknown as AnyCodec;
}

/** The fields of a shape, without the omitted ones. */
export function fieldsOf(
  schema: EntitySchema,
  shape: Shape,
  omit: ReadonlySet<string>,
  required: ReadonlySet<string>,
): Field[] {
  const { key, lifecycle, timeToLive, versionProperty } = schema;
  const filled = new Set([...lifecycle.stamped, ...(versionProperty === undefined ? [] : [versionProperty])]);
  const parts = new Set(key.parts.map(({ name }) => name));
  const fields: Field[] = [];
  if (shape !== 'patch') {
    for (const name of parts) {
      const must = shape !== 'input' || !filled.has(name) || required.has(name);
      fields.push({ kind: 'value', name, codec: partCodec(schema, name), required: must, nullable: false });
    }
  }
  if (shape !== 'key') {
    const must = (column: ColumnSchema): boolean =>
      shape === 'input' &&
      (required.has(column.property) || (column.required && !filled.has(column.property)));
    const computed = new Set(shape === 'entity' ? [] : schema.computed.map(({ column }) => column));
    const columns = schema.columns.filter((column) => !parts.has(column.path[0]!) && !computed.has(column));
    fields.push(...columnFields(columns, 0, must, required));
    if (timeToLive.property !== undefined && shape !== 'entity') {
      fields.push({
        kind: 'value',
        name: timeToLive.property,
        codec: TTL,
        required: required.has(timeToLive.property),
        nullable: false,
      });
    }
  }
  return fields.filter(({ name }) => !omit.has(name));
}

function columnFields(
  columns: readonly ColumnSchema[],
  depth: number,
  must: (column: ColumnSchema) => boolean,
  required: ReadonlySet<string>,
): Field[] {
  const names = new Set([...columns].sort((a, b) => a.order - b.order).map(({ path }) => path[depth]!));
  return [...names].map((name) => {
    const below = columns.filter(({ path }) => path[depth] === name);
    const own = below.find(({ path }) => path.length === depth + 1);
    if (own === undefined) {
      const object = depth === 0 && required.has(name);
      return {
        kind: 'object',
        name,
        required: object,
        nullable: !object,
        fields: columnFields(below, depth + 1, must, NO_NAMES),
      };
    }
    const base = { name, required: must(own), nullable: !own.required && !must(own) };
    const codec = own.codec as AnyCodec;
    switch (own.kind) {
      case 'columns':
        return {
          ...base,
          kind: 'map',
          nullable: false,
          key: own.window === undefined ? own.qualifierCodec! : TIME,
          codec,
        };
      case 'versions':
        return { ...base, kind: 'versions', codec };
      default:
        return { ...base, kind: 'value', codec };
    }
  });
}

const NO_NAMES: ReadonlySet<string> = new Set();

/** Reads a value by its fields and collects the issues. Does not modify the given objects. */
export class FieldReader {
  readonly issues: Issue[] = [];

  constructor(private readonly coerce: boolean) {}

  /** Returns a new object with the fields that have a value. */
  object(
    fields: readonly Field[],
    given: unknown,
    path: readonly PropertyKey[],
  ): Record<string, unknown> | undefined {
    if (!isRecord(given) || given instanceof Date || isLost(given)) {
      return this.refuse(path, `expected an object, not ${describe(given)}.`);
    }
    const plain = isPlainObject(given);
    if (plain) this.refuseUnknown(fields, given, path);
    const read: Record<string, unknown> = {};
    for (const field of fields) {
      if (this.issues.length >= MAX_ISSUES) break;
      const value = !plain || Object.hasOwn(given, field.name) ? given[field.name] : undefined;
      const at = [...path, field.name];
      if (value === undefined) {
        if (field.required) this.refuse(at, 'it is required.');
      } else if (value !== null) {
        const kept = this.field(field, value, at);
        if (kept !== undefined) read[field.name] = kept;
      } else if (field.nullable) read[field.name] = null;
      else this.refuse(at, 'it may not be null.');
    }
    return read;
  }

  private refuseUnknown(
    fields: readonly Field[],
    given: Readonly<Record<string, unknown>>,
    path: readonly PropertyKey[],
  ): void {
    for (const name of Object.keys(given)) {
      if (this.issues.length >= MAX_ISSUES) return;
      if (given[name] === undefined || fields.some((field) => field.name === name)) continue;
      this.refuse([...path, name.slice(0, 100)], 'unknown property. Remove it.');
    }
  }

  private field(field: Field, value: unknown, path: readonly PropertyKey[]): unknown {
    switch (field.kind) {
      case 'object':
        return this.object(field.fields, value, path);
      case 'map':
        return this.map(field.key, field.codec, value, path);
      case 'versions':
        return this.versions(field.codec, value, path);
      default:
        return this.value(field.codec, value, path);
    }
  }

  private map(
    key: AnyCodec,
    codec: AnyCodec,
    given: unknown,
    path: readonly PropertyKey[],
  ): Map<unknown, unknown> | undefined {
    const entries = this.entriesOf(given);
    if (entries === undefined) return this.refuse(path, `expected a Map, not ${describe(given)}.`);
    const read = new Map<unknown, unknown>();
    for (const [name, value] of entries) {
      if (this.issues.length >= MAX_ISSUES) return undefined;
      if (value === undefined) continue;
      const at = [...path, typeof name === 'string' || typeof name === 'number' ? name : String(name)];
      const readName = this.value(key, name, at);
      const readInner = value === null ? null : this.value(codec, value, at);
      if (readName !== undefined && readInner !== undefined) read.set(readName, readInner);
    }
    return read;
  }

  /** The entries of a Map, or of its JSON forms: a list of pairs, or an object. */
  private entriesOf(given: unknown): readonly (readonly [unknown, unknown])[] | undefined {
    if (isInstance(given, Map)) return [...(given as Map<unknown, unknown>)];
    if (!this.coerce) return undefined;
    if (isPlainObject(given)) return Object.entries(given);
    const pairs = isList(given) && given.every((pair) => isList(pair) && pair.length === 2);
    return pairs ? (given as readonly (readonly [unknown, unknown])[]) : undefined;
  }

  private versions(codec: AnyCodec, given: unknown, path: readonly PropertyKey[]): unknown[] | undefined {
    if (!isList(given)) return this.refuse(path, `expected a list of versions, not ${describe(given)}.`);
    return given.map((version, index) => {
      const at = [...path, index];
      if (this.issues.length >= MAX_ISSUES) return undefined;
      if (!isRecord(version))
        return this.refuse(at, `expected { value, timestamp }, not ${describe(version)}.`);
      const value = this.value(codec, version['value'], [...at, 'value']);
      const { timestamp } = version;
      if (timestamp === undefined) return { value };
      if (!Number.isSafeInteger(timestamp) || (timestamp as number) < 0) {
        return this.refuse([...at, 'timestamp'], `expected milliseconds, not ${describe(timestamp)}.`);
      }
      return { value, timestamp };
    });
  }

  private value(codec: AnyCodec, given: unknown, path: readonly PropertyKey[]): unknown {
    try {
      return readValue(codec, given, this.coerce);
    } catch (error) {
      return this.refuse(path, (error as Error).message);
    }
  }

  refuse(path: readonly PropertyKey[], message: string): undefined {
    this.issues.push({ path, message });
  }
}
