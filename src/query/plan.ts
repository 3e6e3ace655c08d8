import { QueryError } from '../errors.js';
import { BaseCodec } from '../key/index.js';
import type { KeyPlan, PartCondition } from '../key/types.js';
import { hasOnlyShadow, isShadow } from '../schema/own-cells.js';
import { type EntitySchema, isSingleCell } from '../schema/types.js';
import { type Filter, filters, RawRow } from '../table/index.js';
import { type Condition, conjuncts, describeCondition, keyPartAsCondition } from './condition.js';
import { compileCondition, type RowTest } from './evaluate.js';
import { type ReadSet, readAll, readSelected, testedColumns } from './projection.js';
import { isOrdered, pushCondition } from './pushdown.js';
import type { OtherPath, QuerySpec } from './query-spec.js';
import type { PlanPart, ReadPlan } from './read-plan.js';
import { type Finish, type Row, valueSpan } from './row.js';
import { sliceOf } from './slice.js';

/** The plan of one entity's part of a query: byte ranges, columns, and which conditions the engine evaluates. */
export interface EntityPlan {
  readonly spec: QuerySpec;
  readonly keyPlan: KeyPlan;
  readonly read: ReadSet;
  /** The engine's filter. Undefined when there is none. */
  readonly filter: Filter | undefined;
  /** Conditions that the filter evaluates. */
  readonly pushed: readonly Condition[];
  /** Conditions that Rowan evaluates. */
  readonly local: readonly Condition[];
  /** The conditions that Rowan evaluates, including the key's own check. Undefined when there are none. */
  readonly rowTest: RowTest | undefined;
  /** Whether each range may stop after `limit` rows. */
  readonly limitPushed: boolean;
  /** Reduces a loaded entity to what was requested. */
  readonly finish: Finish | undefined;
  /** The indexes that were considered, and why they are not used. */
  readonly unused: readonly OtherPath[];
}

/**
 * Plans a query by its key. @param unused the indexes, and why they are not used. @param keyPlan the plan of the
 * key. @throws KeyError on conditions that the layout cannot search; QueryError `ERR_FULL_SCAN` when the whole table
 * would be read without `fullScan`.
 */
export function planQuery(
  spec: QuerySpec,
  unused: readonly OtherPath[] = [],
  keyPlan = spec.schema.key.plan(spec.key),
): EntityPlan {
  const { schema } = spec;
  if (keyPlan.kind === 'full' && !spec.fullScan) throw fullScanError(spec, unused);
  const conditions = [...storedPartConditions(spec, keyPlan), ...spec.where.flatMap(conjuncts)];
  // Ranges with rows of other entities: their columns may hold values that the codec does not write.
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
    unused,
  };
}

/** Conditions on key parts that the key holds only as a digest or bucket, as conditions on their columns. */
function storedPartConditions({ schema, key }: QuerySpec, { inexactParts }: KeyPlan): Condition[] {
  if (inexactParts.length === 0) return [];
  return inexactParts
    .filter((part) => key[part] !== undefined && schema.columnsByProperty.has(part))
    .flatMap((part) => conjuncts(keyPartAsCondition(part, key[part]!)));
}

function readSet(spec: QuerySpec, conditions: readonly Condition[]): ReadSet {
  const { schema, selected, timeRange } = spec;
  if (selected === undefined) return readAll(schema);
  return readSelected(schema, selected, testedColumns(schema, conditions), timeRange !== undefined);
}

function rowTest(schema: EntitySchema, keyPlan: KeyPlan, local: readonly Condition[]): RowTest | undefined {
  const { check } = keyPlan;
  const tests: RowTest[] = [];
  if (check !== undefined) tests.push((row) => check(row.row));
  const { marker, timeToLive } = schema;
  // An expired entity may leave columns for a moment, but no marker.
  if (timeToLive.lifelong && marker !== undefined)
    tests.push((row) => valueSpan(row, marker.family, marker.qualifier).end > 0);
  if (local.length > 0) tests.push(compileCondition({ kind: 'all', conditions: local }, schema));
  return tests.length > 1 ? (row) => tests.every((test) => test(row)) : tests[0];
}

/**
 * Ranges over the time of packed rows find whole windows, from which other points are removed. Maps are reduced to
 * their slices.
 */
export function finishOf({ schema, key, slices }: QuerySpec): Finish | undefined {
  const cuts: Finish[] = [];
  for (const { property, window } of schema.columns) {
    const condition = window && key[window.part];
    if (condition?.kind === 'range') cuts.push(cutPoints(property, condition));
  }
  for (const slice of slices) cuts.push(sliceOf(slice));
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

function fullScanError(spec: QuerySpec, unused: readonly OtherPath[]): QueryError {
  const { schema } = spec;
  const why = unused.map(({ name, why }) => `${name} ${why}`).join('; ');
  const where = spec.where.map((one) => describeCondition(one)).join(' and ');
  const index = indexToDeclare(schema, spec.where);
  return new QueryError(
    `find on ${schema.name} would read the whole table "${schema.table.descriptor.name}"` +
      `${where === '' ? '' : ` to find ${where}`}. ${whatToGive(spec)}` +
      `${index === undefined ? '' : `, declare an index, static readonly indexes = { ${index} }`}${why === '' ? '' : ` (${why})`}, or allow it with { fullScan: true }.`,
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

/** The parts of the key that would limit a query of the whole table. */
function whatToGive({ schema, key }: QuerySpec): string {
  const [first, ...rest] = schema.key.parts;
  const given = first && key[first.name];
  if (given === undefined || first?.recoverable !== false) {
    return `Give at least the leading key part "${first?.name ?? '?'}"`;
  }
  const digested = rest.slice(0, rest.findIndex(({ recoverable }) => recoverable) >>> 0);
  const names = [first, ...digested].map(({ name }) => `"${name}"`);
  return `Give each of ${names.join(', ')}: the key begins with one digest of them`;
}

const RANGES: ReadonlySet<string> = new Set(['gt', 'gte', 'lt', 'lte', 'startsWith']);

/**
 * The declaration of an index that would serve the query. Undefined where no index can serve its conditions, and where a
 * declared index begins with the same properties: what it is not used for is said with its name.
 */
function indexToDeclare(schema: EntitySchema, where: readonly Condition[]): string | undefined {
  const equal = new Set<string>();
  const ranged = new Set<string>();
  for (const condition of where.flatMap(conjuncts)) {
    if (condition.kind !== 'test' || condition.negated || condition.inside !== undefined) continue;
    const column = schema.columnsByProperty.get(condition.property);
    if (!isSingleCell(column) || condition.entry !== undefined) continue;
    const isCounter = column.kind === 'counter';
    if (!isCounter && !(column.codec instanceof BaseCodec)) continue;
    if (condition.operator === 'eq' || condition.operator === 'in') equal.add(condition.property);
    else if (RANGES.has(condition.operator) && (isCounter || isOrdered(column.codec))) {
      ranged.add(condition.property);
    }
  }
  const names = [...equal, ...[...ranged].filter((name) => !equal.has(name)).slice(0, 1)];
  const isDeclared = schema.indexes.some(
    ({ parts, where }) =>
      where === undefined && parts.slice(0, names.length).every((part) => names.includes(part)),
  );
  if (names.length === 0 || isDeclared) return undefined;
  const title = names.map((name) => name.replace(/\W+(\w)/g, (_, head: string) => head.toUpperCase()));
  const words = title.map((name) => name.charAt(0).toUpperCase() + name.slice(1)).join('And');
  return `by${words}: index(${names.map((name) => `'${name}'`).join(', ')})`;
}

/** As {@link PlanPart.isLeftover}, for the rows of an entity. */
export function leftoverTest({ marker }: EntitySchema): PlanPart['isLeftover'] {
  if (marker === undefined) return undefined;
  return (row) =>
    row instanceof RawRow
      ? row.count === 1 && isShadow(marker, { family: row.families[0]!, qualifier: row.qualifiers[0]! })
      : hasOnlyShadow(marker, row.cells);
}

/** The plan of one entity as a read plan. */
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
        isLeftover: leftoverTest(spec.schema),
      },
    ],
    layouts: [spec.schema.key],
    order: keyPlan.order,
    mergeOffset: keyPlan.mergeOffset,
    reversed: spec.reversed,
    timeRange: spec.timeRange,
  };
}
