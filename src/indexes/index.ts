export * from './entity-indexes.js';
export * from './entry.js';
