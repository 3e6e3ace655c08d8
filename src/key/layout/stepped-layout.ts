import type { KeyLayout } from '../types.js';
import type { DirectLayout } from './direct-plan.js';
import type { Step } from './step.js';

/** A layout whose steps can be walked: what planning and checking need of it. */
export interface SteppedLayout extends KeyLayout {
  readonly steps: readonly Step[];
  /** How plans are made without a walk, where they can be. */
  readonly direct: DirectLayout | undefined;
}
