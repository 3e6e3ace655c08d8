export * from './directory-lock.js';
export * from './file-names.js';
export * from './file-system.js';
export * from './meeting.js';
export * from './node-fs.js';
