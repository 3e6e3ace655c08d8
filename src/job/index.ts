export type { BulkFolder } from './bulk/bulk-load.js';
export type { ParquetType } from './files/parquet.js';
export { avroFiles, type CsvOptions, csvFiles, ndjsonFiles, sequenceFiles } from './pipeline/file-sink.js';
export {
  type Increments,
  type IncrementTarget,
  increments,
  type LookupOptions,
  type LookupTarget,
} from './pipeline/lookup.js';
export type { JobKey } from './pipeline/ordered-key.js';
export { parquetFiles } from './pipeline/parquet-sink.js';
export type {
  Combiner,
  Emit,
  Mapper,
  Reducer,
  StepContext,
} from './pipeline/phases.js';
export { FinishedJob, JobBuilder, MappedJob, ReducedJob, SourceJob } from './pipeline/pipeline.js';
export {
  bulkLoad,
  entitySink,
  type PutTarget,
  type Sink,
  type SinkWriter,
  several,
  type Tagged,
  tableSink,
} from './pipeline/sink.js';
export {
  avroSource,
  type CsvSourceOptions,
  csvSource,
  type FileFormatName,
  type JobQuery,
  type JobSource,
  ndjsonSource,
  type ParquetSourceOptions,
  parquetSource,
  snapshotSource,
  tableSource,
} from './pipeline/source.js';
export {
  type SqlConnection,
  type SqlDialect,
  type SqlTableOptions,
  type SqlValue,
  sqlTable,
} from './pipeline/sql-sink.js';
export { runJob } from './runner.js';
export type {
  Counters,
  JobDefinition,
  JobOutcome,
  JobPhase,
  JobProgress,
  JobReadable,
  JobRunOptions,
  RowRange,
  SplitContext,
  SplitWork,
} from './types.js';
