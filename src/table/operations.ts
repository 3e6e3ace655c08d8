/** What a table may be given to do, for callers whose compiler did not see it. */

import { InvalidArgumentError } from '../errors.js';
import { describe } from './checks.js';
import { Get } from './get.js';
import { Mutation } from './mutation.js';
import { CheckAndMutate, RowMutations } from './row-mutations.js';
import { Scan } from './scan.js';

function wrong(doing: string, wanted: string, given: unknown): InvalidArgumentError {
  return new InvalidArgumentError(`${doing} takes ${wanted}, not ${describe(given)}.`);
}

/** @throws InvalidArgumentError when it is no Get. */
export function checkGet(given: Get): void {
  if (!(given instanceof Get)) throw wrong('A read of a row', 'a Get', given);
}

/** @throws InvalidArgumentError when it is no Scan. */
export function checkScan(given: Scan): void {
  if (!(given instanceof Scan)) throw wrong('scan', 'a Scan', given);
}

/** @throws InvalidArgumentError when it changes no row. */
export function checkChange(given: Mutation | RowMutations): void {
  if (given instanceof Mutation || given instanceof RowMutations) return;
  throw wrong('A write', 'a Put, Delete, Increment, Append or RowMutations', given);
}

/** @throws InvalidArgumentError when it is no CheckAndMutate. */
export function checkCheck(given: CheckAndMutate): void {
  if (!(given instanceof CheckAndMutate)) throw wrong('checkAndMutate', 'a CheckAndMutate', given);
}

/** @throws InvalidArgumentError when it is no list, or one of its items is none that `check` takes. */
export function checkEach<T>(doing: string, given: readonly T[], check: (item: T) => void): void {
  if (!Array.isArray(given)) throw wrong(doing, 'a list', given);
  // Not `forEach`: it passes over holes.
  for (let i = 0; i < given.length; i++) check((given as readonly T[])[i]!);
}

/** @throws InvalidArgumentError when it is nothing that a batch does. */
export function checkAction(given: Get | Mutation | RowMutations | CheckAndMutate): void {
  if (!(given instanceof Get) && !(given instanceof CheckAndMutate)) checkChange(given);
}
