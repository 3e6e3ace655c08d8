import type { RowanError } from '../../errors.js';
import type { HBaseSettings } from '../options.js';
import { asRowanError, Call, type ResponseFrame } from '../rpc/call.js';
import type { ConnectionPool } from '../rpc/connection-pool.js';
import type { ServerAddress } from '../rpc/connection-settings.js';
import { RemoteError } from '../rpc/errors.js';
import { RequestAttributes } from '../rpc/request-attributes.js';
import { writeCondition, writeMutation } from '../wire/encode-mutation.js';
import { type ProtoWriter, tagOf, WireType } from '../wire/proto-writer.js';
import { EMPTY_WIRE_RESULT, readResult } from '../wire/result-decoder.js';
import {
  type Action,
  type ActionCallOwner,
  CheckAction,
  GetAction,
  type MutationAction,
  type PackedPutAction,
} from './actions.js';
import { MultiCall } from './multi-call.js';

// Of `GetRequest` and `MutateRequest`.
const REGION = tagOf(1, WireType.Bytes);
const GET = tagOf(2, WireType.Bytes);
const MUTATION = tagOf(2, WireType.Bytes);
const CONDITION = tagOf(3, WireType.Bytes);
const MUTATE_NONCE_GROUP = tagOf(4, WireType.Varint);

// Of `GetResponse` and `MutateResponse`; the former has no second field.
const RESULT = tagOf(1, WireType.Bytes);
const PROCESSED = tagOf(2, WireType.Varint);

/** A request for one action: `Get` or `Mutate`. */
class SingleCall extends Call {
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
    else (action as MutationAction | PackedPutAction).writeMutation(writer);
    writer.endMessage(MUTATION, mutation);
  }

  override onResponse({ reader, cells }: ResponseFrame): void {
    let result = EMPTY_WIRE_RESULT;
    let processed = false;
    while (!reader.done) {
      const tag = reader.varint();
      if (tag === RESULT) {
        const outer = reader.enter();
        result = readResult(reader, cells);
        reader.leave(outer);
      } else if (tag === PROCESSED) {
        processed = reader.bool();
      } else {
        reader.skip(tag);
      }
    }
    cells.checkUsedUp(`An answer to a ${this.action.verb}`);
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

/** Bytes not yet taken by the operating system above which no further request is sent. */
const MAX_UNSENT = 16 << 20;
/** Most requests that gets for an idle server are divided over, and the fewest gets of each. */
const MAX_PARTS = 4;
const MIN_PART = 16;
/** Requests that conditional changes are divided over. A server applies those of one request one by one, with a log sync for each. */
const CONDITIONAL_PARTS = 8;

/**
 * The queue of one server. Actions that are submitted in one turn of the event loop leave together: a single action as a `Get` or
 * `Mutate`, several as a `Multi`. At most `maxInFlight` requests are under way; actions that arrive meanwhile wait and form larger
 * requests. A server whose call queue is full is sent fewer at a time, until it keeps up again.
 *
 * A server works through one request in one thread, so large groups are divided: gets, while the server has no other request of this
 * client, and conditional changes always.
 */
export class ServerQueue {
  private waiting: Action<unknown>[] = [];
  private inFlight = 0;
  private limit: number;
  /** Whether it is in the dispatcher's list of queues to flush. */
  isDirty = false;

  constructor(
    private readonly address: ServerAddress,
    private readonly pool: Pick<ConnectionPool, 'get'>,
    private readonly settings: HBaseSettings,
    private readonly nonceGroup: bigint,
    private readonly failed: (actions: readonly Action<unknown>[], error: RowanError) => void,
    private readonly submit: (action: Action<unknown>) => void,
  ) {
    this.limit = settings.maxInFlight;
  }

  get isIdle(): boolean {
    return this.waiting.length === 0 && this.inFlight === 0;
  }

  get load(): { readonly queued: number; readonly inFlight: number; readonly limit: number } {
    return { queued: this.waiting.length, inFlight: this.inFlight, limit: Math.floor(this.limit) };
  }

  push(action: Action<unknown>): void {
    this.waiting.push(action);
  }

  /** Sends requests while `maxInFlight` allows. */
  flush(): void {
    const maxActions = this.inFlight === 0 ? this.partOfGets() : this.settings.maxMultiActions;
    const maxConditional = this.partOfConditional();
    while (this.waiting.length > 0 && this.inFlight < this.limit) {
      const actions = this.take(maxActions, maxConditional);
      if (actions.length === 0) continue;
      try {
        const connection = this.pool.get(this.address, 'ClientService');
        if (connection.unsentBytes > MAX_UNSENT && this.inFlight > 0) {
          this.waiting = actions.concat(this.waiting);
          return;
        }
        this.inFlight++;
        connection.send(this.callFor(actions));
      } catch (error) {
        this.failed(actions, asRowanError(error));
      }
    }
  }

  /** Fails waiting actions whose deadline has passed. */
  expire(now: number): void {
    if (this.waiting.length === 0) return;
    this.waiting = this.waiting.filter((action) => !action.expire(now, false));
  }

  /** Fails all waiting actions. */
  failAll(error: RowanError): void {
    const actions = this.waiting;
    this.waiting = [];
    for (const action of actions) action.fail(error);
  }

  /** The number of gets in one request, so that an idle server reads with several threads. */
  private partOfGets(): number {
    const { maxMultiActions } = this.settings;
    const { waiting } = this;
    const parts = Math.min(MAX_PARTS, Math.floor(this.limit), Math.floor(waiting.length / MIN_PART));
    if (parts < 2 || waiting.some(({ verb }) => verb !== 'get')) return maxMultiActions;
    return Math.min(maxMultiActions, Math.ceil(waiting.length / parts));
  }

  /** The number of conditional changes in one request. */
  private partOfConditional(): number {
    let count = 0;
    for (const { grouping } of this.waiting) if (grouping === 'own') count++;
    const parts = Math.max(1, Math.min(CONDITIONAL_PARTS, Math.floor(this.limit - this.inFlight)));
    return Math.min(this.settings.maxMultiActions, Math.max(1, Math.ceil(count / parts)));
  }

  /**
   * Takes the actions of the next request: one that goes alone, or several of one grouping, in the order in which they came. A change that
   * would go in another request than the one before it of its row is held: its batch submits it again.
   */
  private take(maxActions: number, maxConditional: number): Action<unknown>[] {
    const { maxMultiBytes } = this.settings;
    const { waiting } = this;
    const taken: Action<unknown>[] = [];
    const passed: Action<unknown>[] = [];
    let first: Action<unknown> | undefined;
    let limit = 1;
    const members = new Set<Action<unknown>>();
    let bytes = 0;
    let at = 0;
    for (; at < waiting.length && (first === undefined || taken.length < limit); at++) {
      const action = waiting[at]!;
      if (action.settled) continue;
      if (action.before?.settled === false && !members.has(action.before)) {
        action.held = true;
        continue;
      }
      if (first === undefined) {
        first = action;
        if (!action.alone && action.grouping === 'own') limit = maxConditional;
        else if (!action.alone && action.grouping === 'shared') limit = maxActions;
      } else if (action.alone || action.grouping !== first.grouping) {
        passed.push(action);
        continue;
      } else if (
        bytes + action.size > maxMultiBytes ||
        !RequestAttributes.areSame(first.attributes, action.attributes)
      ) {
        break;
      }
      taken.push(action);
      if (action.after !== undefined) members.add(action);
      bytes += action.size;
    }
    const rest = at >= waiting.length ? [] : waiting.slice(at);
    this.waiting = passed.length === 0 ? rest : passed.concat(rest);
    return taken;
  }

  private callFor(actions: Action<unknown>[]): Call {
    const now = performance.now();
    let latest = 0;
    for (const action of actions) if (action.deadline > latest) latest = action.deadline;
    const timeout = Math.max(1, Math.min(this.settings.rpcTimeout, latest - now));
    const first = actions[0]!;
    const single = actions.length === 1 && first.fitsSingleCall;
    const call = single
      ? new SingleCall(this.owner, first, this.nonceGroup, timeout)
      : new MultiCall(this.owner, actions, this.nonceGroup, timeout);
    call.attributes = first.attributes;
    for (const action of actions) action.call = call;
    return call;
  }

  private readonly owner: ActionCallOwner = {
    callEnded: (_call, error) => {
      this.inFlight--;
      this.adapt(error);
      if (this.waiting.length > 0) process.nextTick(() => this.flush());
    },
    actionFailed: (action, error) => this.failed([action], error),
    actionsFailed: (actions, error) => this.failed(actions, error),
    actionsToSeparate: (actions) => {
      for (const action of actions) {
        action.alone = true;
        action.call = undefined;
        this.submit(action);
      }
    },
  };

  private adapt(error: RowanError | undefined): void {
    if (error instanceof RemoteError && error.simpleClass === 'CallQueueTooBigException') {
      this.limit = Math.max(1, Math.floor(this.limit / 2));
    } else if (error === undefined && this.limit < this.settings.maxInFlight) {
      this.limit += 1 / this.limit;
    }
  }
}
