/**
 * The interface of a feature, and the context that a database gives to its features. docs/extending.md says how to
 * add one.
 */

import type { FeatureSteps, LiveTables } from '../ddl/index.js';
import type { RowanError } from '../errors.js';
import type { JobRunOptions } from '../job/types.js';
import type { PathAccess, TableAccess } from '../query/index.js';
import type {
  ChangeStep,
  IntentDriver,
  MaintainerContext,
  RowEffect,
  RowEntries,
  RowImage,
  RowIntent,
  RowMaintainer,
  StepDriver,
  StepMaintainer,
} from '../repository/index.js';
import type { AdoptedSchema } from '../schema/index.js';
import type { EntityClass, EntitySchema, TableSchema } from '../schema/types.js';
import type { Engine, Result, Table } from '../table/index.js';
import type { Metric } from '../table/telemetry.js';
import type { Outbox } from './outbox.js';

/** A feature of an open database. `openFeatures` creates them all. */
export interface Feature {
  /**
   * Registers the feature's declarations. Called at opening, and again when entities are added.
   * @throws SchemaError on wrong declarations; UnsupportedError on declarations that the engine cannot support.
   */
  adopt?(schema: AdoptedSchema): void;
  /**
   * Rejects entities that the engine cannot support, before their tables are created.
   * @throws SchemaError.
   */
  check?(entities: readonly EntitySchema[]): void;
  /** The access paths to an entity's rows, for queries. Undefined: there are none. */
  paths?(entity: EntitySchema): PathAccess | undefined;
  /** The maintainers of an entity's rows that only the step driver runs, before all others. On HBase `entries` has their part. */
  stepMaintainers?(entity: EntitySchema): readonly StepMaintainer[];
  /** HBase: the entries that lead to an entity's rows, which the driver writes around each row. Undefined: there are none. */
  entries?(entity: EntitySchema, driver: IntentDriver): RowEntries | undefined;
  /** The maintainers of an entity's rows. Both drivers run them. */
  maintainers?(entity: EntitySchema): readonly RowMaintainer[];
  /**
   * HBase: returns a function from a row to the row that repositories write in its place, where one row follows another. Undefined: each
   * row is written itself.
   */
  writtenRow?(entity: EntitySchema): ((row: Uint8Array) => Uint8Array) | undefined;
  /** HBase: the intent that the feature writes before a row, beside that of the outbox. Undefined: none. */
  intent?(entity: EntitySchema): RowIntent | undefined;
  /**
   * Maintains the data that the feature stores about an entity's rows, for writes below its repository. Undefined:
   * there is none.
   */
  upkeep?(entity: EntitySchema): RowUpkeep | undefined;
  /**
   * The feature's own queue of pending effects. Absent: its effects are applied with the change, or by the database's
   * outbox.
   */
  readonly outbox?: Outbox | undefined;
  /** The entities whose changes the feature has to see on behalf of this one. They must be opened together. */
  sources?(entity: Pick<EntitySchema, 'copies' | 'references'>): {
    /** The data that the feature keeps for them, for messages: "copies". */
    readonly what: string;
    readonly entities: readonly EntityClass[];
  };
  /**
   * Rejects `repositoryIn` where the feature works in the declared table only.
   * @throws UnsupportedError.
   */
  refuseElsewhere?(entity: EntitySchema): void;
  /** Former names of an entity whose keys were changed in the same order: cursors made under them stay valid. */
  formerNames?(entity: EntitySchema): readonly string[];
  /** The changes of an entity's keys, under which it has the old keys or the new ones. */
  keyChanges?(entity: EntitySchema): Promise<readonly KeyChange[]>;
  /** The position of change feeds after all that is committed. Undefined: the entity's changes are not recorded. */
  feedPosition?(entity: EntitySchema): Promise<string> | undefined;
  /** Called after the last possible write of the entity's rows, before they are removed. */
  retire?(entity: EntitySchema): Promise<void>;
  /**
   * Reads stored state that queries or writes need, and updates it to match the declarations. Called once the tables exist, before the
   * entities are adopted: if it throws, the database keeps those it had.
   * @param before the tables as they were before this program opened them.
   * @param readOnly nothing may be written.
   * @throws SchemaError when this program cannot write the tables.
   */
  tablesReady?(tables: readonly TableSchema[], before: LiveTables, readOnly: boolean): Promise<void>;
  /**
   * Updates stored state to match the declarations. Called once the tables exist and the entities are adopted.
   * @param before the tables as they were before this program opened them.
   * @param readOnly nothing may be written.
   */
  tablesOpened?(tables: readonly TableSchema[], before: LiveTables, readOnly: boolean): Promise<void>;
  /**
   * Tables as schema plans are to see them: without what work of the feature that is not at its end has set, so that no plan takes it
   * back.
   */
  plannedTables?(tables: LiveTables): Promise<LiveTables>;
  /** Tables that work of the feature, begun and not at its end, may have disabled, and enables again. */
  offlineTables?(): Promise<readonly string[]>;
  /** The steps of schema plans that the feature carries out. */
  readonly schemaSteps?: FeatureSteps | undefined;
  /** What is declared and must be built before it can be read, and no schema step builds: sentences that name the command. */
  unbuilt?(): Promise<readonly string[]>;
  /** Metrics of the feature's pending work, and of work that only concurrent or abandoned writes make necessary. `limit`: rows to read of a queue. */
  backlog?(limit: number): Promise<readonly Metric[]>;
  /** Resumes work that an earlier opening of the database began. */
  resume?(): Promise<void>;
  /** Called when the database closes: the feature stops after its current step. */
  end?(): void | Promise<void>;
}

/** Shows tables as their entities are declared, to every layer above the engine. `openViews` creates them all. */
export interface TableViews {
  /** Registers the entities of a table, in place of those it had before. */
  declareTable(name: string, entities: readonly EntitySchema[]): void;
  /** The newest cells of a stored row, as its entity is declared. */
  declaredRow(table: string, row: Result): Result;
  /**
   * The table as its entities are declared; the table itself if rows are stored so.
   * @param writesBack whether rows that are read by key may be rewritten in their declared form.
   */
  view(table: Table, writesBack: boolean): Table;
}

/** Brings stored rows of an entity in their declared form. */
export type RowMigrator = (rows: readonly Uint8Array[]) => Promise<void>;

/**
 * Keeps what a feature stores about an entity's rows in line with rows that are written below their repository, as
 * re-keying writes them.
 */
export interface RowUpkeep {
  /** Called before the first row is written: the stored data must be complete. */
  prepare(run: JobRunOptions): Promise<void>;
  /** Embedded engine: the effects of a write, to be applied in its step. */
  effects(
    row: Uint8Array,
    before: RowImage,
    after: RowImage,
    step: Pick<ChangeStep, 'read'>,
  ): readonly RowEffect[];
  /** HBase: updates the stored data to the present state of these rows. Repeating it is harmless. */
  settle(rows: readonly Uint8Array[], signal: AbortSignal | undefined): Promise<void>;
  /** Compares the stored data with all rows while writes continue. @returns the number of differences. */
  verify(run: JobRunOptions): Promise<number>;
  /** HBase: called when all rows of the entity were removed together. */
  clear(): Promise<void>;
}

/** A change of an entity's keys, as features that know rows by their keys see it. */
export interface KeyChange {
  /** Which keys the entity has. */
  readonly side: 'old' | 'new';
  /** The name of the entity with the other keys. */
  readonly other: string;
  /**
   * `filling`: rows are being copied. `complete`: both layouts are equal. `over`: the old one is never written again.
   * `undone`: the new one was given up.
   */
  readonly stage: 'filling' | 'complete' | 'over' | 'undone';
  /** The position of feeds from which on the changes of the new side are complete. Undefined: they are not recorded. */
  readonly feedsFrom?: string | undefined;
  /** The position of feeds from which on changes are those of the other side alone. Undefined: there is none. */
  readonly feedsUntil?: string | undefined;
}

/** The parts of a database that a feature may use. */
export interface FeatureContext extends MaintainerContext {
  /** The engine, which shows tables as their entities are declared, even while columns are being moved. */
  readonly engine: Engine;
  /** The engine, which shows tables as they are stored. */
  readonly stored: Engine;
  /** Whether an atomic step is limited to one row, as on HBase. */
  readonly isRemote: boolean;
  /** Applies changes of several rows in one atomic step. Only for engines that have such steps. */
  readonly driver: StepDriver;
  /** Maintains the data that the features store about an entity's rows, for writes below its repository. */
  upkeep(entity: EntitySchema): readonly RowUpkeep[];
  /** The changes of an entity's keys. */
  keyChanges(entity: EntitySchema): Promise<readonly KeyChange[]>;
  /** The position of change feeds after all that is committed. Undefined: the entity's changes are not recorded. */
  feedPosition(entity: EntitySchema): Promise<string | undefined>;
  /** Makes the features finish their work on rows of the entity, which can no longer be written. */
  retire(entity: EntitySchema): Promise<void>;
  /** The pending effects of every feature. */
  readonly outbox: Outbox;
  /** Resolves when the background work of answered writes has ended. */
  rest(): Promise<void>;
  /** HBase: resolves when the work that follows this program's completed writes of an entity has ended. */
  followed(entity: EntitySchema): Promise<void>;
  declared(): AdoptedSchema;
  schemaOf(target: EntityClass): EntitySchema;
  /** The table of these entities, with a loader for Avro schemas that their rows may need. */
  access(entities: readonly EntitySchema[]): TableAccess;
  /** A stored row in the form in which its entity is declared. */
  declaredRow(table: string, row: Result): Result;
  /** Receives errors of background work that no caller awaits. */
  onFailure(error: RowanError): void;
}
