import { InvalidArgumentError } from '../../errors.js';
import type { StoredIndex } from '../../features/indexes/states.js';
import type { TableDescriptor } from '../../table/index.js';

/** What a plan of a schema is made of: plain values, so that it can be printed, kept and compared. */

/** What a step costs; docs/schema.md says what `apply` does with each. */
export type StepClass = 'online' | 'rewrite' | 'meaning' | 'offline' | 'data-loss' | 'manual';

export type StepKind =
  | 'create-namespace'
  | 'create-table'
  | 'add-family'
  | 'drop-family'
  /** One option or setting of a table or family. */
  | 'set'
  /** What the table's metadata keeps of an entity. */
  | 'stamp'
  | 'register-schema'
  /** Values of an entity's columns that still stand where they stood before. */
  | 'move-columns'
  /** Rows of an entity that were written as an older version. */
  | 'upgrade-rows'
  /** What stands in a column that an entity does not declare any more. */
  | 'drop-column'
  /** The rows of an entity that is used no more. */
  | 'retire'
  /** Entries of an index for the rows that are there. */
  | 'build-index'
  /** The entries of an index that is not declared. */
  | 'drop-index'
  | 'split'
  | 'compact'
  | 'job';

/** One step from the tables as they are to those declared. */
export interface SchemaStep {
  /** Stable from run to run: `versions:shop:crm/d`, `drop-family:shop:crm/old`. */
  readonly id: string;
  readonly kind: StepKind;
  readonly class: StepClass;
  /** A sentence. */
  readonly why: string;
  /** "namespace:name"; of `create-namespace` the namespace. */
  readonly table: string;
  readonly family?: string;
  /** Of `set`: as in `@Table`; of settings `configuration.hbase.x`, `metadata.x`. Of `stamp`: the name in the metadata. */
  readonly option?: string;
  /** Undefined: it is not there, or is to be removed. */
  readonly from?: unknown;
  readonly to?: unknown;
}

/** Something that a table has and its declaration does not speak of. */
export interface UnmanagedSetting {
  readonly table: string;
  readonly family?: string;
  /** `configuration.x`, `metadata.x`, or `record type 3 (Invoice)`. */
  readonly name: string;
  readonly value: string;
}

/** What no step mends. */
export interface Contradiction {
  readonly table: string;
  /** What is wrong, and what to do. */
  readonly message: string;
}

export interface SchemaPlan {
  /** In the order in which they are done. Empty: everything is as declared, but for contradictions. */
  readonly steps: readonly SchemaStep[];
  readonly unmanaged: readonly UnmanagedSetting[];
  readonly contradictions: readonly Contradiction[];
  /** Of the steps and contradictions: the first 16 hex digits of a SHA-256. */
  readonly checksum: string;
}

/** A table as it is, or as a snapshot has it. */
export interface TableState {
  readonly descriptor: TableDescriptor;
  /** Where regions begin, without the first. */
  readonly splitKeys: readonly Uint8Array[];
  /** A disabled table cannot be split or compacted. */
  readonly enabled: boolean;
  /** Whether the service alone decides where regions begin: nothing is split then. */
  readonly splitsItself?: boolean;
}

/** Tables as they are: what a declaration is held against. */
export interface SchemaState {
  readonly namespaces: ReadonlySet<string>;
  readonly tables: ReadonlyMap<string, TableState>;
  /** What is stored of the indexes of each declared table, by id in hex; undefined: nobody has looked. */
  readonly indexes?: ReadonlyMap<string, ReadonlyMap<string, StoredIndex>>;
}

export interface PlanOptions {
  /** Unset what tables have and declarations do not speak of. Default false. */
  readonly prune?: boolean;
}

/** Which steps of a plan may be done: what `--allow` says. */

/** `meaning`, `offline`, or `data-loss:` and the id of a step. */
export type Allowance = 'meaning' | 'offline' | `data-loss:${string}`;

/** Steps that are done, and those that wait for a word. */
export interface Admission {
  readonly admitted: readonly SchemaStep[];
  readonly held: readonly SchemaStep[];
}

const FREE: ReadonlySet<StepClass> = new Set(['online', 'rewrite']);
const BY_CLASS: ReadonlySet<string> = new Set(['meaning', 'offline']);

/**
 * @throws InvalidArgumentError on an allowance that is none, or that names no step of the plan that loses data: a name
 * mistyped is not to pass for nothing allowed.
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
  // A family is only written anew for what was altered.
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
