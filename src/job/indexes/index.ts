export { dropEntries } from './drop-entries.js';
export * from './index-jobs.js';
export { removeIndex } from './remove-index.js';
export type { IndexReport, IndexTarget, VerifyOptions } from './target.js';
