export { ndjsonFiles } from './pipeline/file-sink.js';
export type { JobKey } from './pipeline/ordered-key.js';
export {
  type Combiner,
  type Emit,
  type FinishedJob,
  JobBuilder,
  type MappedJob,
  type Mapper,
  type ReducedJob,
  type Reducer,
  type SourceJob,
  type StepContext,
} from './pipeline/pipeline.js';
export { entities, type PutTarget, type Sink, type SinkWriter, several } from './pipeline/sink.js';
export { type JobSource, tableSource } from './pipeline/source.js';
export { runJob } from './runner.js';
export type {
  Counters,
  JobDefinition,
  JobOutcome,
  JobPhase,
  JobProgress,
  JobRunOptions,
  RowRange,
  SplitContext,
  SplitWork,
} from './types.js';
