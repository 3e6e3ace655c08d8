export * from './replay.js';
export * from './segments.js';
export * from './wal.js';
