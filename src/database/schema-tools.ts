/** The schema of an open database: plans and applies the steps from its tables to its declarations. */

import { AvroRegistry, MemorySchemaStore, schemaTableDescriptor, TableSchemaStore } from '../codec/index.js';
import type { Applicable, AppliedPlan, ApplyOptions } from '../ddl/apply/apply.js';
import type { ReadPlanRecord } from '../ddl/apply/history.js';
import {
  adoptMarkers,
  checkSnapshot,
  type FeatureSteps,
  type LiveTables,
  type PlanOptions,
  planSchema,
  readSchemaState,
  type SchemaPlan,
  type SchemaState,
  type SnapshotPlan,
  snapshotOf,
  subjectStates,
} from '../ddl/index.js';
import type {
  DeployedMigrations,
  DeployOptions,
  MigrationStatus,
  MigrationTarget,
  UndoneMigration,
  UndoOptions,
} from '../ddl/migrate/deploy.js';
import type { Migration, MigrationRequest } from '../ddl/migrate/migration-files.js';
import type { Evolution } from '../features/evolution/handle.js';
import { systemTables } from '../features/tables.js';
import type { JobOutcome, JobRunOptions } from '../job/index.js';
import { avroColumns, type LintFinding, type LintOptions, lintTables, type Schema } from '../schema/index.js';
import type { EntityClass, EntitySchema, TableSchema } from '../schema/types.js';
import { checkGiven, checkOptions } from '../table/checks.js';
import type { Engine } from '../table/index.js';

/** The features of a database that change rows when its declarations change. */
interface SchemaFeatures {
  readonly schemaSteps: FeatureSteps;
  plannedTables(tables: LiveTables): Promise<LiveTables>;
  unbuilt(): Promise<readonly string[]>;
  readonly named: { readonly evolution: Evolution };
}

/** Plans and applies a schema on an engine (docs/schema.md). */
export class SchemaTools {
  constructor(
    private readonly engine: Engine,
    private readonly declared: () => Schema,
    private readonly features: SchemaFeatures,
  ) {}

  /**
   * The steps from the live tables to the declared ones. Changes nothing.
   * @throws errors of reading the tables.
   */
  async plan(options: PlanOptions = {}): Promise<SchemaPlan> {
    checkOptions('plan', options, { prune: true });
    const declared = this.declared();
    const state = await this.state();
    const descriptors = new Map([...state.tables].map(([name, { descriptor }]) => [name, descriptor]));
    const schema = adoptMarkers(declared, descriptors);
    const stored = state.tables.has(schemaTableDescriptor().name);
    const registry = stored ? this.registry() : new AvroRegistry(new MemorySchemaStore());
    const subjects = await subjectStates(registry, schema.entities);
    return planSchema([...schema.tables, ...systemTables(schema)], state, subjects, options);
  }

  /**
   * What is declared and must be built before it can be read, and no step builds, as summaries: each a sentence with
   * the command. Changes nothing.
   */
  async unbuilt(): Promise<readonly string[]> {
    return this.features.unbuilt();
  }

  /**
   * Applies the allowed steps of the plan under a lock, and records it in the history.
   * @throws SchemaError on contradictions; InvalidArgumentError on an allowance that matches no step; ConflictError
   * when the plan differs from the expected one; RowanError `ERR_LOCKED` when another program is applying one.
   */
  async apply(options: ApplyOptions = {}): Promise<AppliedPlan> {
    const { prune } = checkGiven('apply', options);
    const { applySchema } = await import('../ddl/apply/apply.js');
    return applySchema(this.applicable(prune === undefined ? {} : { prune }), options);
  }

  /**
   * The declarations as text for a file in the repository, against which `check` compares later ones. `before` is the
   * text of the previous snapshot: its Avro schemas are kept, since stored values still need them.
   * @throws InvalidArgumentError when `before` is no snapshot.
   */
  snapshot(before?: string): string {
    return snapshotOf(this.declared(), systemTables, before);
  }

  /**
   * The steps from a snapshot to the declarations, and the tables that are no longer declared. Reads and changes no
   * table.
   * @throws InvalidArgumentError when the text is no snapshot.
   */
  async check(snapshot: string, options: PlanOptions = {}): Promise<SnapshotPlan> {
    checkOptions('check', options, { prune: true });
    return checkSnapshot(this.declared(), systemTables, snapshot, options);
  }

  /**
   * Checks the declarations against rules of thumb (docs/lint.md). Warnings first.
   * @throws InvalidArgumentError on a suppression without a reason or of an unknown rule.
   */
  lint(options: LintOptions = {}): LintFinding[] {
    return lintTables(this.declared().tables, checkGiven('lint', options));
  }

  /** The applied plans, oldest first. */
  async history(): Promise<ReadPlanRecord[]> {
    const { schemaHistory } = await import('../ddl/apply/apply.js');
    return schemaHistory(this.engine);
  }

  /**
   * Makes the migration from the last one of a folder to the declarations, and writes its files (docs/migrations.md).
   * Reads and changes no table. Undefined: the declarations are those of the last migration.
   * @throws SchemaError on contradictions, or when the folder's migrations do not follow each other;
   * InvalidArgumentError on an allowance that no step needs; RowanError `ERR_IO` when the files cannot be read or written.
   */
  async makeMigration(
    folder: string,
    options: Pick<MigrationRequest, 'title' | 'allow'> = {},
  ): Promise<Migration | undefined> {
    const { title, allow } = checkGiven('makeMigration', options);
    const { makeMigration } = await import('../ddl/migrate/migration-files.js');
    return makeMigration(folder, {
      declared: this.declared(),
      own: systemTables,
      now: Date.now(),
      ...(title !== undefined && { title }),
      ...(allow !== undefined && { allow }),
    });
  }

  /**
   * Which migrations of a folder the database has, and which tables differ from the declarations. Changes nothing.
   * @throws InvalidArgumentError when the folder does not exist; SchemaError when its migrations do not follow each other.
   */
  async migrationStatus(folder: string): Promise<MigrationStatus> {
    const { migrationStatus } = await import('../ddl/migrate/deploy.js');
    return migrationStatus(this.migrated(), await migrationsOf(folder));
  }

  /**
   * Deploys the pending migrations of a folder, in order, under the schema lock. Doing it again, or at once in several
   * processes, does nothing more; after a crash it continues.
   * @throws InvalidArgumentError when the folder does not exist; SchemaError when a deployed migration was changed or is missing, when the declarations are not those of the
   * last migration, or on contradictions; RowanError `ERR_LOCKED` while another process deploys.
   */
  async deploy(folder: string, options: DeployOptions = {}): Promise<DeployedMigrations> {
    checkOptions('deploy', options, {
      compact: true,
      leaseMs: true,
      lockWaitMs: true,
      by: true,
      onStep: true,
    });
    const { deployMigrations } = await import('../ddl/migrate/deploy.js');
    return deployMigrations(this.migrated(), await migrationsOf(folder), options);
  }

  /**
   * Undoes the migration that was deployed last, as far as its steps have back-outs. Undefined: none is deployed.
   * @throws InvalidArgumentError when the folder does not exist; SchemaError when its files were changed or are missing;
   * RowanError `ERR_LOCKED`.
   */
  async undoMigration(folder: string, options: UndoOptions = {}): Promise<UndoneMigration | undefined> {
    checkOptions('undoMigration', options, {
      allow: true,
      leaseMs: true,
      lockWaitMs: true,
      by: true,
      onStep: true,
    });
    const { undoMigration } = await import('../ddl/migrate/deploy.js');
    return undoMigration(this.migrated(), await migrationsOf(folder), options);
  }

  /**
   * Moves the values of an entity's columns from their former places (`was`), each version with its timestamp, while
   * readers and writers continue. Then checks every row again, and records that the former places are empty. Resumes
   * an unfinished run. `apply` does this as a step of its plan; called directly it can be throttled, observed and
   * aborted.
   * @throws InvalidArgumentError when no column of it has moved; UnsupportedError when its rows have a TTL, since
   * moved cells would not; ConflictError when a program still writes to the former places; RowanError `ERR_CODEC` on a
   * value that cannot be migrated.
   */
  async moveColumns(target: EntityClass, run: JobRunOptions = {}): Promise<JobOutcome> {
    return this.features.named.evolution.moveColumns(target, run);
  }

  /**
   * Records, without checking, that the former places of an entity's columns are empty: for entities with a TTL.
   * Their `was` can be removed then.
   * @throws InvalidArgumentError when no column of it has moved.
   */
  async settleColumns(target: EntityClass): Promise<void> {
    await this.features.named.evolution.settleColumns(target);
  }

  /**
   * Rewrites the rows of older versions as the present version, while readers and writers continue. Then checks every
   * row again, and records that none of an older version is left, so that the `@Upgrade`s can be removed. Resumes an
   * unfinished run. `apply` does this as a step of its plan.
   * @throws InvalidArgumentError when it has no upgrades; ConflictError when a program still writes rows of an older
   * version; RowanError `ERR_CODEC` on a row that cannot be upgraded.
   */
  async upgradeRows(target: EntityClass, run: JobRunOptions = {}): Promise<JobOutcome> {
    return this.features.named.evolution.upgradeRows(target, run);
  }

  private async state(): Promise<SchemaState> {
    const declared = this.declared();
    const tables = [...declared.tables, ...systemTables(declared)];
    return readSchemaState(this.engine.admin, tables, (live) => this.features.plannedTables(live));
  }

  private migrated(): MigrationTarget {
    return {
      ...this.applicable({}),
      state: () => this.state(),
      declaredTables: () => this.declared().tables.map(({ descriptor }) => descriptor.name),
      unbuilt: () => this.unbuilt(),
      differenceFrom: (snapshot) => this.check(snapshot),
    };
  }

  private applicable(options: PlanOptions): Applicable {
    return {
      engine: this.engine,
      plan: () => this.plan(options),
      register: async (subject) => {
        const columns = this.declared().entities.flatMap(avroColumns);
        const { codec } = columns.find((column) => column.subject === subject)!;
        await this.registry().register(subject, codec.schema, codec.compatibility);
      },
      steps: this.features.schemaSteps,
    };
  }

  private registry(): AvroRegistry {
    return new AvroRegistry(new TableSchemaStore(this.engine.table(schemaTableDescriptor().name)));
  }
}

async function migrationsOf(folder: string): Promise<readonly Migration[]> {
  const { readExistingMigrations } = await import('../ddl/migrate/migration-files.js');
  return readExistingMigrations(folder);
}

/** The schema of an open database (`database.schema`): the compiled schema with {@link SchemaTools}. */
export class LiveSchema extends SchemaTools {
  constructor(
    engine: Engine,
    private readonly current: () => Schema,
    features: SchemaFeatures,
  ) {
    super(engine, current, features);
  }

  /** In the order they were given. */
  get entities(): readonly EntitySchema[] {
    return this.current().entities;
  }

  /** In the order of their names. */
  get tables(): readonly TableSchema[] {
    return this.current().tables;
  }

  /** Retired entities, whose rows `apply` removes, in the order of their tables. */
  get retired(): readonly EntitySchema[] {
    return this.current().retired;
  }

  /** Warnings of lint, each a sentence. */
  get warnings(): readonly string[] {
    return this.current().warnings;
  }

  /** @throws SchemaError when the class is not one of the schema's entities. */
  entity<E extends object>(target: EntityClass<E>): EntitySchema<E> {
    return this.current().entity(target);
  }

  /** The entities whose classes are `base` or extend it. */
  subtypes(base: EntityClass): EntitySchema[] {
    return this.current().subtypes(base);
  }

  /**
   * The entity of a row, from the key layouts and record types. Undefined: of none. @throws InvalidArgumentError when the row is
   * not bytes.
   */
  entityOfRow(tableName: string, row: Uint8Array): EntitySchema | undefined {
    return this.current().entityOfRow(tableName, row);
  }

  has(target: EntityClass): boolean {
    return this.current().has(target);
  }
}
