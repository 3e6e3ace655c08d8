import { EMPTY_BYTES, equalBytes } from '../../bytes/index.js';
import { RowanError, TimeoutError } from '../../errors.js';
import { CellType, LATEST_TIMESTAMP } from '../../table/checks.js';
import type { Get } from '../../table/get-and-scan.js';
import type { RowMutation } from '../../table/mutation.js';
import type { PackedPuts } from '../../table/packed-puts.js';
import { bytesOf, Result, StaleResult } from '../../table/result.js';
import type { CheckAndMutate, CheckAndMutateResult, RowMutations } from '../../table/row-mutations.js';
import type { TableStatistics } from '../observe/table-figures.js';
import type { Region } from '../region/region.js';
import type { Call } from '../rpc/call.js';
import { RemoteError, UnknownOutcomeError, withoutRetryAdvice } from '../rpc/errors.js';
import type { RequestAttributes } from '../rpc/request-attributes.js';
import {
  sizeOfMutation,
  sizeOfPackedPut,
  writeCondition,
  writeMutation,
  writeMutationCells,
  writePackedCells,
  writePackedPut,
} from '../wire/encode-mutation.js';
import { writeGet } from '../wire/encode-query.js';
import { type ProtoWriter, tagOf, WireType } from '../wire/proto-writer.js';
import type { WireResult } from '../wire/result-decoder.js';
import { offAbort, onAbort } from './retry.js';

/** Receives the ends of a server queue's requests. */
export interface ActionCallOwner {
  /** The request has ended; the server has room for another. */
  callEnded(call: Call, error: RowanError | undefined): void;
  /** One action failed; it may be retried. */
  actionFailed(action: Action<unknown>, error: RowanError): void;
  /** Several actions failed with one error. */
  actionsFailed(actions: readonly Action<unknown>[], error: RowanError): void;
  /** Their common request could not be encoded or was refused for one of them, or its answer was too large: each is to be sent alone. */
  actionsToSeparate(actions: readonly Action<unknown>[]): void;
}

/** Receives the end of an action, for batches. */
export interface ActionOwner {
  actionDone(action: Action<unknown>): void;
}

/** The place of an action in a request with others. */
type Grouping =
  /** In the region's common `RegionAction`, with other gets, puts and deletes. */
  | 'shared'
  /** In a `RegionAction` of its own, beside others of this kind: the server applies them one by one. */
  | 'own'
  /** In a request of its own. */
  | 'solo';

/**
 * One operation on one row: submitted, located, sent, perhaps retried, ended. It ends exactly once; later events, such as an answer
 * after a timeout, are ignored.
 */
export abstract class Action<T> {
  settled = false;
  attempts = 0;
  region: Region | undefined;
  /** Sent to `region` regardless of the cache, and never retried: a read from a replica. */
  pinned = false;
  /** Sent in a request of its own, because a shared request could not be sent or answered, or was refused. */
  alone = false;
  error: RowanError | undefined;
  value: T | undefined;
  owner: ActionOwner | undefined;
  /** The changes of the same row before and after it in its batch, of the same kind. They take effect in this order. */
  before: Action<unknown> | undefined;
  after: Action<unknown> | undefined;
  /** Whether its queue has put it back until {@link before} has ended. */
  held = false;
  /** Where the first request with it went whose outcome is unknown; undefined: there is none. */
  unanswered: Region | undefined;
  /** Lets the server recognize a retry of a change that must not be applied twice; 0n: none. */
  nonce = 0n;
  /** Attributes of each of its requests. */
  attributes: RequestAttributes | undefined;
  /** The request that carries it now. */
  call: unknown;
  /** Those of its table, from when it is submitted. */
  statistics: TableStatistics | undefined;
  private resolve: ((value: unknown) => void) | undefined;
  private reject: ((error: RowanError) => void) | undefined;
  private signal: AbortSignal | undefined;
  private onAbort: (() => void) | undefined;

  constructor(
    readonly table: string,
    readonly row: Uint8Array,
    readonly grouping: Grouping,
    /** Approximate bytes of its request. */
    readonly size: number,
    /** On the clock of `performance.now()`. */
    readonly deadline: number,
    private readonly timeout: number,
  ) {}

  /** The operation's name, for messages. */
  abstract readonly verb: string;
  /** Writes its cells, from the last to the first. */
  abstract writeCells(writer: ProtoWriter): void;
  /** Writes the fields of an `Action` except the index; for a `RegionAction` of its own, its fields except the region. */
  abstract writeBody(writer: ProtoWriter): void;
  /** Whether applying it twice has the effect of applying it once. */
  abstract get repeatable(): boolean;
  /** Whether servers recognize a retry by its nonce and answer without applying it again. */
  get guarded(): boolean {
    return this.nonce !== 0n;
  }
  abstract convert(result: WireResult, processed: boolean): T;
  /** Whether the answer counts as a row. */
  protected hasRow(_result: WireResult): boolean {
    return true;
  }
  /** Whether it is a put of this column. `qualifier` is text. */
  puts(_family: string, _qualifier: string): boolean {
    return false;
  }
  /** Whether a `Get` or `Mutate` can hold it; several changes of a row need a `Multi`. */
  get fitsSingleCall(): boolean {
    return true;
  }

  promise(): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.resolve = resolve as (value: unknown) => void;
      this.reject = reject;
    });
  }

  /** Fails the action when the signal aborts. Call before it is submitted. */
  abortWith(signal: AbortSignal): void {
    this.signal = signal;
    // Not assigned as it is made: V8 would allocate it in the old space, and keep the action until the next full garbage collection.
    const fail = (): void => {
      const message = `The ${this.verb} was aborted by its AbortSignal.`;
      this.fail(new RowanError('ERR_ABORTED', message, { cause: signal.reason }));
    };
    this.onAbort = fail;
    if (signal.aborted) fail();
    else onAbort(signal, fail);
  }

  succeed(result: WireResult, processed: boolean): void {
    if (this.settled) return;
    this.value = this.convert(result, processed);
    this.settle();
    this.statistics?.succeeded(
      this.region,
      this.elapsed,
      this.hasRow(result) ? 1 : 0,
      bytesOf(result.cells) + this.changedBytes,
    );
    if (this.owner !== undefined) this.owner.actionDone(this);
    else this.resolve?.(this.value);
  }

  /**
   * Ends the action. The error of a change that may have been applied says that its outcome is unknown, unless the caller can repeat the
   * change.
   */
  fail(error: RowanError): void {
    if (this.settled) return;
    const isOpen = this.unanswered !== undefined && (!this.repeatable || this.isRefused(error));
    this.error = isOpen ? this.unknownOutcome(error) : error;
    this.settle();
    this.statistics?.failed(this.region, this.elapsed);
    if (this.owner !== undefined) this.owner.actionDone(this);
    else this.reject?.(this.error);
  }

  /** Ends the action if its deadline has passed. @returns whether it has ended. */
  expire(now: number, sent: boolean): boolean {
    if (this.settled) return true;
    if (now < this.deadline) return false;
    if (sent) this.unanswered ??= this.region;
    const last = this.error === undefined ? '' : ` Last error: ${withoutRetryAdvice(this.error)}`;
    const why = `The ${this.verb} on table ${this.table} was not done within ${this.timeout} ms.${last}`;
    this.fail(
      new TimeoutError(`${why} Allow more time, or check the servers.`, {
        cause: this.error,
        details: { table: this.table, attempts: this.attempts },
      }),
    );
    return true;
  }

  /** Bytes of its request that change rows. */
  protected get changedBytes(): number {
    return this.size;
  }

  /** Milliseconds since it was made. The operations of one answer end together, so that the clock is read once for them. */
  private get elapsed(): number {
    const begun = this.deadline - this.timeout;
    const call = this.call as Call | undefined;
    if (call === undefined) return performance.now() - begun;
    if (call.endedAt === 0) call.endedAt = performance.now();
    return call.endedAt - begun;
  }

  private settle(): void {
    this.settled = true;
    if (this.signal !== undefined && this.onAbort !== undefined) offAbort(this.signal, this.onAbort);
  }

  /** Whether a server refuses the change now, whatever became of an earlier request with it. */
  private isRefused(error: RowanError): boolean {
    return this.changedBytes > 0 && error instanceof RemoteError && !error.retryable;
  }

  private unknownOutcome(error: RowanError): RowanError {
    const message =
      `The ${this.verb} on table ${this.table} was sent, and whether it took effect is not known: ${withoutRetryAdvice(error)} ` +
      'Read the row to find out.';
    const details = { ...error.details, outcome: 'unknown' };
    if (error.code === 'ERR_CONNECTION') return new UnknownOutcomeError(message, { cause: error, details });
    return new RowanError(error.code, message, { cause: error, retryable: false, details });
  }
}

const ACTION_GET = tagOf(3, WireType.Bytes);

/** Approximate bytes of a get's request without its row; its columns seldom matter. */
const GET_SIZE = 120;

/** Reads a row, or whether it exists. */
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

  protected override hasRow(result: WireResult): boolean {
    return readExists(result);
  }

  protected override get changedBytes(): number {
    return 0;
  }
}

/** The result of a get. That of a get for existence has the row, if it exists, and no cells. */
export function readGetResult(result: WireResult, get: Get): Result {
  const isThere = readExists(result);
  if (result.stale) return new StaleResult(isThere ? get.row : EMPTY_BYTES, result.cells);
  return isThere ? new Result(get.row, result.cells) : Result.EMPTY;
}

export function readExists(result: WireResult): boolean {
  return result.exists || result.cells.length > 0;
}

// — Helpers of actions that change a row.

const ACTION_MUTATION: number = tagOf(2, WireType.Bytes);
const REGION_ACTION_ATOMIC: number = tagOf(2, WireType.Varint);
const REGION_ACTION_ACTION = tagOf(3, WireType.Bytes);

function resultOfChange(row: Uint8Array, result: WireResult): Result {
  return result.cells.length === 0 ? Result.EMPTY : new Result(row, result.cells);
}

function mutationsOf(change: RowMutation | RowMutations): readonly RowMutation[] {
  return change.kind === 'rowMutations' ? change.mutations : [change];
}

function changesValues(mutations: readonly RowMutation[]): boolean {
  return mutations.some(({ kind }) => kind === 'increment' || kind === 'append');
}

/** Whether the newest version is deleted, whichever that is: a repetition would delete the one below it. */
function takesNewest(mutations: readonly RowMutation[]): boolean {
  return mutations.some(
    (mutation) =>
      mutation.kind === 'delete' &&
      mutation.cells.some(
        ({ type, timestamp }) => type === CellType.Delete && timestamp === LATEST_TIMESTAMP,
      ),
  );
}

function writeActions(writer: ProtoWriter, mutations: readonly RowMutation[], nonce: bigint): void {
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
    private readonly once: boolean,
  ) {
    const shared = mutation.kind === 'put' || mutation.kind === 'delete';
    super(table, mutation.row, shared ? 'shared' : 'solo', sizeOfMutation(mutation), deadline, timeout);
    this.nonce = nonce;
  }

  override get verb(): string {
    return this.mutation.kind;
  }

  override get repeatable(): boolean {
    if (this.once) return false;
    return this.mutation.kind === 'put' || (this.mutation.kind === 'delete' && !takesNewest([this.mutation]));
  }

  override puts(family: string, qualifier: string): boolean {
    const { mutation } = this;
    return mutation.kind === 'put' && mutation.cells.some((cell) => isColumn(cell, family, qualifier));
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

function isColumn(
  column: { readonly family: string; readonly qualifier: Uint8Array },
  family: string,
  qualifier: string,
): boolean {
  return column.family === family && equalBytes(column.qualifier, Buffer.from(qualifier, 'utf8'));
}

/** One of packed puts. It is written from them at each attempt. */
export class PackedPutAction extends Action<Result> {
  readonly verb = 'put';

  constructor(
    table: string,
    private readonly packed: PackedPuts,
    private readonly position: number,
    deadline: number,
    timeout: number,
  ) {
    super(table, packed.rows[position]!, 'shared', sizeOfPackedPut(packed, position), deadline, timeout);
  }

  override get repeatable(): boolean {
    return true;
  }

  override puts(family: string, qualifier: string): boolean {
    const { packed, position } = this;
    const column = packed.columns.findIndex((one) => isColumn(one, family, qualifier));
    const from = position === 0 ? 0 : packed.rowEnds[position - 1]!;
    return column >= 0 && packed.cells.subarray(from, packed.rowEnds[position]).includes(column);
  }

  override writeCells(writer: ProtoWriter): void {
    writePackedCells(writer, this.packed, this.position);
  }

  override writeBody(writer: ProtoWriter): void {
    const mark = writer.mark();
    this.writeMutation(writer);
    writer.endMessage(ACTION_MUTATION, mark);
  }

  writeMutation(writer: ProtoWriter): void {
    writePackedPut(writer, this.packed, this.position);
  }

  override convert(): Result {
    return Result.EMPTY;
  }
}

const REGION_ACTION_CONDITION = tagOf(4, WireType.Bytes);

/** A conditional change. It is not retried when its outcome is unknown: the condition could fail because of its own effect. */
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
    super(table, check.row, 'own', size, deadline, timeout);
    this.nonce = changesValues(mutations) ? nonce : 0n;
  }

  override get repeatable(): boolean {
    return false;
  }

  /** The nonce guards the change, not the condition. */
  override get guarded(): boolean {
    return false;
  }

  override get fitsSingleCall(): boolean {
    return this.single !== undefined;
  }

  /** The single mutation of the change; undefined when there are several. */
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

/** Several mutations of a row, applied atomically. Its increments and appends share one nonce, as in HBase's client. */
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

  override get fitsSingleCall(): boolean {
    return false;
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
