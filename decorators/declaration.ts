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

/** Any class at all. */
export type AnyClass = abstract new (...args: never[]) => object;

/** What decorators write down. Plain data, which the schema checks and compiles. */

/** A column as "family:qualifier", or with a qualifier of any bytes. */
export type ColumnName = string | { readonly family: string; readonly qualifier: Uint8Array };

/** Where a property stood before, in cells of another codec; `formerly` makes it. */
export interface FormerColumn<T> {
  readonly column: ColumnName;
  readonly codec: ValueCodec<unknown>;
  /** What the property is to be for what the old cell held. */
  readonly migrate: (old: never) => T;
}

/** A place alone: the cells there have the property's codec. */
export type FormerPlace<T> = ColumnName | FormerColumn<T>;

/** What a column may say beside its place and codec. */
export interface ColumnOptions<T> {
  /**
   * Where the property stood before, "family:qualifier" or `formerly(...)`. Values there are read as the property's until
   * they have been moved; writes go to the column and remove them. docs/schema.md, "Columns that move".
   */
  readonly was?: readonly FormerPlace<T>[];
}

/** What `@Table` and `defineTable` take. */
export interface TableDeclaration extends TableOptions {
  /** "namespace:name", or "name" in the default namespace. */
  readonly name: string;
  /** Families and their options; each option left out has HBase's default. */
  readonly families: Readonly<Record<string, FamilyOptions>>;
  /** How a new table is split into regions. Default one region. */
  readonly presplit?: Presplit;
}

/**
 * How a new table is split. `regions` alone: the split points follow from the key layouts, where these begin with salts,
 * digests, random ids or digits; a warning of the schema says when fewer regions result. For other keys: `algorithm` is
 * one of HBase's own (8 hex digits, 8 decimal digits, 8 bytes); `samples` are keys that stand for those to come (objects
 * of key parts of the first entity, or rows) and are cut into equal shares; `between` the first and the last value of the
 * leading part. `splits` are the points themselves.
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

/** A table: a class with `@Table`, or what `defineTable` answered. */
export type TableReference = AnyClass | TableDeclaration;

export interface EntityDeclaration {
  readonly table: TableReference;
  /** 0..255, the entity's number in its table. Needed where several entities share a table; never change it. */
  readonly recordType?: number;
  /** What errors, explain and tools call the entity. Default: the class's name. */
  readonly name?: string;
  /**
   * Whether every put also writes a marker cell `family:_`, which says that the row exists even when all of its columns
   * are absent. Default true: in the family of the column declared first. A family's name pins it there; false is for
   * tables that others write.
   */
  readonly marker?: boolean | string;
  /**
   * How long a new entity lives, ms, as a whole: later writes carry what remains of it. Default: without end. `@Ttl` goes
   * before it.
   */
  readonly ttl?: number;
  /** Every write begins the entity's life anew. Default false. */
  readonly renewTtl?: boolean;
  /**
   * Keeps what changes of the entity's rows, each with the row before and after, for `db.watch`: for `keep` milliseconds. Default:
   * nothing is kept. On HBase it needs `marks`: a family of the table in which nothing else stands. docs/changes.md.
   */
  readonly changes?: { readonly keep: number; readonly marks?: string };
  /**
   * 1..255, the version that rows are written as. Default 1. Whoever raises it says with `@Upgrade` what makes a row of the
   * version before one of this.
   */
  readonly schemaVersion?: number;
  /** Used no more: its rows are neither read nor written, and a step of the plan removes them. Default false. docs/schema.md. */
  readonly retired?: boolean;
  /** Classes that extend this one and have no `@Entity` are the same entity; so it is with `defineEntity`. */
  readonly inheritable?: boolean;
}

/** What a property is for beyond holding a value. */
export type ColumnRole = 'version' | 'createdAt' | 'updatedAt' | 'deletedAt';

interface StoredProperty {
  /** The decorator's name, for messages. */
  readonly decorator: string;
  readonly property: string;
}

/** A property in one cell. */
export interface ColumnDeclaration extends StoredProperty {
  readonly kind: 'column';
  readonly column: ColumnName;
  /** Undefined: taken from the type that the compiler emitted. */
  readonly codec: ValueCodec<unknown> | undefined;
  readonly role?: ColumnRole;
  readonly was?: ColumnOptions<unknown>['was'];
}

/** A class, or a list of its instances. Behind a function, so that modules may import each other. */
export type NestedType = () => AnyClass | readonly [AnyClass];

/** A value of JSON in one cell. */
export interface JsonDeclaration extends StoredProperty {
  readonly kind: 'json';
  readonly column: ColumnName;
  readonly type: NestedType | undefined;
  readonly was?: ColumnOptions<unknown>['was'];
}

/** A value of Avro in one cell. */
export interface AvroDeclaration extends StoredProperty {
  readonly kind: 'avro';
  readonly column: ColumnName;
  /** A class with `@AvroRecord`, a list of its instances, or an Avro type or schema. */
  readonly type: NestedType | AvroType<unknown> | AvroSchema;
  readonly options: AvroCodecOptions;
  readonly was?: ColumnOptions<unknown>['was'];
}

/** What `@AvroRecord` takes. */
export interface AvroRecordDeclaration extends Omit<AvroRecordOptions, 'fieldAliases'> {
  /** The record's name in the schema, which stays when the class is renamed. */
  readonly name: string;
}

/** A field of a class with `@AvroRecord`. */
export interface AvroFieldDeclaration {
  readonly property: string;
  readonly type: NestedType | AvroType<unknown>;
  /** A nested record may be null, which is the default. */
  readonly optional: boolean;
  /** Earlier names of the field. */
  readonly aliases: readonly string[] | undefined;
}

/** A counter in one cell. */
export interface CounterDeclaration extends StoredProperty {
  readonly kind: 'counter';
  readonly column: ColumnName;
  readonly was?: ColumnOptions<unknown>['was'];
}

/** An object whose properties are columns of their own. */
export interface EmbeddedDeclaration extends StoredProperty {
  readonly kind: 'embedded';
  /** Undefined inside another embedded object, whose family it has. */
  readonly family: string | undefined;
  readonly prefix: string;
  readonly type: () => AnyClass;
}

/** A Map: one cell for each entry, the key in the qualifier. */
export interface ColumnsDeclaration extends StoredProperty {
  readonly kind: 'columns';
  readonly column: ColumnName;
  readonly key: ValueCodec<unknown>;
  readonly value: ValueCodec<unknown>;
  readonly was?: ColumnOptions<unknown>['was'];
}

/** A Map from times (ms) in the row's time bucket to values: one cell for each, the offset in the qualifier. */
export interface PackedDeclaration extends StoredProperty {
  readonly kind: 'packed';
  readonly column: ColumnName;
  /** The part of the key that the bucket is made of. */
  readonly part: string;
  readonly value: ValueCodec<unknown>;
  /** Of the values, at the same times. */
  readonly was?: ColumnOptions<unknown>['was'];
}

/** The kept versions of one column. */
export interface VersionsDeclaration extends StoredProperty {
  readonly kind: 'versions';
  readonly column: ColumnName;
  readonly codec: ValueCodec<unknown>;
  readonly was?: ColumnOptions<unknown>['was'];
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
  /** The name of a method of the class, or the hook itself. */
  readonly method: string | ((entity: object) => unknown);
}

/** What an index is beside its elements. */
export type IndexOptions = StrongIndexOptions | EventualIndexOptions;

/** An index whose entries are never behind the rows. */
export interface StrongIndexOptions extends EntryOptions {
  /** At most one entity has the same values; a write that would make it two fails with ERR_CONFLICT. Default false. */
  readonly unique?: boolean;
  readonly consistency?: 'strong';
}

/** An index whose entries are written behind the rows. */
export interface EventualIndexOptions extends EntryOptions {
  /** Who has a value must be known when a row is written: an index that follows later cannot be unique. */
  readonly unique?: false;
  /**
   * `'strong'` (default): entries are written with the row. `'eventual'`: the row's step notes which entries are to be
   * looked at, and they are written behind it. `by()` may lack what was just written then; it never gives a wrong row.
   */
  readonly consistency: 'eventual';
}

/** What the entries of an index are. */
export interface EntryOptions {
  /** Columns that the entries hold too: a query that selects no others reads the index alone. */
  readonly include?: readonly string[];
  /** As in a query's `where`: only entities that meet it have entries. Default: all. */
  readonly where?: Readonly<Record<string, unknown>>;
  /** Of a part that is a Map: whether its values (default) or its keys are indexed. */
  readonly each?: 'keys' | 'values';
}

/** An index as it was declared. */
export interface IndexDeclaration {
  readonly name: string;
  readonly elements: readonly KeyElement[];
  readonly options: IndexOptions | undefined;
}

/** A value for a property that has none. */
export interface DefaultDeclaration {
  readonly property: string;
  readonly make: () => unknown;
}

/** A property that stands for other entities. */
export interface RelationDeclaration {
  readonly kind: 'one' | 'many';
  readonly decorator: string;
  readonly property: string;
  readonly target: () => AnyClass;
  /** For parts of the other's key the properties of this one. */
  readonly via: Readonly<Record<string, string>>;
  readonly max?: number | undefined;
  /** Referential rules, as they were given. */
  readonly rule?: { readonly onDelete?: 'restrict' | 'cascade' | 'setNull'; readonly exists?: boolean };
}

/** Properties that are copies of another entity's. What was given is checked when the schema is compiled. */
export interface CopyDeclaration {
  readonly source: () => AnyClass;
  readonly options: {
    readonly via: string | Readonly<Record<string, string>>;
    readonly fields: Readonly<Record<string, string>>;
    readonly fanOut?: number;
  };
}

/** An upgrade as it was declared. What was given is checked when the schema is compiled. */
export interface UpgradeDeclaration {
  readonly from: number;
  readonly options: {
    /** A class with the old columns; undefined when none were given. */
    readonly old: AnyClass | undefined;
    readonly sets: readonly string[];
    readonly writeBack?: boolean;
  };
  readonly upgrade: (old: Readonly<Record<string, unknown>>) => unknown;
}

/** A figure of a summary: of the rows, or of a property's values. */
export type FigureDefinition =
  | 'count'
  | { readonly count: string }
  | { readonly sum: string }
  | { readonly avg: string }
  | { readonly min: string }
  | { readonly max: string };

/** What `@Summary` takes. */
export interface SummaryDefinition {
  /** The properties that the rows of a group have in common; none: all rows are one group. */
  readonly by: readonly string[];
  readonly figures: Readonly<Record<string, FigureDefinition>>;
  /** As in a query's `where`: only rows that meet it count. Default: all. */
  readonly where?: Readonly<Record<string, unknown>>;
}

/** A summary as it was declared. What was given is checked when the schema is compiled. */
export interface SummaryDeclaration {
  readonly name: string;
  readonly definition: SummaryDefinition;
}

export interface CheckDeclaration {
  /** Undefined: the check is of the whole entity. */
  readonly property: string | undefined;
  readonly validator: Validator;
}

/** The part of a Standard Schema (https://standardschema.dev) that checks use: zod, valibot, arktype and others have it. */
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

/** Everything declared on one class, without what it inherits. */
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
  readonly indexes: IndexDeclaration[];
  readonly relations: RelationDeclaration[];
  readonly copies: CopyDeclaration[];
  readonly summaries: SummaryDeclaration[];
  readonly upgrades: UpgradeDeclaration[];
  /** Mistakes that a decorator saw at once; reported with all others when the schema is compiled. */
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
    indexes: [],
    relations: [],
    copies: [],
    summaries: [],
    upgrades: [],
    problems: [],
  };
}
