/** Offers indexes to the query planner as access paths. */

import type { PathPlanner } from '../../../query/path-planner.js';
import { requireActive } from './access.js';
import { chooseIndex, lookUp } from './choice.js';
import { IndexLookUps } from './equal-lookup.js';
import { planIndex } from './plan.js';
import { indexReadPlan, membershipOf } from './read.js';

export const indexPlanner: PathPlanner = {
  requireActive,
  choose: chooseIndex,
  plan: planIndex,
  readPlan: indexReadPlan,
  lookUp,
  lookUpsBy: IndexLookUps.of,
  membership: membershipOf,
};
