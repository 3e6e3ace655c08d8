import type { RowanError } from '../../errors.js';
import type { Call } from '../rpc/call.js';
import type { Action } from './action.js';

/** Told how the requests of a server's queue end. */
export interface ActionCallOwner {
  /** The server is free for another request. */
  callEnded(call: Call, error: RowanError | undefined): void;
  /** One action came to no good; it may be repeated. */
  actionFailed(action: Action<unknown>, error: RowanError): void;
  /** Actions that failed together. */
  actionsFailed(actions: readonly Action<unknown>[], error: RowanError): void;
  /** Actions whose common request could not be written, or not be answered: each is to be asked for by itself. */
  actionsToSeparate(actions: readonly Action<unknown>[]): void;
}
