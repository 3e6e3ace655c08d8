import { text, type ValueCodec } from '../src/codec/index.js';
import { isRecord } from '../src/table/checks.js';
import type {
  AnyClass,
  ColumnName,
  ColumnOptions,
  DefaultDeclaration,
  FormerColumn,
  Validator,
} from './declaration.js';
import {
  type AnyPropertyDecorator,
  classDecorator,
  memberDecorator,
  type PropertyDecoratorFrom,
  type PropertyDecoratorOf,
} from './modes.js';
import type { RowKeyMistake } from './row-key-types.js';

/**
 * Stores a property in one cell, "family:qualifier".
 *
 * Without a codec, the codec follows from the property's type, if the compiler emits types
 * (`emitDecoratorMetadata` of tsc, swc, Vite): string, number (float64), bigint (int64), boolean, Date,
 * Uint8Array. With other compilers (esbuild, tsx, standard decorators) give the codec; the compiler then
 * checks the property's type against it.
 *
 * @example
 * ```ts
 * @Column('d:n', text) name!: string;
 * @Column('d:t', decimal(2)) total?: string | null;
 * @Column('d:m', text, { was: ['d:mail'] }) mail?: string | null;
 * ```
 */
export function Column(column: ColumnName): AnyPropertyDecorator;
export function Column<T>(
  column: ColumnName,
  codec: ValueCodec<T>,
  options?: ColumnOptions<T>,
): PropertyDecoratorOf<T>;
export function Column(
  column: ColumnName,
  codec?: ValueCodec<unknown>,
  options?: ColumnOptions<unknown>,
): AnyPropertyDecorator {
  return memberDecorator('Column', 'field', (declaration, property) => {
    declaration.properties.push({
      kind: 'column',
      decorator: 'Column',
      property,
      column,
      codec,
      options,
    });
  });
}

/**
 * Options of `@Columns`. `was` gives the former family and prefix of the entries, whose keys stay the same.
 */
export interface ColumnsOptions<K, V> extends ColumnOptions<V> {
  /** Codec of the Map's keys, which are stored in the qualifier after the prefix. Default: text. */
  readonly key?: ValueCodec<K>;
  /** The codec of the Map's values. */
  readonly value: ValueCodec<V>;
}

/**
 * Stores a Map with one column for each entry: "family:prefix" + key. It suits lists without an upper bound,
 * such as followers, the items of a shop, or the children of a category. A put writes the entries of the Map
 * and leaves other stored entries alone; a null value deletes its entry. A loaded Map has its entries in the
 * byte order of their keys.
 *
 * @example
 * ```ts
 * @Columns('f:', { value: date }) followers!: Map<string, Date>;
 * @Columns('d:i.', { key: uint32, value: text }) items!: Map<number, string | null>;
 * ```
 */
export function Columns<V, K = string>(
  column: ColumnName,
  options: ColumnsOptions<K, V>,
): PropertyDecoratorOf<ReadonlyMap<K, V | null>> {
  return memberDecorator('Columns', 'field', (declaration, property) => {
    declaration.properties.push({
      kind: 'columns',
      decorator: 'Columns',
      property,
      column,
      key: options?.key ?? text,
      value: options?.value,
      options,
    });
  });
}

/**
 * Stores a counter: 8 bytes that the engine increments in place (`repository.increment`) without a read. A
 * put overwrites the counter, so leave it undefined in puts; otherwise concurrent increments are lost.
 */
export function Counter(column: ColumnName, options?: ColumnOptions<bigint>): PropertyDecoratorOf<bigint> {
  return memberDecorator('Counter', 'field', (declaration, property) => {
    declaration.properties.push({
      kind: 'counter',
      decorator: 'Counter',
      property,
      column,
      options,
    });
  });
}

/**
 * Sets the value of an undefined property: a column's in `insert` and `replace`, a key part's also in `put`
 * (a put leaves undefined columns as they are stored). `make` runs once for each entity, and its result is
 * also set on the entity. The property's type must accept everything that `make` can return.
 *
 * A decorator does not change the type of its class. So that inserts may omit the property, write it into the static
 * `defaults` of the class instead.
 *
 * @example
 * ```ts
 * @Default(newUuid) id!: string;
 * @Default(() => 'open') @Column('d:s', text) status!: string;
 * ```
 */
export function Default<T extends Literal | object>(make: () => T): PropertyDecoratorFrom<T> {
  return memberDecorator('Default', 'field', (declaration, property) => {
    declaration.defaults.push({ property, make });
  });
}

/** The defaults in `static readonly defaults = { … }` of the class, or of the nearest base class that has them. */
export function declaredDefaults(target: AnyClass): DefaultDeclaration[] {
  const defaults: unknown = Reflect.get(target, 'defaults');
  if (!isRecord(defaults)) return [];
  return Object.entries(defaults).map(([property, make]) => ({ property, make: make as () => unknown }));
}

/** `unknown` when the defaults of the class are functions that return what its properties hold, else a {@link RowKeyMistake}. */
export type CheckedDefaults<C extends { readonly prototype: unknown }> = C extends {
  readonly defaults: infer Defaults;
}
  ? [WrongDefault<C['prototype'], Defaults>] extends [never]
    ? unknown
    : RowKeyMistake<WrongDefault<C['prototype'], Defaults>>
  : unknown;

type WrongDefault<E, Defaults> = {
  [Name in keyof Defaults & string]: Name extends keyof E
    ? Defaults[Name] extends () => E[Name]
      ? never
      : `The default of "${Name}" is no function that returns what the property holds. Of a text with few values write: () => 'open' as const`
    : `"${Name}" has a default, but the class has no such property`;
}[keyof Defaults & string];

/**
 * Computes a column from its entity, at each write of the row: `put`, `insert`, `update`, `increment` and all others read
 * the row, and store with it what the function returns of the row as it will be; null or undefined is absent. The
 * function must be pure and synchronous. It sees no computed column and no relation. Values that a put has for the column
 * are ignored; `update` refuses others than the computed one. Declare the property `readonly`, which takes it from the
 * types of inputs.
 *
 * @example
 * ```ts
 * @Computed((order: Order) => order.lines?.length ?? 0) @Column('d:n', int32) readonly lineCount?: number;
 * ```
 */
export function Computed<E extends object, T extends Literal | object>(
  compute: (entity: E) => T,
): PropertyDecoratorFrom<NonNullable<T>> {
  return memberDecorator('Computed', 'field', (declaration, property) => {
    declaration.computed.push({ property, compute });
  });
}

/** Makes the compiler infer literal types: 'open' instead of string. */
type Literal = string | number | bigint | boolean | null | undefined;

/**
 * Requires a value in every stored entity: `put`, `insert` and `replace` refuse an entity without it, and
 * `update` refuses to delete it. The check runs at run time, where property types are not known, and so also
 * catches values that were cast.
 */
export function Required(): AnyPropertyDecorator {
  return memberDecorator('Required', 'field', (declaration, property) => {
    declaration.required.push(property);
  });
}

/**
 * A property that sets how long the whole entity lives from this write on, in milliseconds. If it is
 * undefined, an existing entity keeps its remaining time, and a new one gets `@Entity({ ttl })`. The property
 * is not stored and is undefined in loaded entities. It can only shorten the time to live of a family.
 */
export function Ttl(): PropertyDecoratorOf<number> {
  return memberDecorator('Ttl', 'field', (declaration, property) => {
    declaration.ttls.push(property);
  });
}

/** One value of a column's history. */
export interface Versioned<T> {
  readonly value: T;
  /** Milliseconds. Default in a put: the time of the write. */
  readonly timestamp?: number;
}

/**
 * Stores a column with its history: the versions that its family keeps (`versions` in `@Table`), newest
 * first. A put writes each entry at its timestamp and leaves other versions alone; null deletes all versions.
 *
 * @example
 * ```ts
 * @Versions('d:price', decimal(2)) prices!: Versioned<string>[];
 * ```
 */
export function Versions<T>(
  column: ColumnName,
  codec: ValueCodec<T>,
  options?: ColumnOptions<T>,
): PropertyDecoratorOf<readonly Versioned<T>[]> {
  return memberDecorator('Versions', 'field', (declaration, property) => {
    declaration.properties.push({
      kind: 'versions',
      decorator: 'Versions',
      property,
      column,
      codec,
      options,
    });
  });
}

/**
 * Options of `@Packed`. `was` gives the former family and prefix of the values, whose times stay the same.
 */
export interface PackedOptions<V> extends ColumnOptions<V> {
  /** The key part with `timeBucket(...)` that gives the time span of a row. */
  readonly part: string;
  /** The codec of the Map's values. */
  readonly value: ValueCodec<V>;
}

/**
 * Stores the events of one time span as columns of one row, as OpenTSDB stores its points: the key holds the
 * time bucket, and the qualifier, after the prefix, holds the offset from its start. An offset is 4 bytes of
 * milliseconds; with `timeBucket(..., { unit: 's' })` it is seconds, in 2 bytes for spans of up to 65536 s.
 * The Map's keys are times in ms that must lie in the row's bucket. In a loaded entity the key part is the
 * start of the bucket.
 *
 * @example
 * ```ts
 * @RowKey(salt(16), part('metric'), timeBucket('at', '1h', { unit: 's' }))
 * class Hour {
 *   declare static readonly key: ['metric', 'at'];
 *   metric!: string;
 *   at!: Date;
 *   @Packed('t:', { part: 'at', value: float64 }) points!: Map<number, number>;
 * }
 * ```
 */
export function Packed<V>(
  column: ColumnName,
  options: PackedOptions<V>,
): PropertyDecoratorOf<ReadonlyMap<number, V | null>> {
  return memberDecorator('Packed', 'field', (declaration, property) => {
    const part = options?.part;
    const value = options?.value;
    declaration.properties.push({
      kind: 'packed',
      decorator: 'Packed',
      property,
      column,
      part,
      value,
      options,
    });
  });
}

/**
 * For `was`: the former column of a property whose codec has changed. Old cells are read with `codec` and
 * converted by `migrate`. `migrate` must be deterministic and must accept every value that was ever stored.
 *
 * @example
 * ```ts
 * @Column('d:cents', int64, { was: [formerly('d:total', text, (old) => BigInt(Math.round(Number(old) * 100)))] })
 * cents!: bigint;
 * ```
 */
export function formerly<Old, T>(
  column: ColumnName,
  codec: ValueCodec<Old>,
  migrate: (old: Old) => T,
): FormerColumn<T> {
  return { column, codec: codec as ValueCodec<unknown>, migrate };
}

/** Decorates a property or a class. */
export type ValidateDecorator = AnyPropertyDecorator &
  ((target: unknown, context?: ClassDecoratorContext) => void);

/**
 * Checks a property, or above a class the whole entity, with a Standard Schema validator (zod, valibot,
 * arktype, ...) before each write. Undefined and null properties are not checked. A failed write throws an
 * error with every issue. Only the verdict counts: the value that the validator returns is ignored.
 *
 * @example
 * ```ts
 * @Validate(z.string().email())
 * @Column('d:e', text) email!: string;
 * ```
 */
export function Validate(validator: Validator): ValidateDecorator {
  const onProperty = memberDecorator('Validate', 'field', (declaration, property) => {
    declaration.checks.push({ property, validator });
  });
  const onClass = classDecorator('Validate', (declaration) => {
    declaration.checks.push({ property: undefined, validator });
  });
  return (target: unknown, context?: unknown) => {
    const ofClass = context === undefined || (context as { kind?: string }).kind === 'class';
    if (ofClass) onClass(target, context);
    else onProperty(target, context);
  };
}
