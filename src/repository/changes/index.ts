export type { RowEntry } from './entry.js';
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
