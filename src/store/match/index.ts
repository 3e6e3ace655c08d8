export { ChosenColumns } from './chosen-columns.js';
export { AllColumns, ColumnTracker } from './column-tracker.js';
export {
  ClassicCompactionMatcher,
  type CompactionKind,
  type CompactionMatch,
  NewVersionCompactionMatcher,
} from './compaction-matcher.js';
export * from './match-code.js';
export { Matcher } from './matcher.js';
export { NewVersionMatcher } from './new-version-matcher.js';
export { NormalMatcher, RawMatcher, type UserMatch } from './user-matcher.js';
