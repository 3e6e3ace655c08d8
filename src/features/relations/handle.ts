/** The referential rules of an open database. */

import { QueryError } from '../../errors.js';
import type { JobRunOptions } from '../../job/index.js';
import type { ChangeParticipant, Follower, FollowerContext } from '../../repository/index.js';
import type { AdoptedSchema } from '../../schema/index.js';
import type { EntityClass, EntitySchema } from '../../schema/types.js';
import type { Engine } from '../../table/index.js';
import type { IndexHandle } from '../indexes/handle.js';
import type { Indexing } from '../indexes/indexing.js';
import type { DrainOptions, Outbox } from '../outbox.js';
import type { ReferenceRepairReport, ReferenceReport, ReferenceTargetRows } from './jobs.js';
import {
  ReferenceHolder,
  ReferenceHolderFollower,
  ReferencePlan,
  ReferenceTarget,
  ReferenceTargetFollower,
} from './maintain.js';

/** The rules of the relations of one entity. Made by `Database.references`. */
export class ReferenceHandle {
  constructor(
    private readonly target: ReferenceTargetRows,
    private readonly indexes: readonly IndexHandle[],
    private readonly outbox: Outbox,
  ) {}

  /** Counts the rows that name what is not there. Changes nothing. */
  async check(run?: JobRunOptions): Promise<ReferenceReport> {
    const { checkReferences } = await import('./jobs.js');
    const { rows, valid, dangling } = await checkReferences(this.target, false, run);
    return { rows, valid, dangling };
  }

  /**
   * As `check`, and does with them what their rules say: `cascade` deletes them, `setNull` has them name nothing. What
   * `restrict` or `exists` say nothing of stays; it is for the application to decide.
   */
  async repair({ settledAfter, ...run }: JobRunOptions & DrainOptions = {}): Promise<ReferenceRepairReport> {
    await this.outbox.drain(settledAfter === undefined ? {} : { settledAfter });
    const { checkReferences } = await import('./jobs.js');
    return checkReferences(this.target, true, run);
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

  adopt({ entities }: AdoptedSchema): void {
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

  participants(schema: EntitySchema): ChangeParticipant[] {
    const holder = this.holderOf(schema);
    const target = this.targetOf(schema);
    return [...(holder === undefined ? [] : [holder]), ...(target === undefined ? [] : [target])];
  }

  /** The same on HBase. */
  followers(schema: EntitySchema, source: FollowerContext): Follower[] {
    const target = this.targetOf(schema);
    const named = this.plansAbout(schema);
    const holder = this.holderFollower(schema, source);
    return [
      ...(holder === undefined ? [] : [holder]),
      ...(target === undefined ? [] : [new ReferenceTargetFollower(schema, named, target, source)]),
    ];
  }

  private holderFollower(schema: EntitySchema, source: FollowerContext): ReferenceHolderFollower | undefined {
    const holder = this.holderOf(schema);
    const plans = this.byHolder.get(schema.target);
    return holder && plans && new ReferenceHolderFollower(schema, plans, holder, source);
  }

  private holderOf({ target }: EntitySchema): ReferenceHolder | undefined {
    const held = this.byHolder.get(target);
    return held && new ReferenceHolder(held[0]!.entity, held);
  }

  private targetOf({ target }: EntitySchema): ReferenceTarget | undefined {
    const named = this.byTarget.get(target);
    return (
      named &&
      new ReferenceTarget(
        named[0]!.other,
        named,
        () => this.engine.now(),
        (index) => this.indexing.stateOf(index),
      )
    );
  }

  /** The rules about the deletes of an entity. */
  plansAbout({ target }: EntitySchema): readonly ReferencePlan[] {
    return this.byTarget.get(target) ?? [];
  }

  /** On HBase: does with a row what its rules say of such that name what is not there; how many had something to change. */
  mend(schema: EntitySchema, row: Uint8Array, source: FollowerContext): Promise<number> {
    return this.holderFollower(schema, source)!.mend(row);
  }

  /** `rows`: how its rows are mended. @throws QueryError when the entity declares none. */
  handle(
    schema: EntitySchema,
    rows: Pick<ReferenceTargetRows, 'flow' | 'remote'>,
    outbox: Outbox,
  ): ReferenceHandle {
    const plans = this.byHolder.get(schema.target);
    if (plans === undefined) {
      throw new QueryError(
        `${schema.name} has no referential rules. Declare them: @Reference(…, { onDelete: 'restrict' }).`,
        { details: { entity: schema.name } },
      );
    }
    const names = new Set(schema.references.flatMap(({ index }) => index ?? []));
    return new ReferenceHandle(
      { engine: this.engine, schema, plans, ...rows },
      [...names].map((name) => this.indexing.handle(schema, name)),
      outbox,
    );
  }
}
