export * from './codecs/index.js';
export * from './declare.js';
export * from './dictionary/dictionary.js';
export * from './digest.js';
export * from './elements.js';
export * from './hotspots.js';
export * from './layout/index.js';
export * from './profiles.js';
export type * from './types.js';
