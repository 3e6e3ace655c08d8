export { avroFiles, type CsvOptions, csvFiles, ndjsonFiles } from './pipeline/file-sink.js';
export {
  avroSource,
  type CsvSourceOptions,
  csvSource,
  type FileFormatName,
  ndjsonSource,
} from './pipeline/file-source.js';
export { type Increments, type IncrementTarget, increments } from './pipeline/increments.js';
export type { JobKey } from './pipeline/ordered-key.js';
export {
  type Combiner,
  type Emit,
  FinishedJob,
  JobBuilder,
  MappedJob,
  type Mapper,
  ReducedJob,
  type Reducer,
  SourceJob,
  type StepContext,
} from './pipeline/pipeline.js';
export {
  entitySink,
  type PutTarget,
  type Sink,
  type SinkWriter,
  several,
  type Tagged,
} from './pipeline/sink.js';
export { type JobQuery, type JobSource, tableSource } from './pipeline/source.js';
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
