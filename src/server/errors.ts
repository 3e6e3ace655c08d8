/** Translates errors to the exceptions that HBase's clients expect: they decide by the Java class name. */

import { type ErrorCode, RowanError } from '../errors.js';
import { AnswerTooLargeError, ProtocolError, SYNC_FAILED } from '../hbase/rpc/errors.js';

const HBASE = 'org.apache.hadoop.hbase.';

/** The exceptions that clients distinguish, by full class name. */
export const JavaClass = {
  DoNotRetry: `${HBASE}DoNotRetryIOException`,
  NotServingRegion: `${HBASE}NotServingRegionException`,
  WrongRegion: `${HBASE}regionserver.WrongRegionException`,
  NoSuchColumnFamily: `${HBASE}regionserver.NoSuchColumnFamilyException`,
  TableNotFound: `${HBASE}TableNotFoundException`,
  TableExists: `${HBASE}TableExistsException`,
  TableNotEnabled: `${HBASE}TableNotEnabledException`,
  TableNotDisabled: `${HBASE}TableNotDisabledException`,
  NamespaceNotFound: `${HBASE}NamespaceNotFoundException`,
  NamespaceExists: `${HBASE}NamespaceExistException`,
  InvalidFamilyOperation: `${HBASE}InvalidFamilyOperationException`,
  Constraint: `${HBASE}constraint.ConstraintException`,
  UnknownScanner: `${HBASE}UnknownScannerException`,
  UnknownRegion: `${HBASE}UnknownRegionException`,
  OutOfOrderScannerNext: `${HBASE}exceptions.OutOfOrderScannerNextException`,
  RegionTooBusy: `${HBASE}RegionTooBusyException`,
  CallQueueTooBig: `${HBASE}CallQueueTooBigException`,
  CallTimeout: `${HBASE}ipc.CallTimeoutException`,
  ServerStopped: `${HBASE}regionserver.RegionServerStoppedException`,
  RequestTooBig: `${HBASE}exceptions.RequestTooBigException`,
  MultiActionResultTooLarge: `${HBASE}MultiActionResultTooLarge`,
  AccessDenied: `${HBASE}security.AccessDeniedException`,
  FatalConnection: `${HBASE}ipc.FatalConnectionException`,
  UnsupportedCellCodec: `${HBASE}ipc.UnsupportedCellCodecException`,
  UnsupportedCompression: `${HBASE}ipc.UnsupportedCompressionCodecException`,
  UnknownService: `${HBASE}ipc.UnknownServiceException`,
  UnknownProtocol: `${HBASE}exceptions.UnknownProtocolException`,
  BadAuth: `${HBASE}ipc.BadAuthException`,
  WrongVersion: `${HBASE}ipc.WrongVersionException`,
  SnapshotDoesNotExist: `${HBASE}snapshot.SnapshotDoesNotExistException`,
  SnapshotCreation: `${HBASE}snapshot.SnapshotCreationException`,
  SnapshotExists: `${HBASE}snapshot.SnapshotExistsException`,
  SpaceLimiting: `${HBASE}quotas.SpaceLimitingException`,
  CorruptHFile: `${HBASE}io.hfile.CorruptHFileException`,
  UnsupportedOperation: 'java.lang.UnsupportedOperationException',
  // Only for clients of this package, in transactions.
  Serialization: 'rowan.SerializationException',
  TransactionEnded: 'rowan.TransactionEndedException',
  TransactionTimeout: 'rowan.TransactionTimeoutException',
  TransactionTooLarge: 'rowan.TransactionTooLargeException',
  IO: 'java.io.IOException',
} as const;
export type JavaClass = (typeof JavaClass)[keyof typeof JavaClass];

/** An exception as sent to HBase clients. */
export class ServerException extends Error {
  override readonly name = 'ServerException';

  constructor(
    readonly javaClass: JavaClass,
    message: string,
    /** Whether the same call fails again on any server. */
    readonly doNotRetry = true,
  ) {
    super(message);
  }

  /** Whether the server is overloaded: clients then wait longer before they retry. */
  get isOverload(): boolean {
    return this.javaClass === JavaClass.CallQueueTooBig;
  }

  /** The stack trace as a Java server prints it; clients take the message from there. */
  get trace(): string {
    return `${this.javaClass}: ${this.message}\n\tat rowan.serve`;
  }
}

/** The refusal of a call that this server cannot execute, with the reason. */
export function refused(message: string): ServerException {
  return new ServerException(JavaClass.DoNotRetry, message);
}

/** The refusal of an HBase feature that this server lacks. */
export function notOffered(what: string, javaClass: JavaClass = JavaClass.DoNotRetry): ServerException {
  return new ServerException(
    javaClass,
    `${what} is not supported by rowan serve. See docs/server.md for what is.`,
  );
}

/** The refusal of a call of a coprocessor, as of a server that has not loaded it. */
export function noCoprocessor(method: string): ServerException {
  return notOffered(`Coprocessors (${method})`, JavaClass.UnknownProtocol);
}

interface Meaning {
  readonly javaClass: JavaClass;
  readonly retry?: true;
}

const MEANINGS: Readonly<Partial<Record<ErrorCode, Meaning>>> = {
  ERR_TABLE_NOT_FOUND: { javaClass: JavaClass.TableNotFound },
  ERR_TABLE_EXISTS: { javaClass: JavaClass.TableExists },
  ERR_TABLE_DISABLED: { javaClass: JavaClass.TableNotEnabled },
  ERR_TABLE_ENABLED: { javaClass: JavaClass.TableNotDisabled },
  ERR_NO_SUCH_FAMILY: { javaClass: JavaClass.NoSuchColumnFamily },
  ERR_NAMESPACE_NOT_FOUND: { javaClass: JavaClass.NamespaceNotFound },
  ERR_NAMESPACE_EXISTS: { javaClass: JavaClass.NamespaceExists },
  ERR_WRONG_REGION: { javaClass: JavaClass.WrongRegion, retry: true },
  ERR_SCANNER_EXPIRED: { javaClass: JavaClass.UnknownScanner },
  ERR_BUSY: { javaClass: JavaClass.RegionTooBusy, retry: true },
  ERR_TIMEOUT: { javaClass: JavaClass.CallTimeout, retry: true },
  ERR_CLOSED: { javaClass: JavaClass.ServerStopped, retry: true },
  ERR_SPACE: { javaClass: JavaClass.SpaceLimiting },
  ERR_CORRUPTION: { javaClass: JavaClass.CorruptHFile },
  ERR_SECURITY: { javaClass: JavaClass.AccessDenied },
};

/**
 * HBase's own wording where clients extract data from it (its shell a name, this package's client the cause), else the
 * store's message.
 */
function wordsOf({ code, message, details }: RowanError): string {
  const { table, family, namespace, counterBytes, outcome } = details as Readonly<Record<string, unknown>>;
  switch (code) {
    case 'ERR_TABLE_NOT_FOUND':
    case 'ERR_TABLE_EXISTS':
    case 'ERR_TABLE_DISABLED':
    case 'ERR_TABLE_ENABLED':
      return typeof table === 'string' ? table : message;
    case 'ERR_NAMESPACE_NOT_FOUND':
      return typeof namespace === 'string' ? namespace : message;
    case 'ERR_NAMESPACE_EXISTS':
      return typeof namespace === 'string' ? `Namespace ${namespace} already exists` : message;
    case 'ERR_NO_SUCH_FAMILY':
      return `Column family ${String(family)} does not exist in region of table ${String(table)}: ${message}`;
    case 'ERR_READONLY':
      if (outcome === 'unknown') return `${SYNC_FAILED}: ${message}`;
      return typeof table === 'string' ? 'region is read only' : `server is read only: ${message}`;
    case 'ERR_INVALID_ARGUMENT':
      return counterBytes === undefined
        ? message
        : `Field is not a long, it's ${String(counterBytes)} bytes wide`;
    default:
      return message;
  }
}

const MEANINGS_IN_TRANSACTIONS: Readonly<Partial<Record<ErrorCode, JavaClass>>> = {
  ERR_SERIALIZATION: JavaClass.Serialization,
  ERR_TRANSACTION_ENDED: JavaClass.TransactionEnded,
  ERR_TIMEOUT: JavaClass.TransactionTimeout,
  ERR_TOO_LARGE: JavaClass.TransactionTooLarge,
};

/** The exception for an error of a transaction, none of whose calls can be repeated alone. */
export function exceptionInTransaction(error: unknown): ServerException {
  const javaClass = error instanceof RowanError ? MEANINGS_IN_TRANSACTIONS[error.code] : undefined;
  return javaClass === undefined
    ? exceptionOf(error)
    : new ServerException(javaClass, (error as RowanError).message);
}

/** The exception for any error. */
export function exceptionOf(error: unknown): ServerException {
  if (error instanceof ServerException) return error;
  if (error instanceof ProtocolError) return refused(`The request cannot be read: ${error.reason}`);
  if (error instanceof AnswerTooLargeError)
    return new ServerException(
      JavaClass.RequestTooBig,
      'The request has too many parts. Send fewer at once.',
    );
  if (error instanceof RowanError) {
    const meaning = MEANINGS[error.code] ?? { javaClass: JavaClass.DoNotRetry };
    return new ServerException(meaning.javaClass, wordsOf(error), !(meaning.retry ?? false));
  }
  return new ServerException(JavaClass.IO, `The server failed: ${String(error)}`);
}
