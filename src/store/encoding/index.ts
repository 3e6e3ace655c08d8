export * from './data-block.js';
export * from './encodings.js';
export { plainCellBytes } from './plain.js';
export { isRowAt } from './row-lookup.js';
