/** The specification of a query: plain, immutable data that planning reads. */

import type { IndexUse } from '../features/indexes/query/access.js';
import type { KeyConditions } from '../key/types.js';
import type { EntitySchema } from '../schema/types.js';
import type { TimeRange } from '../table/index.js';
import { type Condition, describeCondition } from './condition.js';
import { describeKeyConditions } from './key-conditions.js';
import { livingConditions } from './living.js';
import type { MapSlice } from './slice.js';

/** The common part of every query's specification. */
export interface BaseSpec {
  readonly reversed: boolean;
  readonly limit: number | undefined;
  /** Only cells of these times. */
  readonly timeRange: TimeRange | undefined;
}

/** The specification of a query on one entity. Immutable; each step of a query makes a new one. */
export interface QuerySpec extends BaseSpec {
  readonly schema: EntitySchema;
  readonly key: KeyConditions;
  /** Conditions on columns that must all hold. */
  readonly where: readonly Condition[];
  /** Names given to `select`; undefined: everything. */
  readonly selected: readonly string[] | undefined;
  readonly fullScan: boolean;
  readonly orderBy: { readonly property: string; readonly descending: boolean } | undefined;
  readonly slices: readonly MapSlice[];
  /** The index that the query is to be answered from; undefined: the key, or an index that serves. */
  readonly through: IndexUse | undefined;
}

/** The specification of a query on several entities. */
export interface CollectionSpec extends BaseSpec {
  /** Of each entity; direction, limit and times are those of the collection. */
  readonly entities: readonly QuerySpec[];
}

/** A question that was not asked yet: what every query begins with. */
export function emptySpec(
  schema: EntitySchema,
  key: QuerySpec['key'],
  base: Partial<BaseSpec> & { readonly fullScan: boolean; readonly withDeleted?: boolean | undefined },
  through?: IndexUse,
): QuerySpec {
  return {
    schema,
    key,
    where: base.withDeleted === true ? NOTHING : livingConditions(schema),
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

/** What is asked, with values as `literal` writes them. */
export function describeSpec(
  { key, where }: Pick<QuerySpec, 'key' | 'where'>,
  literal: (value: unknown) => string,
): string {
  const texts = [describeKeyConditions(key, literal), ...where.map((one) => describeCondition(one, literal))];
  return texts.filter((text) => text !== '').join(' and ');
}

/** The text that a cursor is bound to. Limit, page size and selection may change from page to page. */
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
