import { QueryError } from '../../errors.js';
import type { JobRunOptions } from '../../job/index.js';
import { MAX_EFFECTS, type RowMaintainer } from '../../repository/index.js';
import type { AdoptedSchema } from '../../schema/index.js';
import type { EntityClass, EntitySchema, IndexSchema } from '../../schema/types.js';
import { checkGiven } from '../../table/checks.js';
import type { Feature, FeatureContext } from '../feature.js';
import type { IndexesFeature, IndexHandle } from '../indexes/handle.js';
import type { DrainOptions, Outbox } from '../outbox.js';
import type { ReferenceRepairReport, ReferenceReport, ReferenceTargetRows } from './jobs.js';
import { ReferenceHolder, ReferencePlan, ReferenceTarget } from './maintain.js';

/** The referential rules of one entity. Made by `Database.references`. */
export class ReferenceHandle {
  constructor(
    private readonly target: ReferenceTargetRows,
    private readonly indexes: readonly IndexHandle[],
    private readonly outbox: Outbox,
  ) {}

  /** Counts the references to rows that do not exist. Changes nothing. */
  async check(run?: JobRunOptions): Promise<ReferenceReport> {
    const { checkReferences } = await import('./jobs.js');
    const { rows, valid, dangling } = await checkReferences(this.target, false, run);
    return { rows, valid, dangling };
  }

  /**
   * As `check`, and applies the rules to dangling references: `cascade` deletes their rows, `setNull` clears them.
   * Those of `restrict` and `exists` are left to the application, and so are cells with a timestamp in the future (`ahead`).
   */
  async repair(options: JobRunOptions & DrainOptions = {}): Promise<ReferenceRepairReport> {
    const { settledAfter, ...run } = checkGiven('repair', options);
    await this.outbox.drain(settledAfter === undefined ? {} : { settledAfter });
    const { checkReferences } = await import('./jobs.js');
    return checkReferences(this.target, true, run);
  }

  /** Builds the indexes by which deletes find rows, where they are incomplete, and checks. */
  async backfill(run?: JobRunOptions): Promise<ReferenceReport> {
    for (const index of this.indexes) if (index.state !== 'active') await index.build(run);
    return this.check(run);
  }
}

/** The rows that name a row by a relation with rules, as `Database.explainWrite` lists them. */
export interface ExplainedReference {
  readonly entity: string;
  readonly property: string;
  readonly onDelete: 'restrict' | 'cascade' | 'setNull';
  /** How the rows are found: `key`, or the name of an index. */
  readonly foundBy: string;
  /** The rows that name this one, counted up to 10,000. */
  readonly rows: number;
}

/** The references that a delete of a row affects. */
export interface ExplainedReferring {
  /** The rows that name this one, and what a delete of it does to them. */
  readonly referredBy: readonly ExplainedReference[];
}

/** The relations feature of an open database: its referential rules. */
export class RelationsFeature implements Feature {
  private byHolder = new Map<EntityClass, readonly ReferencePlan[]>();
  private byTarget = new Map<EntityClass, readonly ReferencePlan[]>();

  constructor(
    private readonly context: FeatureContext,
    private readonly indexes: IndexesFeature,
  ) {}

  adopt({ entities }: AdoptedSchema): void {
    const { schemaOf } = this.context;
    this.byHolder = new Map();
    this.byTarget = new Map();
    for (const { target, references } of entities) {
      const plans = references.map(
        (rule) => new ReferencePlan(schemaOf(target), rule, schemaOf(rule.target())),
      );
      if (plans.length > 0) this.byHolder.set(target, plans);
      for (const plan of plans) {
        if (plan.rule.onDelete === undefined) continue;
        const { target: named } = plan.other;
        this.byTarget.set(named, [...(this.byTarget.get(named) ?? []), plan]);
      }
    }
  }

  maintainers({ target }: EntitySchema): RowMaintainer[] {
    const holder = this.holderOf(target);
    const named = this.byTarget.get(target);
    const { context, indexes } = this;
    const stateOf = (index: IndexSchema) => indexes.stateOf(index);
    return [
      ...(holder === undefined ? [] : [holder]),
      ...(named === undefined ? [] : [new ReferenceTarget(named[0]!.other, named, context, stateOf)]),
    ];
  }

  private holderOf(target: EntityClass): ReferenceHolder | undefined {
    const held = this.byHolder.get(target);
    return held && new ReferenceHolder(held[0]!.entity, held, this.context);
  }

  sources({ references }: Pick<EntitySchema, 'references'>): ReturnType<NonNullable<Feature['sources']>> {
    return {
      what: 'referential rules (onDelete, exists)',
      entities: references.map(({ target }) => target()),
    };
  }

  /** @throws QueryError when the entity declares none. */
  handle(schema: EntitySchema): ReferenceHandle {
    const plans = this.byHolder.get(schema.target);
    if (plans === undefined) {
      throw new QueryError(
        `${schema.name} has no referential rules. Declare them: @Reference(…, { onDelete: 'restrict' }).`,
        { details: { entity: schema.name } },
      );
    }
    const names = new Set(schema.references.flatMap(({ index }) => index ?? []));
    const { engine, driver, isRemote, outbox, reading } = this.context;
    const repair = (row: Uint8Array) => this.holderOf(schema.target)!.repair(row);
    const rows = isRemote ? { remote: { reading, repair } } : { driver };
    return new ReferenceHandle(
      { engine, schema, plans, ...rows },
      [...names].map((name) => this.indexes.handle(schema, name)),
      outbox,
    );
  }

  async explain({ target }: EntitySchema, row: Uint8Array): Promise<ExplainedReferring> {
    const referredBy: ExplainedReference[] = [];
    for (const { entity, link, rule } of this.byTarget.get(target) ?? []) {
      const { rows } = await this.context.reading((step) => link.find(step, row, MAX_EFFECTS));
      const { property } = rule;
      const onDelete = rule.onDelete!;
      referredBy.push({ entity: entity.name, property, onDelete, foundBy: link.foundBy, rows: rows.length });
    }
    return { referredBy };
  }
}
