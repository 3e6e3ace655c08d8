export * from './dictionary.js';
export { MissingTextError } from './dictionary.js';
