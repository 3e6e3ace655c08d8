/** The mutations of one row as one request. */

import { type OperationOptions, Result, type RowMutation, RowMutations, type Table } from '../table/index.js';

/** One mutation as it is, several as one atomic change of the row. */
export function asAction(row: Uint8Array, mutations: readonly RowMutation[]): RowMutation | RowMutations {
  return mutations.length === 1 ? mutations[0]! : new RowMutations(row).add(...mutations);
}

/** Whether the change leaves a delete marker behind. */
export function hasDelete(action: RowMutation | RowMutations): boolean {
  if (action.kind === 'rowMutations') return action.mutations.some((mutation) => mutation.kind === 'delete');
  return action.kind === 'delete';
}

/** Applies the change as it is. */
export async function applyAction(
  table: Table,
  action: RowMutation | RowMutations,
  options: OperationOptions | undefined,
): Promise<Result> {
  switch (action.kind) {
    case 'put':
      await table.put(action, options);
      return Result.EMPTY;
    case 'delete':
      await table.delete(action, options);
      return Result.EMPTY;
    case 'increment':
      return table.increment(action, options);
    case 'append':
      return table.append(action, options);
    case 'rowMutations':
      return table.mutateRow(action, options);
  }
}
