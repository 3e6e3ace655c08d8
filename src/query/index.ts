export { CollectionQuery, Groups } from './collection-query.js';
export { checkFindOptions, EntityQuery, type FindOptions } from './entity-query.js';
export {
  type ExplainRange,
  type ExplainWarning,
  type ExplainWarningCode,
  type Explanation,
  explanationText,
  type QueryExplanation,
} from './explain.js';
export * from './page.js';
export type { TableAccess } from './source.js';
export type { ColumnOperators, Predicate, Where, WhereBuilder } from './where.js';
