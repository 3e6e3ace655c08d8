import {
  type AvroSchema,
  type AvroType,
  type AvroValue,
  date,
  int53,
  text,
  type ValueCodec,
} from '../src/codec/index.js';
import type { AvroClassOptions, AvroColumnOptions } from './avro.js';
import type { ColumnsOptions, PackedOptions, Versioned } from './column.js';
import type {
  AvroDeclaration,
  ClassDeclaration,
  ColumnOptions,
  ColumnRole,
  PropertyDeclaration,
  Validator,
} from './declaration.js';
import type { ClassOf, EmbedOptions } from './json.js';
import { declarationOn } from './metadata.js';

/**
 * A property of `defineEntity` with values of type `T`. `'defaulted'`: reads have a value, and inserts may omit it.
 */
export interface PropertyDefinition<T, Optional extends boolean | 'defaulted' = false> {
  /** Exists only in types; never set at run time. */
  readonly $type: T;
  /** Exists only in types. */
  readonly $optional?: Optional;
  /** Allows undefined and null. Without it, writes also check at run time that the column has a value. */
  optional(): PropertyDefinition<T, true>;
  /** Sets the default that `insert` and `replace` use for an undefined value, like `@Default`. */
  default(make: () => T): PropertyDefinition<T, Optional extends true ? true : 'defaulted'>;
  /** Checks the property with a Standard Schema validator before each write, like `@Validate`. */
  validate(validator: Validator): PropertyDefinition<T, Optional>;
}

/** The properties of one object, by name. */
export type PropertyDefinitions = Readonly<
  Record<string, PropertyDefinition<unknown, boolean | 'defaulted'>>
>;

/** The object type that the definitions describe. */
export type ObjectOf<Definitions extends PropertyDefinitions> = Split<
  Definitions,
  {
    [Name in keyof Definitions]: Definitions[Name] extends RequiredProperty ? Name : never;
  }[keyof Definitions]
>;

/** The names of the required properties with a default, which inserts may omit. */
export type DefaultedNames<Definitions extends PropertyDefinitions> = {
  [Name in keyof Definitions]: 'defaulted' extends Definitions[Name]['$optional'] ? Name : never;
}[keyof Definitions];

/** Takes the required names as a parameter so that the compiler computes them once. */
type Split<Definitions extends PropertyDefinitions, Required extends keyof Definitions> = {
  [Name in Required]: Definitions[Name]['$type'];
} & {
  [Name in Exclude<keyof Definitions, Required>]?: Definitions[Name]['$type'] | null;
};

interface RequiredProperty {
  readonly $optional?: false | 'defaulted';
}

/**
 * The argument of the `columns` function of `defineEntity`: one method for each property decorator. `Name` is
 * the type of column names: "family:qualifier", or only the qualifier inside an embedded object.
 */
export interface ColumnBuilder<Name extends string> {
  /** Like `@Column`, but the codec is always required. */
  column<T>(column: Name, codec: ValueCodec<T>, options?: ColumnOptions<T>): PropertyDefinition<T>;
  /** Like `@Json`. Give the type as a type argument, or pass the class or a list of it. */
  json<T = unknown>(column: Name, type?: undefined, options?: ColumnOptions<T>): PropertyDefinition<T>;
  json<T extends object>(
    column: Name,
    type: () => readonly [abstract new (...args: never[]) => T],
    options?: ColumnOptions<T[]>,
  ): PropertyDefinition<T[]>;
  json<T extends object>(column: Name, type: ClassOf<T>, options?: ColumnOptions<T>): PropertyDefinition<T>;
  /** Like `@Avro`, with a class that has `@AvroRecord`, a list of it, or a type made with `avro`. */
  avro<T extends object>(
    column: Name,
    type: () => readonly [abstract new (...args: never[]) => T],
    options?: AvroClassOptions<T[]>,
  ): PropertyDefinition<T[]>;
  avro<T extends object>(
    column: Name,
    type: ClassOf<T>,
    options?: AvroClassOptions<T>,
  ): PropertyDefinition<T>;
  avro<A extends AvroType<unknown>>(
    column: Name,
    type: A,
    options?: AvroColumnOptions<unknown>,
  ): PropertyDefinition<AvroValue<A>>;
  /** Like `@Avro`, with a schema given as JSON; give the value's type as a type argument. */
  avro<T = unknown>(
    column: Name,
    schema: AvroSchema,
    options?: AvroColumnOptions<unknown>,
  ): PropertyDefinition<T>;
  /** Like `@Counter`. */
  counter(column: Name, options?: ColumnOptions<bigint>): PropertyDefinition<bigint, true>;
  /** Like `@Columns`. */
  columns<V, K = string>(column: Name, options: ColumnsOptions<K, V>): PropertyDefinition<Map<K, V | null>>;
  /** Like `@Packed`. */
  packed<V>(column: Name, options: PackedOptions<V>): PropertyDefinition<Map<number, V | null>>;
  /** Like `@Versions`. */
  versions<T>(
    column: Name,
    codec: ValueCodec<T>,
    options?: ColumnOptions<T>,
  ): PropertyDefinition<Versioned<T>[]>;
  /** Like `@Embedded`: an object whose properties are columns of the family. */
  embedded<Definitions extends PropertyDefinitions>(
    family: FamilyOf<Name>,
    columns: (builder: ColumnBuilder<string>) => Definitions,
    options?: EmbedOptions,
  ): PropertyDefinition<Flat<ObjectOf<Definitions>>>;
  /** Like `@Version`. */
  version(column: Name): PropertyDefinition<number, true>;
  /** Like `@CreatedAt`. */
  createdAt(column: Name): PropertyDefinition<Date, true>;
  /** Like `@UpdatedAt`. */
  updatedAt(column: Name): PropertyDefinition<Date, true>;
  /** Like `@DeletedAt`. */
  deletedAt(column: Name): PropertyDefinition<Date, true>;
  /** Like `@Ttl`. */
  ttl(): PropertyDefinition<number, true>;
}

/** The family in "family:qualifier"; empty inside an embedded object, which already has a family. */
export type FamilyOf<Name extends string> = Name extends `${infer Family}:${string}` ? Family : '';

/** Flattens an intersection into one object type. */
export type Flat<T> = { [Name in keyof T]: T[Name] };

/** Adds one property to the declaration of its class. */
type Declare = (declaration: ClassDeclaration, property: string) => void;

class Definition implements PropertyDefinition<never, boolean | 'defaulted'> {
  declare readonly $type: never;

  constructor(
    readonly declare: Declare,
    /** Whether entities must have a value, as with `@Required`. */
    readonly required: boolean = false,
  ) {}

  optional(): PropertyDefinition<never, true> {
    return new Definition(this.declare);
  }

  default(make: () => never): Definition {
    return new Definition((declaration, property) => {
      this.declare(declaration, property);
      declaration.defaults.push({ property, make });
    }, this.required);
  }

  validate(validator: Validator): Definition {
    return new Definition((declaration, property) => {
      this.declare(declaration, property);
      declaration.checks.push({ property, validator });
    }, this.required);
  }
}

/** Adds the definitions to the declaration of a class. */
export function declareProperties(target: object, definitions: PropertyDefinitions): void {
  const declaration = declarationOn(target);
  for (const [property, definition] of Object.entries(definitions)) {
    if (definition instanceof Definition) {
      definition.declare(declaration, property);
      if (definition.required) declaration.required.push(property);
    } else {
      declaration.problems.push(
        `The property "${property}" is not a column definition. Write builder.column("family:qualifier", codec).`,
      );
    }
  }
}

type Declared = PropertyDeclaration extends infer D
  ? D extends unknown
    ? Omit<D, 'property' | 'decorator'>
    : never
  : never;

function stored(decorator: string, declared: Declared): Definition {
  return new Definition((declaration, property) => {
    declaration.properties.push({ ...declared, decorator, property } as PropertyDeclaration);
  });
}

function needed(decorator: string, declared: Declared): Definition {
  return new Definition(stored(decorator, declared).declare, true);
}

function role(column: string, codec: ValueCodec<unknown>, name: ColumnRole): Definition {
  return stored(name, { kind: 'column', column, codec, role: name });
}

/** The only builder at run time; its types limit which columns an entity may name. */
const builder = {
  column: (column: string, codec: ValueCodec<unknown>, options?: ColumnOptions<unknown>) =>
    needed('column', { kind: 'column', column, codec, options }),
  json: (column: string, type?: ClassOf<object>, options?: ColumnOptions<unknown>) =>
    needed('json', { kind: 'json', column, type, options }),
  avro: (column: string, type: AvroDeclaration['type'], options?: AvroColumnOptions<unknown>) =>
    needed('avro', { kind: 'avro', column, type, options }),
  counter: (column: string, options?: ColumnOptions<unknown>) =>
    stored('counter', { kind: 'counter', column, options }),
  columns: (column: string, options: ColumnsOptions<unknown, unknown>) =>
    stored('columns', {
      kind: 'columns',
      column,
      key: options?.key ?? text,
      value: options?.value,
      options,
    }),
  packed: (column: string, options: PackedOptions<unknown>) =>
    stored('packed', { kind: 'packed', column, part: options?.part, value: options?.value, options }),
  versions: (column: string, codec: ValueCodec<unknown>, options?: ColumnOptions<unknown>) =>
    stored('versions', { kind: 'versions', column, codec, options }),
  embedded(
    family: string,
    columns: (inner: ColumnBuilder<string>) => PropertyDefinitions,
    options?: EmbedOptions,
  ) {
    class Embedded {}
    declareProperties(Embedded, columns(builder as unknown as ColumnBuilder<string>));
    return stored('embedded', {
      kind: 'embedded',
      family: family === '' ? undefined : family,
      prefix: options?.prefix ?? '',
      type: () => Embedded,
      options,
    });
  },
  version: (column: string) => role(column, int53, 'version'),
  createdAt: (column: string) => role(column, date, 'createdAt'),
  updatedAt: (column: string) => role(column, date, 'updatedAt'),
  deletedAt: (column: string) => role(column, date, 'deletedAt'),
  ttl: () => new Definition((declaration, property) => declaration.ttls.push(property)),
};

/** Returns the builder, typed with the column names that are allowed. */
export function columnBuilder<Name extends string>(): ColumnBuilder<Name> {
  return builder as unknown as ColumnBuilder<Name>;
}
