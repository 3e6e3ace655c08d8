import { equalBytes } from '../bytes/index.js';
import { RowanError } from '../errors.js';
import { Get, type Scan } from './get-and-scan.js';
import {
  type Append,
  type Delete,
  type Durability,
  type Increment,
  Put,
  type RowMutation,
} from './mutation.js';
import type { RawRow, Result } from './result.js';
import { CheckAndMutate, type CheckAndMutateResult, type RowMutations } from './row-mutations.js';

/** What every call takes besides its operation. */
export interface OperationOptions {
  /** Ends the call with `ERR_ABORTED`. A write that was already sent may still take effect. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for the whole call, retries included; default: the engine's. */
  readonly timeout?: number | undefined;
  /**
   * Names and values that go with each request of the call, and stand in HBase's slow log (2.6): an id by which one call is
   * found there, for example. Calls with different ones share no request. The embedded engine has no use for them.
   */
  readonly attributes?: Readonly<Record<string, string>> | undefined;
}

/** One item of a batch. */
export type BatchAction = Get | Put | Delete | Increment | Append | RowMutations | CheckAndMutate;

/** What became of one item: its answer (empty for puts and deletes) or its error. */
export type BatchOutcome =
  | { readonly ok: true; readonly result: Result; readonly success?: boolean }
  | { readonly ok: false; readonly error: RowanError };

export interface BatchOptions extends OperationOptions {
  /** All rows or none. Needs the capability `atomicBatch`; default false: each row stands alone (R76, R77). */
  readonly atomic?: boolean | undefined;
}

/** The rows of a scan, in order. Closing twice is allowed; leaving a `for await` closes it. */
export interface ResultScanner extends AsyncIterable<Result> {
  /** The next result, or undefined at the end. */
  next(): Promise<Result | undefined>;
  /** Up to `count` further results; fewer, or none, only at the end. */
  nextBatch(count: number): Promise<Result[]>;
  /**
   * How many moments the rows so far were seen at: on HBase each region is seen at one, and once more where its scanner was lost
   * and opened again; the embedded engine sees a table at one. Undefined: the scanner does not say it.
   */
  readonly moments?: number;
  close(): Promise<void>;
}

/**
 * One table, as every engine gives it, with HBase's semantics (R1-R88 of `docs/semantics.md`). A change of one row is
 * atomic over its families. An acknowledged change is as durable as its `Durability` says.
 *
 * @throws RowanError `ERR_TABLE_NOT_FOUND`, `ERR_TABLE_DISABLED`, `ERR_NO_SUCH_FAMILY`, `ERR_INVALID_ARGUMENT`,
 * `ERR_CLOSED`, and what the engine's medium adds (`ERR_IO`, `ERR_CORRUPTION`, `ERR_CONNECTION`, `ERR_TIMEOUT`).
 */
export interface Table {
  /** "namespace:name", or "name" in the default namespace. */
  readonly name: string;
  /** Milliseconds of a call whose options give none. Undefined: nothing bounds it. */
  readonly operationTimeout?: number | undefined;

  /** The cells of one row; {@link Result.EMPTY} when there are none. */
  get(get: Get, options?: OperationOptions): Promise<Result>;
  /** As `get` for each, answers in the order of the gets. */
  getAll(gets: readonly Get[], options?: OperationOptions): Promise<Result[]>;
  exists(get: Get, options?: OperationOptions): Promise<boolean>;
  put(put: Put, options?: OperationOptions): Promise<void>;
  /** Every put, each row for itself. @throws the first failure when any failed; `batch` tells them apart. */
  putAll(puts: readonly Put[], options?: OperationOptions): Promise<void>;
  delete(del: Delete, options?: OperationOptions): Promise<void>;
  /**
   * The new values, or an empty result with `returnResults` false. On HBase the result is empty also when the change was
   * made and its answer lost with the server: the one that takes over knows that it was made, and no longer the values.
   */
  increment(increment: Increment, options?: OperationOptions): Promise<Result>;
  append(append: Append, options?: OperationOptions): Promise<Result>;
  /** Applies all of the row's mutations or none; answers what its increments and appends answered. */
  mutateRow(mutations: RowMutations, options?: OperationOptions): Promise<Result>;
  checkAndMutate(check: CheckAndMutate, options?: OperationOptions): Promise<CheckAndMutateResult>;
  /** An outcome for each action, in order. Actions of one row take effect in their order. */
  batch(actions: readonly BatchAction[], options?: BatchOptions): Promise<BatchOutcome[]>;
  scan(scan: Scan, options?: OperationOptions): ResultScanner;
}

/** A change of one row, which may be of another table than those it is committed with. */
export interface TableChange {
  readonly table: string;
  readonly change: RowMutation | RowMutations;
  /**
   * Its cells have times that this engine gave to another row, or to other cells of the row: writes of the row without a time
   * come behind them, as if they had been given here. Times that the engine has not come to yet are somebody else's, and count
   * for nobody. Default false: as HBase has it, a write with a time of its own changes nothing for others.
   */
  readonly settled?: boolean;
}

/** What became of one group of a commit: an answer for each change, or the error that kept the whole group out. */
export type CommitOutcome =
  | { readonly ok: true; readonly results: readonly Result[] }
  | { readonly ok: false; readonly error: RowanError };

/** Reads a row of this table, or of another of the store. */
export type RowRead = (get: Get, table?: string) => Result;

/** Scans this table, or another of the store. */
export type RowScan = (scan: Scan, table?: string) => readonly Result[];

/** A put of one cell that may wait for the end of its step. */
export interface WaitingPut {
  readonly table: string;
  readonly row: Uint8Array;
  readonly family: string;
  readonly qualifier: Uint8Array;
  readonly value: Uint8Array;
  readonly durability: Durability;
}

/** A step of writes under way: what is applied is seen by what is read after it, and by nobody else before the step ends. */
export interface AtomicStep {
  /** The step's time, ms: no write of it that has no time of its own has an earlier one. */
  readonly time: number;
  /** Sees every write so far, those of others that are not acknowledged yet, too, and those of this step. */
  readonly read: RowRead;
  /** The rows of a scan of this table, or of another, as `read` sees them; all of them at once, so give it a limit. */
  readonly scan: RowScan;
  /** The answers of increments and appends. @throws RowanError when the change is refused; what stands before it stays. */
  apply(change: TableChange): Result;
  /**
   * As `apply` of such a put, but those of one table are made together, in the order of their rows, when something else is
   * asked of the table or the step ends: that is the cheapest way to many cells that stand apart. Absent where every
   * change is looked at by itself.
   * @throws RowanError when the put is refused.
   */
  putLater?(put: WaitingPut): void;
  /** Runs `work`; when it throws nothing that was applied in it is left, and the step can go on. */
  attempt<T>(work: () => T): T;
}

/** A table that answers without leaving the thread (capability `sync`). */
export interface SyncTable extends Table {
  /**
   * Applies what `decide` answers, in one step with what `decide` reads: no other write comes between. It runs once there
   * is room for a write, in the turn in which its changes are ordered, and must not wait; `read` sees every write so far,
   * those of others that are not acknowledged yet, too. Each group is applied whole or not at all; all groups become
   * visible and durable together. What `decide` throws is thrown, and nothing is written.
   * @throws InvalidArgumentError when a change reads a row (increments, appends) that another one changes.
   */
  commit?(
    decide: (read: RowRead) => readonly (readonly TableChange[])[],
    options?: OperationOptions,
  ): Promise<readonly CommitOutcome[]>;
  /**
   * Runs `decide`, and makes what it applies, of this table and of others, one step: all of it is applied, or nothing
   * when it throws. It runs as that of `commit` does, and its step is of no use after it. Answers what `decide` answers.
   */
  atomic?<T>(decide: (step: AtomicStep) => T, options?: OperationOptions): Promise<T>;
  getSync(get: Get): Result;
  /** As `getSync`, into a row that is used again and again; false when there is nothing. */
  getRaw?(get: Get, into: RawRow): boolean;
  /**
   * The first row that begins with `prefix` and has the column, that cell alone, into a row that is used again and again; false
   * when there is none. It gives what a scan gives. Undefined where only a scan can tell, as of a table of several families.
   */
  firstRaw?(prefix: Uint8Array, qualifier: Uint8Array, into: RawRow): boolean | undefined;
  scanSync(scan: Scan): SyncResultScanner;
  /**
   * The rows that `span` bounds, as they are now, for several reads that are to see one moment. Absent where all reads do, as in
   * a transaction.
   */
  readView?(span: Scan): ReadView;
}

/**
 * Rows of a table as they were at one moment, whatever is written meanwhile. It holds memory and files until it is closed, or
 * until nobody has read by it for as long as a scan may be idle.
 * @throws RowanError of its reads: `ERR_SCANNER_EXPIRED` when it was ended so.
 */
export interface ReadView {
  /** As {@link SyncTable.getRaw}. */
  getRaw(get: Get, into: RawRow): boolean;
  /** As {@link SyncTable.scanSync}. */
  scanSync(scan: Scan): SyncResultScanner;
  /** Allowed more than once. Scans that are still read go on. */
  close(): void;
}

export interface SyncResultScanner extends Iterable<Result> {
  next(): Result | undefined;
  nextBatch(count: number): Result[];
  /** As {@link ResultScanner.moments}. */
  readonly moments?: number;
  /** As `next`, into a row that is used again and again; false at the end. Not with `Scan.setBatch` or `setRaw`. */
  nextRaw?(into: RawRow): boolean;
  close(): void;
}

/** What a transaction takes. */
export interface TransactionOptions extends OperationOptions {
  /** How often it is tried before it fails with `ERR_SERIALIZATION`; default 10. */
  readonly attempts?: number | undefined;
}

/** The tables of a store as one transaction sees and changes them. */
export interface TableTransaction {
  /** @throws RowanError `ERR_TRANSACTION_ENDED` behind the transaction's end, as every call of the table then does. */
  table(name: string): SyncTable;
}

/** Cells that are changed by those only who know what stood there before. */

export interface CellPlace {
  readonly row: Uint8Array;
  readonly family: string;
  readonly qualifier: Uint8Array;
}

/**
 * Sets a cell if its value is `before`, or, where that is undefined, if there is none. False: another one was faster. Of a
 * call whose answer was lost, what stands there says whether it was made: values must be such that no other writes the same.
 */
export async function compareAndSet(
  table: Table,
  { row, family, qualifier }: CellPlace,
  before: Uint8Array | undefined,
  after: Uint8Array,
): Promise<boolean> {
  const put = new Put(row).addColumn(family, qualifier, after);
  const check =
    before === undefined
      ? CheckAndMutate.ifNotExists(family, qualifier, put)
      : CheckAndMutate.ifEquals(family, qualifier, before, put);
  try {
    return (await table.checkAndMutate(check)).success;
  } catch (error) {
    if (!(error instanceof RowanError)) throw error;
    const now = await readValue(table, { row, family, qualifier }).catch(() => undefined);
    if (now !== undefined && equalBytes(now, after)) return true;
    throw error;
  }
}

async function readValue(
  table: Table,
  { row, family, qualifier }: CellPlace,
): Promise<Uint8Array | undefined> {
  return (await table.get(new Get(row).addColumn(family, qualifier))).getValue(family, qualifier);
}
