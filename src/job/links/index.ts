export type { RemoteRows } from '../entity-rows.js';
export { type CopyReport, type CopyTarget, checkCopies } from './copy-jobs.js';
export {
  checkReferences,
  type ReferenceRepairReport,
  type ReferenceReport,
  type ReferenceTargetRows,
} from './reference-jobs.js';
export {
  changeStanding,
  compareCounts,
  countRows,
  type GroupsReport,
  purgeCounts,
  type SummaryTarget,
} from './summary-jobs.js';
