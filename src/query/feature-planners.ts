/** The features that offer access paths to the query planner. One of the lists that name features (docs/extending.md). */

import { indexPlanner } from '../features/indexes/query/read.js';
import type { PathPlanner } from './path-planner.js';

const PLANNERS: readonly PathPlanner[] = [indexPlanner];

/** The planner of access paths. Undefined: rows are read by their key only, and no query has a path. */
export const PATHS: PathPlanner | undefined = PLANNERS[0];
