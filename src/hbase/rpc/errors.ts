import { CorruptionError, type ErrorCode, RowanError, type RowanErrorOptions } from '../../errors.js';
import { type Denial, denialOf, describeDenial } from './denials.js';

// — The error classes of the HBase client.

/** Malformed bytes from a server. Their connection is closed. */
export class ProtocolError extends CorruptionError {
  /** The description of the fault, without context. */
  readonly reason: string;

  constructor(message: string, options: RowanErrorOptions = {}) {
    super(`${message} The connection was closed; check that the address is that of an HBase server.`, {
      retryable: true,
      ...options,
    });
    this.reason = message;
  }
}

/**
 * An answer exceeds the limits `maxFrameSize` or `maxAnswerCells`. It fails its own call without a retry, because the
 * same request would get it again. Other calls on the connection continue.
 */
export class AnswerTooLargeError extends RowanError {
  constructor(message: string, options: RowanErrorOptions = {}) {
    super('ERR_TOO_LARGE', message, options);
  }
}

/** A server cannot be reached, or the connection to it broke. Operations that can be repeated may be. */
export class ConnectionError extends RowanError {
  constructor(message: string, options: RowanErrorOptions = {}) {
    super('ERR_CONNECTION', message, { retryable: true, ...options });
  }
}

/**
 * A change that must not be applied twice was sent, and its answer was lost. Whether it took effect is unknown: read the row to find
 * out. Not retryable, because a retry could apply it twice or fail its condition by its own effect.
 */
export class UnknownOutcomeError extends RowanError {
  constructor(message: string, options: RowanErrorOptions = {}) {
    super('ERR_CONNECTION', message, {
      ...options,
      retryable: false,
      details: { ...options.details, outcome: 'unknown' },
    });
  }
}

/**
 * The message of an error without its advice to send the request again, which is wrong for a change that may have
 * been applied.
 */
export function withoutRetryAdvice({ message }: RowanError): string {
  return message.replace(/(?:^|(?<=[.!?…] ))[A-Z][^.!?]*\bagain\b[^.!?]*[.!?](?: |$)/g, '').trim();
}

interface RemoteErrorFacts {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly retryClass: RetryClass;
  /** The Java class, with its package. */
  readonly exceptionClass: string;
  /** The first line of the server's stack trace, without the class. */
  readonly remoteMessage: string;
  /** "host:port" of the server that answered. */
  readonly server: string;
  /** The new location of a moved region, when the server gives it. */
  readonly movedTo?: MovedTo | undefined;
  readonly serverOverloaded?: boolean;
  readonly mayBeApplied?: boolean;
  readonly mayBeOfAnother?: boolean;
  readonly denial?: Denial | undefined;
}

/** The new location of a region, from a `RegionMovedException`. */
interface MovedTo {
  readonly host: string;
  readonly port: number;
  readonly startCode: number;
  readonly seqNum: number;
}

/** A server's exception: its class, its message and its retry class. */
export class RemoteError extends RowanError {
  readonly retryClass: RetryClass;
  readonly exceptionClass: string;
  readonly remoteMessage: string;
  readonly movedTo: MovedTo | undefined;
  readonly serverOverloaded: boolean;
  /** Whether the server may have logged the change, or may yet recover it from its log: it has failed while it was applied. */
  readonly mayBeApplied: boolean;
  /**
   * Whether another change of the same request may be the one that is refused: a server checks all changes of a region before it applies the
   * first, and gives each the exception of one (`RSRpcServices.doBatchOp`, `MutationBatchOperation.checkAndPrepare`).
   */
  readonly mayBeOfAnother: boolean;
  /** The right that the user lacks, if the server says that. */
  readonly denial: Denial | undefined;

  constructor(facts: RemoteErrorFacts, message: string, options: RowanErrorOptions = {}) {
    super(facts.code, message, {
      ...options,
      retryable: facts.retryable,
      details: {
        exceptionClass: facts.exceptionClass,
        server: facts.server,
        ...facts.denial,
        ...options.details,
      },
    });
    this.retryClass = facts.retryClass;
    this.exceptionClass = facts.exceptionClass;
    this.remoteMessage = facts.remoteMessage;
    this.movedTo = facts.movedTo;
    this.serverOverloaded = facts.serverOverloaded ?? false;
    this.mayBeApplied = facts.mayBeApplied ?? false;
    this.mayBeOfAnother = facts.mayBeOfAnother ?? false;
    this.denial = facts.denial;
  }

  /** The Java class without its package. */
  get simpleClass(): string {
    return this.exceptionClass.slice(this.exceptionClass.lastIndexOf('.') + 1);
  }
}

/**
 * The reaction of the client to an error:
 * - `never`: fail; the same call would fail again.
 * - `scanner`: the scanner is lost; open another at its position.
 * - `busy`: wait and retry at the same location.
 * - `immediate`: retry at once (inside a Multi: the answer was full).
 * - `moved`: retry at the location that the error gives.
 * - `relocate`: look the region up again and retry.
 * - `fatal`: the server rejects this client; close the connection.
 */
type RetryClass = 'never' | 'scanner' | 'busy' | 'immediate' | 'moved' | 'relocate' | 'fatal';

// — Retry class and error code of HBase's exceptions (`ClientExceptionsUtil`, `DoNotRetryIOException` and its subclasses).

interface Meaning {
  readonly retry: RetryClass;
  readonly code: ErrorCode;
}

const table = new Map<string, Meaning>();

function add(retry: RetryClass, code: ErrorCode, ...names: readonly string[]): void {
  for (const name of names) table.set(name, { retry, code });
}

add(
  'never',
  'ERR_REMOTE',
  'DoNotRetryIOException',
  'MasterStoppedException',
  'NotAllMetaRegionsOnlineException',
);
add('never', 'ERR_REMOTE', 'ReplicationPeerNotFoundException', 'ConcurrentTableModificationException');
add('never', 'ERR_REMOTE', 'UnknownRegionException', 'CoprocessorException', 'DoNotRetryRegionException');
add('never', 'ERR_REMOTE', 'NoServerForRegionException', 'RowTooBigException', 'MergeRegionException');
add('never', 'ERR_REMOTE', 'UnknownProtocolException', 'LeaseException', 'InvalidLabelException');
add(
  'never',
  'ERR_REMOTE',
  'LabelAlreadyExistsException',
  'UnknownSnapshotException',
  'UnsupportedOperationException',
);
add(
  'never',
  'ERR_REMOTE',
  'HBaseSnapshotException',
  'SnapshotDoesNotExistException',
  'SnapshotExistsException',
);
add(
  'never',
  'ERR_REMOTE',
  'SnapshotCreationException',
  'CorruptedSnapshotException',
  'RestoreSnapshotException',
);
add('never', 'ERR_REMOTE', 'RegionAlreadyInTransitionException');
add('never', 'ERR_REMOTE', 'QuotaExceededException', 'ThrottlingException', 'RollbackException');
add('never', 'ERR_SPACE', 'SpaceLimitingException');
add('never', 'ERR_CORRUPTION', 'CorruptHFileException');
add('never', 'ERR_INVALID_ARGUMENT', 'ConstraintException');
add('never', 'ERR_INVALID_ARGUMENT', 'FailedSanityCheckException', 'InvalidFamilyOperationException');
add('never', 'ERR_INVALID_ARGUMENT', 'RequestTooBigException', 'IllegalArgumentException');
add('never', 'ERR_INVALID_ARGUMENT', 'DeserializationException');
add('never', 'ERR_NO_SUCH_FAMILY', 'NoSuchColumnFamilyException');
add('never', 'ERR_TABLE_NOT_FOUND', 'TableNotFoundException');
add('never', 'ERR_TABLE_EXISTS', 'TableExistsException');
add('never', 'ERR_TABLE_DISABLED', 'TableNotEnabledException');
add('never', 'ERR_TABLE_ENABLED', 'TableNotDisabledException');
add('never', 'ERR_NAMESPACE_EXISTS', 'NamespaceExistException');
add('never', 'ERR_NAMESPACE_NOT_FOUND', 'NamespaceNotFoundException');
add('never', 'ERR_SECURITY', 'AccessDeniedException', 'AccessControlException');
// Of `rowan serve`, in transactions.
add('never', 'ERR_SERIALIZATION', 'SerializationException');
add('never', 'ERR_TRANSACTION_ENDED', 'TransactionEndedException');
add('never', 'ERR_TIMEOUT', 'TransactionTimeoutException');
add('never', 'ERR_TOO_LARGE', 'TransactionTooLargeException');
add('scanner', 'ERR_REMOTE', 'UnknownScannerException', 'OutOfOrderScannerNextException');
add('scanner', 'ERR_REMOTE', 'ScannerResetException');
add('busy', 'ERR_BUSY', 'RegionTooBusyException', 'RegionOpeningException', 'RpcThrottlingException');
add('busy', 'ERR_BUSY', 'CallQueueTooBigException', 'CallDroppedException', 'PleaseHoldException');
add('busy', 'ERR_TIMEOUT', 'TimeoutIOException', 'CallTimeoutException');
add('immediate', 'ERR_BUSY', 'RetryImmediatelyException', 'MultiActionResultTooLarge');
add('moved', 'ERR_WRONG_REGION', 'RegionMovedException');
add('relocate', 'ERR_WRONG_REGION', 'NotServingRegionException', 'WrongRegionException');
add('relocate', 'ERR_CONNECTION', 'RegionServerStoppedException', 'RegionServerAbortedException');
add('relocate', 'ERR_CONNECTION', 'ServerNotRunningYetException', 'MasterNotRunningException');
add('fatal', 'ERR_SECURITY', 'BadAuthException');
add(
  'fatal',
  'ERR_CONNECTION',
  'FatalConnectionException',
  'EmptyServiceNameException',
  'UnknownServiceException',
);
add('fatal', 'ERR_CONNECTION', 'UnsupportedCellCodecException', 'UnsupportedCompressionCodecException');
add('fatal', 'ERR_CONNECTION', 'UnsupportedCryptoException', 'WrongVersionException');

/** The names of the exceptions in the table. */
export function knownExceptions(): string[] {
  return [...table.keys()];
}

/**
 * The beginning of the message for a change that a server has logged when it cannot sync its log. HBase 2.4 throws it with a class that it
 * throws for locks, too. `rowan serve` sends it as a `DoNotRetryIOException`, with which HBase's clients end every change, since they would
 * also repeat conditional ones.
 */
export const SYNC_FAILED = 'Failed to get sync result';

/** The beginning of the message for a cell above the limit; that of an append or increment names no cell. */
const CELL_TOO_LARGE = /^Cell(?:\[.*\])? with size \d+ exceeds limit of \d+ bytes/;

/** Exceptions of one change with which a server refuses all changes of its region in a request. */
const REFUSED_TOGETHER = /^(?:AccessDenied|SpaceLimiting)Exception$/;

/** Error codes of a `DoNotRetryIOException`, by its message. */
const BY_TEXT: readonly (readonly [RegExp, ErrorCode])[] = [
  [/^Field is not a long/, 'ERR_INVALID_ARGUMENT'],
  [CELL_TOO_LARGE, 'ERR_INVALID_ARGUMENT'],
  [/(?:region|server) is read only/i, 'ERR_READONLY'],
  [new RegExp(`^${SYNC_FAILED}`), 'ERR_READONLY'],
];

/** Exceptions of faults in the server that the same request would meet again. HBase's own client retries them. */
const UNREADABLE = 'org.apache.hadoop.hbase.security.visibility.ParseException';

const SERVER_FAULT =
  /Caused by: java\.lang\.(?:(?:Array|String)?IndexOutOfBounds|IllegalArgument|ClassCast|NumberFormat|UnsupportedOperation|NegativeArraySize)Exception/;

const GENERIC: Meaning = { retry: 'relocate', code: 'ERR_REMOTE' };
const NEVER: Meaning = { retry: 'never', code: 'ERR_REMOTE' };

/** Of unknown exceptions, that of a change which was not begun (`HRegion.getRowLockInternal`). */
const NOT_BEGUN = /^Timed out waiting for lock for row/;

const MOVED = /Region moved to: hostname=(\S+) port=(\d+) startCode=(\d+)\. As of locationSeqNum=(\d+)\./;
const SNAPSHOT_PACKAGE = 'org.apache.hadoop.hbase.snapshot.';

const NEXT_STEP: Partial<Record<ErrorCode, string>> = {
  ERR_TABLE_NOT_FOUND: 'Create the table first, or check its name and namespace.',
  ERR_TABLE_EXISTS: 'Choose another name, or delete the table first.',
  ERR_TABLE_DISABLED: 'Enable the table first.',
  ERR_TABLE_ENABLED: 'Disable the table first.',
  ERR_NO_SUCH_FAMILY: 'Add it to the table, or correct the declaration.',
  ERR_NAMESPACE_NOT_FOUND: 'Create the namespace first.',
  ERR_BUSY: 'The server is overloaded; send less at once or try again later.',
  ERR_SECURITY: 'Check the user and its permissions on the cluster.',
  ERR_READONLY: 'Write when the table and its server take writes.',
};

const CELL_LIMIT = 'hbase.server.keyvalue.maxsize';
const SPLIT_CELL = `Divide the value over several columns or rows, or raise ${CELL_LIMIT} in the configuration of the table.`;

interface RemoteException {
  readonly className: string;
  readonly stackTrace: string;
  readonly hostname?: string | undefined;
  readonly port?: number | undefined;
  readonly doNotRetry?: boolean | undefined;
  readonly serverOverloaded?: boolean | undefined;
}

/** The error for a server's exception. `what` describes the request, for the message. */
export function remoteError(sent: RemoteException, server: string, what: string): RemoteError {
  const exception = { ...sent, className: classNameOf(sent.className) };
  const simple = exception.className.slice(exception.className.lastIndexOf('.') + 1).replace(/^.*\$/, '');
  const whole = messageOf(exception);
  const text = whole.length > LONGEST_MESSAGE ? `${whole.slice(0, LONGEST_MESSAGE)}…` : whole;
  const meaning = meaningOf(exception, simple, whole);
  const retryable = meaning.retry !== 'never' && meaning.retry !== 'fatal';
  const isTooLarge = CELL_TOO_LARGE.test(whole);
  const denial = meaning.code === 'ERR_SECURITY' ? denialOf(whole) : undefined;
  const next = isTooLarge
    ? SPLIT_CELL
    : (NEXT_STEP[meaning.code] ?? (retryable ? 'Check that server.' : 'Correct the request first.'));
  const said =
    denial !== undefined
      ? describeDenial(denial)
      : `${text || 'no message'}${/[.!?…]$/.test(text) ? '' : '.'} ${next}`;
  return new RemoteError(
    {
      code: meaning.code,
      retryable,
      retryClass: meaning.retry,
      exceptionClass: exception.className,
      remoteMessage: text,
      server,
      movedTo: meaning.retry === 'moved' ? movedTo(exception, text) : undefined,
      serverOverloaded: exception.serverOverloaded ?? false,
      // A failed sync of the log throws whatever exception the file system threw. The edit may be in the log, from which a recovery
      // applies it (`HRegion.doAppend`, `AbstractFSWAL.blockOnSync`).
      mayBeApplied: text.startsWith(SYNC_FAILED) || (meaning === GENERIC && !NOT_BEGUN.test(text)),
      mayBeOfAnother: isTooLarge || REFUSED_TOGETHER.test(simple),
      denial,
    },
    `${what} failed on ${server}: ${simple}: ${said}`,
  );
}

function meaningOf(exception: RemoteException, simple: string, text: string): Meaning {
  if (text.includes('Cannot append; log is closed')) return { retry: 'relocate', code: 'ERR_REMOTE' };
  const known = table.get(simple);
  if (simple === 'DoNotRetryIOException') {
    const found = BY_TEXT.find(([pattern]) => pattern.test(text));
    if (found !== undefined) return { retry: 'never', code: found[1] };
  }
  if (known !== undefined) {
    if (known.retry === 'moved' && movedTo(exception, text) === undefined) {
      return { retry: 'relocate', code: 'ERR_WRONG_REGION' };
    }
    return known;
  }
  if (exception.className.startsWith(SNAPSHOT_PACKAGE)) return NEVER;
  if (exception.stackTrace.includes(UNREADABLE)) return { retry: 'never', code: 'ERR_INVALID_ARGUMENT' };
  return exception.doNotRetry === true || SERVER_FAULT.test(exception.stackTrace) ? NEVER : GENERIC;
}

const LONGEST_CLASS_NAME = 200;

/** A Java class name. Other text is not shown as one. */
function classNameOf(name: string): string {
  if (/^[\w.$]+$/.test(name) && name.length <= LONGEST_CLASS_NAME) return name;
  const shown = name.slice(0, LONGEST_CLASS_NAME).replace(/[^\w.$]/g, '?');
  return name.length > LONGEST_CLASS_NAME ? `${shown}…` : shown;
}

/** The longest shown part of a server's message, which may quote a whole table descriptor. */
const LONGEST_MESSAGE = 240;

/** What `NoSuchColumnFamilyException` says, up to the table's descriptor. */
const DESCRIPTOR = /^(Column family \S+ does not exist in region \S+) in table '[\s\S]*$/;

/** The message of a stack trace: the text between class and first frame; if empty, that of its cause. */
function messageOf(exception: RemoteException): string {
  const trace = exception.stackTrace;
  const frame = trace.search(/\n\s*at /);
  let text = frame >= 0 ? trace.slice(0, frame) : trace;
  if (text.startsWith(exception.className))
    text = text.slice(exception.className.length).replace(/^:\s*/, '');
  // Behind the region's name stands the whole descriptor.
  text = text.replace(DESCRIPTOR, '$1');
  return text.trim() || (/Caused by: ([^\n]*)/.exec(trace)?.[1] ?? '');
}

function movedTo(exception: RemoteException, text: string): MovedTo | undefined {
  const match = MOVED.exec(text);
  if (match === null) return undefined;
  const host = exception.hostname !== undefined && exception.hostname !== '' ? exception.hostname : match[1]!;
  const port = exception.port !== undefined && exception.port > 0 ? exception.port : Number(match[2]);
  const startCode = Number(match[3]);
  const seqNum = Number(match[4]);
  if (!Number.isSafeInteger(startCode) || !Number.isSafeInteger(seqNum) || port < 1 || port > 65535)
    return undefined;
  return { host, port, startCode, seqNum };
}

const THROTTLE_WAIT = / - wait (?:(\d+)hrs?, )?(?:(\d+)mins?, )?(?:(\d+)sec[, ]{0,2})?(?:(\d+)ms)?/;

/** Milliseconds that an `RpcThrottlingException` asks to wait; undefined for other errors. */
export function throttleWait(error: RemoteError): number | undefined {
  if (error.simpleClass !== 'RpcThrottlingException') return undefined;
  const match = THROTTLE_WAIT.exec(error.remoteMessage);
  if (match === null) return undefined;
  const [, hours = '0', minutes = '0', seconds = '0', millis = '0'] = match;
  return ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000 + Number(millis);
}
