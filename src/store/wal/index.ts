export * from './log-observer.js';
export * from './prepared-segment.js';
export * from './replay.js';
export * from './segment.js';
export * from './wal.js';
export type { WalOptions } from './wal-options.js';
