export * from './block-codec.js';
export * from './registry.js';
