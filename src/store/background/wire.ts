/** What the store and its workers tell each other. */

import { CorruptionError, type ErrorCode, type ErrorDetails, RowanError } from '../../errors.js';
import type { Job, JobResult } from './job.js';

/** What a worker is sent. */
export interface WorkerRequest {
  readonly id: number;
  readonly job: Job;
}

/** What it answers; first of all that it is ready to work. */
export type WorkerReply =
  | { readonly ready: true }
  | { readonly id: number; readonly result: JobResult }
  | { readonly id: number; readonly error: WireError };

/** A RowanError on its way between threads. */
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
