export { ChangeLog, type LastNumber } from './change-log.js';
export { decideChange, type UndecidedChange } from './decide-change.js';
export type { RowEntry } from './entry.js';
export { BUCKETS, bucketOf, type LogPlace, type LogRow, MADE, UNDER_WAY } from './log-rows.js';
export { ChangeRecorder } from './recorder.js';
export {
  CHANGES_TABLE,
  type CommitEntry,
  changesDescriptor,
  columnsOf,
  commitNumber,
  commitRow,
  entriesOf,
} from './table.js';
