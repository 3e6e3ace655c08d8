export * from './index-jobs.js';
