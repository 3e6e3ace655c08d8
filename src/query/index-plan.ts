/** A query answered from an index: which entries are read, and what of the rows behind them. */

import { QueryError } from '../errors.js';
import { type EntityIndex, INDEX_FAMILY } from '../indexes/index.js';
import type { KeyConditions, KeyPlan } from '../key/types.js';
import type { ColumnSchema, EntitySchema } from '../schema/types.js';
import { FOREVER } from '../table/index.js';
import { type Condition, conjuncts, keyPartAsCondition } from './condition.js';
import { compileCondition, type RowTest } from './evaluate.js';
import type { Finish } from './loader.js';
import { finishOf, type QuerySpec } from './plan.js';
import {
  type ReadSet,
  readAll,
  readColumns,
  selectColumns,
  storedParts,
  testedColumns,
} from './projection.js';

/** An index, and what is asked of its parts. */
export interface IndexUse {
  readonly index: EntityIndex;
  readonly key: KeyConditions;
  /** Conditions of the query that every entry which is read meets. */
  readonly served: ReadonlySet<Condition>;
  /** Why it and no other. */
  readonly why: string;
  /** The other indexes, and what they would cost. */
  readonly others: readonly OtherIndex[];
}

export interface OtherIndex {
  readonly name: string;
  readonly why: string;
}

export interface IndexPlan {
  readonly spec: QuerySpec;
  readonly use: IndexUse;
  /** Of the entries. */
  readonly keyPlan: KeyPlan;
  /** Whether the entries hold all that is asked for, and no row is looked up. */
  readonly covered: boolean;
  /** What is read of the rows, or stands for them. */
  readonly read: ReadSet;
  /** Conditions beyond those on the index's parts; all are decided here. */
  readonly local: readonly Condition[];
  readonly rowTest: RowTest | undefined;
  readonly finish: Finish | undefined;
}

/**
 * @throws KeyError on conditions that the index cannot search; QueryError on times, of which entries know nothing, and
 * `ERR_FULL_SCAN` where the whole of an index over every row would be read unasked.
 */
export function planIndex(spec: QuerySpec, use: IndexUse): IndexPlan {
  const { schema } = spec;
  const { index } = use;
  if (spec.timeRange !== undefined) throw noTimes(schema, index);
  const keyPlan = index.index.layout.plan(use.key);
  if (Object.keys(use.key).length === 0 && index.where === undefined && !spec.fullScan) {
    throw new QueryError(
      `by("${index.index.name}") on ${schema.name} would read the whole index, an entry for every row. Give at least the part ` +
        `"${index.index.parts[0]}", or allow it with { fullScan: true }.`,
      { code: 'ERR_FULL_SCAN', details: { entity: schema.name, index: index.index.name } },
    );
  }
  const conditions = [
    ...Object.entries(spec.key).flatMap(([part, asked]) => conjuncts(keyPartAsCondition(part, asked))),
    ...keyPlan.inexactParts.flatMap((part) =>
      use.key[part] === undefined ? [] : conjuncts(keyPartAsCondition(part, use.key[part])),
    ),
    ...spec.where.flatMap(conjuncts).filter((condition) => !use.served.has(condition)),
  ];
  const tested = testedColumns(schema, conditions);
  const selected = spec.selected === undefined ? undefined : selectColumns(schema, spec.selected);
  const covered = selected !== undefined && isCovered(spec, index, [...selected, ...tested]);
  return {
    spec,
    use,
    keyPlan,
    covered,
    read: readSet(schema, selected, covered ? tested : [...tested, ...index.columns]),
    local: conditions,
    rowTest: conditions.length === 0 ? undefined : compileCondition({ kind: 'all', conditions }, schema),
    finish: finishOf(spec),
  };
}

function readSet(
  schema: EntitySchema,
  selected: readonly ColumnSchema[] | undefined,
  tested: readonly ColumnSchema[],
): ReadSet {
  if (selected === undefined) return readAll(schema);
  return readColumns(schema, selected, tested, new Set(selected.map(({ property }) => property)));
}

/** Whether entries have all of these columns, and end when their rows do. */
function isCovered(
  { schema, slices }: QuerySpec,
  { index }: EntityIndex,
  columns: readonly ColumnSchema[],
): boolean {
  if (slices.length > 0 || index.several !== undefined || schema.marker === undefined) return false;
  if (schema.timeToLive.lifelong) return false;
  const { families } = schema.table.descriptor;
  if (families.some(({ name, ttl }) => ttl !== FOREVER && schema.families.includes(name))) return false;
  return [...columns, ...storedParts(schema)].every(
    (column) => index.included.includes(column) || isKept(index, column),
  );
}

/** Whether an entry's row gives back the value of the column. */
export function isKept(index: EntityIndex['index'], column: ColumnSchema): boolean {
  const part = index.layout.parts.find(({ name }) => name === column.property);
  return (
    part?.recoverable === true &&
    (column.kind === 'column' || column.kind === 'counter') &&
    sameCodec(part.codec.name, column)
  );
}

/** Whether values that the part tells apart, or gives back, are those that the column does. */
export function sameCodec(part: string, { codec, kind }: ColumnSchema): boolean {
  const inner = /^desc\((.*)\)$/.exec(part)?.[1] ?? part;
  if (inner === codec.name || TURNED.test(inner)) return true;
  return kind === 'counter' && inner === 'int64';
}

/** Transforms of a value as a whole. Of a value of another type their codecs throw. */
const TURNED = /^(reverse|reverseDomain|reverseDigits|reverseTimestamp)\b/;

function noTimes(schema: EntitySchema, { index }: EntityIndex): QueryError {
  return new QueryError(
    `The index "${index.name}" of ${schema.name} knows the present only: asOf() and writtenBetween() do not go together with it. ` +
      'Ask by the key, or allow { fullScan: true }.',
    { details: { entity: schema.name, index: index.name } },
  );
}

/** What is read of entries: all of them. */
export const ENTRY_READ: ReadSet = {
  families: new Map([[INDEX_FAMILY, null]]),
  everything: true,
  properties: undefined,
  versions: 1,
};
