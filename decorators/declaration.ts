import type {
  AvroCodecOptions,
  RecordOptions as AvroRecordOptions,
  AvroSchema,
  AvroType,
  ValueCodec,
} from '../src/codec/index.js';
import type { KeyElement } from '../src/key/index.js';
import type { SplitAlgorithm } from '../src/table/admin.js';
import type { FamilyOptions, TableOptions } from '../src/table/index.js';

/** The data that decorators record. The schema checks and compiles it. */

/** Any class, abstract ones included. */
export type AnyClass = abstract new (...args: never[]) => object;

/** A column as "family:qualifier", or with a qualifier of arbitrary bytes. */
export type ColumnName = string | { readonly family: string; readonly qualifier: Uint8Array };

/** A former column of a property, whose cells have another codec. Made by `formerly`. */
export interface FormerColumn<T> {
  readonly column: ColumnName;
  readonly codec: ValueCodec<unknown>;
  /** Converts an old value to the property's value. */
  readonly migrate: (old: never) => T;
}

/** A former column. A column name alone means that its cells have the property's codec. */
export type FormerPlace<T> = ColumnName | FormerColumn<T>;

/** Options of a column besides its name and codec. */
export interface ColumnOptions<T> {
  /**
   * Former columns of the property: "family:qualifier" or `formerly(...)`. Reads also use values stored there
   * until they have been moved; writes go to the current column and delete the old cells. See docs/schema.md,
   * "Columns that move".
   */
  readonly was?: readonly FormerPlace<T>[];
}

/** The options of `@Table` and `defineTable`. */
export interface TableDeclaration extends TableOptions {
  /** "namespace:name", or "name" in the default namespace. */
  readonly name: string;
  /** Families and their options. Omitted options have HBase's defaults. */
  readonly families: Readonly<Record<string, FamilyOptions>>;
  /** How a new table is split into regions. Default: one region. */
  readonly presplit?: Presplit;
}

/**
 * How a new table is split into regions.
 *
 * - `regions` alone: the split points follow from the key layouts, if these begin with salts, digests, random
 *   ids or digits. The schema warns when fewer regions result.
 * - `algorithm`: one of HBase's own (8 hex digits, 8 decimal digits, 8 bytes).
 * - `samples`: example keys (objects with the key parts of the first entity, or rows), which are divided into
 *   equal shares.
 * - `between`: the first and the last value of the leading part.
 * - `splits`: the split points themselves.
 */
export type Presplit =
  | { readonly regions: number }
  | { readonly regions: number; readonly algorithm: SplitAlgorithm }
  | {
      readonly regions: number;
      readonly samples: readonly (Uint8Array | Readonly<Record<string, unknown>>)[];
    }
  | { readonly regions: number; readonly between: readonly [unknown, unknown] }
  | { readonly splits: readonly (Uint8Array | string)[] };

/** A table: a class with `@Table`, or the result of `defineTable`. */
export type TableReference = AnyClass | TableDeclaration;

export interface EntityDeclaration {
  readonly table: TableReference;
  /**
   * The entity's number in its table, 0..255. Required if several entities share a table. Never change it.
   */
  readonly recordType?: number;
  /** The entity's name in errors, explain and tools. Default: the class's name. */
  readonly name?: string;
  /**
   * Whether every put also writes a row marker, the cell `family:_`, which records that the row exists even
   * if all its columns are absent. Default true: in the family of the column declared first. A family's name
   * puts the marker there. Use false only for tables that other programs write.
   */
  readonly marker?: boolean | string;
  /**
   * Time to live of a new entity, in ms. Later writes carry the remaining time. Default: unlimited. `@Ttl`
   * takes precedence.
   */
  readonly ttl?: number;
  /** Whether every write restarts the time to live. Default false. */
  readonly renewTtl?: boolean;
  /**
   * Records every change of the entity's rows, with the row before and after, for `db.watch`, and keeps it
   * for `keep` milliseconds. Default: nothing is recorded. On HBase it requires `marks`: a family of the
   * table that holds nothing else. See docs/changes.md.
   */
  readonly changes?: { readonly keep: number; readonly marks?: string };
  /**
   * Two parts of the key with the same codec, for links that hold both ways (friends). Each row has a mirror, in which
   * the parts are exchanged and the columns are equal: a write or delete of one changes both. Default: none. See
   * docs/relations.md.
   */
  readonly mutual?: readonly [string, string];
  /**
   * The version with which rows are written, 1..255. Default 1. When you raise it, declare with `@Upgrade`
   * how a row of the version before becomes one of this version.
   */
  readonly schemaVersion?: number;
  /**
   * Marks an entity that is no longer used: its rows are neither read nor written, and a step of the plan
   * removes them. Default false. See docs/schema.md.
   */
  readonly retired?: boolean;
  /**
   * Whether classes that extend this one without an `@Entity` of their own, including those made with
   * `defineEntity`, are the same entity.
   */
  readonly inheritable?: boolean;
}

/** The role of a column beyond holding a value. */
export type ColumnRole = 'version' | 'createdAt' | 'updatedAt' | 'deletedAt';

interface StoredProperty {
  /** The decorator's name, for error messages. */
  readonly decorator: string;
  readonly property: string;
  /** The options as they were given. Checked when the schema is compiled. */
  readonly options?: object | undefined;
}

/** A property in one cell. */
export interface ColumnDeclaration extends StoredProperty {
  readonly kind: 'column';
  readonly column: ColumnName;
  /** Undefined if the codec follows from the type that the compiler emitted. */
  readonly codec: ValueCodec<unknown> | undefined;
  readonly role?: ColumnRole;
}

/**
 * A function that returns a class, or a list with a class. The function allows modules to import each other.
 */
export type NestedType = () => AnyClass | readonly [AnyClass];

/** A JSON value in one cell. */
export interface JsonDeclaration extends StoredProperty {
  readonly kind: 'json';
  readonly column: ColumnName;
  readonly type: NestedType | undefined;
}

/** An Avro value in one cell. */
export interface AvroDeclaration extends StoredProperty {
  readonly kind: 'avro';
  readonly column: ColumnName;
  /** A class with `@AvroRecord`, a list with one, or an Avro type or schema. */
  readonly type: NestedType | AvroType<unknown> | AvroSchema;
  readonly options?: (AvroCodecOptions & ColumnOptions<unknown>) | undefined;
}

/** The argument of `@AvroRecord`. */
export interface AvroRecordDeclaration extends Omit<AvroRecordOptions, 'fieldAliases'> {
  /** The record's name in the schema. It stays the same if the class is renamed. */
  readonly name: string;
}

/** A field of a class with `@AvroRecord`. */
export interface AvroFieldDeclaration {
  readonly property: string;
  readonly type: NestedType | AvroType<unknown>;
  /** Whether a nested record may be null, which is then the default. */
  readonly optional: boolean;
  /** Earlier names of the field. */
  readonly aliases: readonly string[] | undefined;
}

/** A counter in one cell. */
export interface CounterDeclaration extends StoredProperty {
  readonly kind: 'counter';
  readonly column: ColumnName;
}

/** An object whose properties are columns of their own. */
export interface EmbeddedDeclaration extends StoredProperty {
  readonly kind: 'embedded';
  /** Undefined inside another embedded object, whose family applies. */
  readonly family: string | undefined;
  readonly prefix: string;
  readonly type: () => AnyClass;
}

/** A Map with one cell for each entry, its key in the qualifier. */
export interface ColumnsDeclaration extends StoredProperty {
  readonly kind: 'columns';
  readonly column: ColumnName;
  readonly key: ValueCodec<unknown>;
  readonly value: ValueCodec<unknown>;
}

/**
 * A Map from times (ms) within the row's time bucket to values: one cell for each, with the offset in the
 * qualifier.
 */
export interface PackedDeclaration extends StoredProperty {
  readonly kind: 'packed';
  readonly column: ColumnName;
  /** The key part that the bucket is computed from. */
  readonly part: string;
  readonly value: ValueCodec<unknown>;
}

/** The stored versions of one column. */
export interface VersionsDeclaration extends StoredProperty {
  readonly kind: 'versions';
  readonly column: ColumnName;
  readonly codec: ValueCodec<unknown>;
}

export type PropertyDeclaration =
  | ColumnDeclaration
  | JsonDeclaration
  | AvroDeclaration
  | CounterDeclaration
  | EmbeddedDeclaration
  | ColumnsDeclaration
  | PackedDeclaration
  | VersionsDeclaration;

/** When a hook runs. */
export type HookMoment =
  | 'beforePut'
  | 'afterPut'
  | 'beforeUpdate'
  | 'afterUpdate'
  | 'beforeDelete'
  | 'afterDelete'
  | 'afterLoad';

export interface HookDeclaration {
  readonly moment: HookMoment;
  /** The name of a method of the class, or the hook function itself. */
  readonly method: string | ((entity: object) => unknown);
}

/** The options of an index besides its elements. */
export type IndexOptions = StrongIndexOptions | EventualIndexOptions;

/** An index whose entries are written together with the rows. */
export interface StrongIndexOptions extends EntryOptions {
  /**
   * At most one entity has the same values; a write of a second one fails with ERR_CONFLICT. Default false.
   */
  readonly unique?: boolean;
  readonly consistency?: 'strong';
}

/** An index whose entries are written after the rows. */
export interface EventualIndexOptions extends EntryOptions {
  /** An eventual index cannot be unique, since uniqueness must be checked when a row is written. */
  readonly unique?: false;
  /**
   * `'strong'` (default): entries are written with the row. `'eventual'`: the write only queues the entries to update, and they are written afterwards. Until then `by()` may miss the newest changes; it never returns a wrong row.
   */
  readonly consistency: 'eventual';
}

/** Options of an index's entries. */
export interface EntryOptions {
  /** Columns stored in the entries too. A query that selects no other columns reads only the index. */
  readonly include?: readonly string[];
  /** A condition as in a query's `where`: only entities that satisfy it have entries. Default: all. */
  readonly where?: Readonly<Record<string, unknown>>;
  /** For a part that is a Map: whether its values (default) or its keys are indexed. */
  readonly each?: 'keys' | 'values';
}

/** The declaration of an index. */
export interface IndexDeclaration {
  readonly name: string;
  readonly elements: readonly KeyElement[];
  readonly options: IndexOptions | undefined;
}

/** The default of a property. */
export interface DefaultDeclaration {
  readonly property: string;
  readonly make: () => unknown;
}

/** How a column is computed from its entity. */
export interface ComputedDeclaration {
  readonly property: string;
  readonly compute: (entity: never) => unknown;
}

/** A property that stands for other entities. */
export interface RelationDeclaration {
  readonly kind: 'one' | 'many';
  readonly decorator: string;
  readonly property: string;
  readonly target: () => AnyClass;
  /** Maps each part of the other's key to the property that holds it here. */
  readonly via: Readonly<Record<string, string>>;
  readonly max?: number | undefined;
  /** The index of the other that finds its rows. Undefined: its key does. */
  readonly index?: string | undefined;
  /** The options as they were given: of `@Reference` the referential rules. Checked when the schema is compiled. */
  readonly options: object;
}

/** Properties that are copies of another entity's. Checked when the schema is compiled. */
export interface CopyDeclaration {
  readonly source: () => AnyClass;
  readonly options: {
    readonly via: string | Readonly<Record<string, string>>;
    readonly fields: Readonly<Record<string, string>>;
    readonly fanOut?: number;
  };
}

/** The declaration of an upgrade. Checked when the schema is compiled. */
export interface UpgradeDeclaration {
  readonly from: number;
  readonly options: {
    /** A class with the old columns; undefined if none were given. */
    readonly old: AnyClass | undefined;
    readonly sets: readonly string[];
    readonly writeBack?: boolean;
  };
  readonly upgrade: (old: Readonly<Record<string, unknown>>) => unknown;
}

/** A figure of a summary: a number of rows, or an aggregate of a property's values. */
export type FigureDefinition =
  | 'count'
  | { readonly count: string }
  | { readonly sum: string }
  | { readonly avg: string }
  | { readonly min: string }
  | { readonly max: string };

/** The argument of `@Summary`. */
export interface SummaryDefinition {
  /** The properties by which rows are grouped. If empty, all rows are one group. */
  readonly by: readonly string[];
  readonly figures: Readonly<Record<string, FigureDefinition>>;
  /** A condition as in a query's `where`: only rows that satisfy it count. Default: all. */
  readonly where?: Readonly<Record<string, unknown>>;
}

/** The declaration of a summary. Checked when the schema is compiled. */
export interface SummaryDeclaration {
  readonly name: string;
  readonly definition: SummaryDefinition;
}

export interface CheckDeclaration {
  /** Undefined if the whole entity is validated. */
  readonly property: string | undefined;
  readonly validator: Validator;
}

/**
 * The part of a Standard Schema (https://standardschema.dev) that validation uses. zod, valibot, arktype and
 * others implement it.
 */
export interface Validator<T = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => ValidatorResult<T> | Promise<ValidatorResult<T>>;
  };
}

export type ValidatorResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly ValidatorIssue[] };

export interface ValidatorIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Everything declared on one class, without its base classes. */
export interface ClassDeclaration {
  readonly tables: TableDeclaration[];
  readonly entities: EntityDeclaration[];
  readonly rowKeys: (readonly KeyElement[])[];
  readonly properties: PropertyDeclaration[];
  readonly hooks: HookDeclaration[];
  readonly checks: CheckDeclaration[];
  readonly avroRecords: AvroRecordDeclaration[];
  readonly avroFields: AvroFieldDeclaration[];
  /** Properties with `@Ttl`. */
  readonly ttls: string[];
  /** Properties with `@Required`. */
  readonly required: string[];
  readonly defaults: DefaultDeclaration[];
  readonly computed: ComputedDeclaration[];
  readonly indexes: IndexDeclaration[];
  readonly relations: RelationDeclaration[];
  readonly copies: CopyDeclaration[];
  readonly summaries: SummaryDeclaration[];
  readonly upgrades: UpgradeDeclaration[];
  /**
   * Mistakes found by the decorators themselves. They are reported with all others when the schema is
   * compiled.
   */
  readonly problems: string[];
}

export function emptyDeclaration(): ClassDeclaration {
  return {
    tables: [],
    entities: [],
    rowKeys: [],
    properties: [],
    hooks: [],
    checks: [],
    avroRecords: [],
    avroFields: [],
    ttls: [],
    required: [],
    defaults: [],
    computed: [],
    indexes: [],
    relations: [],
    copies: [],
    summaries: [],
    upgrades: [],
    problems: [],
  };
}
