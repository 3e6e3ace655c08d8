export * from './avro/index.js';
export * from './infer.js';
export * from './json.js';
export * from './kinds.js';
export * from './raw-decimal.js';
export * from './scalars.js';
export type * from './types.js';
