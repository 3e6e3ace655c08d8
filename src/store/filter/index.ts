export { buildFilter, type FilterContext } from './build.js';
export { FilterEvaluator } from './filter-evaluator.js';
export { type FilterFamily, FilterHint } from './filter-hint.js';
