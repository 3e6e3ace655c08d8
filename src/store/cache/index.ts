export * from './block-cache.js';
export * from './cache-entry.js';
export * from './cache-slots.js';
export * from './file-handle-cache.js';
