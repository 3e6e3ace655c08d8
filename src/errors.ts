/**
 * The errors of Rowan. Every error a user can meet is a {@link RowanError} with a stable `code`, the facts of what was
 * being done, and a message that ends in what to do next.
 */

/** Stable codes to branch on. They are part of the public interface and are never renamed. */
export type ErrorCode =
  | 'ERR_INVALID_ARGUMENT'
  | 'ERR_SCHEMA'
  | 'ERR_KEY'
  | 'ERR_QUERY'
  | 'ERR_FULL_SCAN'
  | 'ERR_CONFLICT'
  | 'ERR_REFERENCE'
  | 'ERR_NOT_FOUND'
  | 'ERR_SERIALIZATION'
  | 'ERR_SCANNER_EXPIRED'
  | 'ERR_TRANSACTION_ENDED'
  | 'ERR_POSITION_GONE'
  | 'ERR_FEED_ENDED'
  | 'ERR_HOOK'
  | 'ERR_TABLE_NOT_FOUND'
  | 'ERR_TABLE_EXISTS'
  | 'ERR_TABLE_DISABLED'
  | 'ERR_TABLE_ENABLED'
  | 'ERR_NAMESPACE_NOT_FOUND'
  | 'ERR_NAMESPACE_EXISTS'
  | 'ERR_NO_SUCH_FAMILY'
  | 'ERR_WRONG_REGION'
  | 'ERR_CORRUPTION'
  | 'ERR_FORMAT_VERSION'
  | 'ERR_ENCRYPTION'
  | 'ERR_NOT_A_STORE'
  | 'ERR_LOCKED'
  | 'ERR_READONLY'
  | 'ERR_IO'
  | 'ERR_BUSY'
  | 'ERR_CLOSED'
  | 'ERR_TIMEOUT'
  | 'ERR_ABORTED'
  | 'ERR_UNSUPPORTED'
  | 'ERR_CODEC'
  | 'ERR_TOO_LARGE'
  | 'ERR_SPACE'
  | 'ERR_CONNECTION'
  | 'ERR_REMOTE'
  | 'ERR_SECURITY'
  | 'ERR_JOB';

/** The context of an error. Keys are shown decoded if a schema is known, and in hex. */
export interface ErrorDetails {
  readonly entity?: string | undefined;
  readonly property?: string | undefined;
  readonly table?: string | undefined;
  readonly family?: string | undefined;
  readonly key?: unknown;
  readonly keyHex?: string | undefined;
  readonly file?: string | undefined;
  readonly offset?: number | undefined;
  readonly [fact: string]: unknown;
}

export interface RowanErrorOptions {
  readonly cause?: unknown;
  /** Whether the same call may succeed if it is repeated. Default false. */
  readonly retryable?: boolean;
  readonly details?: ErrorDetails;
}

/** The base of every error that Rowan throws. */
export class RowanError extends Error {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, options: RowanErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.details = options.details ?? {};
  }

  /** The documentation page of this code, which is also in the package: docs/errors.md. */
  get url(): string {
    return `${ERRORS_PAGE}#${this.code.toLowerCase()}`;
  }
}

const ERRORS_PAGE = 'https://unpkg.com/rowan-orm/docs/errors.md';

/**
 * The error of one item among many: its message begins with the position, and `details.item` has it (from 0). Errors
 * that are not Rowan's, or already name an item, are returned unchanged. (`details.index` is the name of an index.)
 */
export function ofItem(error: unknown, doing: string, index: number): unknown {
  if (!(error instanceof RowanError) || error.details['item'] !== undefined) return error;
  return Object.assign(error, {
    message: `${doing}, item ${index}: ${error.message}`,
    details: { ...error.details, item: index },
  });
}

/** An argument that can never be valid: a wrong type, a negative timestamp, an empty row. */
export class InvalidArgumentError extends RowanError {
  constructor(message: string, options?: RowanErrorOptions) {
    super('ERR_INVALID_ARGUMENT', message, options);
  }
}

/** A declaration or a descriptor that breaks a rule. Carries every problem found, not only the first. */
export class SchemaError extends RowanError {
  readonly problems: readonly string[];

  constructor(message: string, problems: readonly string[] = [message], options?: RowanErrorOptions) {
    super('ERR_SCHEMA', message, options);
    this.problems = problems;
  }
}

/** A row key that cannot be encoded or decoded. */
export class KeyError extends RowanError {
  constructor(message: string, options?: RowanErrorOptions) {
    super('ERR_KEY', message, options);
  }
}

/** A query that cannot be planned or executed. `ERR_FULL_SCAN` if it would read a whole table without permission. */
export class QueryError extends RowanError {
  constructor(
    message: string,
    options?: RowanErrorOptions & { readonly code?: 'ERR_QUERY' | 'ERR_FULL_SCAN' },
  ) {
    super(options?.code ?? 'ERR_QUERY', message, options);
  }
}

/** A conditional write whose expectation did not hold. */
export class ConflictError extends RowanError {
  constructor(message: string, options?: RowanErrorOptions) {
    super('ERR_CONFLICT', message, options);
  }
}

/** A transaction that cannot be committed because others changed data that it had read. */
export class SerializationError extends RowanError {
  constructor(message: string, options?: RowanErrorOptions) {
    super('ERR_SERIALIZATION', message, { retryable: true, ...options });
  }
}

/** Damaged bytes on disk or on the wire. Names the file and the offset. */
export class CorruptionError extends RowanError {
  constructor(message: string, options?: RowanErrorOptions) {
    super('ERR_CORRUPTION', message, options);
  }
}

/** The operation did not finish within its time limit. */
export class TimeoutError extends RowanError {
  constructor(message: string, options?: RowanErrorOptions) {
    super('ERR_TIMEOUT', message, { retryable: true, ...options });
  }
}

/** The engine, table or scanner was closed before or during the call. */
export class ClosedError extends RowanError {
  constructor(message: string, options?: RowanErrorOptions) {
    super('ERR_CLOSED', message, options);
  }
}

/** The engine lacks a feature; the message names the engine and the capability. */
export class UnsupportedError extends RowanError {
  constructor(message: string, options?: RowanErrorOptions) {
    super('ERR_UNSUPPORTED', message, options);
  }
}

/** Whether a write was refused because nothing may be written there, or not by this user. */
export function isWriteRefused(error: unknown): error is RowanError {
  return error instanceof RowanError && (error.code === 'ERR_SECURITY' || error.code === 'ERR_READONLY');
}

/** Throws a {@link RowanError} if `signal` has been aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw abortError(signal);
}

/** The error of an operation that was aborted. */
export function abortError(signal: AbortSignal): RowanError {
  return new RowanError('ERR_ABORTED', 'The operation was aborted by its AbortSignal.', {
    cause: signal.reason,
  });
}

/** The error itself, or one that wraps a thrown value that is not a RowanError. */
export function asRowanError(error: unknown): RowanError {
  if (error instanceof RowanError) return error;
  return new InvalidArgumentError(`The action failed: ${String(error)}`, { cause: error });
}

/** A serialized RowanError, for messages between threads. */
export interface WireError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: ErrorDetails;
  readonly retryable: boolean;
  readonly stack: string | undefined;
}

export function fromWire({ code, message, details, retryable, stack }: WireError): RowanError {
  const options = { details, retryable };
  const error =
    code === 'ERR_CORRUPTION'
      ? new CorruptionError(message, options)
      : new RowanError(code, message, options);
  if (stack !== undefined) error.stack = stack;
  return error;
}

export function toWire(error: unknown): WireError {
  if (error instanceof RowanError) {
    const { code, message, retryable, stack } = error;
    const details = Object.fromEntries(
      Object.entries(error.details).filter(([, fact]) => typeof fact !== 'function'),
    );
    return { code, message, details, retryable, stack };
  }
  const message = error instanceof Error ? error.message : String(error);
  const stack = error instanceof Error ? error.stack : undefined;
  return { code: 'ERR_IO', message, details: {}, retryable: false, stack };
}
