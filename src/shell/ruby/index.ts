export * from './interpreter.js';
export * from './parser.js';
export * from './values.js';
