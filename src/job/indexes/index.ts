export { dropEntries } from './drop-entries.js';
export * from './index-jobs.js';
