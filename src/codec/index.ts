export * from './avro/index.js';
export * from './json.js';
export * from './scalars.js';
export * from './temporal.js';
export * from './transformed.js';
