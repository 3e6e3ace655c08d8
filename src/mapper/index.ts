export * from './bind-dictionaries.js';
export * from './cell-reader.js';
export * from './compile-schema.js';
export * from './entity-mapper.js';
