/** `RowanTransactionService` of `rowan serve`: its other calls are those of `ClientService`, with tables in place of regions. */

import { bool, message, required, uint32 } from './schema.js';

/** Begins a transaction on the connection, which has one at a time. */
export const BeginRequest = message('BeginRequest', {
  attempts: required(uint32(1)),
  /** Milliseconds, for all attempts. */
  timeout: required(uint32(2)),
});

/** Ends an attempt. */
export const EndRequest = message('EndRequest', { commits: required(bool(1)) });

/** `again`: others had changed what the attempt read, nothing of it was written, and another attempt has begun. */
export const EndResponse = message('EndResponse', { again: required(bool(1)) });
