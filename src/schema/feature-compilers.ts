/**
 * The features that take part in compiling schemas, in the order in which they are asked. One of the lists that name features
 * (docs/extending.md): the rest of the compiler knows none.
 */

import { computedCompiler } from '../features/computed/compile.js';
import { copyCompiler } from '../features/copies/compile.js';
import { evolutionCompiler } from '../features/evolution/compile.js';
import { indexCompiler } from '../features/indexes/compile.js';
import { mutualCompiler } from '../features/mutual/compile.js';
import { referenceCompiler } from '../features/relations/compile.js';
import { summaryCompiler } from '../features/summaries/compile.js';
import type { FeatureCompiler } from './feature-part.js';

export const FEATURE_COMPILERS: readonly FeatureCompiler[] = [
  evolutionCompiler,
  indexCompiler,
  summaryCompiler,
  copyCompiler,
  referenceCompiler,
  mutualCompiler,
  computedCompiler,
];
