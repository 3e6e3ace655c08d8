/** What actions that change a row have in common. */

import { CellType, LATEST_TIMESTAMP } from '../../table/cell.js';
import type { RowMutation } from '../../table/mutation.js';
import { Result } from '../../table/result.js';
import type { RowMutations } from '../../table/row-mutations.js';
import { writeMutation } from '../wire/encode-mutation.js';
import { type ProtoWriter, tagOf, WireType } from '../wire/proto-writer.js';
import type { WireResult } from '../wire/result-decoder.js';

export const ACTION_MUTATION: number = tagOf(2, WireType.Bytes);
export const REGION_ACTION_ATOMIC: number = tagOf(2, WireType.Varint);
const REGION_ACTION_ACTION = tagOf(3, WireType.Bytes);

export function resultOfChange(row: Uint8Array, result: WireResult): Result {
  return result.cells.length === 0 ? Result.EMPTY : new Result(row, result.cells);
}

export function mutationsOf(change: RowMutation | RowMutations): readonly RowMutation[] {
  return change.kind === 'rowMutations' ? change.mutations : [change];
}

export function changesValues(mutations: readonly RowMutation[]): boolean {
  return mutations.some(({ kind }) => kind === 'increment' || kind === 'append');
}

/** Whether a newest version is deleted, whichever that is: a second time the one below it is taken. */
export function takesNewest(mutations: readonly RowMutation[]): boolean {
  return mutations.some(
    (mutation) =>
      mutation.kind === 'delete' &&
      mutation.cells.some(
        ({ type, timestamp }) => type === CellType.Delete && timestamp === LATEST_TIMESTAMP,
      ),
  );
}

export function writeActions(writer: ProtoWriter, mutations: readonly RowMutation[], nonce: bigint): void {
  for (let i = mutations.length - 1; i >= 0; i--) {
    const action = writer.mark();
    const mutation = writer.mark();
    writeMutation(writer, mutations[i]!, nonce);
    writer.endMessage(ACTION_MUTATION, mutation);
    writer.endMessage(REGION_ACTION_ACTION, action);
  }
}
