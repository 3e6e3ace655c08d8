export {
  checkReadSettings,
  type PathAccess,
  type Reading,
  type ReadSettings,
  type TableAccess,
} from './access.js';
export type { DownsampleOptions, PointFigures } from './aggregate/downsample.js';
export { quotient } from './aggregate/exact-sum.js';
export { CollectionQuery } from './collection-query.js';
export { EntityQuery } from './entity-query.js';
export {
  type ExplainedIndex,
  type ExplainRange,
  type ExplainWarning,
  type ExplainWarningCode,
  type Explanation,
  explanationText,
  type QueryExplanation,
} from './explanation.js';
export {
  checkFindOptions,
  checkReadOptions,
  type FindOptions,
  type ReadOptionsOf as ReadOptions,
  timeRangeAt,
} from './find-options.js';
export { parseKeyConditions, splitConditions } from './key-conditions.js';
export { loadEntity, RowLoader } from './loader.js';
export {
  type Literal,
  type OperationEvent,
  type OperationListener,
  type OperationName,
  Operations,
  type OperationWatcher,
  type QueryEvent,
  type QueryListener,
  type QueryOperation,
  queryLogger,
  type RunningOperation,
} from './operations.js';
export { Groups, Page, type PageOptions } from './page.js';
export { liveConditions, liveFilter } from './pushdown.js';
export { emptySpec } from './query-spec.js';
export type { RelatedQuery } from './related/related-query.js';
export { relatedRead } from './related/related-query.js';
export type { RelatedConditions, RelatedCounts, RelatedWhere } from './related/related-tests.js';
export type { RelatedReaders } from './related/relation-loader.js';
export type {
  CheckedTree,
  CheckedWith,
  RelationPath,
  RelationTree,
  ShapedBy,
  ShapeOptions,
} from './related/relation-tree.js';
export type { SliceBounds } from './slice.js';
export { type TablesPage, TablesQuery } from './tables-query.js';
export {
  type ColumnOperators,
  type Predicate,
  resolverOf,
  type Where,
  type WhereBuilder,
} from './where.js';
