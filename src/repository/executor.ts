import type { RowanError } from '../errors.js';
import type { OperationOptions, Put, Result } from '../table/index.js';
import type { Change } from './change.js';

/** How change sets take effect. One interface, because engines differ in what is one step. */

/** The outcome of one change of several. */
export type ChangeOutcome =
  | { readonly ok: true; readonly result: Result }
  | { readonly ok: false; readonly error: RowanError };

/** Applies the changes of one table. */
export interface ChangeExecutor {
  /** @throws the change's mismatch, or what the engine throws; nothing was written then. */
  run(change: Change, options: OperationOptions | undefined): Promise<Result>;
  /** Each change for itself, an outcome for each; changes of one row in their order. */
  runAll(changes: readonly Change[], options: OperationOptions | undefined): Promise<ChangeOutcome[]>;
  /** Puts of nothing but entities' cells, as `runAll` applies them; absent: they are to be given to `runAll`. */
  readonly putAll?:
    | ((puts: readonly Put[], options: OperationOptions | undefined) => Promise<ChangeOutcome[]>)
    | undefined;
  /** All changes or none; each sees what stands before it. @throws the first that cannot be, or `ERR_UNSUPPORTED`. */
  runAtomic(changes: readonly Change[], options: OperationOptions | undefined): Promise<Result[]>;
}
