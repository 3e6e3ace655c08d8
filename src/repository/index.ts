export {
  BatchBuilder,
  type BatchItem,
  type CheckedItem,
  type CompileItem,
  compileItems,
  type RepositoryBatchOptions,
  runBatch,
  settledOutcome,
} from './batch.js';
export { type ChangeOperation, type Deferred, type Ending, runEnding } from './change.js';
export { ChangeFlow, MOST_FOLLOWING } from './change-flow.js';
export * from './changes/index.js';
export { ConditionalWrite } from './conditional.js';
export { type CommittingTable, EmbeddedExecutor } from './embedded-executor.js';
export { deleteOf, IndexParticipant, putOf } from './entry-planner.js';
export { EventualIndexQueue } from './eventual-index-queue.js';
export type {
  ChangeExecutor,
  ChangeImage,
  ChangeParticipant,
  ChangeStep,
  EntityChange,
  FollowUp,
} from './executor.js';
export { EntryLife } from './expiry.js';
export type * from './options.js';
export type { BulkWriteOptions, ReplaceOptions, WriteOptions } from './options.js';
export { deleteNote, noteOf, OUTBOX_TABLE, type OutboxNote, outboxDescriptor, readNote } from './outbox.js';
export type { ScatteredBatch, ScatteredReader, ScatteredRepository } from './random-salt.js';
export { EntityReader, type HistoryOptions, type IndexFinder } from './reader.js';
export {
  ChangeIntents,
  type Intent,
  type IntentMark,
  readIntent,
  removeIntents,
} from './remote/change-intents.js';
export { SETTLED } from './remote/entry-marks.js';
export {
  type Follower,
  type FollowerContext,
  type Following,
  followingWith,
  type Reading as StepReading,
  readingFrom,
} from './remote/follower.js';
export { IndexedExecutor, ReadRepair } from './remote/indexed-executor.js';
export { IndexedRows } from './remote/indexed-rows.js';
export { RowFollowing } from './remote/row-following.js';
export { FENCED, fenceRows, withoutMarks } from './remote/row-work.js';
export { RemoteExecutor } from './remote-executor.js';
export { Repository } from './repository.js';
export { loadRowOfKey, type RepositoryContext } from './row-access.js';
export { RowBuilder } from './row-builder.js';
export { RowImage } from './row-image.js';
export { RowLock } from './row-lock.js';
export { TablesReader } from './tables-reader.js';
