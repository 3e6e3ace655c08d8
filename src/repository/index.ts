export {
  BatchBuilder,
  type BatchItem,
  type CheckedItem,
  type CompileItem,
  compileItems,
  outcomeAfterHooks,
  runBatch,
} from './batch.js';
export type { IndexFinder } from './by-index.js';
export type { ChangeExecutor } from './change.js';
export { type ChangeOperation, type Deferred, type Ending, runEnding } from './change.js';
export { ConditionalWrite } from './conditional.js';
export { EmbeddedExecutor } from './embedded-executor.js';
export { EntryExpiry } from './expiry.js';
export type { HistoryOptions } from './history.js';
export type {
  ChangeImage,
  ChangeStep,
  Effect,
  EntityChange,
  MaintainerContext,
  OwnColumn,
  RowEffect,
  RowMaintainer,
  StepMaintainer,
  StepReading,
} from './maintainer.js';
export { ObservedExecutor, RecordingExecutor } from './observed-executor.js';
export type * from './options.js';
export type { BulkWriteOptions, ReplaceOptions, RepositoryBatchOptions, WriteOptions } from './options.js';
export {
  deleteNote,
  getNote,
  type Intent,
  type IntentMark,
  isNoteOf,
  noteOf,
  OUTBOX_TABLE,
  type OutboxNote,
  outboxDescriptor,
  readIntent,
  readNotes,
  removeIntents,
  waitingIn,
} from './outbox.js';
export { EntityReader } from './reader.js';
export { type AheadRow, AheadWriter, type LaterWork } from './remote/ahead-writer.js';
export { BackgroundBatches } from './remote/background-batches.js';
export { FollowUps } from './remote/follow-ups.js';
export { IntentDriver, IntentExecutor } from './remote/intent-driver.js';
export { RemoteExecutor } from './remote/remote-executor.js';
export {
  ABANDONED_AFTER,
  FailingWork,
  FENCE_TTL,
  fenceRows,
  isMark,
  newToken,
  type RowEntries,
  type RowIntent,
  WRITE_WINDOW,
  withoutMarks,
} from './remote/row-work.js';
export { applyingWith, readingAtOnce, readingFrom, readingInSteps } from './remote/step-reading.js';
export { batchBuilderOf, Repository } from './repository.js';
export { loadRowOfKey, type RepositoryContext } from './row-access.js';
export { RowBuilder } from './row-builder.js';
export { RowImage } from './row-image.js';
export { RowLock } from './row-lock.js';
export {
  type ScopeValue,
  Sequence,
  type SequenceOptions,
  type SequenceScope,
  Sequences,
  sequenceTableDescriptor,
} from './sequence.js';
export { MAX_EFFECTS, StepDriver } from './step-driver.js';
export {
  type ScatteredBatch,
  type ScatteredReader,
  type ScatteredRepository,
  TablesReader,
} from './variants.js';
