export { MissingTextError } from './codec.js';
export * from './dictionary.js';
