import { EMPTY_BYTES } from '../../bytes/index.js';
import { RowanError, TimeoutError } from '../../errors.js';
import { CellType, LATEST_TIMESTAMP } from '../../table/checks.js';
import type { Get } from '../../table/get-and-scan.js';
import type { RowMutation } from '../../table/mutation.js';
import { Result, StaleResult } from '../../table/result.js';
import type { CheckAndMutate, CheckAndMutateResult, RowMutations } from '../../table/row-mutations.js';
import type { Region } from '../region/region.js';
import type { Call } from '../rpc/call.js';
import { UnknownOutcomeError } from '../rpc/errors.js';
import type { RequestAttributes } from '../rpc/request-attributes.js';
import {
  sizeOfMutation,
  writeCondition,
  writeMutation,
  writeMutationCells,
} from '../wire/encode-mutation.js';
import { writeGet } from '../wire/encode-query.js';
import { type ProtoWriter, tagOf, WireType } from '../wire/proto-writer.js';
import type { WireResult } from '../wire/result-decoder.js';
import { offAbort, onAbort } from './retry.js';

/** Told how the requests of a server's queue end. */
export interface ActionCallOwner {
  /** The server is free for another request. */
  callEnded(call: Call, error: RowanError | undefined): void;
  /** One action came to no good; it may be repeated. */
  actionFailed(action: Action<unknown>, error: RowanError): void;
  /** Actions that failed together. */
  actionsFailed(actions: readonly Action<unknown>[], error: RowanError): void;
  /** Actions whose common request could not be written, or not be answered: each is to be asked for by itself. */
  actionsToSeparate(actions: readonly Action<unknown>[]): void;
}

/** What follows the end of an action, for batches. */
export interface ActionOwner {
  actionDone(action: Action<unknown>): void;
}

/** Which of a request's shapes an action takes when it is not alone. */
export type Grouping =
  /** In the region's common `RegionAction`. */
  | 'shared'
  /** In a `RegionAction` of its own. */
  | 'own'
  /** In a request of its own: the server works on such changes one by one, and many requests side by side. */
  | 'solo';

/**
 * One operation on one row on its way: submitted, located, sent, repeated, ended. It ends exactly once; what comes
 * after its end (an answer after a timeout) is passed over.
 */
export abstract class Action<T> {
  settled = false;
  attempts = 0;
  region: Region | undefined;
  /** Sent to `region` whatever the cache says, and once only: a read from a replica. */
  pinned = false;
  /** Goes in a request of its own: with others it could not be sent or answered. */
  alone = false;
  error: RowanError | undefined;
  value: T | undefined;
  owner: ActionOwner | undefined;
  /** Whether a request that asks for it was sent and came to no clear end. */
  ambiguous = false;
  /** Guards a change that must not be made twice; 0n: none. */
  nonce = 0n;
  /** What goes with each of its requests. */
  attributes: RequestAttributes | undefined;
  /** The request that asks for it now. */
  call: unknown;
  private resolve: ((value: unknown) => void) | undefined;
  private reject: ((error: RowanError) => void) | undefined;
  private signal: AbortSignal | undefined;
  private onAbort: (() => void) | undefined;

  constructor(
    readonly table: string,
    readonly row: Uint8Array,
    readonly grouping: Grouping,
    /** About the bytes of its request. */
    readonly size: number,
    /** On the clock of `performance.now()`. */
    readonly deadline: number,
    private readonly timeout: number,
  ) {}

  /** The operation's name, for messages. */
  abstract readonly verb: string;
  /** Writes its cells, the last first. */
  abstract writeCells(writer: ProtoWriter): void;
  /** Writes what stands in an `Action` beside the index, or for its own `RegionAction` what stands there beside the region. */
  abstract writeBody(writer: ProtoWriter): void;
  /** Whether a second application could be told from one. */
  abstract get repeatable(): boolean;
  /** Whether the servers know a repetition by its nonce and answer it without acting again. */
  get guarded(): boolean {
    return this.nonce !== 0n;
  }
  abstract convert(result: WireResult, processed: boolean): T;

  promise(): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.resolve = resolve as (value: unknown) => void;
      this.reject = reject;
    });
  }

  /** Ends the action when the signal aborts. Call before it is submitted. */
  abortWith(signal: AbortSignal): void {
    this.signal = signal;
    this.onAbort = () => {
      const message = `The ${this.verb} was aborted by its AbortSignal.`;
      this.fail(new RowanError('ERR_ABORTED', message, { cause: signal.reason }));
    };
    if (signal.aborted) this.onAbort();
    else onAbort(signal, this.onAbort);
  }

  succeed(result: WireResult, processed: boolean): void {
    if (this.settled) return;
    this.value = this.convert(result, processed);
    this.settle();
    if (this.owner !== undefined) this.owner.actionDone(this);
    else this.resolve?.(this.value);
  }

  /** Ends the action. An error after an unclear end of a change that is not repeatable says so. */
  fail(error: RowanError): void {
    if (this.settled) return;
    this.error = this.ambiguous && !this.repeatable ? this.unknownOutcome(error) : error;
    this.settle();
    if (this.owner !== undefined) this.owner.actionDone(this);
    else this.reject?.(this.error);
  }

  /** Ends the action if its time is over; true when it has ended. */
  expire(now: number, sent: boolean): boolean {
    if (this.settled) return true;
    if (now < this.deadline) return false;
    if (sent) this.ambiguous = true;
    const last = this.error === undefined ? '' : ` Last error: ${this.error.message}`;
    const why = `The ${this.verb} on table ${this.table} was not done within ${this.timeout} ms.${last}`;
    this.fail(
      new TimeoutError(`${why} Allow more time, or check the servers.`, {
        cause: this.error,
        details: { table: this.table, attempts: this.attempts },
      }),
    );
    return true;
  }

  private settle(): void {
    this.settled = true;
    if (this.signal !== undefined && this.onAbort !== undefined) offAbort(this.signal, this.onAbort);
  }

  private unknownOutcome(error: RowanError): RowanError {
    const message =
      `The ${this.verb} on table ${this.table} was sent, and whether it took effect is not known: ${error.message} ` +
      'Read the row to find out.';
    const details = { ...error.details, outcome: 'unknown' };
    if (error.code === 'ERR_CONNECTION') return new UnknownOutcomeError(message, { cause: error, details });
    return new RowanError(error.code, message, { cause: error, retryable: false, details });
  }
}

const ACTION_GET = tagOf(3, WireType.Bytes);

/** Bytes of a get's request, about; its columns seldom matter. */
const GET_SIZE = 120;

/** Reads a row, or whether it is there. */
export class GetAction<T> extends Action<T> {
  readonly verb = 'get';

  constructor(
    table: string,
    readonly get: Get,
    readonly existenceOnly: boolean,
    private readonly read: (result: WireResult, get: Get) => T,
    deadline: number,
    timeout: number,
  ) {
    super(table, get.row, 'shared', GET_SIZE + get.row.length, deadline, timeout);
  }

  override get repeatable(): boolean {
    return true;
  }

  override writeCells(): void {}

  override writeBody(writer: ProtoWriter): void {
    const mark = writer.mark();
    this.writeGet(writer);
    writer.endMessage(ACTION_GET, mark);
  }

  writeGet(writer: ProtoWriter): void {
    writeGet(writer, this.get, this.existenceOnly);
  }

  override convert(result: WireResult): T {
    return this.read(result, this.get);
  }
}

/** The result of a get; of one that asks for existence only the row, where it is there, and no cells. */
export function readGetResult(result: WireResult, get: Get): Result {
  const isThere = readExists(result);
  if (result.stale) return new StaleResult(isThere ? get.row : EMPTY_BYTES, result.cells);
  return isThere ? new Result(get.row, result.cells) : Result.EMPTY;
}

export function readExists(result: WireResult): boolean {
  return result.exists || result.cells.length > 0;
}

/** What actions that change a row have in common. */

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
