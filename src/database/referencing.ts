/** The referential rules of an open database. */

import { QueryError } from '../errors.js';
import type { JobRunOptions } from '../job/index.js';
import { checkReferences, type ReferenceReport } from '../job/links/index.js';
import {
  type ChangeParticipant,
  ReferenceHolder,
  ReferencePlan,
  ReferenceTarget,
} from '../repository/index.js';
import type { Schema } from '../schema/index.js';
import type { EntityClass, EntitySchema } from '../schema/types.js';
import type { Engine } from '../table/index.js';
import type { IndexHandle } from './index-handle.js';
import type { Indexing } from './indexing.js';

/** The rules of the relations of one entity. Made by `Database.references`. */
export class ReferenceHandle {
  constructor(
    private readonly engine: Engine,
    private readonly schema: EntitySchema,
    private readonly plans: readonly ReferencePlan[],
    private readonly indexes: readonly IndexHandle[],
  ) {}

  /** Counts the rows that name what is not there. Changes nothing. */
  check(run?: JobRunOptions): Promise<ReferenceReport> {
    return checkReferences(this.engine, this.schema, this.plans, run);
  }

  /** Builds the indexes by which deletes find the rows, where they lack rows, and checks. */
  async backfill(run?: JobRunOptions): Promise<ReferenceReport> {
    for (const index of this.indexes) if (index.state !== 'active') await index.build(run);
    return this.check(run);
  }
}

export class Referencing {
  private byHolder = new Map<EntityClass, readonly ReferencePlan[]>();
  private byTarget = new Map<EntityClass, readonly ReferencePlan[]>();

  constructor(
    private readonly engine: Engine,
    private readonly schemaOf: (target: EntityClass) => EntitySchema,
    private readonly indexing: Indexing,
  ) {}

  adopt({ entities }: Schema): void {
    this.byHolder = new Map();
    this.byTarget = new Map();
    for (const { target, references } of entities) {
      const plans = references.map(
        (rule) => new ReferencePlan(this.schemaOf(target), rule, this.schemaOf(rule.target())),
      );
      if (plans.length > 0) this.byHolder.set(target, plans);
      for (const plan of plans) {
        if (plan.rule.onDelete === undefined) continue;
        const { target: named } = plan.other;
        this.byTarget.set(named, [...(this.byTarget.get(named) ?? []), plan]);
      }
    }
  }

  participants({ target }: EntitySchema): ChangeParticipant[] {
    const held = this.byHolder.get(target);
    const named = this.byTarget.get(target);
    const out: ChangeParticipant[] = [];
    if (held !== undefined) out.push(new ReferenceHolder(held[0]!.entity, held));
    if (named !== undefined) {
      out.push(
        new ReferenceTarget(
          named[0]!.other,
          named,
          () => this.engine.now(),
          (index) => this.indexing.stateOf(index),
        ),
      );
    }
    return out;
  }

  /** The rules about the deletes of an entity. */
  plansAbout({ target }: EntitySchema): readonly ReferencePlan[] {
    return this.byTarget.get(target) ?? [];
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
    return new ReferenceHandle(
      this.engine,
      schema,
      plans,
      [...names].map((name) => this.indexing.handle(schema, name)),
    );
  }
}
