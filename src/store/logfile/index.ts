export * from './reader.js';
export * from './writer.js';
