import type { RowMutation } from '../../table/mutation.js';
import type { CheckAndMutate, CheckAndMutateResult } from '../../table/row-mutations.js';
import { sizeOfMutation, writeCondition, writeMutationCells } from '../wire/encode-mutation.js';
import { type ProtoWriter, tagOf, WireType } from '../wire/proto-writer.js';
import type { WireResult } from '../wire/result-decoder.js';
import { Action } from './action.js';
import {
  changesValues,
  mutationsOf,
  REGION_ACTION_ATOMIC,
  resultOfChange,
  writeActions,
} from './row-changes.js';

const REGION_ACTION_CONDITION = tagOf(4, WireType.Bytes);

/** A conditional change. It is never repeated after an unclear end: it could meet its own effect. */
export class CheckAction extends Action<CheckAndMutateResult> {
  readonly verb = 'checkAndMutate';

  constructor(
    table: string,
    readonly check: CheckAndMutate,
    nonce: bigint,
    deadline: number,
    timeout: number,
  ) {
    const mutations = mutationsOf(check.action);
    const size = mutations.reduce((sum, mutation) => sum + sizeOfMutation(mutation), 200);
    super(table, check.row, check.action.kind === 'rowMutations' ? 'own' : 'solo', size, deadline, timeout);
    this.nonce = changesValues(mutations) ? nonce : 0n;
  }

  override get repeatable(): boolean {
    return false;
  }

  /** The nonce guards what is changed, not what is checked. */
  override get guarded(): boolean {
    return false;
  }

  /** The action, when it is one mutation, which travels in a `MutateRequest`. */
  get single(): RowMutation | undefined {
    return this.check.action.kind === 'rowMutations' ? undefined : this.check.action;
  }

  override writeCells(writer: ProtoWriter): void {
    const mutations = mutationsOf(this.check.action);
    for (let i = mutations.length - 1; i >= 0; i--) writeMutationCells(writer, mutations[i]!);
  }

  override writeBody(writer: ProtoWriter): void {
    const mark = writer.mark();
    writeCondition(writer, this.check);
    writer.endMessage(REGION_ACTION_CONDITION, mark);
    writeActions(writer, mutationsOf(this.check.action), this.nonce);
    if (this.single === undefined) writer.boolField(REGION_ACTION_ATOMIC, true);
  }

  override convert(result: WireResult, processed: boolean): CheckAndMutateResult {
    const answered = processed && changesValues(mutationsOf(this.check.action));
    return { success: processed, result: answered ? resultOfChange(this.row, result) : undefined };
  }
}
