export * from './declare.js';
export * from './elements.js';
export type * from './types.js';
