/** The plan of a query: byte ranges, what is read, what the engine filters and what is filtered here. */

import { QueryError } from '../errors.js';
import type { KeyConditions, KeyPlan } from '../key/types.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { type Filter, filters, type TimeRange } from '../table/index.js';
import {
  type Condition,
  conjuncts,
  describeCondition,
  keyPartAsCondition,
  testedProperties,
} from './condition.js';
import { compileCondition, type RowTest } from './evaluate.js';
import { type ReadSet, readAll, readColumns, selectColumns } from './projection.js';
import { pushCondition } from './pushdown.js';
import type { RunnablePlan } from './reader.js';

/** What is asked of one entity. Immutable; each step of a query makes a new one. */
export interface QuerySpec {
  readonly schema: EntitySchema;
  readonly key: KeyConditions;
  /** Conditions on columns that must all hold. */
  readonly where: readonly Condition[];
  /** Names given to `select`; undefined: everything. */
  readonly selected: readonly string[] | undefined;
  readonly reversed: boolean;
  readonly limit: number | undefined;
  /** Only cells of these times. */
  readonly timeRange: TimeRange | undefined;
  readonly fullScan: boolean;
}

export interface QueryPlan extends RunnablePlan {
  readonly spec: QuerySpec;
  /** Conditions that the filter decides. */
  readonly pushed: readonly Condition[];
  /** Conditions that are decided here. */
  readonly local: readonly Condition[];
  /** Whether each range may stop after `limit` rows. */
  readonly limitPushed: boolean;
}

/**
 * Plans a query.
 * @throws KeyError on key conditions the layout cannot search; QueryError `ERR_FULL_SCAN` when every row of the table
 * would be read and `fullScan` was not set.
 */
export function planQuery(spec: QuerySpec): QueryPlan {
  const { schema } = spec;
  const keyPlan = schema.key.plan(spec.key);
  if (keyPlan.kind === 'full' && !spec.fullScan) throw fullScanError(spec);
  const conditions = [
    ...keyPlan.inexactParts
      .filter((part) => spec.key[part] !== undefined)
      .map((part) => keyPartAsCondition(part, spec.key[part]!)),
    ...spec.where,
  ].flatMap(conjuncts);
  const pushed: Condition[] = [];
  const local: Condition[] = [];
  const parts: Filter[] = keyPlan.residual === undefined ? [] : [keyPlan.residual];
  for (const condition of conditions) {
    const filter = pushCondition(condition, schema.columnsByProperty);
    if (filter === undefined) local.push(condition);
    else {
      pushed.push(condition);
      parts.push(filter);
    }
  }
  return {
    spec,
    keyPlan,
    read: readSet(spec, conditions),
    filter: parts.length > 1 ? filters.all(...parts) : parts[0],
    pushed,
    local,
    rowTest: rowTest(schema, keyPlan, local),
    timeRange: spec.timeRange,
    reversed: spec.reversed,
    limitPushed: spec.limit !== undefined && local.length === 0 && keyPlan.check === undefined,
  };
}

function readSet(spec: QuerySpec, conditions: readonly Condition[]): ReadSet {
  const { schema, selected } = spec;
  if (selected === undefined) return readAll(schema);
  const columns = selectColumns(schema, selected);
  return readColumns(
    schema,
    columns,
    testedColumns(schema, conditions),
    new Set(columns.map((column) => column.property)),
  );
}

/** The stored columns that conditions test. */
export function testedColumns(schema: EntitySchema, conditions: readonly Condition[]): ColumnSchema[] {
  const names = new Set<string>();
  for (const condition of conditions) testedProperties(condition, names);
  return schema.columns.filter((column) => names.has(column.property));
}

function rowTest(schema: EntitySchema, keyPlan: KeyPlan, local: readonly Condition[]): RowTest | undefined {
  const { check } = keyPlan;
  if (local.length === 0) return check === undefined ? undefined : (result) => check(result.row);
  const passes = compileCondition({ kind: 'all', conditions: local }, schema);
  return check === undefined ? passes : (result) => check(result.row) && passes(result);
}

function fullScanError(spec: QuerySpec): QueryError {
  const { schema } = spec;
  const first = schema.key.parts[0]?.name ?? '?';
  const where = spec.where.map(describeCondition).join(' and ');
  const tested = [...new Set(spec.where.flatMap((condition) => [...testedProperties(condition)]))];
  const declare =
    tested.length > 0
      ? `Give "${first}", declare @Index(…) on ${tested.join(', ')}`
      : `Give at least the leading key part "${first}"`;
  return new QueryError(
    `find on ${schema.name} would read the whole table "${schema.table.descriptor.name}"` +
      `${where === '' ? '' : ` to find ${where}`}. ${declare}, or allow it with { fullScan: true }.`,
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
