/** Copies of what a caller has given, for writes that cannot be made in the turn of the call. */

import { copyBytes } from '../../bytes/index.js';
import { isGet } from '../../table/get.js';
import {
  Append,
  type BatchAction,
  CheckAndMutate,
  Delete,
  Increment,
  type MutationCell,
  Put,
  type RowMutation,
  RowMutations,
} from '../../table/index.js';
import { isCheckAndMutate } from '../../table/row-mutations.js';

/** The same action in bytes of its own: the caller may use his again. Gets are kept: a read changes nothing. */
export function ownCopy<T extends BatchAction>(action: T): T {
  return copyOf(action) as T;
}

function copyOf(action: BatchAction): BatchAction {
  if (isGet(action)) return action;
  if (action instanceof RowMutations) {
    return new RowMutations(copyBytes(action.row)).add(...action.mutations.map(copyOfMutation));
  }
  if (!isCheckAndMutate(action)) return copyOfMutation(action);
  const own = copyOf(action.action) as RowMutation | RowMutations;
  const { condition } = action;
  if (condition.kind === 'filter') return CheckAndMutate.ifFilter(condition.filter, own, condition.timeRange);
  const qualifier = copyBytes(condition.qualifier);
  return CheckAndMutate.ifMatches(
    { ...condition, qualifier, value: condition.value && copyBytes(condition.value) },
    own,
  );
}

function copyOfMutation(mutation: RowMutation): RowMutation {
  const row = copyBytes(mutation.row);
  let copy: RowMutation;
  if (mutation.kind === 'put') {
    copy = new Put(row, mutation.timestamp);
    copy.cells.push(...mutation.cells.map(copyOfCell));
  } else if (mutation.kind === 'delete') {
    copy = new Delete(row, mutation.timestamp);
    copy.cells.push(...mutation.cells.map(copyOfCell));
  } else {
    copy = mutation.kind === 'increment' ? new Increment(row) : new Append(row);
    for (const column of mutation.columns) {
      const qualifier = copyBytes(column.qualifier);
      if (copy.kind === 'increment')
        copy.addColumn(column.family, qualifier, (column as { amount: bigint }).amount);
      else copy.addColumn(column.family, qualifier, copyBytes((column as { value: Uint8Array }).value));
    }
    copy.timeRange = mutation.timeRange;
    copy.setReturnResults(mutation.returnResults);
  }
  copy.visibility = mutation.visibility;
  return copy.setTtl(mutation.ttl).setDurability(mutation.durability) as RowMutation;
}

function copyOfCell(cell: MutationCell): MutationCell {
  return { ...cell, qualifier: copyBytes(cell.qualifier), value: copyBytes(cell.value) };
}
