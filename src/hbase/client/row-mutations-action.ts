import type { Result } from '../../table/result.js';
import type { RowMutations } from '../../table/row-mutations.js';
import { sizeOfMutation, writeMutationCells } from '../wire/encode-mutation.js';
import type { ProtoWriter } from '../wire/proto-writer.js';
import type { WireResult } from '../wire/result-decoder.js';
import { Action } from './action.js';
import {
  changesValues,
  REGION_ACTION_ATOMIC,
  resultOfChange,
  takesNewest,
  writeActions,
} from './row-changes.js';

/** Several changes of a row, all or none. Its increments and appends share one nonce, as in HBase's client. */
export class RowMutationsAction extends Action<Result> {
  readonly verb = 'mutateRow';

  constructor(
    table: string,
    readonly changes: RowMutations,
    nonce: bigint,
    deadline: number,
    timeout: number,
  ) {
    const size = changes.mutations.reduce((sum, mutation) => sum + sizeOfMutation(mutation), 0);
    super(table, changes.row, 'own', size, deadline, timeout);
    this.nonce = changesValues(changes.mutations) ? nonce : 0n;
  }

  override get repeatable(): boolean {
    return this.nonce === 0n && !takesNewest(this.changes.mutations);
  }

  /** The nonce guards increments and appends only. */
  override get guarded(): boolean {
    return super.guarded && !takesNewest(this.changes.mutations);
  }

  override writeCells(writer: ProtoWriter): void {
    const { mutations } = this.changes;
    for (let i = mutations.length - 1; i >= 0; i--) writeMutationCells(writer, mutations[i]!);
  }

  override writeBody(writer: ProtoWriter): void {
    writeActions(writer, this.changes.mutations, this.nonce);
    writer.boolField(REGION_ACTION_ATOMIC, true);
  }

  override convert(result: WireResult): Result {
    return resultOfChange(this.row, result);
  }
}
