export * from './create-table.js';
export * from './ensure-tables.js';
export * from './register-schemas.js';
export * from './ruby.js';
export * from './system-tables.js';
export * from './table-difference.js';
export * from './table-stamp.js';
