export { AllColumns, ChosenColumns, ColumnTracker } from './column-tracker.js';
export {
  ClassicCompactionMatcher,
  type CompactionKind,
  type CompactionMatch,
  NewVersionCompactionMatcher,
} from './compaction-matcher.js';
export * from './matcher.js';
export { Matcher } from './matcher.js';
export { NewVersionMatcher, NormalMatcher, RawMatcher, type UserMatch } from './user-matcher.js';
