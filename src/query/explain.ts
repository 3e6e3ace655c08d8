/** Builds explanations from plans. */

import { toHex, toStringBinary } from '../bytes/index.js';
import type { ConditionsAtHand, KeyConditions, KeyPlan, KeyRange } from '../key/types.js';
import type { EntitySchema } from '../schema/types.js';
import { LATEST_TIMESTAMP } from '../table/index.js';
import type { TableAccess } from './access.js';
import type { CollectionPlan } from './collection-plan.js';
import { describeCondition } from './condition.js';
import {
  type ExplainRange,
  type ExplainWarning,
  type ExplainWarningCode,
  Explanation,
  type QueryExplanation,
} from './explanation.js';
import { describeKeyConditions } from './key-conditions.js';
import type { PathPlan } from './path-planner.js';
import type { EntityPlan } from './plan.js';
import type { ReadSet } from './projection.js';
import type { CollectionSpec } from './query-spec.js';

/** Explains the plan of a query by the key or by an access path. */
export function explainPlan(plan: EntityPlan | PathPlan, { indexing }: TableAccess): Explanation {
  return 'use' in plan ? explainPath(plan, indexing!.access.indexes.tableName) : explainQuery(plan);
}

/** Explains the plan of a query on one entity. */
function explainQuery(plan: EntityPlan): Explanation {
  const { spec, keyPlan } = plan;
  const { schema } = spec;
  const pushed = plan.pushed.map((one) => describeCondition(one));
  const local = plan.local.map((one) => describeCondition(one));
  if (keyPlan.residual !== undefined) pushed.unshift(`rows of ${schema.name} only`);
  if (keyPlan.check !== undefined) local.unshift(keyText(plan));
  return new Explanation({
    kind: keyPlan.kind,
    entities: [schema.name],
    table: schema.table.descriptor.name,
    key: describeKeyConditions(spec.key),
    ...explainRanges(keyPlan),
    direction: spec.reversed ? 'reverse' : 'forward',
    filters: { pushed, local },
    reads: explainReads(plan.read),
    limit: spec.limit ?? null,
    limitPushed: plan.limitPushed,
    maxRows: maxRows(keyPlan, plan.limitPushed ? spec.limit : undefined),
    timeRange: explainTimes(plan),
    warnings: warningsOf(plan, local),
    ...(plan.unused.length > 0 && { unused: plan.unused }),
  });
}

/** Explains the plan of a query by an access path. @param table the table of its entries. */
function explainPath(plan: PathPlan, table: string): Explanation {
  const { spec, use, keyPlan, covered } = plan;
  const { schema } = spec;
  const { index } = use.path;
  const local = plan.local.map((one) => describeCondition(one));
  const points = keyPlan.kind === 'point' || keyPlan.kind === 'points';
  const bound = points ? keyPlan.ranges.length : local.length === 0 ? (spec.limit ?? null) : null;
  return new Explanation({
    kind: keyPlan.kind,
    entities: [schema.name],
    table: schema.table.descriptor.name,
    key: describeKeyConditions(use.key),
    ...explainRanges(keyPlan),
    direction: spec.reversed ? 'reverse' : 'forward',
    filters: { pushed: [], local },
    reads: covered ? {} : explainReads(plan.read),
    limit: spec.limit ?? null,
    limitPushed: false,
    maxRows: bound,
    timeRange: null,
    warnings: pathWarnings(plan, local),
    index: {
      name: index.name,
      table,
      covered,
      lookups: covered ? 0 : bound,
      why: use.why,
      others: use.others,
    },
  });
}

function pathWarnings({ keyPlan, spec }: PathPlan, local: readonly string[]): ExplainWarning[] {
  const warnings: ExplainWarning[] = [];
  if (keyPlan.ranges.length > MANY_RANGES) warnings.push(fanOut(keyPlan));
  if (keyPlan.order === 'none' && keyPlan.kind !== 'point') warnings.push(UNORDERED);
  if (local.length > 0) warnings.push(localFilter(local, spec.limit));
  if (spec.orderBy !== undefined) warnings.push(sortedInMemory(spec.orderBy.property));
  return warnings;
}

function explainRanges(keyPlan: KeyPlan): Pick<QueryExplanation, 'ranges' | 'fanOut' | 'order'> {
  return {
    ranges: keyPlan.ranges.map(explainRange),
    fanOut: keyPlan.fanOut,
    order: keyPlan.order === 'sequence' ? 'key' : keyPlan.order,
  };
}

/** Explains the plans of a collection as one. */
export function explainCollection(spec: CollectionSpec, plan: CollectionPlan): Explanation {
  const { reading, entities, joined } = plan;
  const { limit, reversed } = spec;
  const schemas = entities.map((one) => one.spec.schema);
  const ranges = reading.parts
    .flatMap((part) => part.ranges)
    .sort((a, b) => Buffer.compare(a.start, b.start));
  const of = (pick: (one: EntityPlan) => readonly string[]): string[] =>
    entities.flatMap((one) => pick(one).map((text) => `${one.spec.schema.name}: ${text}`));
  const pushed = of((one) => one.pushed.map((one) => describeCondition(one)));
  if (joined.length > 0) pushed.unshift(`rows of ${joined.map((schema) => schema.name).join(' and ')} only`);
  const local = of((one) => [
    ...(one.keyPlan.check === undefined ? [] : [keyText(one)]),
    ...one.local.map((one) => describeCondition(one)),
  ]);
  const points = reading.parts.every((part) => part.points);
  const limitPushed = limit !== undefined && local.length === 0;
  const timed = entities[0]!;
  return new Explanation({
    kind: points ? (ranges.length === 1 ? 'point' : 'points') : ranges.length === 1 ? 'range' : 'ranges',
    entities: schemas.map((schema) => schema.name),
    table: schemas[0]!.table.descriptor.name,
    key: describeKeyConditions(timed.spec.key),
    ranges: ranges.map(explainRange),
    fanOut: Math.max(...entities.map((one) => one.keyPlan.fanOut)),
    order: reading.order === 'sequence' ? 'key' : reading.order,
    direction: reversed ? 'reverse' : 'forward',
    filters: { pushed, local },
    reads: Object.assign(
      {},
      ...reading.parts.map((part) => explainReads(part.read)),
    ) as QueryExplanation['reads'],
    limit: limit ?? null,
    limitPushed,
    maxRows: points ? ranges.length : limitPushed ? limit * ranges.length : null,
    timeRange: explainTimes(timed),
    warnings: entities.flatMap((one) =>
      warningsOf(
        one,
        one.local.map((one) => describeCondition(one)),
      ),
    ),
  });
}

function keyText({ spec }: EntityPlan): string {
  const key = describeKeyConditions(spec.key);
  return key === '' ? `rows of ${spec.schema.name} only` : `keys where ${key}`;
}

function explainRange(range: KeyRange): ExplainRange {
  const { start, stop } = range;
  const end = stop === undefined ? 'end of table' : toStringBinary(stop);
  return {
    start: toHex(start),
    stop: stop === undefined ? null : toHex(stop),
    printed: `[${start.length === 0 ? 'start of table' : toStringBinary(start)}, ${end})`,
  };
}

function explainReads(read: ReadSet): QueryExplanation['reads'] {
  return Object.fromEntries(
    [...read.families].map(([family, columns]) => [
      family,
      columns === null ? ('all' as const) : columns.map((column) => toStringBinary(column)),
    ]),
  );
}

/**
 * The explanation of a query on texts without a known id of a dictionary, from its plan for the other texts. @param key
 * the conditions as they were given.
 */
export function explainedWithoutIds(
  explanation: QueryExplanation,
  key: KeyConditions,
  withoutId: ConditionsAtHand['withoutId'],
): Explanation {
  const warnings = withoutId.map(
    ({ part, text, dictionary }): ExplainWarning => ({
      code: 'NO_ID',
      message:
        `The dictionary "${dictionary}" has no id for ${part} = ${JSON.stringify(text)} here, so no row is read for it. ` +
        'On a server a query asks for the id first, which explain() does not.',
    }),
  );
  return new Explanation({
    ...explanation,
    key: describeKeyConditions(key),
    warnings: [...explanation.warnings, ...warnings],
  });
}

function explainTimes(plan: EntityPlan): QueryExplanation['timeRange'] {
  const { timeRange } = plan.spec;
  if (timeRange === undefined) return null;
  return { min: timeRange.min, max: timeRange.max === LATEST_TIMESTAMP ? null : timeRange.max };
}

function maxRows(keyPlan: KeyPlan, pushedLimit: number | undefined): number | null {
  if (keyPlan.kind === 'point' || keyPlan.kind === 'points') return keyPlan.ranges.length;
  if (pushedLimit === undefined) return null;
  return keyPlan.order === 'merge' ? pushedLimit * keyPlan.ranges.length : pushedLimit;
}

/** The number of ranges from which a merge is worth a warning. */
const MANY_RANGES = 64;

function warningsOf(plan: EntityPlan, local: readonly string[]): ExplainWarning[] {
  const { spec, keyPlan } = plan;
  const { schema } = spec;
  const warnings: ExplainWarning[] = [];
  const warn = (code: ExplainWarningCode, message: string): void => {
    warnings.push({ code, message });
  };
  const first = schema.key.parts[0]?.name ?? '?';
  if (keyPlan.kind === 'full') {
    warn('FULL_SCAN', `Reads every row of ${schema.table.descriptor.name}. Give the key part "${first}".`);
  }
  if (keyPlan.ranges.length > MANY_RANGES) warnings.push(fanOut(keyPlan));
  if (keyPlan.order === 'none' && keyPlan.kind !== 'point') warnings.push(UNORDERED);
  if (local.length > 0) warnings.push(localFilter(local, spec.limit));
  if (spec.orderBy !== undefined) warnings.push(sortedInMemory(spec.orderBy.property));
  if (spec.selected !== undefined && schema.marker === undefined) {
    warn(
      'READS_WHOLE_ROWS',
      `${schema.name} has no marker column, so select() reads whole families to see which rows exist.`,
    );
  }
  if (spec.timeRange !== undefined) warnAboutTimes(schema, warn);
  return warnings;
}

const UNORDERED: ExplainWarning = {
  code: 'UNORDERED',
  message:
    'Rows come in the byte order of digests, or of texts and digits kept reversed, which is not that of the values. Sort what you collect.',
};

function fanOut({ ranges }: KeyPlan): ExplainWarning {
  return {
    code: 'FAN_OUT',
    message: `Reads ${ranges.length} ranges. Give more leading key parts, or declare fewer salts.`,
  };
}

function localFilter(local: readonly string[], limit: number | undefined): ExplainWarning {
  return {
    code: 'LOCAL_FILTER',
    message: `Decided after reading: ${local.join(' and ')}. Every row of the ranges is read${limit === undefined ? '' : ' until the limit is met'}.`,
  };
}

function sortedInMemory(property: string): ExplainWarning {
  return {
    code: 'SORTED_HERE',
    message: `Sorted by ${property} in memory: every row of the ranges is read, whatever the limit.`,
  };
}

function warnAboutTimes(
  schema: EntitySchema,
  warn: (code: ExplainWarningCode, message: string) => void,
): void {
  const short = schema.table.descriptor.families.filter(
    (family) =>
      schema.families.includes(family.name) && (family.versions === 1 || family.keepDeletedCells === 'FALSE'),
  );
  if (short.length === 0) return;
  warn(
    'TIME_TRAVEL',
    `Family ${short.map((family) => family.name).join(', ')} keeps one version or drops deleted cells: ` +
      'the past is seen only as far as it is kept. Declare versions above 1 and keepDeletedCells TRUE.',
  );
}
