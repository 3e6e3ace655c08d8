export { kiji } from './kiji.js';
export { phoenix } from './phoenix.js';
export { raw } from './raw.js';
