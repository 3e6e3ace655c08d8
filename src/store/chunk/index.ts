export * from './create-log.js';
export * from './file-bytes.js';
export * from './format.js';
export * from './reader.js';
export * from './tail.js';
export * from './writer.js';
