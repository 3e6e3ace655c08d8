/**
 * `toEqual` compares arrays of bytes as a whole. Vitest looks at one byte after the other, each as a value of any type, which
 * takes a second for some hundred KiB.
 */

import { expect } from 'vitest';

const INSTALLED = Symbol.for('rowan.test.equalBytes');

/** Values that are not both of the same type of bytes are left to Vitest. */
function equalBytes(a: unknown, b: unknown): boolean | undefined {
  if (!(a instanceof Uint8Array && b instanceof Uint8Array) || a.constructor !== b.constructor)
    return undefined;
  return Buffer.compare(a, b) === 0;
}

// A worker runs this for each of its files.
if (!(INSTALLED in globalThis)) {
  expect.addEqualityTesters([equalBytes]);
  Object.assign(globalThis, { [INSTALLED]: true });
}
