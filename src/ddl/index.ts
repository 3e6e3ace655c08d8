export * from './create-table.js';
export * from './ruby.js';
