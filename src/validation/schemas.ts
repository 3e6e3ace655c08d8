/** Validators of repository input, derived from the declaration of an entity. */

import type { JsonValue } from '../codec/index.js';
import { InvalidArgumentError, KeyError, RowanError } from '../errors.js';
import { schemaOf } from '../mapper/index.js';
import { RowBuilder } from '../repository/row-builder.js';
import type {
  EntityOf,
  InsertInput,
  IsValueObject,
  KeyedClass,
  KeyOf,
  Patch,
  PropertiesOf,
} from '../schema/entity-types.js';
import type { EntitySchema } from '../schema/types.js';
import { checkOptions, describe, isList, isRecord } from '../table/checks.js';
import { type Field, FieldReader, fieldsOf, type Shape } from './fields.js';
import { documentOf } from './json-schema.js';
import {
  type EntityValidator,
  type Issue,
  type JsonSchemaTarget,
  refusal,
  type Validated,
} from './standard.js';
import type { JsonSchema } from './values.js';

/** The forms in which JSON and HTTP represent a value. A value object may be given as what is stored for it. */
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
            ? IsValueObject<T> extends true
              ? T | Exclude<JsonValue, null>
              : { readonly [P in keyof T]: Coercible<T[P]> }
            : T;

/** Options of the schemas. */
export interface SchemaOptions<Names extends string, Coerce extends boolean> {
  /**
   * Whether strings are converted to the values they represent, as in HTTP: numbers, bigints, dates (ISO 8601),
   * booleans (`true`, `false`), bytes (base64), and Maps given as lists of [key, value] or as objects. Default false.
   */
  readonly coerce?: Coerce;
  /** Properties to refuse, such as those that the program sets itself. */
  readonly omit?: readonly Names[];
}

/** Options of `inputSchema`. */
export interface InputSchemaOptions<C extends KeyedClass, Names extends string, Coerce extends boolean>
  extends SchemaOptions<Names, Coerce> {
  /**
   * Properties that are required, besides the key parts and those declared so (`@Required`, or by `defineEntity`).
   * Types are not known at run time.
   */
  readonly required?: readonly PropertiesOf<EntityOf<C>>[];
}

/** The type without these properties, distributed over unions. */
export type Without<T, Names extends string> = [Names] extends [never]
  ? T
  : T extends unknown
    ? Omit<T, Names>
    : never;

/** Validates values of `Output`, given directly or, with `coerce`, in their JSON form. */
export type ValidatorOf<Output, Coerce extends boolean> = EntityValidator<
  Coerce extends true ? Coercible<Output> : Output,
  Output
>;

/**
 * Creates a validator of the input of `insert`, `replace` and `upsert`: a Standard Schema with JSON Schema. Accepted
 * values have the codecs' types and ranges, make a valid row, and pass the validators of their properties (`@Validate`);
 * validators of whole entities and hooks run with the write. Properties with a `@Default`, `@CreatedAt`, `@UpdatedAt` or
 * `@Version` may be omitted. `put` takes such a value if no column has a default in `defineEntity`, because `put` sets none.
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
): ValidatorOf<Without<InsertInput<C>, Names>, Coerce> {
  return new CompiledValidator(target, 'input', options);
}

/**
 * Creates a validator of the input of `update`: some of the columns, null to delete an optional one. An empty patch is
 * refused.
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
 * Creates a validator of the key for `get`, `update` and `delete`: a value of each part.
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
      throw new InvalidArgumentError(`${this.doing}: coerce must be true or false, not ${describe(coerce)}.`);
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
        `${this.doing}: ${option} contains ${describe(wrong)}. Allowed are ${[...known].join(', ')}.`,
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
      // The field reader finds unreadable values (a getter that throws), the row finds errors that depend on several
      // fields.
      reader.refuse(this.placeOf(error), (error as Error).message);
    }
    if (value === undefined || reader.issues.length > 0) return { issues: reader.issues };
    return this.checked(value);
  }

  /** The path of an error. An error of a whole key with one part is reported at that part. */
  private placeOf(error: unknown): readonly string[] {
    const path = pathOf(error);
    const { parts } = this.schema.key;
    return path.length === 0 && error instanceof KeyError && parts.length === 1 ? [parts[0]!.name] : path;
  }

  /** Builds what a write would build of the value. @throws as the write. */
  private tryRow(value: Properties): void {
    const { schema, shape } = this;
    const { key, mapper, columns, versionProperty, timeToLive } = schema;
    if (shape === 'patch') {
      if (Object.keys(value).length === 0) {
        throw new InvalidArgumentError('the patch is empty. Set at least one column.');
      }
      // The points of a packed row cannot be checked without the time span in its key.
      if (columns.some(({ window }) => window !== undefined)) return;
      const { [timeToLive.property ?? '']: _ttl, [versionProperty ?? '']: _version, ...patch } = value;
      new RowBuilder(schema, ANY_ROW, undefined).set(patch as never).build(true);
      return;
    }
    if (key.substitutions.length > 0 || key.parts.some(({ name }) => value[name] === undefined)) return;
    const row = mapper.rowOf(value);
    if (shape === 'input' && schema.marker !== undefined) mapper.toMutations(value, row);
  }

  /** The value, after the validators of its properties. */
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

/** The issues of validators, whose paths are names with dots. */
function refusedBy(error: unknown): { readonly issues: readonly Issue[] } {
  const found = error instanceof RowanError ? error.details['issues'] : undefined;
  if (!isList(found)) return { issues: [{ path: pathOf(error), message: (error as Error).message }] };
  return {
    issues: (found as readonly { readonly path: string; readonly message: string }[]).map(
      ({ path, message }) => ({ message, path: path === '' ? [] : path.split('.') }),
    ),
  };
}

/** The path of an error. */
function pathOf(error: unknown): string[] {
  const property = isRecord(error) && error instanceof RowanError ? error.details.property : undefined;
  return property === undefined ? [] : property.split('.');
}
