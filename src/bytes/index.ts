export * from './bytes.js';
export * from './text.js';
