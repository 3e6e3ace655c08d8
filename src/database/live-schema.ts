/** The schema of an open database: what is declared, and how it is brought to the tables. */

import { AvroRegistry, MemorySchemaStore, schemaTableDescriptor, TableSchemaStore } from '../codec/index.js';
import {
  type Applicable,
  type AppliedPlan,
  type ApplyOptions,
  adoptMarkers,
  applySchema,
  type PlanOptions,
  planSchema,
  type ReadPlanRecord,
  readSchemaState,
  type SchemaPlan,
  schemaHistory,
  subjectStates,
  systemTables,
} from '../ddl/index.js';
import { avroColumns, type LintFinding, type LintOptions, lintTables, type Schema } from '../schema/index.js';
import type { EntityClass, EntitySchema, TableSchema } from '../schema/types.js';
import { checkOptions } from '../table/checks.js';
import type { Engine } from '../table/index.js';

/** Plans and applies a schema on an engine; docs/schema.md. */
export class SchemaTools {
  constructor(
    private readonly engine: Engine,
    private readonly declared: () => Schema,
  ) {}

  /**
   * The steps from the tables as they are to those declared. Changes nothing.
   * @throws what reading the tables throws.
   */
  async plan(options: PlanOptions = {}): Promise<SchemaPlan> {
    checkOptions('plan', options, { prune: true });
    const declared = this.declared();
    const state = await readSchemaState(this.engine.admin, [...declared.tables, ...systemTables(declared)]);
    const descriptors = new Map([...state.tables].map(([name, { descriptor }]) => [name, descriptor]));
    const schema = adoptMarkers(declared, descriptors);
    const stored = state.tables.has(schemaTableDescriptor().name);
    const registry = stored ? this.registry() : new AvroRegistry(new MemorySchemaStore());
    const subjects = await subjectStates(registry, schema.entities);
    return planSchema([...schema.tables, ...systemTables(schema)], state, subjects, options);
  }

  /**
   * Applies what is allowed of the plan, under a lock, and keeps it in the history.
   * @throws SchemaError on contradictions; InvalidArgumentError on an allowance that names nothing of the plan;
   * ConflictError when the plan is not the expected one; RowanError `ERR_LOCKED` when another one is at it.
   */
  apply(options: ApplyOptions = {}): Promise<AppliedPlan> {
    const { prune } = options;
    return applySchema(this.applicable(prune === undefined ? {} : { prune }), options);
  }

  /**
   * What the declarations smell of, by rules of thumb (docs/lint.md); warnings first.
   * @throws InvalidArgumentError on a suppression without a reason or of an unknown rule.
   */
  lint(options: LintOptions = {}): LintFinding[] {
    return lintTables(this.declared().tables, options);
  }

  /** The plans that were applied, oldest first. */
  history(): Promise<ReadPlanRecord[]> {
    return schemaHistory(this.engine);
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
    };
  }

  private registry(): AvroRegistry {
    return new AvroRegistry(new TableSchemaStore(this.engine.table(schemaTableDescriptor().name)));
  }
}

/** What `database.schema` is: the compiled schema, with {@link SchemaTools}. */
export class LiveSchema extends SchemaTools {
  constructor(
    engine: Engine,
    private readonly current: () => Schema,
  ) {
    super(engine, current);
  }

  /** In the order they were given. */
  get entities(): readonly EntitySchema[] {
    return this.current().entities;
  }

  /** In the order of their names. */
  get tables(): readonly TableSchema[] {
    return this.current().tables;
  }

  /** What breaks no rule but is likely to cost: each a sentence. */
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

  /** The entity that a row of a table is of, told by the layouts and record types of keys. */
  entityOfRow(tableName: string, row: Uint8Array): EntitySchema | undefined {
    return this.current().entityOfRow(tableName, row);
  }

  has(target: EntityClass): boolean {
    return this.current().has(target);
  }
}
