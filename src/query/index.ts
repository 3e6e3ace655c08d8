export { checkReadSettings, type Reading, type ReadSettings, type TableAccess } from './access.js';
export { decimalText, quotient } from './aggregate/running-sum.js';
export { timeRangeAt } from './base-query.js';
export { CollectionQuery } from './collection-query.js';
export { EntityQuery, type MapsOf } from './entity-query.js';
export { EqualLookUps } from './equal-lookups.js';
export { type QueryEvent, type QueryListener, type QueryOperation, queryLogger } from './events.js';
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
} from './find-options.js';
export { Groups } from './groups.js';
export {
  compileKeptWhere,
  type EntryRepair,
  entityIndexes,
  type IndexAccess,
  type IndexState,
  requireActive,
} from './index-access.js';
export type { IndexUse } from './index-use.js';
export { parseKeyConditions } from './key-conditions.js';
export { livingConditions, livingFilter } from './living.js';
export { loadEntity, RowLoader } from './loader.js';
export { Page, type PageOptions } from './page.js';
export type { Predicate } from './predicate.js';
export { emptySpec } from './query-spec.js';
export { resolverOf } from './resolver.js';
export type { SliceBounds } from './slice.js';
export { type TablesPage, TablesQuery } from './tables-query.js';
export type { ColumnOperators, Where, WhereBuilder } from './where.js';
