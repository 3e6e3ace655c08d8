export { type CopyReport, type CopyTarget, checkCopies } from './copy-jobs.js';
export { checkReferences, type ReferenceReport } from './reference-jobs.js';
export {
  changeStanding,
  compareCounts,
  countRows,
  type GroupsReport,
  purgeCounts,
  type SummaryTarget,
} from './summary-jobs.js';
