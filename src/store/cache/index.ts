export * from './block-cache.js';
export * from './file-handle-cache.js';
