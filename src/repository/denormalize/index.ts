export {
  type CopyFollowing,
  CopyHolder,
  CopyHolderFollower,
  CopySource,
  CopySourceFollower,
} from './copies.js';
export {
  type CopyFault,
  CopyPlan,
  deleteNote,
  noteOf,
  OUTBOX_TABLE,
  type OutboxNote,
  outboxDescriptor,
  readNote,
} from './copy-plan.js';
