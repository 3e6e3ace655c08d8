/** The compiled, frozen schema. The mapper, the planner, repositories and DDL use it. */

import type { ClassTransformOptions } from 'class-transformer';
import type { Presplit } from '../../decorators/index.js';
import type { JsonValue } from '../codec/json.js';
import type { ValueCodec } from '../codec/scalars.js';
import type { KeyLayout } from '../key/types.js';
import type {
  Delete,
  Durability,
  FamilyOptions,
  PackedPuts,
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

/** A stored property. Properties of embedded objects are columns of their own, with a path. */
export interface ColumnSchema {
  /** The path of the value in the entity: ["name"], or ["address", "city"] for an embedded object. */
  readonly path: readonly string[];
  /** The path with dots. */
  readonly property: string;
  readonly kind: ColumnKind;
  readonly family: string;
  /** The qualifier; for `columns` the common prefix of all qualifiers (may be empty). */
  readonly qualifier: Uint8Array;
  readonly codec: ValueCodec<unknown>;
  /** For `columns`: the codec of the rest of the qualifier, which is the Map's key. */
  readonly qualifierCodec: ValueCodec<unknown> | undefined;
  /**
   * For `columns` with `@Packed`: qualifiers are offsets in the row's time bucket, and the Map's keys are times in
   * ms.
   */
  readonly window: ColumnWindow | undefined;
  /** The former places of its values, which may still be stored there. The newest of all cells counts. */
  readonly was: readonly FormerPlaceSchema[];
  /** Whether an `@Upgrade` sets it. Then the cell of an older row is not its value. */
  readonly upgraded: boolean;
  /** Whether whole entities must have a value (`@Required`; in `defineEntity` every property that is not optional). */
  readonly required: boolean;
  /** The position in the declaration. Properties of loaded entities are in this order, after the key's. */
  readonly order: number;
}

/** The marker of an entity's rows. */
export interface Marker {
  readonly family: string;
  readonly qualifier: Uint8Array;
  /** One byte, the version of the entity. Always the same object: writers recognize markers by identity. */
  readonly value: Uint8Array;
}

/** An `@Upgrade`: how a row of one version becomes one of the next. */
export interface UpgradeSchema {
  readonly from: number;
  /** The columns of the old version that the function reads. */
  readonly old: readonly ColumnSchema[];
  /** The properties that the function returns. */
  readonly sets: readonly string[];
  readonly writeBack: boolean;
  readonly upgrade: (old: Readonly<Record<string, unknown>>) => unknown;
}

/** A former place of a column. */
export interface FormerPlaceSchema {
  readonly family: string;
  readonly qualifier: Uint8Array;
  readonly codec: ValueCodec<unknown>;
  /** Converts an old value. Undefined: the value is unchanged, and the codec is the column's. */
  readonly migrate: ((old: unknown) => unknown) | undefined;
}

/** The time bucket of a row with packed columns. */
export interface ColumnWindow {
  /** The key part of the time bucket. */
  readonly part: string;
  /** Milliseconds. */
  readonly width: number;
  /** The unit of offsets, in milliseconds: 1 or 1000. */
  readonly unit: number;
}

/** An embedded object: a group of columns in one property. */
export interface EmbeddedSchema {
  /** The path of the object: ["address"]. */
  readonly path: readonly string[];
  readonly property: string;
  /** The class of loaded objects. */
  readonly target: EntityClass;
}

/**
 * The value of a marker cell. Not empty: checkAndMutate treats an empty value as absent (R73), and `insert` depends
 * on the difference.
 */
export const MARKER_VALUE: Uint8Array = Uint8Array.of(1);
/**
 * The qualifier of the shadow cell beside the marker (HBase only). It holds the token of the row's last change, by
 * which late writes are refused. A row with nothing else is no entity. FROZEN.
 */
export const SHADOW_QUALIFIER: Uint8Array = Uint8Array.of(0x5f, 0x78);
/**
 * The qualifier of the cell beside the shadow that lists the row's entries in eventual indexes (HBase only). Whoever writes entries writes
 * it, together with the shadow; a put in one call leaves it. FROZEN.
 */
export const LIST_QUALIFIER: Uint8Array = Uint8Array.of(0x5f, 0x65);

/** Bytes of the tokens in shadows, entries and intents. FROZEN. */
export const TOKEN_LENGTH = 8;

/** The declared options of a table and its families. */
interface DeclaredOptions extends TableOptions {
  readonly presplit?: Presplit;
  readonly families: Readonly<Record<string, FamilyOptions>>;
}

export interface TableSchema {
  readonly descriptor: TableDescriptor;
  /** The declared options, without defaults. Undefined for Rowan's own tables. */
  readonly declaration: DeclaredOptions | undefined;
  /** Entities of the table, in the order of their record types, then names. */
  readonly entities: readonly EntitySchema[];
  /** Retired entities, whose rows are to be removed. In the same order. */
  readonly retired: readonly EntitySchema[];
  /** The split points for creation; strictly increasing, may be empty. */
  readonly splitKeys: readonly Uint8Array[];
  /** A text of everything that affects the bytes of the table's entities; see `schemaSignature`. */
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
   * The column of the marker cell, by which a row exists. Undefined for tables that other programs write. Its value
   * is the version of the rows; {@link MARKER_VALUE} is that of version 1.
   */
  readonly marker: Marker | undefined;
  /** The version as which rows are written, 1..255. */
  readonly version: number;
  /** The upgrades of older versions, in the order of versions, without a gap. */
  readonly upgrades: readonly UpgradeSchema[];
  /** The property of optimistic locking (`@Version`). */
  readonly versionProperty: string | undefined;
  /** The property that holds the time of a soft delete (`@DeletedAt`). */
  readonly deletedProperty: string | undefined;
  readonly timeToLive: TimeToLive;
  readonly lifecycle: EntityLifecycle;
  /** Retention time of recorded changes, ms. Undefined: none are recorded. */
  readonly changesKept: number | undefined;
  /** The family of row marks for the change log (HBase). Undefined: none is declared. */
  readonly changeMarks: string | undefined;
  /** In the order of their declaration. */
  readonly indexes: readonly IndexSchema[];
  /** Properties for related entities, by name. */
  readonly relations: ReadonlyMap<string, RelationSchema>;
  /** The declared copies of other entities' properties. */
  readonly copies: readonly CopySchema[];
  /** The referential rules of its relations. */
  readonly references: readonly ReferenceRule[];
  /** Two key parts, which are exchanged in the mirror of each row. Undefined: rows have none. */
  readonly mutual: readonly [string, string] | undefined;
  /** The columns that are computed from their row. */
  readonly computed: readonly ComputedSchema[];
  /** The declared summaries of its rows. */
  readonly summaries: readonly SummarySchema[];
  readonly mapper: EntityMapper<E>;
}

/** A column that writes compute from their row (`@Computed`). */
export interface ComputedSchema {
  readonly column: ColumnSchema;
  /** Takes the entity without its computed columns. Null and undefined: the column is absent. */
  readonly compute: (entity: never) => unknown;
}

/** A secondary index; see docs/indexes.md. */
export interface IndexSchema {
  /** The name of the index in queries. */
  readonly name: string;
  readonly unique: boolean;
  /** Whether entries are written in the background, from notes that the write leaves. */
  readonly eventual: boolean;
  /**
   * The prefix of the entries' rows, 4 bytes: a digest of everything that affects entries. An index with another
   * declaration has another id, and never reads entries of the first.
   */
  readonly id: Uint8Array;
  /** Entity, layout, included columns and condition as text. Its digest is `id`. */
  readonly signature: string;
  /** The layout of entries' rows: the id, the declared elements and, unless unique, the data row ({@link ROW_PART}). */
  readonly layout: KeyLayout;
  /** The properties whose values are in an entry's row, in the order of conditions. */
  readonly parts: readonly string[];
  /** The columns that entries include. */
  readonly included: readonly ColumnSchema[];
  /** Only entities that satisfy it have entries; in the form of `where`. */
  readonly where: Readonly<Record<string, unknown>> | undefined;
  /** The part that may have several values (a list, a Map), each with an entry. */
  readonly several: string | undefined;
  readonly each: 'keys' | 'values';
}

/** The last part of an entry's row: the row of the entity. */
export const ROW_PART = '$row';

/** A property for related entities. It is not stored. */
export interface RelationSchema {
  /** `one`: the entity whose key this one holds. `many`: those whose keys begin with it. */
  readonly kind: 'one' | 'many';
  readonly property: string;
  readonly target: () => EntityClass;
  /** Parts of the related key, and the properties of this entity that hold them. */
  readonly via: readonly (readonly [part: string, property: string])[];
  /** For `many`: the index of the related entity that finds them. Undefined: its key. */
  readonly index: string | undefined;
  /** For `many`: the most related entities. */
  readonly max: number;
}

/** How rows of an entity name those of another; see `schema/links.ts`. */
export interface LinkSchema {
  readonly target: () => EntityClass;
  /** Parts of the other key, and the properties of this entity that hold them. Undefined: the only part. */
  readonly via: readonly (readonly [part: string | undefined, property: string])[];
  /** The property of `via` that is a Map: each of its keys names a row. Undefined: a row names one row. */
  readonly map?: ColumnSchema | undefined;
  /** The index that finds the rows which name a row. Undefined: their key does. */
  readonly index: string | undefined;
}

/** The referential rule of a relation; see docs/relations.md. */
export interface ReferenceRule extends LinkSchema {
  readonly property: string;
  readonly onDelete: 'restrict' | 'cascade' | 'setNull' | undefined;
  /** Whether the named row must exist. */
  readonly exists: boolean;
  /** The properties of `via` that `setNull` clears: those that a row may lack. A reference with an absent part names nothing. */
  readonly clears: readonly string[];
}

/** A declaration of copies; see docs/denormalization.md. */
export interface CopySchema extends LinkSchema {
  readonly fields: readonly CopiedField[];
  /** The most rows that a change of the source updates in its own step. */
  readonly fanOut: number;
}

/** The only part of a group with an empty `by`, since a key has at least one part. Its value is 0. */
export const ALL_PART = '$all';

/** A summary: figures of groups of rows; see docs/summaries.md. */
export interface SummarySchema {
  readonly name: string;
  /** The prefix of its rows, 4 bytes: a digest of everything that affects the figures. */
  readonly id: Uint8Array;
  readonly signature: string;
  /** The properties that define groups, in order. */
  readonly by: readonly string[];
  /** The layout of groups: the id and the values of `by`. */
  readonly layout: KeyLayout;
  readonly figures: readonly FigureSchema[];
  /** The properties that are counted or summed, in the order of the figures. */
  readonly measured: readonly MeasuredSchema[];
  /** Only rows that satisfy it count; in the form of `where`. */
  readonly where: Readonly<Record<string, unknown>> | undefined;
}

export interface FigureSchema {
  readonly name: string;
  readonly kind: 'count' | 'sum' | 'avg' | 'min' | 'max';
  /** Undefined: rows are counted. */
  readonly property: string | undefined;
  /** For minimum and maximum: the index that holds the values. */
  readonly index: string | undefined;
}

/** A property of a summary: the number of its values is stored, and their sum where declared. */
export interface MeasuredSchema {
  readonly property: string;
  readonly sum: SumKind | undefined;
}

/** How the values of a codec are summed exactly: as whole numbers of a unit. */
export type SumKind =
  | { readonly unit: 'one'; readonly as: 'number' | 'bigint' }
  | { readonly unit: 'decimal'; readonly scale: number }
  | { readonly unit: 'double' };

export interface CopiedField {
  /** The column of the copy; of a link by a Map that Map, whose entries hold the copies. */
  readonly column: ColumnSchema;
  /** The property of the source. */
  readonly source: string;
}

/** The TTL of entities; see docs/time.md. */
export interface TimeToLive {
  /** The property with `@Ttl`, which takes precedence over `milliseconds`. */
  readonly property: string | undefined;
  readonly milliseconds: number | undefined;
  /** Whether every write renews the TTL of the row. Otherwise later writes get the remaining TTL. */
  readonly renew: boolean;
  /**
   * Whether all cells of an entity expire together: the marker stores the time, and without it the entity does not
   * exist.
   */
  readonly lifelong: boolean;
}

/** The writes that hooks, timestamps and checks distinguish. */
export type WriteOperation = 'put' | 'insert' | 'replace' | 'update';

/** The hooks of one moment, in order. */
type LifecycleHook = (entity: object) => void | Promise<void>;

/** The functions to call around writes and reads of an entity. Each is undefined when it would do nothing. */
export interface EntityLifecycle {
  /**
   * Called before a write; a returned promise is awaited. For a whole entity: sets `@Default`s, runs `@BeforePut`,
   * sets `@CreatedAt` (insert) and `@UpdatedAt`, and runs the checks. For an update: sets `@UpdatedAt` in the patch,
   * which must be a copy, and checks its properties. @throws InvalidArgumentError with every issue of the checks;
   * errors of hooks.
   */
  readonly beforeWrite:
    | ((entity: Record<string, unknown>, operation: WriteOperation, now: number) => void | Promise<void>)
    | undefined;
  /** Checks the properties of an object. @throws InvalidArgumentError as `beforeWrite`. */
  readonly check: ((values: Readonly<Record<string, unknown>>) => void | Promise<void>) | undefined;
  /** The properties that have checks. */
  readonly checked: ReadonlySet<string>;
  /** Runs `@BeforeUpdate` on an object with the key and the patch. The object is the patch afterwards. */
  readonly beforeUpdate: LifecycleHook | undefined;
  /** Runs `@AfterUpdate` on an object with the key and the patch. */
  readonly afterUpdate: LifecycleHook | undefined;
  /** Runs `@BeforeDelete` on an object with the key. */
  readonly beforeDelete: LifecycleHook | undefined;
  /** Runs `@AfterDelete` on an object with the key. */
  readonly afterDelete: LifecycleHook | undefined;
  /** The properties that `beforeWrite` sets. They are restored when nothing is written. */
  readonly stamped: readonly string[];
  /** The property that `@UpdatedAt` declares. */
  readonly updatedProperty: string | undefined;
  /** Runs `@AfterPut`. Called after a put, insert or replace. */
  readonly afterWrite: ((entity: object) => void | Promise<void>) | undefined;
  /** Runs `@AfterLoad`. Called with every whole entity before it is returned. */
  readonly afterLoad: ((entity: object) => void | Promise<void>) | undefined;
}

/** Options of `toPlain`: those of class-transformer that select properties. */
export type PlainOptions = Pick<
  ClassTransformOptions,
  'strategy' | 'groups' | 'version' | 'excludePrefixes' | 'excludeExtraneousValues' | 'ignoreDecorators'
>;

/** Converts entities to cells and back. Compiled once for each entity. */
export interface EntityMapper<E extends object = object> {
  /** The row of an entity, or of an object with the key's parts. @throws KeyError. */
  rowOf(source: Readonly<Record<string, unknown>>): Uint8Array;
  /**
   * The mutations that store `entity`: a put of the marker and every property that is neither undefined nor null, and
   * a delete of columns that are null. One or two mutations of one row; all cells have the timestamp `timestamp`.
   */
  toMutations(
    entity: Readonly<Record<string, unknown>>,
    row: Uint8Array,
    timestamp?: number,
  ): (Put | Delete)[];
  /** Packs entities. Undefined where their cells have times to live, or code may not be generated. */
  packing(durability: Durability): EntityPacking | undefined;
  /** An instance from a row's cells. The constructor is not called. Null when the result is empty. */
  fromResult(result: Result): E | null;
  /**
   * The entity as JSON values: Dates as ISO texts, bigints as decimal texts, bytes as base64, Maps as lists of [key,
   * value]. Undefined is omitted, null is kept.
   */
  toPlain(entity: Readonly<Record<string, unknown>>): Record<string, JsonValue>;
  /**
   * As `toPlain`, after class-transformer's decorators on the class, and with related entities that were loaded.
   * `mapperOf` returns their mappers.
   */
  toView(
    entity: Readonly<Record<string, unknown>>,
    options: PlainOptions,
    mapperOf: (target: EntityClass) => EntityMapper | undefined,
  ): Record<string, JsonValue>;
  /**
   * The reverse of `toPlain`. The constructor is not called. @throws InvalidArgumentError naming a property that is
   * not stored, or whose value its codec refuses.
   */
  fromPlain(plain: Readonly<Record<string, JsonValue>>): E;
  /** A reader of rows that sets only these properties (and the key's parts). Undefined: all. Reused for many rows. */
  readerOf(properties?: ReadonlySet<string>): RowReader<E>;
}

/** Collects entities as {@link PackedPuts}. */
export interface EntityPacking {
  /** The rows that were added. */
  readonly puts: PackedPuts;
  /**
   * Adds an entity. False: it needs a delete, has cells of several versions or none, or lacks a required column. It is not added, and no
   * further one may be.
   * @throws as {@link EntityMapper.toMutations}.
   */
  add(entity: Readonly<Record<string, unknown>>, row: Uint8Array): boolean;
  /** Called when the puts are not used any more: the next packing gets their memory. */
  release(): void;
}

/** Builds instances from rows. Constructors are not called. Null when a row has no cells. */
export interface RowReader<E extends object = object> {
  read(result: Result): E | null;
  readRaw(raw: RawRow): E | null;
}

/** Whether a property is stored as one cell with one value. False of undefined: the property is no column. */
export function isSingleCell(
  column: ColumnSchema | undefined,
): column is ColumnSchema & { readonly kind: 'column' | 'counter' } {
  return column?.kind === 'column' || column?.kind === 'counter';
}

/** The value at a path of properties. Undefined where it, or an object on the way, is absent. */
export function valueAt(entity: object, path: readonly string[]): unknown {
  let value: unknown = entity;
  for (const name of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value ?? undefined;
}
