export { buildFilter, type FilterContext } from './build.js';
export { FilterEvaluator, type FilterFamily, FilterHint } from './filter-evaluator.js';
