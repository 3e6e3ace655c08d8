import { text, type ValueCodec } from '../src/codec/index.js';
import type { ColumnName, ColumnOptions, FormerColumn, Validator } from './declaration.js';
import {
  type AnyPropertyDecorator,
  classDecorator,
  memberDecorator,
  type PropertyDecoratorFrom,
  type PropertyDecoratorOf,
} from './modes.js';

/**
 * Stores a property in one cell, "family:qualifier". Without a codec it is taken from the property's type where the
 * compiler emits types (`emitDecoratorMetadata` of tsc, swc, Vite): string, number (float64), bigint (int64), boolean,
 * Date, Uint8Array. Elsewhere (esbuild, tsx, standard decorators) write the codec; the compiler checks the property's
 * type against it.
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
    const was = options?.was;
    declaration.properties.push({
      kind: 'column',
      decorator: 'Column',
      property,
      column,
      codec,
      ...(was && { was }),
    });
  });
}

/** `was` names the family and prefix that the entries stood behind before, with the same keys. */
export interface ColumnsOptions<K, V> extends ColumnOptions<V> {
  /** The codec of the Map's keys, which stand in the qualifiers behind the prefix. Default text. */
  readonly key?: ValueCodec<K>;
  /** The codec of the Map's values. */
  readonly value: ValueCodec<V>;
}

/**
 * A Map of which each entry is a column "family:prefix" + key: followers, items of a shop, children of a category, any
 * list that grows without end. A put writes the entries of the Map and leaves others alone; an entry that is null is
 * deleted. A loaded Map has the entries in the byte order of their keys.
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
    const was = options?.was;
    declaration.properties.push({
      kind: 'columns',
      decorator: 'Columns',
      property,
      column,
      key: options?.key ?? text,
      value: options?.value,
      ...(was && { was }),
    });
  });
}

/**
 * A counter: 8 bytes that the engine adds to (`repository.increment`), without reading first. A put sets it; leave it
 * undefined in puts, or increments of others are lost.
 */
export function Counter(column: ColumnName, options?: ColumnOptions<bigint>): PropertyDecoratorOf<bigint> {
  return memberDecorator('Counter', 'field', (declaration, property) => {
    const was = options?.was;
    declaration.properties.push({
      kind: 'counter',
      decorator: 'Counter',
      property,
      column,
      ...(was && { was }),
    });
  });
}

/**
 * The value of a property that is undefined: of a column in `insert` and `replace`, of a key part in `put` too (a put
 * leaves undefined columns as they are stored). `make` is called for each entity, and the entity is given the value; the
 * property's type must take all that it may give.
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

/** What the compiler is to keep as it is written: 'open', and not string. */
type Literal = string | number | bigint | boolean | null | undefined;

/**
 * A column that every stored entity has: `put`, `insert` and `replace` refuse an entity without it, and `update` does not
 * delete it, also where types were cast away. Types are not known at run time, so it is said.
 */
export function Required(): AnyPropertyDecorator {
  return memberDecorator('Required', 'field', (declaration, property) => {
    declaration.required.push(property);
  });
}

/**
 * A property that says how long, in milliseconds, the entity lives from this write on, all of it; undefined: what remains
 * of its life, or of a new one as long as `@Entity({ ttl })` says. The property itself is not stored, and is undefined in
 * loaded entities. A time to live can only shorten that of a family.
 */
export function Ttl(): PropertyDecoratorOf<number> {
  return memberDecorator('Ttl', 'field', (declaration, property) => {
    declaration.ttls.push(property);
  });
}

/** One value of a column's history. */
export interface Versioned<T> {
  readonly value: T;
  /** Milliseconds. Left out in a put: the time of the write. */
  readonly timestamp?: number;
}

/**
 * A column with the versions that its family keeps (`versions` in `@Table`), newest first. A put writes each entry at
 * its timestamp and leaves other versions alone; null deletes them all.
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
    const was = options?.was;
    declaration.properties.push({
      kind: 'versions',
      decorator: 'Versions',
      property,
      column,
      codec,
      ...(was && { was }),
    });
  });
}

/** `was` names the family and prefix that the values stood behind before, at the same times. */
export interface PackedOptions<V> extends ColumnOptions<V> {
  /** The part of the key that `timeBucket(...)` makes the row's span of time of. */
  readonly part: string;
  /** The codec of the Map's values. */
  readonly value: ValueCodec<V>;
}

/**
 * The events of one span of time as columns of one row, the way OpenTSDB keeps its points: the key has the bucket, the
 * qualifier behind the prefix the offset from its start (4 bytes of ms; with `timeBucket(..., { unit: 's' })` seconds,
 * in 2 bytes while the span has no more than 65536). The Map's keys are times in ms; each lies in the row's bucket. A
 * loaded entity has the start of its bucket as the part.
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
    const was = options?.was;
    declaration.properties.push({
      kind: 'packed',
      decorator: 'Packed',
      property,
      column,
      part,
      value,
      ...(was && { was }),
    });
  });
}

/**
 * Where a property stood in cells of another codec, for `was`: they are read with `codec`, and are the property's by
 * `migrate`, which must give the same for the same and must not fail on what was ever stored.
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
 * Holds a property, or above a class the whole entity, against a Standard Schema validator (zod, valibot, arktype, ...)
 * before each write; a property that is undefined or null is not checked. The write throws with every issue. The
 * validator's own output is not used: a validator changes nothing.
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
