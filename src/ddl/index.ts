export * from './create-table.js';
export * from './ensure-tables.js';
export * from './ruby.js';
export * from './table-stamp.js';
