/** The lazy query on several record types: entities of one table with equal leading key parts. */

import { QueryError } from '../errors.js';
import type { CheckedNames, EntityOf, KeyedClass, Selected } from '../schema/entity-types.js';
import type { EntityClass, EntitySchema } from '../schema/types.js';
import { describe, isCallable } from '../table/checks.js';
import type { TableAccess } from './access.js';
import { BaseQuery, type Prepared } from './base-query.js';
import {
  type BulkOptions,
  type BulkProgress,
  checkBulk,
  deleteTogether,
  type RowChanger,
} from './bulk-change.js';
import { type CollectionPlan, planCollection } from './collection-plan.js';
import { conjuncts } from './condition.js';
import { EntityQuery } from './entity-query.js';
import { explainCollection, explainedWithoutIds } from './explain.js';
import type { Explanation } from './explanation.js';
import { checkFindOptions, type FindOptions } from './find-options.js';
import { parseKeyConditions } from './key-conditions.js';
import { RowLoader } from './loader.js';
import { Groups } from './page.js';
import { type CollectionSpec, describeSpec, emptySpec, identityOf, type QuerySpec } from './query-spec.js';
import { type Predicate, resolverOf, type Where, WhereBuilder } from './where.js';

/** The union without this one type; subclasses of it stay. */
type Without<T, E> = T extends E ? (E extends T ? never : T) : T;

/** The means to change the rows of one of a collection's entities. */
interface EntityWrites {
  readonly access: TableAccess;
  readonly changer: RowChanger;
}

/**
 * A lazy, immutable query over several record types of one table. Rows are ordered by the common parts of their keys,
 * then the record types, then the rest of the keys.
 */
export class CollectionQuery<C extends KeyedClass, T = EntityOf<C>> extends BaseQuery<T> {
  constructor(
    access: TableAccess,
    protected readonly spec: CollectionSpec,
    options: FindOptions,
    private readonly writesOf?: (schema: EntitySchema) => EntityWrites,
  ) {
    super(access, options);
  }

  /**
   * The collection of these entities whose keys begin with `prefix`. @throws QueryError when they are of several
   * tables, or one is given twice; KeyError when the prefix does not fit every entity's key; InvalidArgumentError on
   * unknown options.
   */
  static of<C extends KeyedClass>(
    access: TableAccess,
    schemas: readonly EntitySchema[],
    prefix: Readonly<Record<string, unknown>>,
    options: FindOptions,
    writesOf?: (schema: EntitySchema) => EntityWrites,
  ): CollectionQuery<C> {
    checkEntities(schemas);
    checkFindOptions(options, 'collection');
    const entities = schemas.map((schema) =>
      emptySpec(schema, parseKeyConditions(schema.name, schema.key, prefix), {
        fullScan: options.fullScan ?? false,
        withDeleted: options.withDeleted,
      }),
    );
    const spec = { entities, reversed: false, limit: undefined, timeRange: undefined };
    return new CollectionQuery<C>(access, spec, options, writesOf);
  }

  /**
   * Conditions on the rows of one class. Rows of the others are not affected. @throws QueryError on an unknown column
   * or operator, on `undefined`, and on a class that is not in the collection.
   */
  where<Target extends C>(
    target: Target,
    condition: Where<Target> | ((where: WhereBuilder<Target>) => Predicate<Target>),
  ): this {
    return this.changeOf(target, (spec) => {
      const builder = new WhereBuilder<Target>(resolverOf(spec.schema));
      const parsed = builder.read(isCallable(condition) ? condition(builder) : condition);
      return { ...spec, where: [...spec.where, ...conjuncts(parsed)] };
    });
  }

  /** Reads only these columns and the key of one class. */
  select<Target extends C, Names extends keyof Target['prototype'] & string>(
    target: Target,
    ...names: readonly (Names & CheckedNames<Target, Names>)[]
  ): CollectionQuery<C, Without<T, EntityOf<Target>> | Selected<Target, Names>> {
    const changed = this.changeOf(target, (spec) => ({ ...spec, selected: names }));
    return changed as unknown as CollectionQuery<C, Without<T, EntityOf<Target>> | Selected<Target, Names>>;
  }

  explain(): Explanation {
    const specs = this.specs();
    const found = specs.map(({ schema, key }) => schema.key.dictionaries?.conditionsAtHand(key));
    const known = specs.map((spec, i) => ({ ...spec, key: found[i]?.conditions ?? spec.key }));
    const explained = explainCollection(this.spec, planCollection(known));
    const at = found.findIndex((one) => one !== undefined && one.withoutId.length > 0);
    return at < 0 ? explained : explainedWithoutIds(explained, specs[at]!.key, found[at]!.withoutId);
  }

  /** Every row, by class. @throws QueryError when there are more than `max`. */
  async groups(options: { readonly max?: number } = {}): Promise<Groups> {
    return new Groups((await this.all(options)) as object[]);
  }

  /**
   * Deletes every row of the collection, class by class and batch by batch: the class named last first, so that rows
   * go before those that they refer to. Each row is one atomic step with its hooks, rules and copies, which checks the
   * conditions of `where` again. After an error the same collection continues from the last `cursor`.
   *
   * @example
   * ```ts
   * const { changed } = await db.collection([Customer, Order], { customerId: 'c1' }).deleteAll();
   * ```
   * @throws QueryError on `limit`; before anything is deleted, where the rows of one class cannot be deleted by a
   *   query; errors of a delete.
   */
  async deleteAll(options: BulkOptions = {}): Promise<BulkProgress> {
    const { entities, limit, timeRange } = this.spec;
    if (limit !== undefined) {
      throw new QueryError('deleteAll of a collection deletes all of its rows. Leave out limit().');
    }
    const queries = [...entities].reverse().map((spec) => {
      const { access, changer } = this.writesOf?.(spec.schema) ?? { access: this.access, changer: undefined };
      checkBulk({ spec: { ...spec, timeRange }, changer }, 'deleteAll', options);
      return new EntityQuery<KeyedClass>(access, { ...spec, selected: undefined }, this.options, changer);
    });
    return deleteTogether(queries, options);
  }

  protected derive(change: Partial<CollectionSpec>, options: FindOptions = this.options): this {
    const { access, spec, writesOf } = this;
    return new CollectionQuery<C, T>(access, { ...spec, ...change }, options, writesOf) as this;
  }

  protected forCounting(): BaseQuery<unknown> {
    const entities = this.spec.entities.map((spec) => ({ ...spec, selected: [] }));
    return this.derive({ entities });
  }

  private changeOf(target: EntityClass, change: (spec: QuerySpec) => QuerySpec): this {
    const { entities } = this.spec;
    const index = entities.findIndex(({ schema }) => schema.target === target);
    if (index < 0) {
      throw new QueryError(
        `${isCallable(target) ? target.name : describe(target)} is not of this collection, which reads ${entities.map(({ schema }) => schema.name).join(', ')}.`,
      );
    }
    return this.derive({ entities: entities.map((spec, i) => (i === index ? change(spec) : spec)) });
  }

  /** The specifications of its entities, with the options of the collection. */
  private specs(): readonly QuerySpec[] {
    const { entities, reversed, limit, timeRange } = this.spec;
    return entities.map((spec) => ({ ...spec, reversed, limit, timeRange }));
  }

  protected prepare(): Prepared | Promise<Prepared> {
    const specs = this.specs();
    if (specs.every(({ schema }) => schema.key.dictionaries === undefined)) return this.prepared(specs);
    const known = specs.map(async (spec) => ({
      ...spec,
      key: (await spec.schema.key.dictionaries?.knownConditions(spec.key)) ?? spec.key,
    }));
    return Promise.all(known).then((resolved) => this.prepared(resolved));
  }

  private prepared(specs: readonly QuerySpec[]): Prepared {
    const plan: CollectionPlan = planCollection(specs);
    const { access } = this;
    return {
      plan: plan.reading,
      reversedPlan: () =>
        planCollection(specs.map((spec) => ({ ...spec, reversed: !spec.reversed }))).reading,
      scope: {
        identity: () => JSON.stringify(['collection', ...this.specs().map((spec) => identityOf(spec))]),
        schemas: specs.map(({ schema }) => schema),
        secret: access.cursorSecret,
      },
      loaders: plan.entities.map(
        ({ spec, read, finish }) => new RowLoader(spec.schema, access, read.properties, finish),
      ),
      compare: undefined,
      explain: () => explainCollection(this.spec, plan),
      conditions: (literal) => {
        const texts = this.spec.entities.map((spec) => describeSpec(spec, literal));
        return [...new Set(texts)].filter((text) => text !== '').join(' or ');
      },
    };
  }
}

function checkEntities(schemas: readonly EntitySchema[]): void {
  const first = schemas[0];
  if (first === undefined) {
    throw new QueryError('collection() names no entity. Give two or more classes of one table.');
  }
  const other = schemas.find((schema) => schema.table.descriptor.name !== first.table.descriptor.name);
  if (other !== undefined) {
    throw new QueryError(
      `collection() reads one table: ${first.name} is in "${first.table.descriptor.name}", ${other.name} in "${other.table.descriptor.name}".`,
    );
  }
  const twice = schemas.find((schema, i) => schemas.indexOf(schema) !== i);
  if (twice !== undefined)
    throw new QueryError(`collection() names ${twice.name} twice. Name each class once.`);
}
