export * from './bytes.js';
export * from './row-order.js';
