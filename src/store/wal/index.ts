export * from './preallocation.js';
export * from './replay.js';
export * from './wal.js';
export type { WalOptions } from './wal-options.js';
export * from './wal-options.js';
