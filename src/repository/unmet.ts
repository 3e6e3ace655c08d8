import { RowanError } from '../errors.js';

/** The condition did not hold. Callers get an outcome in its place. */
export class Unmet extends RowanError {
  constructor() {
    super('ERR_CONFLICT', 'The condition of a check did not hold.');
  }
}
