import type { RowanError } from '../../errors.js';
import type { Region } from '../region/region.js';
import { asRowanError, Call, type ResponseFrame } from '../rpc/call.js';
import { AnswerTooLargeError, ProtocolError, RemoteError, remoteError } from '../rpc/errors.js';
import { NameBytesPair } from '../wire/messages-rpc.js';
import type { ProtoReader } from '../wire/proto-reader.js';
import { type ProtoWriter, tagOf, WireType } from '../wire/proto-writer.js';
import { EMPTY_WIRE_RESULT, readResult, type WireResult } from '../wire/result-decoder.js';
import type { Action, ActionCallOwner } from './actions.js';

// Of `MultiRequest`, and of its `RegionAction` and `Action`.
const REGION_ACTION = tagOf(1, WireType.Bytes);
const MULTI_NONCE_GROUP = tagOf(2, WireType.Varint);
const REGION = tagOf(1, WireType.Bytes);
const ACTION = tagOf(3, WireType.Bytes);
const ACTION_INDEX = tagOf(1, WireType.Varint);

// Of `MultiResponse`, and of its `RegionActionResult` and `ResultOrException`.
const REGION_RESULT = tagOf(1, WireType.Bytes);
const RESULT_OR_EXCEPTION = tagOf(1, WireType.Bytes);
const REGION_EXCEPTION = tagOf(2, WireType.Bytes);
const PROCESSED = tagOf(3, WireType.Varint);
const RESULT_INDEX = tagOf(1, WireType.Varint);
const RESULT = tagOf(2, WireType.Bytes);
const EXCEPTION = tagOf(3, WireType.Bytes);

/** Bytes of a stack trace that are read. It begins with the message. */
const LONGEST_TRACE = 65536;

type AnyAction = Action<unknown>;

/** Actions that share one `RegionAction`. */
class RegionGroup {
  readonly actions: AnyAction[] = [];
  constructor(readonly region: Region) {}
}

/** A `Multi`: many actions on regions of one server. Each succeeds or fails by itself. */
export class MultiCall extends Call {
  private readonly groups: RegionGroup[] = [];
  private readonly own: AnyAction[] = [];
  /** Actions that the server left out because its answer was full. */
  private readonly deferred: AnyAction[] = [];
  /** Whether an action succeeded in this request. Then retries of the deferred actions do not count as attempts. */
  hasProgressed = false;
  private sizeError: RowanError | undefined;
  /** Changes that the server refused with others, for one of them. */
  private readonly refused: AnyAction[] = [];
  /** The outcomes of actions. They end when the whole answer was read: in a damaged answer nothing is certain. */
  private readonly ends: (
    | { readonly action: AnyAction; readonly result: WireResult; readonly processed: boolean }
    | { readonly actions: readonly AnyAction[]; readonly error: RowanError }
  )[] = [];

  constructor(
    private readonly owner: ActionCallOwner,
    readonly actions: readonly AnyAction[],
    private readonly nonceGroup: bigint,
    timeout: number,
  ) {
    super('Multi', timeout);
    const groups = new Map<Region, RegionGroup>();
    for (const action of actions) {
      if (action.grouping === 'own') {
        this.own.push(action);
        continue;
      }
      const region = action.region!;
      let group = groups.get(region);
      if (group === undefined) {
        group = new RegionGroup(region);
        groups.set(region, group);
        this.groups.push(group);
      }
      group.actions.push(action);
    }
  }

  override writeCells(writer: ProtoWriter): void {
    for (let i = this.own.length - 1; i >= 0; i--) this.own[i]!.writeCells(writer);
    for (let g = this.groups.length - 1; g >= 0; g--) {
      const { actions } = this.groups[g]!;
      for (let i = actions.length - 1; i >= 0; i--) actions[i]!.writeCells(writer);
    }
  }

  override writeParam(writer: ProtoWriter): void {
    if (this.actions.some(({ nonce }) => nonce !== 0n)) {
      writer.bigVarint(this.nonceGroup);
      writer.varint(MULTI_NONCE_GROUP);
    }
    for (let i = this.own.length - 1; i >= 0; i--) {
      const action = this.own[i]!;
      const mark = writer.mark();
      action.writeBody(writer);
      writer.bytesField(REGION, action.region!.specifier);
      writer.endMessage(REGION_ACTION, mark);
    }
    for (let g = this.groups.length - 1; g >= 0; g--) {
      const { region, actions } = this.groups[g]!;
      const group = writer.mark();
      for (let i = actions.length - 1; i >= 0; i--) {
        const mark = writer.mark();
        actions[i]!.writeBody(writer);
        writer.varintField(ACTION_INDEX, i);
        writer.endMessage(ACTION, mark);
      }
      writer.bytesField(REGION, region.specifier);
      writer.endMessage(REGION_ACTION, group);
    }
  }

  override onResponse({ reader, cells }: ResponseFrame): void {
    let at = 0;
    while (!reader.done) {
      const tag = reader.varint();
      if (tag !== REGION_RESULT) {
        reader.skip(tag);
        continue;
      }
      const outer = reader.enter();
      if (at < this.groups.length) this.readGroup(reader, cells, this.groups[at]!.actions);
      else if (at - this.groups.length < this.own.length) {
        this.readOwn(reader, cells, this.own[at - this.groups.length]!);
      } else throw new ProtocolError('A Multi was answered for more regions than it named.');
      reader.leave(outer);
      at++;
    }
    cells.checkUsedUp('An answer to a Multi');
    this.owner.callEnded(this, undefined);
    for (const end of this.ends) {
      if ('error' in end) this.owner.actionsFailed(end.actions, end.error);
      else end.action.succeed(end.result, end.processed);
    }
    if (this.refused.length > 0) this.owner.actionsToSeparate(this.refused);
    if (this.deferred.length > 0) this.owner.actionsFailed(this.deferred, this.sizeError!);
    const unanswered = this.unanswered();
    if (unanswered.length > 0) {
      this.owner.actionsFailed(
        unanswered,
        new ProtocolError('A Multi was not answered for all its actions.'),
      );
    }
  }

  /** The actions that still await this request's answer. */
  private unanswered(): AnyAction[] {
    return this.actions.filter((action) => !action.settled && action.call === this);
  }

  private readGroup(reader: ProtoReader, cells: ResponseFrame['cells'], actions: readonly AnyAction[]): void {
    let answers = 0;
    while (!reader.done) {
      const tag = reader.varint();
      if ((tag === RESULT_OR_EXCEPTION || tag === REGION_EXCEPTION) && ++answers > actions.length) {
        throw new ProtocolError('A Multi was answered more often than it asked.');
      }
      if (tag === RESULT_OR_EXCEPTION) {
        const outer = reader.enter();
        this.readResultOrException(reader, cells, actions);
        reader.leave(outer);
      } else if (tag === REGION_EXCEPTION) {
        this.failed(actions, this.readException(reader, actions[0]!));
      } else {
        reader.skip(tag);
      }
    }
  }

  private readResultOrException(
    reader: ProtoReader,
    cells: ResponseFrame['cells'],
    actions: readonly AnyAction[],
  ): void {
    let index = 0;
    let result = EMPTY_WIRE_RESULT;
    let error: RowanError | undefined;
    while (!reader.done) {
      const tag = reader.varint();
      if (tag === RESULT_INDEX) {
        index = reader.uint32();
      } else if (tag === RESULT) {
        const outer = reader.enter();
        const { end, level } = reader;
        try {
          result = readResult(reader, cells);
        } catch (thrown) {
          // Cells that cannot be represented fail their own action only.
          error = asRowanError(thrown);
          if (error instanceof ProtocolError) throw error;
          reader.resume(end, reader.end, level);
        }
        reader.end = end;
        reader.leave(outer);
      } else if (tag === EXCEPTION) {
        error = this.readException(reader, actions[index] ?? actions[0]!);
      } else {
        reader.skip(tag);
      }
    }
    const action = actions[index];
    if (action === undefined)
      throw new ProtocolError(`A Multi was answered for action ${index}, which it lacks.`);
    if (error === undefined) this.succeed(action, result, true);
    else if (actions.length > 1 && error instanceof RemoteError && isOfAnother(action, error))
      this.refused.push(action);
    else this.failed([action], error);
  }

  private succeed(action: AnyAction, result: WireResult, processed: boolean): void {
    this.hasProgressed = true;
    this.ends.push({ action, result, processed });
  }

  /** Collects actions that the answer had no room for until all of it was read: other actions may have succeeded. */
  private failed(actions: readonly AnyAction[], error: RowanError): void {
    if (error instanceof RemoteError && error.retryClass === 'immediate') {
      this.deferred.push(...actions);
      this.sizeError = error;
    } else {
      this.ends.push({ actions, error });
    }
  }

  /** The answer to a `RegionAction` of one action: one result for each mutation, of which the first has all cells. */
  private readOwn(reader: ProtoReader, cells: ResponseFrame['cells'], action: AnyAction): void {
    let result = EMPTY_WIRE_RESULT;
    let processed = false;
    let error: RowanError | undefined;
    while (!reader.done) {
      const tag = reader.varint();
      if (tag === RESULT_OR_EXCEPTION) {
        const outer = reader.enter();
        while (!reader.done) {
          const inner = reader.varint();
          if (inner === RESULT) {
            const end = reader.enter();
            const part = readResult(reader, cells);
            if (part.cells.length > 0) result = part;
            reader.leave(end);
          } else if (inner === EXCEPTION) {
            error = this.readException(reader, action);
          } else {
            reader.skip(inner);
          }
        }
        reader.leave(outer);
      } else if (tag === REGION_EXCEPTION) {
        error = this.readException(reader, action);
      } else if (tag === PROCESSED) {
        processed = reader.bool();
      } else {
        reader.skip(tag);
      }
    }
    if (error !== undefined) this.failed([action], error);
    else this.succeed(action, result, processed);
  }

  private readException(reader: ProtoReader, action: AnyAction): RowanError {
    const outer = reader.enter();
    const { name, value } = NameBytesPair.read(reader);
    reader.leave(outer);
    const stackTrace =
      value === undefined ? '' : Buffer.from(value.subarray(0, LONGEST_TRACE)).toString('utf8');
    return remoteError(
      { className: name, stackTrace },
      action.region!.server,
      `The ${action.verb} on table ${action.table}`,
    );
  }

  override onError(error: RowanError): void {
    this.owner.callEnded(this, error);
    const unanswered = this.unanswered();
    // One action may have made the common answer too large.
    if (error instanceof AnswerTooLargeError && this.actions.length > 1) {
      const [again, never] = divide(unanswered, ({ repeatable, guarded }) => repeatable || guarded);
      for (const action of again) action.unanswered ??= action.region;
      this.owner.actionsToSeparate(again);
      this.owner.actionsFailed(never, error);
    } else {
      this.owner.actionsFailed(unanswered, error);
    }
  }

  override onUnsendable(error: RowanError): void {
    if (this.actions.length === 1) {
      this.onError(error);
      return;
    }
    // One action cannot be encoded; sent alone, the others can.
    this.owner.callEnded(this, undefined);
    this.owner.actionsToSeparate(this.unanswered());
  }

  override describe(): string {
    return `A request for ${this.actions.length} operations`;
  }

  override isExpired(now: number): boolean {
    if (super.isExpired(now)) return true;
    let live = 0;
    for (const action of this.actions) if (!action.expire(now, this.sent)) live++;
    return live === 0;
  }
}

/**
 * Whether another change may be the one that is refused. Gets are refused one by one, and a put of the column that the user may not
 * write would be refused alone, too.
 */
function isOfAnother(action: AnyAction, { mayBeOfAnother, denial }: RemoteError): boolean {
  if (!mayBeOfAnother || action.verb === 'get') return false;
  const { action: right, family, qualifier } = denial ?? {};
  return (
    right !== 'WRITE' || family === undefined || qualifier === undefined || !action.puts(family, qualifier)
  );
}

function divide<T>(items: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  const yes: T[] = [];
  const no: T[] = [];
  for (const item of items) (test(item) ? yes : no).push(item);
  return [yes, no];
}
