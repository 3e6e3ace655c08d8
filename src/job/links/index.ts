export type { RemoteRows } from '../entity-rows.js';
export {
  type CopyReport,
  type CopyTarget,
  checkCopies,
  checkReferences,
  type ReferenceRepairReport,
  type ReferenceReport,
  type ReferenceTargetRows,
} from './links.js';
export {
  changeStanding,
  compareCounts,
  countRows,
  type GroupsReport,
  purgeCounts,
  type SummaryTarget,
} from './summary-jobs.js';
