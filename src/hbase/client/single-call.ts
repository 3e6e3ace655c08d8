import type { RowanError } from '../../errors.js';
import { Call, type ResponseFrame } from '../rpc/call.js';
import { writeCondition, writeMutation } from '../wire/encode-mutation.js';
import { type ProtoWriter, tagOf, WireType } from '../wire/proto-writer.js';
import { EMPTY_WIRE_RESULT, readResult } from '../wire/result-decoder.js';
import type { Action } from './action.js';
import type { ActionCallOwner } from './action-call-owner.js';
import { CheckAction } from './check-action.js';
import { GetAction } from './get-action.js';
import type { MutationAction } from './mutation-action.js';

const REGION = tagOf(1, WireType.Bytes);
const GET = tagOf(2, WireType.Bytes);
const MUTATION = tagOf(2, WireType.Bytes);
const CONDITION = tagOf(3, WireType.Bytes);
const MUTATE_NONCE_GROUP = tagOf(4, WireType.Varint);

/** A request for one action: `Get` or `Mutate`. */
export class SingleCall extends Call {
  constructor(
    private readonly owner: ActionCallOwner,
    readonly action: Action<unknown>,
    private readonly nonceGroup: bigint,
    timeout: number,
  ) {
    super(action instanceof GetAction ? 'Get' : 'Mutate', timeout);
  }

  override writeCells(writer: ProtoWriter): void {
    this.action.writeCells(writer);
  }

  override writeParam(writer: ProtoWriter): void {
    const { action } = this;
    if (action instanceof GetAction) {
      const mark = writer.mark();
      action.writeGet(writer);
      writer.endMessage(GET, mark);
    } else {
      this.writeMutate(writer);
    }
    writer.bytesField(REGION, action.region!.specifier);
  }

  private writeMutate(writer: ProtoWriter): void {
    const { action } = this;
    if (action.nonce !== 0n) {
      writer.bigVarint(this.nonceGroup);
      writer.varint(MUTATE_NONCE_GROUP);
    }
    if (action instanceof CheckAction) {
      const condition = writer.mark();
      writeCondition(writer, action.check);
      writer.endMessage(CONDITION, condition);
    }
    const mutation = writer.mark();
    if (action instanceof CheckAction) writeMutation(writer, action.single!, action.nonce);
    else (action as MutationAction).writeMutation(writer);
    writer.endMessage(MUTATION, mutation);
  }

  override onResponse({ reader, cells }: ResponseFrame): void {
    let result = EMPTY_WIRE_RESULT;
    let processed = false;
    while (!reader.done) {
      const tag = reader.varint();
      if (tag === 10) {
        const outer = reader.enter();
        result = readResult(reader, cells);
        reader.leave(outer);
      } else if (tag === 16) {
        processed = reader.bool();
      } else {
        reader.skip(tag);
      }
    }
    this.owner.callEnded(this, undefined);
    this.action.succeed(result, processed);
  }

  override onError(error: RowanError): void {
    this.owner.callEnded(this, error);
    this.owner.actionFailed(this.action, error);
  }

  override describe(): string {
    return `The ${this.action.verb} on table ${this.action.table}`;
  }

  override isExpired(now: number): boolean {
    return this.action.expire(now, this.sent) || super.isExpired(now);
  }
}
