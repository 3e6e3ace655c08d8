export { type CopyFault, CopyPlan } from './copy-plan.js';
export { type CopyFollowing, CopyHolderFollower, CopySourceFollower } from './followers.js';
export { deleteNote, noteOf, OUTBOX_TABLE, type OutboxNote, outboxDescriptor, readNote } from './outbox.js';
export { CopyHolder, CopySource } from './participants.js';
