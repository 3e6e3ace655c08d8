/** A plan of one entity as a reading. */

import type { EntityPlan } from './plan.js';
import type { ReadPlan } from './read-plan.js';
import type { Row } from './row.js';

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
