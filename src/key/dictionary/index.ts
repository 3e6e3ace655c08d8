export * from './dictionary.js';
export { MissingTextError } from './missing-text-error.js';
