export * from './avro-class.js';
export * from './compile.js';
export type * from './entity-types.js';
export * from './lifecycle.js';
export * from './lint/index.js';
export * from './problems.js';
export * from './types.js';
