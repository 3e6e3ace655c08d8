/** What a table may be given to do, for callers whose compiler did not see it. */

import { InvalidArgumentError } from '../errors.js';
import { requestOf } from './brand.js';
import { describe } from './checks.js';
import type { Get } from './get.js';
import type { Mutation } from './mutation.js';
import type { CheckAndMutate, RowMutations } from './row-mutations.js';
import type { Scan } from './scan.js';

function wrong(doing: string, wanted: string, given: unknown): InvalidArgumentError {
  return new InvalidArgumentError(`${doing} takes ${wanted}, not ${describe(given)}.`);
}

/** @throws InvalidArgumentError when it is no Get. */
export function checkGet(given: Get): void {
  if (requestOf(given) !== 'get') throw wrong('A read of a row', 'a Get', given);
}

/** @throws InvalidArgumentError when it is no Scan. */
export function checkScan(given: Scan): void {
  if (requestOf(given) !== 'scan') throw wrong('scan', 'a Scan', given);
}

/** @throws InvalidArgumentError when it changes no row. */
export function checkChange(given: Mutation | RowMutations): void {
  const request = requestOf(given);
  if (request === 'mutation' || request === 'rowMutations') return;
  throw wrong('A write', 'a Put, Delete, Increment, Append or RowMutations', given);
}

/** @throws InvalidArgumentError when it is no CheckAndMutate. */
export function checkCheck(given: CheckAndMutate): void {
  if (requestOf(given) !== 'checkAndMutate') throw wrong('checkAndMutate', 'a CheckAndMutate', given);
}

/** @throws InvalidArgumentError when it is no list, or one of its items is none that `check` takes. */
export function checkEach<T>(doing: string, given: readonly T[], check: (item: T) => void): void {
  if (!Array.isArray(given)) throw wrong(doing, 'a list', given);
  // Not `forEach`: it passes over holes.
  for (let i = 0; i < given.length; i++) check((given as readonly T[])[i]!);
}

/** @throws InvalidArgumentError when it is nothing that a batch does. */
export function checkAction(given: Get | Mutation | RowMutations | CheckAndMutate): void {
  const request = requestOf(given);
  if (request !== 'get' && request !== 'checkAndMutate') checkChange(given as Mutation | RowMutations);
}
