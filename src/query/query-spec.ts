/** The specification of a query: plain, immutable data that planning reads. */

import type { KeyConditions } from '../key/types.js';
import type { EntitySchema, IndexSchema } from '../schema/types.js';
import type { TimeRange } from '../table/index.js';
import { type Condition, describeCondition } from './condition.js';
import { describeKeyConditions } from './key-conditions.js';
import { liveConditions } from './pushdown.js';
import type { MapSlice } from './slice.js';

/** A way to the rows of an entity beside its key: an index. */
export interface AccessPath {
  readonly schema: EntitySchema;
  readonly index: IndexSchema;
}

/** An access path chosen for a query, with the conditions on its parts. */
export interface PathUse {
  readonly path: AccessPath;
  readonly key: KeyConditions;
  /** The conditions of the query that every entry in the range satisfies. */
  readonly served: ReadonlySet<Condition>;
  /** Why it was chosen, for `explain`. */
  readonly why: string;
  /** The other paths and their costs. */
  readonly others: readonly OtherPath[];
}

/** An access path that was not chosen. */
export interface OtherPath {
  readonly name: string;
  readonly why: string;
}

/** The common part of every query's specification. */
export interface BaseSpec {
  readonly reversed: boolean;
  readonly limit: number | undefined;
  /** Only cells with these timestamps. */
  readonly timeRange: TimeRange | undefined;
}

/** The specification of a query on one entity. Immutable; each method of a query creates a new one. */
export interface QuerySpec extends BaseSpec {
  readonly schema: EntitySchema;
  readonly key: KeyConditions;
  /** Conditions on columns. All must hold. */
  readonly where: readonly Condition[];
  /** Names given to `select`. Undefined: all. */
  readonly selected: readonly string[] | undefined;
  readonly fullScan: boolean;
  readonly orderBy: { readonly property: string; readonly descending: boolean } | undefined;
  readonly slices: readonly MapSlice[];
  /** The named index. Undefined: the key, or an index chosen by the planner. */
  readonly through: PathUse | undefined;
}

/** The specification of a query on several entities. */
export interface CollectionSpec extends BaseSpec {
  /** The specification of each entity. Direction, limit and timestamps are those of the collection. */
  readonly entities: readonly QuerySpec[];
}

/** The specification with which every query begins. */
export function emptySpec(
  schema: EntitySchema,
  key: QuerySpec['key'],
  base: Partial<BaseSpec> & { readonly fullScan: boolean; readonly withDeleted?: boolean | undefined },
  through?: PathUse,
): QuerySpec {
  return {
    schema,
    key,
    where: base.withDeleted === true ? NOTHING : liveConditions(schema),
    selected: undefined,
    reversed: base.reversed ?? false,
    limit: base.limit,
    timeRange: base.timeRange,
    fullScan: base.fullScan,
    orderBy: undefined,
    slices: NOTHING,
    through,
  };
}

const NOTHING: readonly never[] = Object.freeze([]);

/** The conditions as text. `literal` formats values. */
export function describeSpec(
  { key, where }: Pick<QuerySpec, 'key' | 'where'>,
  literal: (value: unknown) => string,
): string {
  const texts = [describeKeyConditions(key, literal), ...where.map((one) => describeCondition(one, literal))];
  return texts.filter((text) => text !== '').join(' and ');
}

/**
 * The text that a cursor is bound to. Limit, page size and selection are not part of it: they may change from page to
 * page.
 */
export function identityOf(spec: QuerySpec, entity = spec.schema.name): string {
  const { key, where, reversed, timeRange } = spec;
  const times = timeRange === undefined ? '' : `${timeRange.min}..${timeRange.max}`;
  return JSON.stringify([
    entity,
    describeKeyConditions(key),
    where.map((one) => describeCondition(one)).sort(),
    reversed ? 'reverse' : 'forward',
    times,
  ]);
}
