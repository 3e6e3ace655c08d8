export {
  BatchBuilder,
  compileItems,
  type RepositoryBatchOptions,
  runBatch,
  settledOutcome,
} from './batch.js';
export type { BatchItem, CompileItem } from './batch-item.js';
export { type ChangeOperation, type Deferred, type Ending, runEnding } from './change.js';
export { ChangeFlow, MOST_FOLLOWING } from './change-flow.js';
export * from './changes/index.js';
export type { CheckedItem } from './checked-item.js';
export { ConditionalWrite } from './conditional.js';
export * from './denormalize/index.js';
export { type CommittingTable, EmbeddedExecutor } from './embedded-executor.js';
export { EntryLife } from './entry-life.js';
export { EntryNotes } from './entry-notes.js';
export { deleteOf, putOf } from './entry-planner.js';
export type {
  ChangeExecutor,
  ChangeImage,
  ChangeParticipant,
  ChangeStep,
  EntityChange,
  FollowUp,
} from './executor.js';
export type { HistoryOptions } from './history.js';
export { IndexParticipant } from './index-participant.js';
export type { BulkWriteOptions, WriteOptions } from './options.js';
export { EntityReader, type IndexFinder } from './reader.js';
export * from './references/index.js';
export { SETTLED } from './remote/entry-marks.js';
export { followingWith } from './remote/follow-up.js';
export type { Follower, Following } from './remote/follower.js';
export { IndexedExecutor } from './remote/indexed-executor.js';
export { IndexedRows } from './remote/indexed-rows.js';
export { type Intent, type IntentMark, readIntent, removeIntents } from './remote/intents.js';
export { ReadRepair } from './remote/read-repair.js';
export { RowFollowing } from './remote/row-following.js';
export { RowTelling } from './remote/row-telling.js';
export { type Reading as StepReading, readingFrom } from './remote/suspended-reads.js';
export { RemoteExecutor } from './remote-executor.js';
export { Repository } from './repository.js';
export { loadRowOfKey, type RepositoryContext } from './row-access.js';
export { RowBuilder } from './row-builder.js';
export { RowGate } from './row-gate.js';
export { RowImage } from './row-image.js';
export type { ScatteredBatch, ScatteredReader, ScatteredRepository } from './scattered.js';
export * from './summaries/index.js';
export { TablesReader } from './tables-reader.js';
export type * from './types.js';
