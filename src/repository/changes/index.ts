export { ChangeLog, decideChange, type LastNumber, type UndecidedChange } from './change-log.js';
export type { RowEntry } from './entry.js';
export { BUCKETS, bucketOf, type LogPlace, type LogRow, MADE, UNDER_WAY } from './log-rows.js';
export {
  CHANGES_TABLE,
  ChangeRecorder,
  type CommitEntry,
  changesDescriptor,
  columnsOf,
  commitNumber,
  commitRow,
  entriesOf,
} from './table.js';
