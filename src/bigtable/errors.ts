import { type ErrorCode, RowanError } from '../errors.js';

/** Translates gRPC errors to Rowan's errors. */

/** The gRPC status codes with a specific translation. */
export const Status = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

const CODES: Readonly<Record<number, ErrorCode>> = {
  [Status.CANCELLED]: 'ERR_ABORTED',
  [Status.INVALID_ARGUMENT]: 'ERR_INVALID_ARGUMENT',
  [Status.DEADLINE_EXCEEDED]: 'ERR_TIMEOUT',
  [Status.NOT_FOUND]: 'ERR_TABLE_NOT_FOUND',
  [Status.ALREADY_EXISTS]: 'ERR_TABLE_EXISTS',
  [Status.PERMISSION_DENIED]: 'ERR_SECURITY',
  [Status.UNAUTHENTICATED]: 'ERR_SECURITY',
  [Status.RESOURCE_EXHAUSTED]: 'ERR_BUSY',
  [Status.FAILED_PRECONDITION]: 'ERR_INVALID_ARGUMENT',
  [Status.ABORTED]: 'ERR_CONNECTION',
  [Status.UNIMPLEMENTED]: 'ERR_UNSUPPORTED',
  [Status.UNAVAILABLE]: 'ERR_CONNECTION',
};

/** Messages of Node's HTTP/2 about interrupted streams. */
const CUT = /RST_STREAM|GOAWAY|Connection dropped|ECONNRESET|socket hang up|Stream (closed|removed)/i;
/** Messages that show that the call was never sent. */
const NOT_SENT = /No connection established|ECONNREFUSED|Name resolution failed|ENOTFOUND|EAI_AGAIN/;

/** The call that failed. */
export interface CallContext {
  readonly call: string;
  readonly table?: string | undefined;
}

/** Whether a retry of the same request may succeed. */
export function isTransient(code: number, message: string): boolean {
  if (code === Status.UNAVAILABLE || code === Status.ABORTED || code === Status.DEADLINE_EXCEEDED)
    return true;
  return (code === Status.INTERNAL || code === Status.UNKNOWN) && CUT.test(message);
}

/** Whether it is certain that no server received the request. */
export function isUnsent(message: string): boolean {
  return NOT_SENT.test(message);
}

/** The status code of a gRPC error; undefined for other errors. */
export function statusOf(error: unknown): number | undefined {
  const code: unknown =
    typeof error === 'object' && error !== null ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'number' ? code : undefined;
}

/** The error for a failed call, or for a failed entry of MutateRows. */
export function asBigtableError(
  code: number,
  message: string,
  { call, table }: CallContext,
  cause?: unknown,
): RowanError {
  const about = table === undefined ? '' : ` of table "${table}"`;
  const details = { table, status: code };
  if (/unknown family|column family not found|no such family/i.test(message)) {
    return new RowanError(
      'ERR_NO_SUCH_FAMILY',
      `${call}${about}: ${message}. Declare the family, or add it to the table.`,
      { cause, details },
    );
  }
  if (/increment on non-64-bit value|not 8 bytes|64-bit big-endian/i.test(message)) {
    return new RowanError(
      'ERR_INVALID_ARGUMENT',
      `${call}${about}: the value is not a counter of 8 bytes (${message}).`,
      {
        cause,
        details,
      },
    );
  }
  const retryable = isTransient(code, message) || code === Status.RESOURCE_EXHAUSTED;
  const rowan = retryable && CUT.test(message) ? 'ERR_CONNECTION' : (CODES[code] ?? 'ERR_REMOTE');
  return new RowanError(
    rowan,
    `${call}${about} failed: ${message} (gRPC status ${code}). ${ADVICE[rowan] ?? ''}`.trim(),
    {
      cause,
      retryable,
      details,
    },
  );
}

const ADVICE: Partial<Record<ErrorCode, string>> = {
  ERR_TABLE_NOT_FOUND: 'Create the table, or check projectId and instanceId.',
  ERR_TABLE_EXISTS: 'Choose another name, or delete the table first.',
  ERR_SECURITY:
    'Check the credentials and their roles: roles/bigtable.user reads and writes, roles/bigtable.admin creates tables.',
  ERR_CONNECTION: 'Check the network, and that the instance (or the emulator) runs.',
  ERR_TIMEOUT: 'Use a longer timeout, or check the load of the cluster.',
  ERR_BUSY: 'Reduce the write rate, or add nodes to the cluster.',
  ERR_UNSUPPORTED: 'See docs/bigtable.md.',
};
