/** What HBase's own client refuses before it asks a server, and what a server would answer with less clear words. */

import { InvalidArgumentError } from '../../errors.js';
import type { Filter } from '../../table/filter/filter.js';
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

/** @throws InvalidArgumentError also for `NO_OP`, at which a server fails again and again. */
export function checkCheck(check: CheckAndMutate): CheckAndMutate {
  const { condition } = check;
  if (condition.kind === 'column' && condition.operator === 'NO_OP') {
    throw new InvalidArgumentError('NO_OP compares nothing. Check with one of the other operators.');
  }
  if (check.action.kind === 'rowMutations') checkRowMutations(check.action);
  else checkMutation(check.action);
  return check;
}

/**
 * @throws InvalidArgumentError for a raw scan of single columns (R48), and for a batch size with a filter that decides
 * over whole rows (`IncompatibleFilterException`): HBase does neither.
 */
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
  if (scan.batch !== undefined && scan.filter !== undefined && decidesOverRows(scan.filter)) {
    throw new InvalidArgumentError(
      'A scan with a batch cannot have a filter that decides over whole rows. Leave out the batch or the filter.',
    );
  }
  return scan;
}

/** HBase's `Filter.hasFilterRow`. */
function decidesOverRows(filter: Filter): boolean {
  switch (filter.kind) {
    case 'singleColumnValue':
    case 'singleColumnValueExclude':
    case 'dependentColumn':
    case 'page':
    case 'random':
    case 'skip':
    case 'while':
      return true;
    case 'list':
      return filter.filters.some(decidesOverRows);
    default:
      return false;
  }
}
