import { SchemaError } from '../src/errors.js';
import type { KeyElement } from '../src/key/index.js';
import { describe, isRecord } from '../src/table/checks.js';
import {
  type ColumnBuilder,
  columnBuilder,
  declareProperties,
  type Flat,
  type ObjectOf,
  type PropertyDefinitions,
} from './column-builder.js';
import type { AnyClass, EntityDeclaration, HookMoment, IndexOptions, Validator } from './declaration.js';
import { declarationOn } from './metadata.js';
import {
  declaredElements,
  isElement,
  type KeyElements,
  type KeyRow,
  type KeyTuple,
  type KnownParts,
  keyNames,
} from './row-key.js';
import type { SummaryDefinitions } from './summary.js';
import type { DefinedTable } from './table.js';
import { type UpgradeDefinition, upgradeOf, upgradesProblem } from './upgrade.js';

/** An index as `defineEntity` takes it: the elements, and what `@Index` takes as options. */
export type IndexDefinition = IndexOptions & { readonly on: readonly KeyElement[] };

/** Copies as `defineEntity` takes them: the source, and what `@Denormalized` takes as options. */
export interface CopyDefinition {
  readonly from: () => AnyClass;
  readonly via: string | Readonly<Record<string, string>>;
  /** Own property -> property of the source; the schema's compiler holds them against each other. */
  readonly fields: Readonly<Record<string, string>>;
  /** As of `@Denormalized`. Default 100. */
  readonly fanOut?: number;
}

export type IndexDefinitions = Readonly<Record<string, IndexDefinition>>;

/** The parts of each index. */
export type IndexParts<Indexes extends IndexDefinitions> = {
  readonly [Name in keyof Indexes]: Readonly<KeyTuple<Indexes[Name]['on']>>;
};

/** What `defineEntity` makes: a class, with the names of its key's parts and of those of its indexes. */
export interface DefinedEntity<
  E extends object,
  Key extends readonly string[],
  Indexes extends IndexDefinitions = Record<never, never>,
  Summaries extends SummaryDefinitions = Record<never, never>,
> {
  /** An entity with these properties. */
  new (properties?: Partial<E>): E;
  readonly prototype: E;
  readonly key: Key;
  /** Only in types. */
  readonly indexes: IndexParts<Indexes>;
  /** Only in types. */
  readonly summaries: Summaries;
}

/** The entity that key elements and column definitions describe. */
export type DefinedObject<
  Elements extends readonly KeyElement[],
  Definitions extends PropertyDefinitions,
> = Flat<KeyRow<Elements> & ObjectOf<Definitions>>;

/** What makes the value of a part that is undefined, by its name. */
export type DefinedDefaults<E> = { readonly [Name in keyof E]?: () => E[Name] };

export interface EntityDefinition<
  Family extends string,
  Elements extends readonly KeyElement[],
  Definitions extends PropertyDefinitions,
  Indexes extends IndexDefinitions = Record<never, never>,
  Summaries extends SummaryDefinitions = Record<never, never>,
> extends Omit<EntityDeclaration, 'table' | 'name' | 'inheritable'> {
  /** What errors, explain and tools call the entity. */
  readonly name: string;
  /** What `defineTable` answered, or a class with `@Table`. */
  readonly table: DefinedTable<Family> | AnyClass;
  /** As `@RowKey`: the byte layout, left to right, in a list or by `rowKey`. Parts without a codec are text. */
  readonly key: (Elements | KeyElements<Elements>) & NoInfer<KnownParts<Elements>>;
  /** The stored properties. */
  readonly columns: (builder: ColumnBuilder<`${Family}:${string}`>) => Definitions;
  /** As `@Index` above a class, by name. */
  readonly indexes?: Indexes;
  /** As `@Denormalized` above a class. */
  readonly denormalized?: readonly CopyDefinition[];
  /** As `@Summary` above a class, by name. */
  readonly summaries?: Summaries;
  /** As `@Default`, of parts of the key; that of a column is said behind it, `c.column(…).default(() => 'open')`. */
  readonly defaults?: DefinedDefaults<KeyRow<Elements>>;
  /** As `@Upgrade` above a class: what `upgrade(...)` gives. */
  readonly upgrades?: readonly UpgradeDefinition[];
  /** As `@Validate` above a class. */
  readonly validate?: Validator;
  /** As `@BeforePut`, `@AfterPut` and `@AfterLoad`. */
  readonly hooks?: {
    readonly [Moment in HookMoment]?: (entity: DefinedObject<Elements, Definitions>) => void | Promise<void>;
  };
}

/**
 * Declares an entity without decorators, for toolchains that only strip types (Node's own). Everything is inferred: the
 * entity's type is `EntityOf<typeof Order>`. Methods are added by a class that extends it.
 *
 * @example
 * ```ts
 * const Order = defineEntity({
 *   name: 'Order',
 *   table: defineTable({ name: 'shop:crm', families: { d: {} } }),
 *   key: [salt(16), part('customerId'), reverseTimestamp('placedAt')],
 *   columns: (c) => ({
 *     status: c.column('d:s', enumeration({ open: 1, shipped: 2 })),
 *     note: c.column('d:n', text).optional(),
 *   }),
 * });
 * type Order = EntityOf<typeof Order>;
 * ```
 */
export function defineEntity<
  Family extends string,
  const Elements extends readonly KeyElement[],
  Definitions extends PropertyDefinitions,
  const Indexes extends IndexDefinitions = Record<never, never>,
  const Summaries extends SummaryDefinitions = Record<never, never>,
>(
  definition: EntityDefinition<Family, Elements, Definitions, Indexes, Summaries>,
): DefinedEntity<DefinedObject<Elements, Definitions>, KeyTuple<Elements>, Indexes, Summaries> {
  checkDefinition(definition);
  const {
    name,
    key,
    columns,
    defaults,
    validate,
    hooks,
    indexes,
    denormalized,
    summaries,
    upgrades,
    ...entity
  } = definition;
  const elements = declaredElements(key) ?? (key as Elements);
  const target = namedClass(name, keyNames(elements));
  const declaration = declarationOn(target);
  declaration.entities.push({ ...entity, name, inheritable: true });
  declaration.rowKeys.push(elements);
  declareProperties(target, columns(columnBuilder()));
  for (const [index, { on, ...options }] of Object.entries(indexes ?? {})) {
    declaration.indexes.push({ name: index, elements: on, options });
  }
  for (const { from, ...options } of denormalized ?? []) declaration.copies.push({ source: from, options });
  for (const [summary, one] of Object.entries(summaries ?? {})) {
    declaration.summaries.push({ name: summary, definition: one });
  }
  for (const [property, make] of Object.entries<(() => unknown) | undefined>(defaults ?? {})) {
    if (make !== undefined) declaration.defaults.push({ property, make });
  }
  for (const { from, options, upgrade } of upgrades ?? []) {
    declaration.upgrades.push(upgradeOf(from, options, upgrade));
  }
  if (validate !== undefined) declaration.checks.push({ property: undefined, validator: validate });
  for (const [moment, method] of Object.entries(hooks ?? {})) {
    if (method !== undefined) {
      declaration.hooks.push({ moment: moment as HookMoment, method: method as (entity: object) => unknown });
    }
  }
  return target as never;
}

function checkDefinition(given: unknown): void {
  if (typeof given !== 'object' || given === null) {
    throw new SchemaError(`defineEntity takes { name, table, key, columns }, not ${describe(given)}.`);
  }
  const { name, key, columns, defaults, indexes, denormalized, summaries } = given as Readonly<
    Record<string, unknown>
  >;
  const where = `defineEntity(${typeof name === 'string' ? name : ''})`;
  if (typeof name !== 'string' || name === '') {
    throw new SchemaError(`${where}: name is a text that is not empty, not ${describe(name)}.`);
  }
  const elements = declaredElements(key) ?? key;
  if (!Array.isArray(elements) || !elements.every(isElement)) {
    throw new SchemaError(`${where}: key is a list of elements, [part('id')], not ${describe(key)}.`);
  }
  checkDefaults(where, defaults);
  if (indexes !== undefined && (typeof indexes !== 'object' || indexes === null)) {
    throw new SchemaError(`${where}: indexes is an object by name, not ${describe(indexes)}.`);
  }
  const isCopy = (one: unknown) => typeof (one as Partial<CopyDefinition> | null)?.from === 'function';
  if (denormalized !== undefined && !(Array.isArray(denormalized) && denormalized.every(isCopy))) {
    throw new SchemaError(
      `${where}: denormalized is a list, [{ from: () => Source, via: 'sourceId', fields: { … } }], not ${describe(denormalized)}.`,
    );
  }
  const isSummary = (one: unknown) => typeof one === 'object' && one !== null;
  if (
    summaries !== undefined &&
    !(isSummary(summaries) && Object.values(summaries as object).every(isSummary))
  ) {
    throw new SchemaError(
      `${where}: summaries is an object by name, { byStatus: { by: ['status'], figures: { orders: 'count' } } }, not ${describe(summaries)}.`,
    );
  }
  const upgrades = upgradesProblem((given as Readonly<Record<string, unknown>>)['upgrades']);
  if (upgrades !== undefined) throw new SchemaError(`${where}: ${upgrades}`);
  for (const [index, given] of Object.entries(indexes ?? {})) {
    const on = (given as Partial<IndexDefinition> | null)?.on;
    if (Array.isArray(on) && on.length > 0 && on.every(isElement)) continue;
    throw new SchemaError(
      `${where}: the index ${describe(index)} is { on: [part('status')] }, a list of elements and options, not ${describe(given)}.`,
    );
  }
  if (typeof columns !== 'function') {
    throw new SchemaError(`${where}: columns is a function, (c) => ({ … }), not ${describe(columns)}.`);
  }
}

function checkDefaults(where: string, defaults: unknown): void {
  if (defaults === undefined) return;
  if (!isRecord(defaults)) {
    throw new SchemaError(
      `${where}: defaults is an object by part of the key, { id: newUuid }, not ${describe(defaults)}.`,
    );
  }
  const wrong = Object.entries(defaults).find(([, make]) => make !== undefined && typeof make !== 'function');
  if (wrong === undefined) return;
  throw new SchemaError(
    `${where}: the default of ${wrong[0]} is a function that makes the value, () => …, not ${describe(wrong[1])}.`,
  );
}

function namedClass(name: string, key: readonly string[]): AnyClass {
  const named = {
    [name]: class {
      static readonly key = Object.freeze(key);
      constructor(properties?: object) {
        Object.assign(this, properties);
      }
    },
  };
  return named[name]!;
}
