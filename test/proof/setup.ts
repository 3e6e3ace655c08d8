/** What every file of tests has: the default number of runs of properties, by the size of the test run, and bytes compared as a whole. */

import fc from 'fast-check';
import { expect } from 'vitest';
import { scaled } from './scale.js';

const INSTALLED = Symbol.for('rowan.test.equalBytes');

/**
 * Compares arrays of bytes for `toEqual`. Vitest looks at one byte after the other, each as a value of any type, which takes a second
 * for some hundred KiB. Values that are not both of the same type of bytes are left to Vitest.
 */
function equalBytes(a: unknown, b: unknown): boolean | undefined {
  if (!(a instanceof Uint8Array && b instanceof Uint8Array) || a.constructor !== b.constructor)
    return undefined;
  return Buffer.compare(a, b) === 0;
}

fc.configureGlobal({ numRuns: scaled(25, 100, 1000) });
// A worker runs this for each of its files.
if (!(INSTALLED in globalThis)) {
  expect.addEqualityTesters([equalBytes]);
  Object.assign(globalThis, { [INSTALLED]: true });
}
