export * from './cell-reader.js';
export * from './entity-mapper.js';
