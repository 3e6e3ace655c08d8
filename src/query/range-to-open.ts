import type { KeyRange } from '../key/types.js';
import type { PlanPart } from './read-plan.js';

/** A range that is to be read, and how. */
export interface OpenRange {
  readonly part: PlanPart;
  readonly range: KeyRange;
}
