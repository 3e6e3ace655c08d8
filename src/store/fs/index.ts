export * from './directory-lock.js';
export * from './file-system.js';
export * from './node-fs.js';
export * from './reader-socket.js';
export * from './shared-sync.js';
