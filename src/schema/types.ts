/** The compiled, frozen schema: what the mapper, the planner, repositories and DDL work from. */

import type { ClassTransformOptions } from 'class-transformer';
import type { Presplit } from '../../decorators/index.js';
import type { JsonValue } from '../codec/json.js';
import type { ValueCodec } from '../codec/scalars.js';
import type { KeyLayout } from '../key/types.js';
import type {
  Delete,
  FamilyOptions,
  Put,
  RawRow,
  Result,
  TableDescriptor,
  TableOptions,
} from '../table/index.js';

export type { ValueCodec } from '../codec/scalars.js';

/** A class whose instances are entities. */
export type EntityClass<E extends object = object> = abstract new (...args: never[]) => E;

/** How a property is stored. */
export type ColumnKind =
  /** One cell. */
  | 'column'
  /** One cell that increments add to (int64). */
  | 'counter'
  /** Many cells of one family, a Map from qualifier to value. */
  | 'columns'
  /** One column's history, newest first. */
  | 'versions';

/** One stored property. Properties of embedded objects are columns of their own, with a path. */
export interface ColumnSchema {
  /** Where the value stands in the entity: ["name"], or ["address", "city"] for an embedded object. */
  readonly path: readonly string[];
  /** The path with dots. */
  readonly property: string;
  readonly kind: ColumnKind;
  readonly family: string;
  /** The qualifier; of `columns` the prefix that all its qualifiers share (may be empty). */
  readonly qualifier: Uint8Array;
  readonly codec: ValueCodec<unknown>;
  /** Of `columns`: how the rest of the qualifier is decoded to the Map's key. */
  readonly qualifierCodec: ValueCodec<unknown> | undefined;
  /** Of `columns` declared with `@Packed`: the qualifiers are offsets in the row's time bucket, the Map's keys are times in ms. */
  readonly window: ColumnWindow | undefined;
  /** Where its values stood before, and may still stand; the newest of all its cells counts. */
  readonly was: readonly FormerPlace[];
  /** Whether an `@Upgrade` sets it: what the engine sees of an older row is not its value then. */
  readonly upgraded: boolean;
  /** Whether whole entities must have a value of it (`@Required`; in `defineEntity` what is not optional). */
  readonly required: boolean;
  /** The column's place in the declaration: properties of loaded entities stand in this order, behind the key's. */
  readonly order: number;
}

/** Where the markers of an entity's rows stand, and what they hold. */
export interface Marker {
  readonly family: string;
  readonly qualifier: Uint8Array;
  /** One byte, the version of the entity. Always the same object: writers know their markers by it. */
  readonly value: Uint8Array;
}

/** What makes a row of one version one of the next. */
export interface UpgradeSchema {
  readonly from: number;
  /** The columns of that version that the function is given. */
  readonly old: readonly ColumnSchema[];
  /** The properties of the next version that the function gives. */
  readonly sets: readonly string[];
  readonly writeBack: boolean;
  readonly upgrade: (old: Readonly<Record<string, unknown>>) => unknown;
}

/** A place where a column stood before. */
export interface FormerPlace {
  readonly family: string;
  readonly qualifier: Uint8Array;
  readonly codec: ValueCodec<unknown>;
  /** What the column is to hold for what stands there; undefined: the same, and the codec is the column's. */
  readonly migrate: ((old: unknown) => unknown) | undefined;
}

/** The span of time of a row with packed columns. */
export interface ColumnWindow {
  /** The part of the key that the span is made of. */
  readonly part: string;
  /** Milliseconds. */
  readonly width: number;
  /** Milliseconds that an offset of 1 stands for: 1 or 1000. */
  readonly unit: number;
}

/** An embedded object: a group of columns that stands in one property. */
export interface EmbeddedSchema {
  /** Where the object stands: ["address"]. */
  readonly path: readonly string[];
  readonly property: string;
  /** What loaded objects are instances of. */
  readonly target: EntityClass;
}

/**
 * The value of a marker cell. Not empty: a checkAndMutate takes an empty value for an absent one (R73), and `insert`
 * depends on the difference.
 */
export const MARKER_VALUE: Uint8Array = Uint8Array.of(1);
/**
 * The qualifier, beside that of the marker, of the cell that says which change the entries of a row are of: its token
 * (HBase only). Alone it is no entity: it keeps a write out that comes late. FROZEN.
 */
export const SHADOW_QUALIFIER: Uint8Array = Uint8Array.of(0x5f, 0x78);

/** The options of a table and its families that were given. */
export interface DeclaredOptions extends TableOptions {
  readonly presplit?: Presplit;
  readonly families: Readonly<Record<string, FamilyOptions>>;
}

export interface TableSchema {
  readonly descriptor: TableDescriptor;
  /** What was declared, without the defaults; undefined for Rowan's own tables. */
  readonly declaration: DeclaredOptions | undefined;
  /** Entities of the table, in the order of their record types, then names. */
  readonly entities: readonly EntitySchema[];
  /** Entities whose rows are to be removed: declared with `retired`. In the same order. */
  readonly retired: readonly EntitySchema[];
  /** Where the table is to be split when it is created; strictly increasing, may be empty. */
  readonly splitKeys: readonly Uint8Array[];
  /** A text of everything that decides the bytes of the table's entities; see `schemaSignature`. */
  readonly signature: string;
}

export interface EntitySchema<E extends object = object> {
  /** The name given in `@Entity`, else the class's. */
  readonly name: string;
  readonly target: EntityClass<E>;
  readonly table: TableSchema;
  readonly key: KeyLayout;
  /** In the order of family and qualifier. */
  readonly columns: readonly ColumnSchema[];
  /** By `ColumnSchema.property`. */
  readonly columnsByProperty: ReadonlyMap<string, ColumnSchema>;
  /** Embedded objects, outer before inner. */
  readonly embedded: readonly EmbeddedSchema[];
  /** The families the entity stores cells in. */
  readonly families: readonly string[];
  /**
   * The column whose cell says that the row exists, or undefined for tables that others write. Its value is
   * `value`, the version that its rows are written as; {@link MARKER_VALUE} is that of version 1.
   */
  readonly marker: Marker | undefined;
  /** The version that its rows are written as, 1..255. */
  readonly version: number;
  /** What makes rows of older versions ones of this; in the order of their versions, without a gap up to it. */
  readonly upgrades: readonly UpgradeSchema[];
  /** The property that optimistic locking counts up (`@Version`), or undefined. */
  readonly versionProperty: string | undefined;
  /** The property that holds the time of a deletion which leaves the row (`@DeletedAt`), or undefined. */
  readonly deletedProperty: string | undefined;
  readonly timeToLive: TimeToLive;
  readonly lifecycle: EntityLifecycle;
  /** How long changes of its rows are kept, ms; undefined: not at all. */
  readonly changesKept: number | undefined;
  /** The family in which rows say which change they are of (HBase); undefined: none was declared. */
  readonly changeMarks: string | undefined;
  /** In the order of their declaration. */
  readonly indexes: readonly IndexSchema[];
  /** Properties that stand for other entities, by name. */
  readonly relations: ReadonlyMap<string, RelationSchema>;
  /** What is copied from other entities. */
  readonly copies: readonly CopySchema[];
  /** The referential rules of its relations. */
  readonly references: readonly ReferenceRule[];
  /** Figures that are kept of groups of its rows. */
  readonly summaries: readonly SummarySchema[];
  readonly mapper: EntityMapper<E>;
}

/** A secondary index; see docs/indexes.md. */
export interface IndexSchema {
  /** The name that queries call it by. */
  readonly name: string;
  readonly unique: boolean;
  /** Whether entries are written behind the rows: the step of a row notes those that are to be looked at. */
  readonly eventual: boolean;
  /**
   * What the entries' rows begin with, 4 bytes: a digest of everything that decides the entries. An index that is declared
   * otherwise is another one, and never reads what the first wrote.
   */
  readonly id: Uint8Array;
  /** Entity, layout, included columns and condition as text: what `id` is the digest of. */
  readonly signature: string;
  /** Of the entries' rows: the id, the declared elements and, unless it is unique, the data row ({@link ROW_PART}). */
  readonly layout: KeyLayout;
  /** The properties whose values stand in an entry's row, in the order of conditions. */
  readonly parts: readonly string[];
  /** The columns whose cells the entries hold too. */
  readonly included: readonly ColumnSchema[];
  /** Only entities that meet it have entries; as `where` takes it. */
  readonly where: Readonly<Record<string, unknown>> | undefined;
  /** The part that may have several values, each of which makes an entry (a list, a Map). */
  readonly several: string | undefined;
  readonly each: 'keys' | 'values';
}

/** The last part of an entry's row: the row of the entity. */
export const ROW_PART = '$row';

/** A property that stands for other entities: it is not stored. */
export interface RelationSchema {
  /** `one`: the entity whose key this one has; `many`: those whose keys begin so. */
  readonly kind: 'one' | 'many';
  readonly property: string;
  readonly target: () => EntityClass;
  /** Parts of the other's key, and the properties of this one that hold them. */
  readonly via: readonly (readonly [part: string, property: string])[];
  /** Of `many`: entities that there may be at most. */
  readonly max: number;
}

/** How the rows of an entity name those of another; see `schema/links.ts`. */
export interface LinkSchema {
  readonly target: () => EntityClass;
  /** Parts of the other's key, and the properties of this one that hold them; undefined: the only part. */
  readonly via: readonly (readonly [part: string | undefined, property: string])[];
  /** The index by which the rows that name one are found; undefined: their keys begin with the properties. */
  readonly index: string | undefined;
}

/** What holds of an entity that a relation names; see docs/relations.md. */
export interface ReferenceRule extends LinkSchema {
  readonly property: string;
  readonly onDelete: 'restrict' | 'cascade' | 'setNull' | undefined;
  /** Whether it must be there when it is named. */
  readonly exists: boolean;
}

/** What is copied from another entity; see docs/denormalization.md. */
export interface CopySchema extends LinkSchema {
  readonly fields: readonly CopiedField[];
  /** Rows that a change of the source changes in its own step at most. */
  readonly fanOut: number;
}

/** The part of a group of all rows, whose `by` is empty: a key has at least one. It is 0. */
export const ALL_PART = '$all';

/** Figures of groups of rows; see docs/summaries.md. */
export interface SummarySchema {
  readonly name: string;
  /** What tells its rows from those of others, 4 bytes: a digest of everything that decides the figures. */
  readonly id: Uint8Array;
  readonly signature: string;
  /** The properties that the rows of a group have in common, in order. */
  readonly by: readonly string[];
  /** Of the groups: the id and the values of `by`. */
  readonly layout: KeyLayout;
  readonly figures: readonly FigureSchema[];
  /** The properties that are counted or added, in the order of the figures. */
  readonly measured: readonly MeasuredSchema[];
  /** As `where` takes it. */
  readonly where: Readonly<Record<string, unknown>> | undefined;
}

export interface FigureSchema {
  readonly name: string;
  readonly kind: 'count' | 'sum' | 'avg' | 'min' | 'max';
  /** Undefined: the rows are counted. */
  readonly property: string | undefined;
  /** Of least and greatest values: the index that they stand in. */
  readonly index: string | undefined;
}

/** A property of which a summary keeps the number of values, and their sum where one is declared. */
export interface MeasuredSchema {
  readonly property: string;
  readonly sum: SumKind | undefined;
}

/** How the values of a codec are added, exactly: as whole numbers of some unit. */
export type SumKind =
  | { readonly unit: 'one'; readonly as: 'number' | 'bigint' }
  | { readonly unit: 'decimal'; readonly scale: number }
  | { readonly unit: 'double' };

export interface CopiedField {
  readonly column: ColumnSchema;
  /** The property of the source. */
  readonly source: string;
}

/** How long entities live; see docs/time.md. */
export interface TimeToLive {
  /** The property with `@Ttl`, whose value goes before `milliseconds`. */
  readonly property: string | undefined;
  readonly milliseconds: number | undefined;
  /** Whether every write begins the life of the row anew; else later writes carry what remains. */
  readonly renew: boolean;
  /** Whether entities end as one: their marker tells when, and without it they are gone. */
  readonly lifelong: boolean;
}

/** The writes that hooks, timestamps and checks know. */
export type WriteOperation = 'put' | 'insert' | 'replace' | 'update';

/** Methods of one moment, one after the other. */
export type LifecycleHook = (entity: object) => void | Promise<void>;

/** What happens around the writes and reads of an entity. Each is undefined when there is nothing to do. */
export interface EntityLifecycle {
  /**
   * To be called before a write, and awaited when it answers a promise. Of a whole entity: sets the `@Default`s that are
   * due, runs `@BeforePut`, sets `@CreatedAt` (insert) and `@UpdatedAt` on it, and checks it. Of an update: sets `@UpdatedAt` in the patch, which
   * must be the caller's own copy, and checks the properties that are in it.
   * @throws InvalidArgumentError with every issue of the checks; what a hook throws.
   */
  readonly beforeWrite:
    | ((entity: Record<string, unknown>, operation: WriteOperation, now: number) => void | Promise<void>)
    | undefined;
  /** Holds the properties that are in an object against their checks. @throws InvalidArgumentError as `beforeWrite`. */
  readonly check: ((values: Readonly<Record<string, unknown>>) => void | Promise<void>) | undefined;
  /** The properties that have checks. */
  readonly checked: ReadonlySet<string>;
  /** Runs `@BeforeUpdate` on an object with the key and the patch; what it leaves there is the patch. */
  readonly beforeUpdate: LifecycleHook | undefined;
  /** Runs `@AfterUpdate` on an object with the key and the patch. */
  readonly afterUpdate: LifecycleHook | undefined;
  /** Runs `@BeforeDelete` on an object with the key. */
  readonly beforeDelete: LifecycleHook | undefined;
  /** Runs `@AfterDelete` on an object with the key. */
  readonly afterDelete: LifecycleHook | undefined;
  /** The properties that `beforeWrite` itself sets: they are put back when nothing was written. */
  readonly stamped: readonly string[];
  /** Runs `@AfterPut`; to be called when a put, insert or replace has taken effect. */
  readonly afterWrite: ((entity: object) => void | Promise<void>) | undefined;
  /** Runs `@AfterLoad`; to be called with every whole entity before it is handed out. */
  readonly afterLoad: ((entity: object) => void | Promise<void>) | undefined;
}

/** Options of `toPlain`: those of class-transformer that choose what is shown. */
export type PlainOptions = Pick<
  ClassTransformOptions,
  'strategy' | 'groups' | 'version' | 'excludePrefixes' | 'excludeExtraneousValues' | 'ignoreDecorators'
>;

/** Object <-> cells of one entity, compiled once. */
export interface EntityMapper<E extends object = object> {
  /** The row of an entity or of an object with the key's parts. @throws KeyError. */
  rowOf(source: Readonly<Record<string, unknown>>): Uint8Array;
  /**
   * What storing `entity` does: a put of every property that is neither undefined nor null and of the marker, and a
   * delete of the columns that are null. One or two mutations of one row; all cells share `timestamp`.
   */
  toMutations(
    entity: Readonly<Record<string, unknown>>,
    row: Uint8Array,
    timestamp?: number,
  ): (Put | Delete)[];
  /** An instance made of the row and its cells, without calling the constructor; null when the result is empty. */
  fromResult(result: Result): E | null;
  /** As `fromResult`; reads what it needs of the row at once. */
  fromRaw(raw: RawRow): E | null;
  /**
   * The entity as values of JSON: Dates as ISO texts, bigints as decimal texts, bytes as base64, Maps as lists of
   * [key, value]. Undefined is left out, null is kept.
   */
  toPlain(entity: Readonly<Record<string, unknown>>): Record<string, JsonValue>;
  /**
   * As `toPlain`, of what class-transformer's decorators on the class show, with the related entities that were loaded;
   * `mapperOf` knows their mappers.
   */
  toView(
    entity: Readonly<Record<string, unknown>>,
    options: PlainOptions,
    mapperOf: (target: EntityClass) => EntityMapper | undefined,
  ): Record<string, JsonValue>;
  /**
   * The instance that `toPlain` was given, or its like; the constructor is not called.
   * @throws InvalidArgumentError naming a property that is not stored, or whose value its codec refuses.
   */
  fromPlain(plain: Readonly<Record<string, JsonValue>>): E;
  /** What reads rows with only these properties (and the key's parts) set; undefined: all. One for many rows. */
  readerOf(properties?: ReadonlySet<string>): RowReader<E>;
}

/** Makes instances of rows, without calling the constructor; null when a row has no cells. */
export interface RowReader<E extends object = object> {
  read(result: Result): E | null;
  readRaw(raw: RawRow): E | null;
}
