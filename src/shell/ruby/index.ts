export * from './interpreter.js';
export * from './parser.js';
export * from './syntax-error.js';
export * from './values.js';
