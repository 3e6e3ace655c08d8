export { type CopyReport, type CopyTarget, checkCopies } from './copy-jobs.js';
