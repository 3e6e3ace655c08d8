/** Validators of what repositories take, made from the declaration of an entity. */

import { InvalidArgumentError, KeyError, RowanError } from '../errors.js';
import { RowBuilder } from '../repository/row-builder.js';
import type { EntityOf, Input, KeyedClass, KeyOf, Patch, PropertiesOf } from '../schema/entity-types.js';
import type { EntitySchema } from '../schema/types.js';
import { checkOptions, describe, isList, isRecord } from '../table/checks.js';
import { type Field, FieldReader, fieldsOf, type Shape, schemaOf } from './fields.js';
import { documentOf } from './json-schema.js';
import {
  type EntityValidator,
  type Issue,
  type JsonSchemaTarget,
  refusal,
  type Validated,
} from './standard.js';
import type { JsonSchema } from './values.js';

/** What JSON and the texts of HTTP have in place of a value. */
export type Coercible<T> = T extends Date | Uint8Array | boolean
  ? T | string
  : T extends number
    ? T | string
    : T extends bigint
      ? T | string | number
      : T extends ReadonlyMap<infer K, infer V>
        ? T | readonly (readonly [Coercible<K>, Coercible<V>])[] | Readonly<Record<string, Coercible<V>>>
        : T extends string | null | undefined | readonly unknown[]
          ? T
          : T extends object
            ? { readonly [P in keyof T]: Coercible<T[P]> }
            : T;

/** Options of the schemas. */
export interface SchemaOptions<Names extends string, Coerce extends boolean> {
  /**
   * Whether texts are read as what they stand for, as they come by HTTP: numbers, bigints, dates (ISO 8601), booleans (`true`,
   * `false`), bytes (base64), and Maps given as lists of [key, value] or as objects. Default false.
   */
  readonly coerce?: Coerce;
  /** Properties that are not taken, and refused: what the program sets itself. */
  readonly omit?: readonly Names[];
}

/** Options of `inputSchema`. */
export interface InputSchemaOptions<C extends KeyedClass, Names extends string, Coerce extends boolean>
  extends SchemaOptions<Names, Coerce> {
  /**
   * Properties that must be there, beside the parts of the key and what is declared so (`@Required`, or with `defineEntity`). What
   * TypeScript alone says is not known when a program runs.
   */
  readonly required?: readonly PropertiesOf<EntityOf<C>>[];
}

/** The type without these properties; of a union of each of its types. */
export type Without<T, Names extends string> = [Names] extends [never]
  ? T
  : T extends unknown
    ? Omit<T, Names>
    : never;

/** Validates values of `Output`, given as such or, with `coerce`, as JSON has them. */
export type ValidatorOf<Output, Coerce extends boolean> = EntityValidator<
  Coerce extends true ? Coercible<Output> : Output,
  Output
>;

/**
 * A validator of what `insert` and `put` take: a Standard Schema, with JSON Schema. What it accepts is of the codecs' types and
 * ranges, makes a valid row, and meets the checks of its properties (`@Validate`); checks of whole entities and hooks run
 * with the write. Properties with a `@Default`, `@CreatedAt`, `@UpdatedAt` or `@Version` may be left out.
 *
 * @throws SchemaError on wrong declarations. InvalidArgumentError on wrong options.
 * @example
 * ```ts
 * const result = await inputSchema(Ticket, { coerce: true })['~standard'].validate(body);
 * if (result.issues === undefined) await tickets.insert(result.value);
 * ```
 */
export function inputSchema<
  C extends KeyedClass,
  Names extends PropertiesOf<EntityOf<C>> = never,
  Coerce extends boolean = false,
>(
  target: C,
  options: InputSchemaOptions<C, Names, Coerce> = {},
): ValidatorOf<Without<Input<C>, Names>, Coerce> {
  return new CompiledValidator(target, 'input', options);
}

/**
 * A validator of what `update` takes: some of the columns, null to delete an optional one. An empty patch is refused.
 *
 * @throws SchemaError on wrong declarations. InvalidArgumentError on wrong options.
 */
export function patchSchema<
  C extends KeyedClass,
  Names extends PropertiesOf<EntityOf<C>> = never,
  Coerce extends boolean = false,
>(target: C, options: SchemaOptions<Names, Coerce> = {}): ValidatorOf<Without<Patch<C>, Names>, Coerce> {
  return new CompiledValidator(target, 'patch', options);
}

/**
 * A validator of what `get`, `update` and `delete` take for a key: a value of each part.
 *
 * @throws SchemaError on wrong declarations. InvalidArgumentError on wrong options.
 */
export function keySchema<
  C extends KeyedClass,
  Names extends C['key'][number] = never,
  Coerce extends boolean = false,
>(target: C, options: SchemaOptions<Names, Coerce> = {}): ValidatorOf<Without<KeyOf<C>, Names>, Coerce> {
  return new CompiledValidator(target, 'key', options);
}

type Properties = Record<string, unknown>;

interface GivenOptions {
  readonly coerce?: boolean;
  readonly omit?: readonly string[];
  readonly required?: readonly string[];
}

class CompiledValidator<Input, Output> implements EntityValidator<Input, Output> {
  readonly '~standard': EntityValidator<Input, Output>['~standard'];
  private readonly schema: EntitySchema;
  private readonly fields: readonly Field[];
  private readonly coerce: boolean;
  private readonly doing: string;

  constructor(
    target: KeyedClass,
    private readonly shape: Exclude<Shape, 'entity'>,
    options: GivenOptions,
  ) {
    this.schema = schemaOf(target);
    this.doing = `${shape}Schema(${this.schema.name})`;
    const known =
      shape === 'input' ? { coerce: true, omit: true, required: true } : { coerce: true, omit: true };
    checkOptions(this.doing, options, known as Readonly<Record<string, true>>);
    const { coerce = false, omit = [], required = [] } = options;
    if (typeof coerce !== 'boolean') {
      throw new InvalidArgumentError(`${this.doing}: coerce is true or false, not ${describe(coerce)}.`);
    }
    this.coerce = coerce;
    const none = new Set<string>();
    const all = new Set(fieldsOf(this.schema, shape, none, none).map(({ name }) => name));
    this.fields = fieldsOf(
      this.schema,
      shape,
      this.names('omit', omit, all),
      this.names('required', required, all),
    );
    this['~standard'] = Object.freeze({
      version: 1 as const,
      vendor: 'rowan-orm' as const,
      validate: (value: unknown) => this.validate(value),
      jsonSchema: Object.freeze({
        input: ({ target: dialect }: { readonly target: string }) => documentOf(this.fields, dialect),
        output: ({ target: dialect }: { readonly target: string }) => documentOf(this.fields, dialect),
      }),
    });
  }

  async parse(value: unknown): Promise<Output> {
    const result = await this.validate(value);
    if (result.issues === undefined) return result.value;
    throw refusal(`${this.doing}: the value`, this.schema.name, result.issues);
  }

  toJSONSchema(target: JsonSchemaTarget = 'draft-2020-12'): JsonSchema {
    return documentOf(this.fields, target);
  }

  private names(option: string, given: readonly string[], known: ReadonlySet<string>): ReadonlySet<string> {
    const wrong = isList(given) ? given.find((name) => !known.has(name)) : given;
    if (!isList(given) || wrong !== undefined) {
      throw new InvalidArgumentError(
        `${this.doing}: ${option} names ${describe(wrong)}. It is a list of ${[...known].join(', ')}.`,
        { details: { entity: this.schema.name } },
      );
    }
    return new Set(given);
  }

  private validate(given: unknown): Validated<Output> | Promise<Validated<Output>> {
    const reader = new FieldReader(this.coerce);
    let value: Properties | undefined;
    try {
      value = reader.object(this.fields, given, []);
      if (value !== undefined && reader.issues.length === 0) this.tryRow(value);
    } catch (error) {
      // The reader meets what cannot be read (a getter that throws), the row what only its whole decides.
      reader.refuse(this.placeOf(error), (error as Error).message);
    }
    if (value === undefined || reader.issues.length > 0) return { issues: reader.issues };
    return this.checked(value);
  }

  /** Where an error says that it is; what is wrong with a whole key of one part is wrong with the part. */
  private placeOf(error: unknown): readonly string[] {
    const path = pathOf(error);
    const { parts } = this.schema.key;
    return path.length === 0 && error instanceof KeyError && parts.length === 1 ? [parts[0]!.name] : path;
  }

  /** Makes what a write would make of the value. @throws as the write. */
  private tryRow(value: Properties): void {
    const { schema, shape } = this;
    const { key, mapper, columns, versionProperty, timeToLive } = schema;
    if (shape === 'patch') {
      if (Object.keys(value).length === 0) {
        throw new InvalidArgumentError('the patch is empty. Give a column to change.');
      }
      // Where a span of time stands in the row, its own points cannot be told without it.
      if (columns.some(({ window }) => window !== undefined)) return;
      const { [timeToLive.property ?? '']: _ttl, [versionProperty ?? '']: _version, ...patch } = value;
      new RowBuilder(schema, ANY_ROW, undefined).set(patch as never).build(true);
      return;
    }
    if (key.substitutions.length > 0 || key.parts.some(({ name }) => value[name] === undefined)) return;
    const row = mapper.rowOf(value);
    if (shape === 'input' && schema.marker !== undefined) mapper.toMutations(value, row);
  }

  /** The value, held against the checks of its properties. */
  private checked(value: Properties): Validated<Output> | Promise<Validated<Output>> {
    const accepted: Validated<Output> = { value: value as Output };
    try {
      const done = this.shape === 'key' ? undefined : this.schema.lifecycle.check?.(value);
      return done instanceof Promise ? done.then(() => accepted, refusedBy) : accepted;
    } catch (error) {
      return refusedBy(error);
    }
  }
}

const ANY_ROW = Uint8Array.of(0);

/** The issues of checks, which say where by names with dots. */
function refusedBy(error: unknown): { readonly issues: readonly Issue[] } {
  const found = error instanceof RowanError ? error.details['issues'] : undefined;
  if (!isList(found)) return { issues: [{ path: pathOf(error), message: (error as Error).message }] };
  return {
    issues: (found as readonly { readonly path: string; readonly message: string }[]).map(
      ({ path, message }) => ({ message, path: path === '' ? [] : path.split('.') }),
    ),
  };
}

/** Where an error says that it is. */
function pathOf(error: unknown): string[] {
  const property = isRecord(error) && error instanceof RowanError ? error.details.property : undefined;
  return property === undefined ? [] : property.split('.');
}
