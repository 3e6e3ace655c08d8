export { dropEntries } from './drop-entries.js';
export * from './index-jobs.js';
export type { IndexReport, IndexTarget, VerifyOptions } from './target.js';
