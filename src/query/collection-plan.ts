/** Plans a collection: the plans of its entities, merged in one order. */

import { compareBytes, equalBytes } from '../bytes/index.js';
import { QueryError } from '../errors.js';
import type { KeyLead, KeyRange } from '../key/types.js';
import type { EntitySchema } from '../schema/types.js';
import { type Filter, familyNames, filters } from '../table/index.js';
import { type EntityPlan, leftoverTest, planQuery } from './plan.js';
import type { ReadSet } from './projection.js';
import type { QuerySpec } from './query-spec.js';
import type { PlanPart, ReadPlan } from './read-plan.js';
import type { Row } from './row.js';

export interface CollectionPlan {
  readonly reading: ReadPlan;
  readonly entities: readonly EntityPlan[];
  /** The entities that share one scan because their rows are adjacent. */
  readonly joined: readonly EntitySchema[];
}

/**
 * Plans every entity by itself. Entities with equal layouts before the record type, and with conditions on keys only,
 * have adjacent rows within each range: one scan reads them. @throws QueryError `ERR_FULL_SCAN` as a query on one
 * entity; KeyError.
 */
export function planCollection(specs: readonly QuerySpec[]): CollectionPlan {
  const entities = specs.map((spec) => planOne(specs, spec));
  const together = neighbors(entities);
  const parts: PlanPart[] = together.length > 1 ? [joinedPart(entities, together)] : [];
  entities.forEach((plan, index) => {
    if (together.length < 2 || !together.includes(index)) parts.push(ownPart(plan, index));
  });
  const first = specs[0]!;
  const ranges = parts.reduce((sum, part) => sum + part.ranges.length, 0);
  const unordered = entities.some((plan) => plan.keyPlan.order === 'none');
  return {
    reading: {
      parts,
      layouts: specs.map((spec) => spec.schema.key),
      order: unordered ? 'none' : ranges < 2 ? 'sequence' : 'merge',
      mergeOffset: undefined,
      reversed: first.reversed,
      timeRange: first.timeRange,
    },
    entities,
    joined: together.length > 1 ? together.map((index) => specs[index]!.schema) : [],
  };
}

function planOne(specs: readonly QuerySpec[], spec: QuerySpec): EntityPlan {
  const plan = planQuery({ ...spec, fullScan: true });
  if (plan.keyPlan.kind !== 'full' || spec.fullScan) return plan;
  const { schema } = spec;
  throw new QueryError(
    `collection() on ${specs.map((one) => one.schema.name).join(', ')} would read the whole table. Give the leading key part ` +
      `"${schema.key.parts[0]?.name ?? '?'}" that they share, or allow it with { fullScan: true }.`,
    { code: 'ERR_FULL_SCAN', details: { table: schema.table.descriptor.name } },
  );
}

function ownPart({ keyPlan, read, filter, rowTest, spec }: EntityPlan, entity: number): PlanPart {
  return {
    ranges: keyPlan.ranges,
    leads: keyPlan.leads,
    isPlainBehind: keyPlan.isPlainBehind,
    points: keyPlan.kind === 'point' || keyPlan.kind === 'points',
    read,
    filter,
    entity,
    entities: [entity],
    classify: rowTest && ((row: Row) => (rowTest(row) ? entity : -1)),
    isLeftover: leftoverTest(spec.schema),
  };
}

/** The indexes of the entities with adjacent rows; those of the first such group. */
function neighbors(entities: readonly EntityPlan[]): number[] {
  for (const [index, plan] of entities.entries()) {
    if (!restrictsOnlyKeys(plan)) continue;
    const found = [index];
    for (let other = index + 1; other < entities.length; other++) {
      if (restrictsOnlyKeys(entities[other]!) && isBeside(plan, entities[other]!)) found.push(other);
    }
    if (found.length > 1) return found;
  }
  return [];
}

/** Whether only keys are restricted, so that one filter and one set of columns serve several entities. */
function restrictsOnlyKeys({ keyPlan, pushed, local, spec }: EntityPlan): boolean {
  return (
    keyPlan.beforeType !== undefined &&
    keyPlan.order !== 'none' &&
    keyPlan.check === undefined &&
    pushed.length + local.length === 0 &&
    spec.selected === undefined
  );
}

function isBeside(a: EntityPlan, b: EntityPlan): boolean {
  const left = a.keyPlan.beforeType!;
  const right = b.keyPlan.beforeType!;
  return (
    left.path === right.path &&
    left.leads.length === right.leads.length &&
    left.leads.every((lead, i) => equalBytes(lead.bytes, right.leads[i]!.bytes))
  );
}

/**
 * One range for each prefix, from the rows of the first record type to those of the last. Rows in between are
 * skipped.
 */
function joinedPart(entities: readonly EntityPlan[], together: readonly number[]): PlanPart {
  const leads: KeyLead[] = [];
  const ranges: KeyRange[] = [];
  const own: KeyRange[] = [];
  const plans = together.map((index) => entities[index]!);
  plans[0]!.keyPlan.beforeType!.leads.forEach((lead, i) => {
    const side = plans.map((plan) => plan.keyPlan.ranges[i]!).sort((a, b) => compareBytes(a.start, b.start));
    own.push(...side);
    leads.push(lead);
    ranges.push({ start: side[0]!.start, stop: side.at(-1)!.stop });
  });
  const leftovers = plans.map(({ spec }) => leftoverTest(spec.schema));
  const layouts = together.map((index) => [index, entities[index]!.spec.schema.key] as const);
  return {
    ranges,
    leads,
    isPlainBehind: plans.every((plan) => plan.keyPlan.beforeType!.isPlainBehind),
    points: false,
    read: unionOf(plans),
    filter: rangesFilter(own),
    entity: together[0]!,
    entities: together,
    classify: (row: Row) => {
      const index = layouts.find(([, layout]) => layout.matches(row.row))?.[0] ?? -1;
      return index < 0 || entities[index]!.rowTest?.(row) === false ? -1 : index;
    },
    isLeftover: (row) => leftovers.some((isLeftover) => isLeftover?.(row)),
  };
}

/** A filter that skips rows of other record types. */
function rangesFilter(ranges: readonly KeyRange[]): Filter {
  return filters.multiRowRange(
    ranges.map((range) => ({
      startRow: range.start,
      startInclusive: true,
      stopRow: range.stop ?? new Uint8Array(0),
      stopInclusive: false,
    })),
  );
}

function unionOf(plans: readonly EntityPlan[]): ReadSet {
  const all = familyNames(plans[0]!.spec.schema.table.descriptor);
  const names = all.filter((name) => plans.some((plan) => plan.spec.schema.families.includes(name)));
  return {
    families: new Map(names.map((name) => [name, null])),
    everything: names.length === all.length ? names : undefined,
    properties: undefined,
    versions: Math.max(...plans.map((plan) => plan.read.versions)),
  };
}
