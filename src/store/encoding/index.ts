export * from './block-decoder.js';
export * from './block-encoder.js';
export * from './data-block.js';
export * from './encodings.js';
export { plainCellBytes } from './plain-format.js';
export { isRowAt } from './row-slots.js';
