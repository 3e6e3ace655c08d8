import { QueryError } from '../../../errors.js';
import type { PathAccess } from '../../../query/access.js';
import { conjuncts, describeCondition, impliesPresence } from '../../../query/condition.js';
import { compileCondition } from '../../../query/evaluate.js';
import { testedColumns } from '../../../query/projection.js';
import type { PathUse } from '../../../query/query-spec.js';
import { resolverOf, WhereBuilder } from '../../../query/where.js';
import type { EntitySchema, IndexSchema } from '../../../schema/types.js';
import { FOREVER } from '../../../table/index.js';
import { type CompiledWhere, type EntityIndex, EntityIndexes } from '../entity-indexes.js';

/** The indexes of an entity, as queries use them. */

/** The indexes of an entity in an open database. */
export interface IndexAccess extends PathAccess {
  readonly indexes: EntityIndexes;
}

/** The indexes of an entity, with compiled conditions. @throws QueryError naming an invalid condition. */
export function entityIndexes(schema: EntitySchema): EntityIndexes {
  return new EntityIndexes(schema, (index) => compileIndexWhere(schema, index));
}

function compileIndexWhere(schema: EntitySchema, { name, where }: IndexSchema): CompiledWhere | undefined {
  return where && compileKeptWhere(schema, where, `index "${name}"`);
}

/** Compiles a condition on stored rows, whose result must not change with time. @throws QueryError. */
export function compileKeptWhere(
  schema: EntitySchema,
  where: Readonly<Record<string, unknown>>,
  what: string,
): CompiledWhere {
  const condition = new WhereBuilder(resolverOf(schema)).read(where as never);
  const conditions = conjuncts(condition);
  const columns = testedColumns(schema, conditions);
  const several = columns.find(({ kind }) => kind === 'columns' || kind === 'versions');
  if (several !== undefined) {
    throw new QueryError(
      `${schema.name}.${several.property} is no single cell: the condition of the ${what} cannot test it.`,
      { details: { entity: schema.name, property: several.property } },
    );
  }
  const ending = new Set(
    schema.table.descriptor.families.filter(({ ttl }) => ttl !== FOREVER).map(({ name }) => name),
  );
  const appearing = columns.find(
    ({ family, property }) =>
      ending.has(family) && !conditions.some((condition) => impliesPresence(condition, property)),
  );
  if (appearing !== undefined) {
    const { property, family } = appearing;
    throw new QueryError(
      `The condition of the ${what} may come to hold when ${schema.name}.${property} ends by the time to live of the ` +
        `family "${family}", and nobody writes then. Ask that ${property} be present, or keep it in another family.`,
      { details: { entity: schema.name, property } },
    );
  }
  return {
    test: compileCondition(condition, schema),
    columns,
    texts: conditions.map((one) => describeCondition(one)),
  };
}

/** @throws QueryError when queries cannot use the index. */
export function requireActive(
  schema: EntitySchema,
  index: IndexSchema,
  access: PathAccess | undefined,
): void {
  const state = access?.stateOf(index);
  if (state === 'active') return;
  const why =
    state === undefined
      ? "its state is not known, for the tables were opened with tables: 'ignore', or it was never built"
      : state === 'building'
        ? 'it does not have every row yet'
        : 'rows were written by a program that does not know it';
  throw new QueryError(
    `The index "${index.name}" of ${schema.name} cannot be asked: ${why}. Build it: await db.index(${schema.name}, '${index.name}').build(), or rowan index build.`,
    { details: { entity: schema.name, index: index.name, state: state ?? 'unknown' } },
  );
}

/** An index chosen for a query, with the conditions on its parts. */
export interface IndexUse extends PathUse {
  readonly path: EntityIndex;
}
