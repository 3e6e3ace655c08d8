import { UnsupportedError } from '../errors.js';

/** Labels that nobody keeps to would show everybody what they are to hide. */
export function noLabels(what: string): UnsupportedError {
  return new UnsupportedError(
    `${what} needs visibility labels, which the embedded engine does not have: it would keep nothing from anybody. Use HBase, or leave it out.`,
  );
}
