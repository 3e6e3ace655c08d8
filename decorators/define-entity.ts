import { SchemaError } from '../src/errors.js';
import type { KeyElement } from '../src/key/index.js';
import { describe, isRecord, optionsProblem } from '../src/table/checks.js';
import {
  type ColumnBuilder,
  columnBuilder,
  type DefaultedNames,
  declareProperties,
  type Flat,
  type ObjectOf,
  type PropertyDefinitions,
} from './column-builder.js';
import type { AnyClass, EntityDeclaration, HookMoment, IndexOptions, Validator } from './declaration.js';
import { declarationOn } from './metadata.js';
import { HOOK_MOMENTS } from './roles.js';
import { declaredElements, isElement, keyNames } from './row-key.js';
import type { KeyElements, KeyRow, KeyTuple, KnownParts } from './row-key-types.js';
import type { SummaryDefinitions } from './summary.js';
import { type DefinedTable, ENTITY_OPTIONS } from './table.js';
import { type UpgradeDefinition, upgradeOf, upgradesProblem } from './upgrade.js';

/** An index in `defineEntity`: its elements, and the options of `@Index`. */
export type IndexDefinition = IndexOptions & { readonly on: readonly KeyElement[] };

/** Copies in `defineEntity`: the source, and the options of `@Denormalized`. */
export interface CopyDefinition {
  readonly from: () => AnyClass;
  readonly via: string | Readonly<Record<string, string>>;
  /** Maps each own property to the source's property that it copies. Checked when the schema is compiled. */
  readonly fields: Readonly<Record<string, string>>;
  /** Like `fanOut` of `@Denormalized`. Default 100. */
  readonly fanOut?: number;
}

export type IndexDefinitions = Readonly<Record<string, IndexDefinition>>;

/** The names of the parts of each index. */
export type IndexParts<Indexes extends IndexDefinitions> = {
  readonly [Name in keyof Indexes]: Readonly<KeyTuple<Indexes[Name]['on']>>;
};

/** The result of `defineEntity`: a class, with the names of the parts of its key and of its indexes. */
export interface DefinedEntity<
  E extends object,
  Key extends readonly string[],
  Indexes extends IndexDefinitions = Record<never, never>,
  Summaries extends SummaryDefinitions = Record<never, never>,
  Definitions extends PropertyDefinitions = Record<never, never>,
  Generated extends string | false = false,
> {
  /** Creates an entity with these properties. */
  new (properties?: Partial<E>): E;
  readonly prototype: E;
  readonly key: Key;
  /** Exists only in types. */
  readonly indexes: IndexParts<Indexes>;
  /** Exists only in types. */
  readonly summaries: Summaries;
  /** The names of the columns that inserts may omit. Exists only in types. */
  readonly defaulted: DefaultedNames<Definitions>;
  /** The names of the parts of the key that puts and inserts may omit, false for none. Exists only in types. */
  readonly generated: Generated;
}

/** The entity type that the key elements and column definitions describe. */
export type DefinedObject<
  Elements extends readonly KeyElement[],
  Definitions extends PropertyDefinitions,
> = Flat<KeyRow<Elements> & ObjectOf<Definitions>>;

/** Functions that make the values of undefined key parts, by name. */
export type DefinedDefaults<Elements extends readonly KeyElement[], Names extends string> = {
  readonly [Name in Names]: () => Name extends keyof KeyRow<Elements> ? KeyRow<Elements>[Name] : never;
};

export interface EntityDefinition<
  Family extends string,
  Elements extends readonly KeyElement[],
  Definitions extends PropertyDefinitions,
  Indexes extends IndexDefinitions = Record<never, never>,
  Summaries extends SummaryDefinitions = Record<never, never>,
  Generated extends string | false = keyof KeyRow<Elements> & string,
> extends Omit<EntityDeclaration, 'table' | 'name' | 'inheritable'> {
  /** The entity's name in errors, explain and tools. */
  readonly name: string;
  /** The result of `defineTable`, or a class with `@Table`. */
  readonly table: DefinedTable<Family> | AnyClass;
  /**
   * The byte layout of the row key, left to right, as for `@RowKey`: a list of elements, or the result of
   * `rowKey`. Parts without a codec are text.
   */
  readonly key: (Elements | KeyElements<Elements>) & NoInfer<KnownParts<Elements>>;
  /** The stored properties. */
  readonly columns: (builder: ColumnBuilder<`${Family}:${string}`>) => Definitions;
  /** Indexes by name, like `@Index` above a class. */
  readonly indexes?: Indexes;
  /** Like `@Denormalized` above a class. */
  readonly denormalized?: readonly CopyDefinition[];
  /** Summaries by name, like `@Summary` above a class. */
  readonly summaries?: Summaries;
  /**
   * Defaults of key parts, which `put` and `insert` may then omit. The default of a column is given with the column:
   * `c.column(…).default(() => 'open')`.
   */
  readonly defaults?: DefinedDefaults<Elements, Generated & string>;
  /** Computed columns, like `@Computed`. Declare them optional. */
  readonly computed?: {
    readonly [Name in keyof ObjectOf<Definitions>]?: (
      entity: DefinedObject<Elements, Definitions>,
    ) => ObjectOf<Definitions>[Name] | null;
  };
  /** Results of `upgrade(...)`, like `@Upgrade` above a class. */
  readonly upgrades?: readonly UpgradeDefinition[];
  /** Like `@Validate` above a class. */
  readonly validate?: Validator;
  /** Like `@BeforePut`, `@AfterPut` and `@AfterLoad`. */
  readonly hooks?: {
    readonly [Moment in HookMoment]?: (entity: DefinedObject<Elements, Definitions>) => void | Promise<void>;
  };
}

/**
 * Declares an entity without decorators, for toolchains that only strip types, such as Node's own. All types
 * are inferred; the entity's type is `EntityOf<typeof Order>`. To add methods, extend the class.
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
  Generated extends string | false = false,
>(
  definition: EntityDefinition<Family, Elements, Definitions, Indexes, Summaries, Generated>,
): DefinedEntity<
  DefinedObject<Elements, Definitions>,
  KeyTuple<Elements>,
  Indexes,
  Summaries,
  Definitions,
  Generated
> {
  checkDefinition(definition);
  const {
    name,
    key,
    columns,
    defaults,
    computed,
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
  for (const [property, compute] of Object.entries(computed ?? {})) {
    if (compute !== undefined) declaration.computed.push({ property, compute: compute as () => unknown });
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

const DEFINITION_OPTIONS: Readonly<Record<string, true>> = {
  ...ENTITY_OPTIONS,
  key: true,
  columns: true,
  indexes: true,
  denormalized: true,
  summaries: true,
  defaults: true,
  computed: true,
  upgrades: true,
  validate: true,
  hooks: true,
};

function checkDefinition(given: unknown): void {
  if (typeof given !== 'object' || given === null) {
    throw new SchemaError(`defineEntity takes { name, table, key, columns }, not ${describe(given)}.`);
  }
  const { name, key, columns, defaults, indexes, denormalized, summaries, hooks } = given as Readonly<
    Record<string, unknown>
  >;
  const where = `defineEntity(${typeof name === 'string' ? name : ''})`;
  if (typeof name !== 'string' || name === '') {
    throw new SchemaError(`${where}: name must be a non-empty string, not ${describe(name)}.`);
  }
  const problem =
    optionsProblem(where, given, DEFINITION_OPTIONS) ??
    optionsProblem(`${where}.hooks`, hooks ?? {}, HOOK_MOMENTS);
  if (problem !== undefined) throw new SchemaError(problem);
  const elements = declaredElements(key) ?? key;
  if (!Array.isArray(elements) || !elements.every(isElement)) {
    throw new SchemaError(`${where}: key must be a list of elements, [part('id')], not ${describe(key)}.`);
  }
  checkDefaults(where, defaults);
  if (indexes !== undefined && (typeof indexes !== 'object' || indexes === null)) {
    throw new SchemaError(
      `${where}: indexes must be an object that maps names to indexes, not ${describe(indexes)}.`,
    );
  }
  const isCopy = (one: unknown) => typeof (one as Partial<CopyDefinition> | null)?.from === 'function';
  if (denormalized !== undefined && !(Array.isArray(denormalized) && denormalized.every(isCopy))) {
    throw new SchemaError(
      `${where}: denormalized must be a list, [{ from: () => Source, via: 'sourceId', fields: { … } }], not ${describe(denormalized)}.`,
    );
  }
  const isSummary = (one: unknown) => typeof one === 'object' && one !== null;
  if (
    summaries !== undefined &&
    !(isSummary(summaries) && Object.values(summaries as object).every(isSummary))
  ) {
    throw new SchemaError(
      `${where}: summaries must be an object that maps names to summaries, { byStatus: { by: ['status'], figures: { orders: 'count' } } }, not ${describe(summaries)}.`,
    );
  }
  const upgrades = upgradesProblem((given as Readonly<Record<string, unknown>>)['upgrades']);
  if (upgrades !== undefined) throw new SchemaError(`${where}: ${upgrades}`);
  for (const [index, given] of Object.entries(indexes ?? {})) {
    const on = (given as Partial<IndexDefinition> | null)?.on;
    if (Array.isArray(on) && on.length > 0 && on.every(isElement)) continue;
    const [wrong] = Array.isArray(on) ? (on as readonly unknown[]).filter((one) => !isElement(one)) : [];
    throw new SchemaError(
      `${where}: the index ${describe(index)} must be { on: [part('status')], ...options }, ${
        wrong === undefined ? `not ${describe(given)}` : `and its on has ${describe(wrong)}`
      }.`,
    );
  }
  if (typeof columns !== 'function') {
    throw new SchemaError(`${where}: columns must be a function, (c) => ({ … }), not ${describe(columns)}.`);
  }
}

function checkDefaults(where: string, defaults: unknown): void {
  if (defaults === undefined) return;
  if (!isRecord(defaults)) {
    throw new SchemaError(
      `${where}: defaults must be an object that maps key parts to functions, { id: newUuid }, not ${describe(defaults)}.`,
    );
  }
  const wrong = Object.entries(defaults).find(([, make]) => make !== undefined && typeof make !== 'function');
  if (wrong === undefined) return;
  throw new SchemaError(
    `${where}: the default of ${wrong[0]} must be a function that returns the value, () => …, not ${describe(wrong[1])}.`,
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
