export * from './replay.js';
export * from './segment.js';
export * from './wal.js';
