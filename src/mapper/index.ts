export * from './cell-reader.js';
export * from './entity-mapper.js';
export { schemaOf } from './schema-of.js';
