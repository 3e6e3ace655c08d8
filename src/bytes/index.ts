export * from './bytes.js';
export * from './crc32.js';
export * from './text.js';
export * from './varint.js';
