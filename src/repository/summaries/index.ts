export { SummaryFollower, SummaryParticipant } from './participant.js';
export { RemoteCount, type RemoteCountSource } from './remote-count.js';
export { countsWith, cursorAt, SummaryCount } from './summary-count.js';
export { type GroupIdentity, SummaryPlan } from './summary-plan.js';
export { type GroupPosition, SummaryReader, type SummaryRow } from './summary-reader.js';
export {
  amountsOf,
  countPrefix,
  groupOf,
  putStanding,
  RowKind,
  readStanding,
  STATE_PREFIX,
  type SummaryStanding,
  standingOf,
  stateRow,
  summaryTableDescriptor,
  summaryTableName,
} from './summary-rows.js';
