export * from './index-jobs.js';
export { dropEntries, removeIndex } from './index-jobs.js';
export type { IndexReport, IndexTarget, SharedValue, VerifyOptions } from './target.js';
