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

/** A property of `defineEntity`: `T` is its type. */
export interface PropertyDefinition<T, Optional extends boolean = false> {
  /** Only in types: nothing has it. */
  readonly $type: T;
  /** Only in types. */
  readonly $optional?: Optional;
  /** The property may be undefined or null. Without it columns are held to have a value at run time, too. */
  optional(): PropertyDefinition<T, true>;
  /** Makes the value where it is undefined in `insert` and `replace`, as `@Default`. */
  default(make: () => T): PropertyDefinition<T, Optional>;
  /** Holds the property against a Standard Schema validator before each write, as `@Validate`. */
  validate(validator: Validator): PropertyDefinition<T, Optional>;
}

/** The properties of one object. */
export type PropertyDefinitions = Readonly<Record<string, PropertyDefinition<unknown, boolean>>>;

/** The object that definitions describe. */
export type ObjectOf<Definitions extends PropertyDefinitions> = Split<
  Definitions,
  {
    [Name in keyof Definitions]: Definitions[Name] extends RequiredProperty ? Name : never;
  }[keyof Definitions]
>;

/** Takes the names of the required properties, so that the compiler looks for them once. */
type Split<Definitions extends PropertyDefinitions, Required extends keyof Definitions> = {
  [Name in Required]: Definitions[Name]['$type'];
} & {
  [Name in Exclude<keyof Definitions, Required>]?: Definitions[Name]['$type'] | null;
};

interface RequiredProperty {
  readonly $optional?: false;
}

/**
 * What `defineEntity` gives its `columns` function: a definition for each decorator of a property. `Name` are the
 * columns that can be named: "family:qualifier", in an embedded object the qualifier alone.
 */
export interface ColumnBuilder<Name extends string> {
  /** As `@Column`; the codec is always written. */
  column<T>(column: Name, codec: ValueCodec<T>, options?: ColumnOptions<T>): PropertyDefinition<T>;
  /** As `@Json`. Say the type, or the class, or a list of it. */
  json<T = unknown>(column: Name, type?: undefined, options?: ColumnOptions<T>): PropertyDefinition<T>;
  json<T extends object>(
    column: Name,
    type: () => readonly [abstract new (...args: never[]) => T],
    options?: ColumnOptions<T[]>,
  ): PropertyDefinition<T[]>;
  json<T extends object>(column: Name, type: ClassOf<T>, options?: ColumnOptions<T>): PropertyDefinition<T>;
  /** As `@Avro`: of a class with `@AvroRecord`, a list of it, or a type made with `avro`. */
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
  /** Of a schema given as JSON say the type. */
  avro<T = unknown>(
    column: Name,
    schema: AvroSchema,
    options?: AvroColumnOptions<unknown>,
  ): PropertyDefinition<T>;
  /** As `@Counter`. */
  counter(column: Name, options?: ColumnOptions<bigint>): PropertyDefinition<bigint, true>;
  /** As `@Columns`. */
  columns<V, K = string>(column: Name, options: ColumnsOptions<K, V>): PropertyDefinition<Map<K, V | null>>;
  /** As `@Packed`. */
  packed<V>(column: Name, options: PackedOptions<V>): PropertyDefinition<Map<number, V | null>>;
  /** As `@Versions`. */
  versions<T>(
    column: Name,
    codec: ValueCodec<T>,
    options?: ColumnOptions<T>,
  ): PropertyDefinition<Versioned<T>[]>;
  /** As `@Embedded`: an object whose properties are columns of the family. */
  embedded<Definitions extends PropertyDefinitions>(
    family: FamilyOf<Name>,
    columns: (builder: ColumnBuilder<string>) => Definitions,
    options?: EmbedOptions,
  ): PropertyDefinition<Flat<ObjectOf<Definitions>>>;
  /** As `@Version`. */
  version(column: Name): PropertyDefinition<number, true>;
  /** As `@CreatedAt`. */
  createdAt(column: Name): PropertyDefinition<Date, true>;
  /** As `@UpdatedAt`. */
  updatedAt(column: Name): PropertyDefinition<Date, true>;
  /** As `@DeletedAt`. */
  deletedAt(column: Name): PropertyDefinition<Date, true>;
  /** As `@Ttl`. */
  ttl(): PropertyDefinition<number, true>;
}

/** The family in "family:qualifier"; of an embedded object, which has one already, the empty text. */
export type FamilyOf<Name extends string> = Name extends `${infer Family}:${string}` ? Family : '';

/** One object type instead of an intersection. */
export type Flat<T> = { [Name in keyof T]: T[Name] };

/** Writes one property into the declaration of its class. */
type Declare = (declaration: ClassDeclaration, property: string) => void;

class Definition implements PropertyDefinition<never, boolean> {
  declare readonly $type: never;

  constructor(
    readonly declare: Declare,
    /** Whether entities must have it, as `@Required`. */
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

/** Writes definitions into the declaration of a class. */
export function declareProperties(target: object, definitions: PropertyDefinitions): void {
  const declaration = declarationOn(target);
  for (const [property, definition] of Object.entries(definitions)) {
    if (definition instanceof Definition) {
      definition.declare(declaration, property);
      if (definition.required) declaration.required.push(property);
    } else {
      declaration.problems.push(
        `The property "${property}" is no definition. Write builder.column("family:qualifier", codec).`,
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

function moveOf(options: ColumnOptions<unknown> | undefined): Pick<ColumnOptions<unknown>, 'was'> {
  return options?.was === undefined ? {} : { was: options.was };
}

/** The one builder; its types say in which entity it is used. */
const builder = {
  column: (column: string, codec: ValueCodec<unknown>, options?: ColumnOptions<unknown>) =>
    needed('column', { kind: 'column', column, codec, ...moveOf(options) }),
  json: (column: string, type?: ClassOf<object>, options?: ColumnOptions<unknown>) =>
    needed('json', { kind: 'json', column, type, ...moveOf(options) }),
  avro: (
    column: string,
    type: AvroDeclaration['type'],
    { was, ...options }: AvroColumnOptions<unknown> = {},
  ) => needed('avro', { kind: 'avro', column, type, options, ...(was && { was }) }),
  counter: (column: string, options?: ColumnOptions<unknown>) =>
    stored('counter', { kind: 'counter', column, ...moveOf(options) }),
  columns: (column: string, options: ColumnsOptions<unknown, unknown>) =>
    stored('columns', {
      kind: 'columns',
      column,
      key: options.key ?? text,
      value: options.value,
      ...moveOf(options),
    }),
  packed: (column: string, options: PackedOptions<unknown>) =>
    stored('packed', { kind: 'packed', column, ...options }),
  versions: (column: string, codec: ValueCodec<unknown>, options?: ColumnOptions<unknown>) =>
    stored('versions', { kind: 'versions', column, codec, ...moveOf(options) }),
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
    });
  },
  version: (column: string) => role(column, int53, 'version'),
  createdAt: (column: string) => role(column, date, 'createdAt'),
  updatedAt: (column: string) => role(column, date, 'updatedAt'),
  deletedAt: (column: string) => role(column, date, 'deletedAt'),
  ttl: () => new Definition((declaration, property) => declaration.ttls.push(property)),
};

/** A builder whose column names are of these families. */
export function columnBuilder<Name extends string>(): ColumnBuilder<Name> {
  return builder as unknown as ColumnBuilder<Name>;
}
