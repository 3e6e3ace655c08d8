import { QueryError } from '../../../errors.js';
import type { KeyConditions } from '../../../key/types.js';
import { type Condition, conjuncts, describeCondition, impliesPresence } from '../../../query/condition.js';
import { compileCondition } from '../../../query/evaluate.js';
import { testedColumns } from '../../../query/projection.js';
import { resolverOf, WhereBuilder } from '../../../query/where.js';
import type { EntitySchema, IndexSchema } from '../../../schema/types.js';
import { FOREVER } from '../../../table/index.js';
import { type CompiledWhere, type EntityIndex, EntityIndexes } from '../entity-indexes.js';

/** The indexes of an entity, as queries use them. */

/**
 * The state of an index. `active`: queries use it. `building`: writes maintain it, but it lacks rows. `disabled`: a
 * program that does not know it has written since.
 */
export type IndexState = 'building' | 'active' | 'disabled';

/** Receives unverified entries that a query read. It returns at once and repairs them in the background. */
export interface EntryRepair {
  note(entry: { readonly index: EntityIndex; readonly row: Uint8Array }): void;
  /** The timestamp from which on entries may belong to changes in progress, ms. */
  since(): number;
}

/** The indexes of an entity in an open database. */
export interface IndexAccess {
  readonly indexes: EntityIndexes;
  /** Undefined: unknown, because the database was opened with `tables: 'ignore'`. */
  stateOf(index: IndexSchema): IndexState | undefined;
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
  access: IndexAccess | undefined,
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
export interface IndexUse {
  readonly index: EntityIndex;
  readonly key: KeyConditions;
  /** The conditions of the query that every entry in the range satisfies. */
  readonly served: ReadonlySet<Condition>;
  /** Why this index was chosen, for `explain`. */
  readonly why: string;
  /** The other indexes and their costs. */
  readonly others: readonly OtherIndex[];
}

export interface OtherIndex {
  readonly name: string;
  readonly why: string;
}

/** The hint which index to declare for a query that has none. */

/** The declaration of an index that would serve the query. Undefined where no index can serve its conditions. */
export function indexToDeclare(schema: EntitySchema, where: readonly Condition[]): string | undefined {
  const equal = new Set<string>();
  const ranged = new Set<string>();
  for (const condition of where.flatMap(conjuncts)) {
    if (condition.kind !== 'test' || condition.negated || condition.inside !== undefined) continue;
    const column = schema.columnsByProperty.get(condition.property);
    if (column === undefined || condition.entry !== undefined) continue;
    if (column.kind !== 'column' && column.kind !== 'counter') continue;
    if (condition.operator === 'eq' || condition.operator === 'in') equal.add(condition.property);
    else if (['gt', 'gte', 'lt', 'lte', 'startsWith'].includes(condition.operator)) {
      ranged.add(condition.property);
    }
  }
  const names = [...equal, ...[...ranged].filter((name) => !equal.has(name)).slice(0, 1)];
  if (names.length === 0) return undefined;
  const parts = names.map((name) => {
    const codec = schema.columnsByProperty.get(name)!.codec.name;
    return codec === 'text' ? `part('${name}')` : `part('${name}', ${codec})`;
  });
  const title = names.map((name) => name.replace(/\W+(\w)/g, (_, head: string) => head.toUpperCase()));
  const words = title.map((name) => name.charAt(0).toUpperCase() + name.slice(1)).join('And');
  return `@Index('by${words}', [${parts.join(', ')}])`;
}
