import { UnsupportedError } from '../errors.js';

/** Refused rather than ignored: an ignored label would show everybody what it is meant to hide. */
export function noLabels(what: string): UnsupportedError {
  return new UnsupportedError(
    `${what} needs visibility labels, which the embedded engine does not support. Use HBase, or leave it out.`,
  );
}
