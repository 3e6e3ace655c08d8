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
  declare readonly problems: readonly string[];

  constructor(message: string, problems: readonly string[] = [message], options?: RowanErrorOptions) {
    super('ERR_SCHEMA', message, options);
    // Not enumerable: Node prints the properties of an uncaught error, and the message names the problems.
    Object.defineProperty(this, 'problems', { value: problems });
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

// — Errors of files.

/** Errors that may pass, when disk space, descriptors or memory are freed: the same call may succeed later. */
const TRANSIENT = new Set(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'EAGAIN', 'EINTR', 'ENOMEM']);

const REMEDIES: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full: free some space and try again.',
  EDQUOT: 'The disk quota is used up: free some space or raise the quota, and try again.',
  EMFILE: 'The process has too many open files: raise its limit (ulimit -n), and try again.',
  ENFILE: 'The system has too many open files: raise its limit, and try again.',
  EACCES: 'Check who owns the folder and its files, and what its user may do.',
  EPERM: 'Check who owns the folder and its files, and what its user may do.',
  EROFS: 'The disk is mounted read-only: mount it for writing, or write elsewhere.',
  ENOTDIR: 'A part of the path is a file, no folder: check the path.',
  ENOENT: 'There is no such file or folder: check the path.',
  EEXIST: 'The name exists already: remove that file, if it is not needed.',
  ESTALE:
    'The folder was renamed or replaced while the store was open: close the store, and open it where it is now.',
  EIO: 'The disk reported an error: look at the system log, and restore from a copy if the disk fails.',
};

/** An `ERR_IO` that says which call failed on which file and why; programs read `details.call` and `details.errno`. */
export function ioError(call: string, path: string, errno: string, cause?: unknown): RowanError {
  const remedy = REMEDIES[errno] ?? 'The operating system refused the call: see the cause.';
  return new RowanError('ERR_IO', `Could not ${call} "${path}" (${errno}). ${remedy}`, {
    cause,
    retryable: TRANSIENT.has(errno),
    details: { file: path, call, errno },
  });
}

/** The system's code of an error that Node threw, or of an `ERR_IO`; "UNKNOWN" when it has none. */
export function errnoOf(error: unknown): string {
  if (error instanceof RowanError) return String(error.details['errno'] ?? 'UNKNOWN');
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : 'UNKNOWN';
}

/** Whether the disk, or the user's part of it, is full: it stays so until somebody frees space. */
export function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(errnoOf(error));
}

/** An error of Node's calls as one of Rowan, `ERR_IO`; any other as it is. `file` is where it was, unless the error says so. */
export function fileError(error: unknown, file: string): unknown {
  const { syscall, path } = error as NodeJS.ErrnoException;
  if (error instanceof RowanError || syscall === undefined) return error;
  return ioError(syscall, path ?? file, errnoOf(error), error);
}

/** Runs calls for a file or folder, whose errors are `ERR_IO` with its path. */
export async function atFile<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw fileError(error, path);
  }
}

/** Whether a write was refused because nothing may be written there, or not by this user, or nothing more. */
export function isWriteRefused(error: unknown): error is RowanError {
  return error instanceof RowanError && REFUSALS.has(error.code);
}

const REFUSALS: ReadonlySet<ErrorCode> = new Set(['ERR_SECURITY', 'ERR_READONLY', 'ERR_SPACE']);

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
