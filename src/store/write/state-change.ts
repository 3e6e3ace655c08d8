/** What several changes that share a record of the log must keep to. */

import { toStringBinary } from '../../bytes/index.js';
import { InvalidArgumentError } from '../../errors.js';
import { CellType, LATEST_TIMESTAMP, type RowMutation, type RowMutations } from '../../table/index.js';
import type { TableState } from '../table-state.js';

/** A change of one row, with its table. */
export interface StateChange {
  readonly state: TableState;
  readonly change: RowMutation | RowMutations;
}

/** Increments, appends and deletes of the newest version read their row before anything of the batch is written. */
export function checkIndependent(changes: readonly StateChange[]): void {
  if (changes.every(({ change }) => change.kind === 'put')) return;
  const readers = new Set<string>();
  const seen = new Set<string>();
  for (const { state, change } of changes) {
    const row = `${state.id}:${Buffer.from(change.row).toString('latin1')}`;
    const reads = readsItsRow(change);
    if (readers.has(row) || (reads && seen.has(row))) {
      throw new InvalidArgumentError(
        `An atomic batch has several changes of row ${toStringBinary(change.row)}, one of which reads it ` +
          '(increment, append, row mutations). Put all changes of that row into one RowMutations.',
      );
    }
    seen.add(row);
    if (reads) readers.add(row);
  }
}

function readsItsRow(mutation: RowMutation | RowMutations): boolean {
  if (mutation.kind === 'put') return false;
  if (mutation.kind === 'rowMutations') return mutation.mutations.some(readsItsRow);
  if (mutation.kind !== 'delete') return true;
  return mutation.cells.some((cell) => cell.type === CellType.Delete && cell.timestamp === LATEST_TIMESTAMP);
}
