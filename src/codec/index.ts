export * from './avro/index.js';
export * from './infer.js';
export * from './json.js';
export * from './scalars.js';
