export * from '../src/key/declare.js';
export * from './column.js';
export * from './declaration.js';
export * from './entity.js';
export * from './metadata.js';
export * from './modes.js';
export * from './row-key.js';
export * from './table.js';
