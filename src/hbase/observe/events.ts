/** What a connected engine tells its `onEvent` listener. */

import type { RowanError } from '../../errors.js';

export type HBaseEvent =
  | {
      readonly kind: 'connected';
      /** "host:port" as the cluster names it. */
      readonly server: string;
      readonly service: string;
      /** From the first byte to the end of the authentication. */
      readonly milliseconds: number;
    }
  /** A connection ended other than by `close`, or could not be opened. What was under way on it is repeated if it may be. */
  | {
      readonly kind: 'disconnected';
      readonly server: string;
      readonly service: string;
      readonly error: RowanError;
    }
  /** A request took at least `slowCall` milliseconds, or failed after as long. */
  | {
      readonly kind: 'slowCall';
      readonly server: string;
      /** The method of HBase's rpc. */
      readonly method: string;
      readonly what: string;
      readonly milliseconds: number;
      readonly error: RowanError | undefined;
    }
  /** Operations are made again after a pause. */
  | {
      readonly kind: 'retry';
      readonly table: string;
      /** How many of them failed together. */
      readonly operations: number;
      /** Attempts so far. */
      readonly attempts: number;
      readonly pause: number;
      readonly error: RowanError;
    };
