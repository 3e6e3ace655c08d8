export * from './entity-indexes.js';
export * from './entry.js';
export * from './new-entries.js';
