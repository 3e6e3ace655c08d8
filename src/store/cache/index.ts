export * from './block-cache.js';
export * from './cache-entry.js';
export * from './file-handle-cache.js';
