export * from './codecs/index.js';
export * from './declare.js';
export * from './dictionary/index.js';
export * from './elements.js';
export * from './hotspots.js';
export * from './infer.js';
export * from './layout/index.js';
export * from './profiles/index.js';
export type * from './types.js';
