export * from './current.js';
export * from './directory.js';
export * from './edit.js';
export * from './manifest.js';
export * from './read-manifest.js';
export * from './version-state.js';
