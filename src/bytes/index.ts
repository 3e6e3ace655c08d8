export * from './bytes.js';
export * from './row-order.js';
export * from './text.js';
export * from './varint.js';
