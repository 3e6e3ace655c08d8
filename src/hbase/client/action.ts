import { RowanError, TimeoutError } from '../../errors.js';
import type { Region } from '../region/region.js';
import { UnknownOutcomeError } from '../rpc/errors.js';
import type { RequestAttributes } from '../rpc/request-attributes.js';
import type { ProtoWriter } from '../wire/proto-writer.js';
import type { WireResult } from '../wire/result-decoder.js';
import { offAbort, onAbort } from './abort.js';

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
