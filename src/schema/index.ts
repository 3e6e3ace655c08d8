export * from './avro-columns.js';
export * from './column-name.js';
export * from './compile.js';
export type * from './entity-types.js';
export { newUlid, newUuid } from './generated-ids.js';
export * from './lint/index.js';
export * from './schema.js';
export * from './signature.js';
export * from './types.js';
