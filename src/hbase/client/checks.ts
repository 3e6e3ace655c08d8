/** What HBase's own client refuses before it asks a server, and what a server would answer with less clear words. */

import { InvalidArgumentError } from '../../errors.js';
import type { RowMutation } from '../../table/mutation.js';
import type { CheckAndMutate, RowMutations } from '../../table/row-mutations.js';
import type { Scan } from '../../table/scan.js';

/** @throws InvalidArgumentError when there is nothing to write. A delete of nothing deletes the row. */
export function checkMutation(mutation: RowMutation): RowMutation {
  if (mutation.kind === 'delete') return mutation;
  const count = mutation.kind === 'put' ? mutation.cells.length : mutation.columns.length;
  if (count === 0) {
    throw new InvalidArgumentError(`A ${mutation.kind} needs at least one column. Add one with addColumn.`);
  }
  return mutation;
}

export function checkRowMutations(mutations: RowMutations): RowMutations {
  if (mutations.mutations.length === 0) {
    throw new InvalidArgumentError('Row mutations need at least one mutation. Add one with add.');
  }
  for (const mutation of mutations.mutations) checkMutation(mutation);
  return mutations;
}

export function checkCheck(check: CheckAndMutate): CheckAndMutate {
  if (check.action.kind === 'rowMutations') checkRowMutations(check.action);
  else checkMutation(check.action);
  return check;
}

/** @throws InvalidArgumentError for a raw scan of single columns, which HBase does not do (R48). */
export function checkScan(scan: Scan): Scan {
  if (scan.raw) {
    for (const [family, columns] of scan.families) {
      if (columns !== null) {
        throw new InvalidArgumentError(
          `A raw scan reads whole families; it names columns of "${family}". Use addFamily.`,
        );
      }
    }
  }
  return scan;
}
