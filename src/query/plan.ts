import { QueryError } from '../errors.js';
import { indexToDeclare, type OtherIndex } from '../features/indexes/query/access.js';
import type { KeyPlan, PartCondition } from '../key/types.js';
import type { EntitySchema } from '../schema/types.js';
import { type Filter, filters } from '../table/index.js';
import { type Condition, conjuncts, describeCondition, keyPartAsCondition } from './condition.js';
import { compileCondition, type RowTest } from './evaluate.js';
import { type ReadSet, readAll, readColumns, selectColumns, testedColumns } from './projection.js';
import { pushCondition } from './pushdown.js';
import type { QuerySpec } from './query-spec.js';
import type { ReadPlan } from './read-plan.js';
import { type Finish, type Row, valueSpan } from './row.js';
import { sliceOf } from './slice.js';

/** The plan of one entity's share of a query: byte ranges, what is read, what the engine filters and what is filtered here. */

export interface EntityPlan {
  readonly spec: QuerySpec;
  readonly keyPlan: KeyPlan;
  readonly read: ReadSet;
  /** For the engine; undefined when there is none. */
  readonly filter: Filter | undefined;
  /** Conditions that the filter decides. */
  readonly pushed: readonly Condition[];
  /** Conditions that are decided here. */
  readonly local: readonly Condition[];
  /** What is decided here, conditions and the key's own check; undefined when nothing is. */
  readonly rowTest: RowTest | undefined;
  /** Whether each range may stop after `limit` rows. */
  readonly limitPushed: boolean;
  /** Cuts what is loaded down to what was asked for. */
  readonly finish: Finish | undefined;
  /** The indexes that were looked at, and why they were not taken. */
  readonly unserved: readonly OtherIndex[];
}

/**
 * Plans a query.
 * @throws KeyError on key conditions the layout cannot search; QueryError `ERR_FULL_SCAN` when every row of the table
 * would be read and `fullScan` was not set. `unserved`: the indexes that there are, and why they are not taken; `keyPlan`: that of its key.
 */
export function planQuery(
  spec: QuerySpec,
  unserved: readonly OtherIndex[] = [],
  keyPlan = spec.schema.key.plan(spec.key),
): EntityPlan {
  const { schema } = spec;
  if (keyPlan.kind === 'full' && !spec.fullScan) throw fullScanError(spec, unserved);
  const conditions = [...storedPartConditions(spec, keyPlan), ...spec.where.flatMap(conjuncts)];
  // Rows of other entities may lie in the ranges: what they keep in the columns need not be what the codec writes.
  const onlyOwn = keyPlan.check === undefined;
  const pushed: Condition[] = [];
  const local: Condition[] = [];
  const parts: Filter[] = keyPlan.residual === undefined ? [] : [keyPlan.residual];
  for (const condition of conditions) {
    const filter = pushCondition(condition, schema.columnsByProperty, onlyOwn);
    if (filter === undefined) local.push(condition);
    else {
      pushed.push(condition);
      parts.push(filter);
    }
  }
  const test = rowTest(schema, keyPlan, local);
  return {
    spec,
    keyPlan,
    read: readSet(spec, conditions),
    filter: parts.length > 1 ? filters.all(...parts) : parts[0],
    pushed,
    local,
    rowTest: test,
    limitPushed: spec.limit !== undefined && spec.orderBy === undefined && test === undefined,
    finish: finishOf(spec),
    unserved,
  };
}

/** Conditions on parts of which the key keeps only a digest or a bucket, to be held against their columns. */
function storedPartConditions({ schema, key }: QuerySpec, { inexactParts }: KeyPlan): Condition[] {
  if (inexactParts.length === 0) return [];
  return inexactParts
    .filter((part) => key[part] !== undefined && schema.columnsByProperty.has(part))
    .flatMap((part) => conjuncts(keyPartAsCondition(part, key[part]!)));
}

function readSet(spec: QuerySpec, conditions: readonly Condition[]): ReadSet {
  const { schema, selected, timeRange } = spec;
  if (selected === undefined) return readAll(schema);
  const columns = selectColumns(schema, selected);
  return readColumns(
    schema,
    columns,
    testedColumns(schema, conditions),
    new Set(columns.map(({ property }) => property)),
    timeRange !== undefined,
  );
}

function rowTest(schema: EntitySchema, keyPlan: KeyPlan, local: readonly Condition[]): RowTest | undefined {
  const { check } = keyPlan;
  const tests: RowTest[] = [];
  if (check !== undefined) tests.push((row) => check(row.row));
  const { marker, timeToLive } = schema;
  // Of an entity that has ended, columns may be left for a moment.
  if (timeToLive.lifelong && marker !== undefined)
    tests.push((row) => valueSpan(row, marker.family, marker.qualifier).end > 0);
  if (local.length > 0) tests.push(compileCondition({ kind: 'all', conditions: local }, schema));
  return tests.length > 1 ? (row) => tests.every((test) => test(row)) : tests[0];
}

/** Ranges over the time of packed rows find whole windows, whose points are cut; Maps are cut to their slices. */
export function finishOf({ schema, key, slices }: QuerySpec): Finish | undefined {
  const cuts: Finish[] = [];
  for (const { property, window } of schema.columns) {
    const condition = window && key[window.part];
    if (condition?.kind === 'range') cuts.push(cutPoints(property, condition));
  }
  for (const slice of slices) cuts.push(sliceOf(schema, slice));
  if (cuts.length === 0) return undefined;
  return (entity) => {
    for (const cut of cuts) cut(entity);
  };
}

function cutPoints(property: string, { lower, upper }: Extract<PartCondition, { kind: 'range' }>): Finish {
  const first = lower && (lower.value as Date).getTime() + (lower.inclusive ? 0 : 1);
  const last = upper && (upper.value as Date).getTime() - (upper.inclusive ? 0 : 1);
  return (entity) => {
    const points = entity[property];
    if (!(points instanceof Map)) return;
    for (const at of points.keys() as IterableIterator<number>) {
      if ((first !== undefined && at < first) || (last !== undefined && at > last)) points.delete(at);
    }
  };
}

function fullScanError(spec: QuerySpec, unserved: readonly OtherIndex[]): QueryError {
  const { schema } = spec;
  const why = unserved.map(({ name, why }) => `${name} ${why}`).join('; ');
  const first = schema.key.parts[0]?.name ?? '?';
  const where = spec.where.map((one) => describeCondition(one)).join(' and ');
  const index = indexToDeclare(schema, spec.where);
  return new QueryError(
    `find on ${schema.name} would read the whole table "${schema.table.descriptor.name}"` +
      `${where === '' ? '' : ` to find ${where}`}. Give at least the leading key part "${first}"` +
      `${index === undefined ? '' : `, declare an index, ${index}${why === '' ? '' : ` (${why})`}`}, or allow it with { fullScan: true }.`,
    {
      code: 'ERR_FULL_SCAN',
      details: {
        entity: schema.name,
        table: schema.table.descriptor.name,
        parts: schema.key.parts.map((part) => part.name),
      },
    },
  );
}

/** A plan of one entity as a reading. */

export function readPlanOf(plan: EntityPlan): ReadPlan {
  const { keyPlan, rowTest, spec } = plan;
  return {
    parts: [
      {
        ranges: keyPlan.ranges,
        leads: keyPlan.leads,
        isPlainBehind: keyPlan.isPlainBehind,
        points: keyPlan.kind === 'point' || keyPlan.kind === 'points',
        read: plan.read,
        filter: plan.filter,
        entity: 0,
        entities: [0],
        classify: rowTest && ((row: Row) => (rowTest(row) ? 0 : -1)),
      },
    ],
    layouts: [spec.schema.key],
    order: keyPlan.order,
    mergeOffset: keyPlan.mergeOffset,
    reversed: spec.reversed,
    timeRange: spec.timeRange,
  };
}
