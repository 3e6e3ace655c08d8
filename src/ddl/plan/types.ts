import { InvalidArgumentError } from '../../errors.js';
import type { IndexState } from '../../query/access.js';
import type { TableSchema } from '../../schema/types.js';
import type { Admin, TableDescriptor } from '../../table/index.js';
import type { Source } from '../introspect/source.js';
import type { StampedColumn } from '../stamp-format.js';

// — The types of a schema plan: plain values, so that it can be printed, stored and compared.

/** The cost of a step. How `apply` treats each: docs/schema.md. */
export type StepClass = 'online' | 'rewrite' | 'meaning' | 'offline' | 'data-loss' | 'manual';

export type StepKind =
  | 'create-namespace'
  | 'create-table'
  | 'add-family'
  | 'drop-family'
  /** One option or setting of a table or family. */
  | 'set'
  /** The stamp of an entity in the table's metadata. */
  | 'stamp'
  | 'register-schema'
  /** Values of an entity's columns that are still at their former places. */
  | 'move-columns'
  /** Rows of an entity with an older schema version. */
  | 'upgrade-rows'
  /** The cells of a column that an entity no longer declares. */
  | 'drop-column'
  /** The rows of a retired entity. */
  | 'retire'
  /** Index entries for existing rows. */
  | 'build-index'
  /** The entries of an index that is no longer declared. */
  | 'drop-index'
  | 'split'
  | 'compact';

/** One step from the existing tables to the declared ones. */
export interface SchemaStep {
  /** Stable between runs: `versions:shop:crm/d`, `drop-family:shop:crm/old`. */
  readonly id: string;
  readonly kind: StepKind;
  readonly class: StepClass;
  /** The reason, as a sentence. */
  readonly why: string;
  /** "namespace:name"; for `create-namespace` the namespace. */
  readonly table: string;
  readonly family?: string;
  /**
   * For `set`: the option as in `@Table`; for settings `configuration.hbase.x`, `metadata.x`. For `stamp`: the name in
   * the metadata.
   */
  readonly option?: string;
  /** Undefined if there is no value before, or (`to`) after the step. */
  readonly from?: unknown;
  readonly to?: unknown;
}

/** A setting that a table has and its declaration does not mention. */
export interface UnmanagedSetting {
  readonly table: string;
  readonly family?: string;
  /** `configuration.x`, `metadata.x`, or `record type 3 (Invoice)`. */
  readonly name: string;
  readonly value: string;
}

/** A problem that no step solves. */
export interface Contradiction {
  readonly table: string;
  /** The problem, and what to do about it. */
  readonly message: string;
}

export interface SchemaPlan {
  /** In the order of execution. Empty if tables and declarations agree, apart from contradictions. */
  readonly steps: readonly SchemaStep[];
  readonly unmanaged: readonly UnmanagedSetting[];
  readonly contradictions: readonly Contradiction[];
  /** Covers steps and contradictions: the first 16 hex digits of a SHA-256. */
  readonly checksum: string;
}

/** A table as it exists, or as recorded in a snapshot. */
export interface TableState {
  readonly descriptor: TableDescriptor;
  /** The start keys of all regions but the first. */
  readonly splitKeys: readonly Uint8Array[];
  /** A disabled table cannot be split or compacted. */
  readonly enabled: boolean;
  /** Whether the service alone decides where regions begin, so that no splits are planned. */
  readonly splitsItself?: boolean;
}

/** An index in the metadata of its table. */
export interface StoredIndex {
  readonly entity: string;
  readonly index: string;
  /** The signature of its entries; see `IndexSchema.signature`. */
  readonly signature: string;
  /** `created`: by DDL statements, so rows may have existed before. */
  readonly state: IndexState | 'created';
  /** The number of builds begun after the index was disabled. Progress of an earlier build no longer counts. */
  readonly build: number;
  /** HBase, of an eventual index: whether all entries that were ever written are listed beside their rows. Default: false. */
  readonly listed?: boolean;
}

/** The indexes in the metadata of one table, by id in hex. */
export type StoredIndexes = ReadonlyMap<string, StoredIndex>;

/** A column with its property's name in a generated module. */
export interface NamedColumn extends StampedColumn {
  readonly declared: string;
}

/**
 * What the DDL knows of indexes: the metadata of their tables, and the steps from the stored indexes to the declared ones. A feature
 * implements it, and is listed in `feature-ddl.ts`.
 */
export interface IndexDdl {
  /** The name of the table with the entries of a table's indexes, and the metadata with which the DDL creates it. */
  created(table: TableSchema): readonly [table: string, metadata: Readonly<Record<string, string>>];
  /** The stored indexes of tables, by table name. */
  stored(admin: Admin, tables: readonly string[]): Promise<ReadonlyMap<string, StoredIndexes>>;
  /** The steps from the stored indexes of a table to the declared ones. */
  steps(table: TableSchema, stored: StoredIndexes, state: SchemaState): SchemaStep[];
  /** TypeScript that declares an index: `name: { on: [...], ... }`. Undefined if the metadata does not suffice. */
  source(stored: StoredIndex, columns: readonly NamedColumn[]): Source | undefined;
}

/** The existing tables, with which declarations are compared. */
export interface SchemaState {
  readonly namespaces: ReadonlySet<string>;
  readonly tables: ReadonlyMap<string, TableState>;
  /** The stored indexes of each declared table, by id in hex; undefined if they were not read. */
  readonly indexes?: ReadonlyMap<string, StoredIndexes> | undefined;
  /** Whether this is what a snapshot records, so that nothing is known of the tables that exist. */
  readonly recorded?: boolean;
}

export interface PlanOptions {
  /** Whether to unset settings that tables have and declarations do not mention. Default false. */
  readonly prune?: boolean;
}

// — Decides which steps of a plan may be applied, by `--allow`.

/** `meaning`, `offline`, or `data-loss:` and the id of a step. */
export type Allowance = 'meaning' | 'offline' | `data-loss:${string}`;

/** Steps that are applied, and steps that need an allowance. */
export interface Admission {
  readonly admitted: readonly SchemaStep[];
  readonly held: readonly SchemaStep[];
}

const FREE: ReadonlySet<StepClass> = new Set(['online', 'rewrite']);
const BY_CLASS: ReadonlySet<string> = new Set(['meaning', 'offline']);

/**
 * Selects the steps to apply.
 * @throws InvalidArgumentError on an unknown allowance, or one that names no data-loss step of the plan, so that a
 * typing error is not ignored.
 */
export function admit({ steps }: Pick<SchemaPlan, 'steps'>, allowances: readonly Allowance[]): Admission {
  if (!Array.isArray(allowances)) throw unknown(allowances, steps);
  const losses = new Set<string>();
  for (const allowance of allowances as readonly unknown[]) {
    if (typeof allowance === 'string' && BY_CLASS.has(allowance)) continue;
    const id = typeof allowance === 'string' && allowance.startsWith('data-loss:') ? allowance.slice(10) : '';
    if (!steps.some((step) => step.id === id && step.class === 'data-loss')) throw unknown(allowance, steps);
    losses.add(id);
  }
  const isAdmitted = (step: SchemaStep): boolean =>
    FREE.has(step.class) ||
    losses.has(step.id) ||
    (BY_CLASS.has(step.class) && (allowances as readonly string[]).includes(step.class));
  const admitted = steps.filter(isAdmitted);
  // A family is compacted only for options that were altered.
  const altered = new Set(
    admitted.filter(({ kind }) => kind === 'set').map(({ table, family }) => `${table}/${family}`),
  );
  const done = admitted.filter(
    ({ kind, table, family }) => kind !== 'compact' || altered.has(`${table}/${family}`),
  );
  return { admitted: done, held: steps.filter((step) => !isAdmitted(step)) };
}

function unknown(allowance: unknown, steps: readonly SchemaStep[]): InvalidArgumentError {
  const losses = steps.filter((step) => step.class === 'data-loss').map(({ id }) => `data-loss:${id}`);
  const known = ['meaning', 'offline', ...losses].join(', ');
  return new InvalidArgumentError(
    `Nothing of this plan can be allowed by ${JSON.stringify(allowance)}. What can be: ${known}.`,
  );
}
