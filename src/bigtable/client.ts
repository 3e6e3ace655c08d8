import { setMaxListeners } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import {
  ClosedError,
  InvalidArgumentError,
  RowanError,
  throwIfAborted,
  UnsupportedError,
} from '../errors.js';
import { timerDelay } from '../table/checks.js';
import type { OperationOptions } from '../table/table.js';
import { asBigtableError, type CallContext, isTransient, isUnsent, Status, statusOf } from './errors.js';
import type { BigtableSettings } from './options.js';

/** Calls Google's client, with deadlines, cancellation, retries, and Rowan's errors. */

type CallOptions = {
  readonly timeout: number;
  readonly retry: null;
  readonly retryRequestOptions?: object;
  readonly otherArgs: { readonly headers: Record<string, string> };
};
type Unary = (request: object, options: CallOptions) => Promise<readonly unknown[]> & { cancel?(): void };
type Streaming = (request: object, options: CallOptions) => AnswerStream;

interface AnswerStream extends AsyncIterable<unknown> {
  cancel?(): void;
  destroy?(error?: Error): void;
  on(event: 'data' | 'error' | 'end' | 'close', listener: (given?: unknown) => void): unknown;
}

/** One of Google's generated clients. */
type Stub = { close(): Promise<void> } & Record<string, Unary & Streaming>;

type DataCall = 'mutateRow' | 'checkAndMutateRow' | 'readModifyWriteRow';
type DataStream = 'readRows' | 'mutateRows' | 'sampleRowKeys';
type AdminCall =
  | 'createTable'
  | 'deleteTable'
  | 'getTable'
  | 'listTables'
  | 'modifyColumnFamilies'
  | 'dropRowRange';

/** `FeatureFlags` with `reverse_scans` and `last_scanned_row_responses`, which servers use only if requested. */
const FEATURES = 'CAEgAQ==';
/** Disables the retries of Google's client for streams: it would wait for seconds and restart from the beginning. */
const NO_REPETITION = {
  objectMode: true,
  retries: 0,
  noResponseRetries: 0,
  shouldRetryFn: (): boolean => false,
};
/** The longest pause between two attempts, in milliseconds. */
const LONGEST_PAUSE = 3000;

/** Options for the retries of a call. */
interface Repetition {
  /** False if executing it twice is not safe: it is then retried only if it certainly did not reach the server. */
  readonly repeatable: boolean;
}

/** The time limit of a call over all its attempts. */
export class Deadline {
  private readonly end: number;
  readonly signal: AbortSignal | undefined;
  private attempts = 0;

  constructor(
    private readonly asked: CallContext,
    options: OperationOptions,
    otherwise: number,
    private readonly pause: number,
  ) {
    const { timeout = otherwise, signal } = options;
    if (!(timeout > 0)) {
      throw new InvalidArgumentError(`A timeout must be a positive number of milliseconds, not ${timeout}.`);
    }
    throwIfAborted(signal);
    this.end = performance.now() + timeout;
    this.signal = signal;
    // One signal may be used for many calls.
    if (signal !== undefined) setMaxListeners(0, signal);
  }

  get left(): number {
    return this.end - performance.now();
  }

  /** Waits before the next attempt. @throws the error if there is no time for one, or it would not help. */
  async retry(error: RowanError, repeatable: boolean): Promise<void> {
    throwIfAborted(this.signal);
    if (!error.retryable || !repeatable) throw error;
    const pause = Math.min(LONGEST_PAUSE, this.pause * 2 ** this.attempts++) * (0.5 + Math.random() / 2);
    if (pause >= this.left) throw error;
    await wait(pause, undefined, this.signal && { signal: this.signal }).catch(() =>
      throwIfAborted(this.signal),
    );
  }

  /** The error of an attempt. */
  errorOf(error: unknown): RowanError {
    if (error instanceof RowanError) return error;
    if (this.signal?.aborted) {
      return new RowanError('ERR_ABORTED', `${this.asked.call} was aborted by its AbortSignal.`, {
        cause: this.signal.reason,
      });
    }
    const message = error instanceof Error ? error.message.replace(/^\d+ [A-Z_]+: /, '') : String(error);
    return asBigtableError(statusOf(error) ?? Status.UNKNOWN, message, this.asked, error);
  }
}

/** Google's clients of one instance. */
export class BigtableClient {
  private isClosed = false;

  private constructor(
    readonly settings: BigtableSettings,
    private readonly data: Stub,
    private readonly admin: Stub,
  ) {}

  /**
   * Creates the clients.
   * @throws UnsupportedError when `@google-cloud/bigtable` is not installed.
   */
  static async of(settings: BigtableSettings): Promise<BigtableClient> {
    const { projectId, emulator, clientOptions } = settings;
    const google = (await import('@google-cloud/bigtable').catch((cause: unknown) => {
      throw new UnsupportedError(
        'rowan-orm/bigtable needs the package "@google-cloud/bigtable". Install it: npm install @google-cloud/bigtable',
        { cause },
      );
    })) as unknown as GooglePackage;
    const { Bigtable, v2 } = google.v2 === undefined ? google.default : google;
    const endpoint = emulator && { apiEndpoint: `${emulator.host}:${emulator.port}`, metricsEnabled: false };
    const { options } = new Bigtable({ ...clientOptions, projectId, ...endpoint });
    return new BigtableClient(
      settings,
      new v2.BigtableClient(options.BigtableClient),
      new v2.BigtableTableAdminClient(options.BigtableTableAdminClient),
    );
  }

  /** "projects/…/instances/…". */
  get instance(): string {
    return `projects/${this.settings.projectId}/instances/${this.settings.instanceId}`;
  }

  pathOf(tableId: string): string {
    return `${this.instance}/tables/${tableId}`;
  }

  deadline(
    asked: CallContext,
    options: OperationOptions,
    otherwise = this.settings.operationTimeout,
  ): Deadline {
    if (this.isClosed) throw new ClosedError('The connection to Bigtable was closed.');
    return new Deadline(asked, options, otherwise, this.settings.pause);
  }

  /**
   * Makes a call on one row. @throws RowanError; with `details.outcome` `'unknown'` if a change that must not be
   * repeated may have been made.
   */
  async call<T>(
    method: DataCall,
    tableId: string,
    request: object,
    { repeatable }: Repetition,
    deadline: Deadline,
  ): Promise<T> {
    const whole = { tableName: this.pathOf(tableId), appProfileId: this.settings.appProfileId, ...request };
    for (;;) {
      try {
        return (await this.once(this.data, method, whole, deadline, this.settings.rpcTimeout)) as T;
      } catch (failure) {
        const error = this.closedOr(deadline.errorOf(failure));
        const isSafe = repeatable || isUnsent(error.message);
        if (!isSafe && isDoubtful(error)) throw unknown(error);
        await deadline.retry(error, isSafe);
      }
    }
  }

  /** Makes a call of the table admin. */
  async adminCall<T>(method: AdminCall, request: object, deadline: Deadline): Promise<T> {
    for (;;) {
      try {
        return (await this.once(this.admin, method, request, deadline, this.settings.adminTimeout)) as T;
      } catch (failure) {
        const error = this.closedOr(deadline.errorOf(failure));
        const isRead = method === 'getTable' || method === 'listTables';
        await deadline.retry(error, isRead || isUnsent(error.message));
      }
    }
  }

  /**
   * Makes one attempt of a call with a stream of responses, and yields them in order. Leaving the loop ends the call.
   * @throws RowanError.
   */
  async *stream<T>(
    method: DataStream,
    tableId: string,
    request: object,
    deadline: Deadline,
  ): AsyncGenerator<T, void, undefined> {
    const { answers, end } = this.answersTo(method, tableId, request, deadline, deadline.left);
    const { signal } = deadline;
    let isOver = false;
    try {
      for await (const answer of answers) yield answer as T;
      isOver = true;
      throwIfAborted(signal);
    } catch (error) {
      isOver = true;
      throw this.closedOr(deadline.errorOf(error));
    } finally {
      signal?.removeEventListener('abort', end);
      if (!isOver) end();
    }
  }

  /**
   * As `stream`, but passes each response to `take` when it arrives: it costs less, and cannot be slowed down. An error
   * of `take` ends the call.
   * @param longest Milliseconds for the attempt, within the deadline.
   * @throws RowanError.
   */
  async read<T>(
    method: DataStream,
    tableId: string,
    request: object,
    deadline: Deadline,
    take: (answer: T) => void,
    longest: number = Number.POSITIVE_INFINITY,
  ): Promise<void> {
    const timeout = Math.min(deadline.left, longest);
    const { answers, end } = this.answersTo(method, tableId, request, deadline, timeout);
    const { signal } = deadline;
    try {
      await new Promise<void>((resolve, reject) => {
        answers.on('data', (answer) => {
          try {
            take(answer as T);
          } catch (error) {
            end();
            reject(error);
          }
        });
        answers.on('error', reject);
        answers.on('end', () => resolve());
        // A destroyed stream ends without an event of its own.
        answers.on('close', () => reject(new Error('Stream closed')));
      });
      throwIfAborted(signal);
    } catch (error) {
      throw this.closedOr(deadline.errorOf(error));
    } finally {
      signal?.removeEventListener('abort', end);
    }
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all([this.data.close(), this.admin.close()]);
  }

  /** Sends a request. `end` cancels it, as the deadline's signal does. */
  private answersTo(
    method: DataStream,
    tableId: string,
    request: object,
    { signal }: Deadline,
    timeout: number,
  ): { readonly answers: AnswerStream; readonly end: () => void } {
    throwIfAborted(signal);
    if (this.isClosed) throw new ClosedError('The connection to Bigtable was closed.');
    const whole = { tableName: this.pathOf(tableId), appProfileId: this.settings.appProfileId, ...request };
    const answers = (this.data[method] as Streaming)(whole, {
      ...callOptions(timeout),
      retryRequestOptions: NO_REPETITION,
    });
    const end = (): void => {
      // Errors after the call has ended are irrelevant.
      answers.on('error', () => undefined);
      if (answers.cancel !== undefined) answers.cancel();
      else answers.destroy?.();
    };
    signal?.addEventListener('abort', end, { once: true });
    return { answers, end };
  }

  private async once(
    stub: Stub,
    method: string,
    request: object,
    deadline: Deadline,
    longest: number,
  ): Promise<unknown> {
    if (this.isClosed) throw new ClosedError('The connection to Bigtable was closed.');
    const { signal, left } = deadline;
    const answer = (stub[method] as Unary)(request, callOptions(Math.min(left, longest)));
    if (signal === undefined) return (await answer)[0];
    let abort: () => void;
    const aborted = new Promise<never>((_, reject) => {
      abort = (): void => {
        answer.cancel?.();
        reject(
          new RowanError('ERR_ABORTED', 'The operation was aborted by its AbortSignal.', {
            cause: signal.reason,
          }),
        );
      };
      signal.addEventListener('abort', abort, { once: true });
    });
    try {
      return (await Promise.race([answer, aborted]))[0];
    } finally {
      // Errors after the call has ended are irrelevant.
      answer.catch(() => undefined);
      signal.removeEventListener('abort', abort!);
    }
  }

  private closedOr(error: RowanError): RowanError {
    if (!this.isClosed || error instanceof ClosedError) return error;
    return new ClosedError('The connection to Bigtable was closed while a call was under way.', {
      cause: error,
    });
  }
}

interface GoogleClasses {
  readonly Bigtable: new (
    options: object,
  ) => {
    readonly options: Readonly<Record<'BigtableClient' | 'BigtableTableAdminClient', object>>;
  };
  readonly v2: {
    readonly BigtableClient: new (options: object) => Stub;
    readonly BigtableTableAdminClient: new (options: object) => Stub;
  };
}
type GooglePackage = GoogleClasses & { readonly default: GoogleClasses };

function callOptions(timeout: number): CallOptions {
  return {
    timeout: Math.max(1, Math.ceil(timerDelay(timeout))),
    retry: null,
    otherArgs: { headers: { 'bigtable-features': FEATURES } },
  };
}

/** Whether the server may have executed the request. */
function isDoubtful(error: RowanError): boolean {
  const { status } = error.details;
  return error.retryable && (status === undefined || isTransient(status as number, error.message));
}

function unknown(error: RowanError): RowanError {
  return new RowanError(
    error.code,
    `${error.message} The change may or may not have been made: read the row to find out.`,
    { cause: error, details: { ...error.details, outcome: 'unknown' } },
  );
}
