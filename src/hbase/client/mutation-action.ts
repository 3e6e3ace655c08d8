import type { RowMutation } from '../../table/mutation.js';
import type { Result } from '../../table/result.js';
import { sizeOfMutation, writeMutation, writeMutationCells } from '../wire/encode-mutation.js';
import type { ProtoWriter } from '../wire/proto-writer.js';
import type { WireResult } from '../wire/result-decoder.js';
import { Action } from './action.js';
import { ACTION_MUTATION, resultOfChange, takesNewest } from './row-changes.js';

/** Put, delete, increment or append. */
export class MutationAction extends Action<Result> {
  constructor(
    table: string,
    readonly mutation: RowMutation,
    nonce: bigint,
    deadline: number,
    timeout: number,
  ) {
    const shared = mutation.kind === 'put' || mutation.kind === 'delete';
    super(table, mutation.row, shared ? 'shared' : 'solo', sizeOfMutation(mutation), deadline, timeout);
    this.nonce = nonce;
  }

  override get verb(): string {
    return this.mutation.kind;
  }

  override get repeatable(): boolean {
    return this.mutation.kind === 'put' || (this.mutation.kind === 'delete' && !takesNewest([this.mutation]));
  }

  override writeCells(writer: ProtoWriter): void {
    writeMutationCells(writer, this.mutation);
  }

  override writeBody(writer: ProtoWriter): void {
    const mark = writer.mark();
    this.writeMutation(writer);
    writer.endMessage(ACTION_MUTATION, mark);
  }

  writeMutation(writer: ProtoWriter): void {
    writeMutation(writer, this.mutation, this.nonce);
  }

  override convert(result: WireResult): Result {
    return resultOfChange(this.row, result);
  }
}
