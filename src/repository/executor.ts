import type { RowanError } from '../errors.js';
import type { OperationOptions, Put, Result } from '../table/index.js';
import type { Change } from './change.js';

/** Executors apply change sets. One interface, because engines differ in what one atomic step is. */

/** The outcome of one change of several. */
export type ChangeOutcome =
  | { readonly ok: true; readonly result: Result }
  | { readonly ok: false; readonly error: RowanError };

/** Applies the changes of one table. */
export interface ChangeExecutor {
  /** Applies one change. @throws the change's mismatch, or the engine's error; nothing was written then. */
  run(change: Change, options: OperationOptions | undefined): Promise<Result>;
  /** Applies each change by itself, with an outcome for each. Changes of one row are applied in their order. */
  runAll(changes: readonly Change[], options: OperationOptions | undefined): Promise<ChangeOutcome[]>;
  /** Applies puts that consist of entities' cells only, as `runAll` would. Absent: use `runAll`. */
  readonly putAll?:
    | ((puts: readonly Put[], options: OperationOptions | undefined) => Promise<ChangeOutcome[]>)
    | undefined;
  /**
   * Applies all changes or none. Each sees the effects of those before it. @throws the first error, or
   * `ERR_UNSUPPORTED`.
   */
  runAtomic(changes: readonly Change[], options: OperationOptions | undefined): Promise<Result[]>;
}
