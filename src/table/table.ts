import { equalBytes } from '../bytes/index.js';
import { InvalidArgumentError, RowanError } from '../errors.js';
import { checkOptions, checkPositiveInteger, describe } from './checks.js';
import type { CellColumn, DerivedPuts, PackedDerivedPuts } from './derived-puts.js';
import { Get, type Scan } from './get-and-scan.js';
import {
  type Append,
  type Delete,
  type Durability,
  type Increment,
  Put,
  type RowMutation,
} from './mutation.js';
import type { ColumnPuts, PackedPuts } from './packed-puts.js';
import type { RawRow, Result } from './result.js';
import { CheckAndMutate, type CheckAndMutateResult, type RowMutations } from './row-mutations.js';

/** Options of every call. */
export interface OperationOptions {
  /** Ends the call with `ERR_ABORTED`. A write that was already sent may still take effect. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for the whole call, retries included; default: the engine's. */
  readonly timeout?: number | undefined;
  /**
   * Names and values that are sent with each request of the call and appear in HBase's slow log (2.6), for example an id by which a call is
   * found there. Calls with different attributes share no request. The embedded engine ignores them.
   */
  readonly attributes?: Readonly<Record<string, string>> | undefined;
}

/** One item of a batch. */
export type BatchAction = Get | Put | Delete | Increment | Append | RowMutations | CheckAndMutate;

/** The outcome of one item: its result (empty for puts and deletes) or its error. */
export type BatchOutcome =
  | { readonly ok: true; readonly result: Result; readonly success?: boolean }
  | { readonly ok: false; readonly error: RowanError };

export interface BatchOptions extends OperationOptions {
  /** All rows or none. Needs the capability `atomicBatch`; default false: each row is independent (R76, R77). */
  readonly atomic?: boolean | undefined;
  /**
   * Whether each change is sent at most once: where its outcome is unknown it fails, also if it could be repeated, as a put. Default
   * false. The embedded engine sends nothing.
   */
  readonly once?: boolean | undefined;
}

/** The rows of a scan, in order. It may be closed twice; leaving a `for await` closes it. */
export interface ResultScanner extends AsyncIterable<Result> {
  /** The next result, or undefined at the end. */
  next(): Promise<Result | undefined>;
  /**
   * Up to `count` further results; fewer only at the end, or where they have as many as about `bytes`, so that large rows need not be held
   * together. None only at the end. HBase gives all results of an answer that it has begun.
   */
  nextBatch(count: number, bytes?: number): Promise<Result[]>;
  /**
   * The number of moments as of which the rows so far were read: on HBase one for each region, plus one whenever its scanner was lost and
   * opened again; the embedded engine reads a table as of one moment. Undefined when unknown.
   */
  readonly moments?: number;
  close(): Promise<void>;
}

/**
 * One table, the same on every engine, with HBase's semantics (R1-R88 of `docs/semantics.md`). A change of one row is atomic over its
 * families. An acknowledged change is as durable as its `Durability` says.
 *
 * @throws RowanError `ERR_TABLE_NOT_FOUND`, `ERR_TABLE_DISABLED`, `ERR_NO_SUCH_FAMILY`, `ERR_INVALID_ARGUMENT`, `ERR_CLOSED`, and the
 * engine's own errors (`ERR_IO`, `ERR_CORRUPTION`, `ERR_CONNECTION`, `ERR_TIMEOUT`).
 */
export interface Table {
  /** "namespace:name", or "name" in the default namespace. */
  readonly name: string;
  /** Milliseconds for calls without a `timeout` option. Undefined: no limit. */
  readonly operationTimeout?: number | undefined;

  /** The cells of one row; {@link Result.EMPTY} when there are none. */
  get(get: Get, options?: OperationOptions): Promise<Result>;
  /** Like `get` for each; results in the order of the gets. */
  getAll(gets: readonly Get[], options?: OperationOptions): Promise<Result[]>;
  exists(get: Get, options?: OperationOptions): Promise<boolean>;
  put(put: Put, options?: OperationOptions): Promise<void>;
  /** Applies every put, each row for itself. @throws the first failure; `batch` returns an outcome for each. */
  putAll(puts: readonly Put[], options?: OperationOptions): Promise<void>;
  delete(del: Delete, options?: OperationOptions): Promise<void>;
  /**
   * Returns the new values, or an empty result with `returnResults` false. On HBase the result is also empty when the change was made and
   * its response was lost with the server: the server that takes over knows that it was made, but not the values.
   */
  increment(increment: Increment, options?: OperationOptions): Promise<Result>;
  append(append: Append, options?: OperationOptions): Promise<Result>;
  /** Applies all of the row's mutations or none; returns the results of its increments and appends. */
  mutateRow(mutations: RowMutations, options?: OperationOptions): Promise<Result>;
  checkAndMutate(check: CheckAndMutate, options?: OperationOptions): Promise<CheckAndMutateResult>;
  /** Returns an outcome for each action, in order. Actions of one row take effect in their order. */
  batch(actions: readonly BatchAction[], options?: BatchOptions): Promise<BatchOutcome[]>;
  scan(scan: Scan, options?: OperationOptions): ResultScanner;
}

/** A change of one row, which may be of another table than the changes it is committed with. */
export interface TableChange {
  readonly table: string;
  readonly change: RowMutation | RowMutations;
  /**
   * Its cells have timestamps that this engine assigned to another row, or to other cells of the row. Later writes of the row without a
   * timestamp are ordered after them, as if they had been assigned here. Timestamps that the engine has not reached yet were given by
   * users and have no such effect. Default false: as in HBase, a write with its own timestamp affects no other.
   */
  readonly timestampsAssigned?: boolean;
  /** Recorders of commits are not called for it. Default false. */
  readonly unrecorded?: boolean;
}

/** The outcome of one group of a commit: a result for each change, or the error for which the whole group was not applied. */
export type CommitOutcome =
  | { readonly ok: true; readonly results: readonly Result[] }
  | { readonly ok: false; readonly error: RowanError };

/** Reads a row of this table, or of another of the store. */
export type RowRead = (get: Get, table?: string) => Result;

/** Scans this table, or another of the store. */
export type RowScan = (scan: Scan, table?: string) => readonly Result[];

/** A put of one cell that may be applied at the end of its step. */
export interface WaitingPut {
  readonly table: string;
  readonly row: Uint8Array;
  readonly family: string;
  readonly qualifier: Uint8Array;
  readonly value: Uint8Array;
  readonly durability: Durability;
}

/** A table that takes {@link PackedPuts}. */
export interface PackedPutsTable {
  /**
   * Writes each of the puts by itself, as {@link Table.batch} would. They must not be changed afterwards.
   * @returns the errors of those that failed, by their positions; empty: all are written.
   */
  putPacked(puts: PackedPuts, options?: OperationOptions): Promise<PutErrors>;
}

/** The errors of puts, by their positions. */
export type PutErrors = readonly (RowanError | undefined)[];

export function takesPackedPuts(table: object): table is PackedPutsTable {
  return (table as Partial<PackedPutsTable>).putPacked !== undefined;
}

/** A running atomic step: its later reads see what it has applied; nobody else does before it ends. */
export interface AtomicStep {
  /** The step's time, ms: its writes without their own timestamp get no earlier one. */
  readonly time: number;
  /** Whether connections write the store too, which is served: their writers see by a row's shadow that it has changed. */
  readonly isShared: boolean;
  /** Sees every write so far, including unacknowledged ones of others, and those of this step. */
  readonly read: RowRead;
  /** Returns the rows of a scan of this table, or of another, as `read` sees them; all at once, so set a limit. */
  readonly scan: RowScan;
  /** Applies a change; returns the results of increments and appends. @throws RowanError when the change is refused; earlier ones stay. */
  apply(change: TableChange): Result;
  /**
   * Like `apply` for such a put, but the puts of one table are applied together, sorted by row, when the table is used otherwise or the
   * step ends: the cheapest way to write many scattered cells. Undefined where every change is processed individually.
   * @throws RowanError when the put is refused.
   */
  putLater?(put: WaitingPut): void;
  /**
   * Applies packed puts to this table, and what `others` returns, if any, when none of the rows has a cell yet. False, and nothing is applied: a
   * row has cells or is named twice, also one of those that must be new of what `others` returns, that is undefined, or the changes have to
   * be processed individually. Undefined where they always have.
   * Both are read until the step ends.
   */
  putNewRows?(puts: PackedPuts, others: () => ColumnPuts | 'none' | undefined): boolean;
  /**
   * Applies puts of one column, whether their rows exist or not; they are read until the step ends. False, and nothing is applied: the
   * table does not take all of them, or each has to be processed individually. Undefined where each always has.
   */
  putColumn?(puts: ColumnPuts): boolean;
  /** Runs `work`. If it throws, everything applied in it is rolled back, and the step can continue. */
  attempt<T>(work: () => T): T;
}

/** A table with synchronous reads (capability `sync`). */
export interface SyncTable extends Table {
  /**
   * Applies the changes that `decide` returns, in one step with the reads of `decide`: no other write comes in between. `decide` runs when
   * memory allows a write, in the turn in which its changes are ordered, and must not wait; `read` sees every write so far, including
   * unacknowledged ones of others. Each group is applied whole or not at all; all groups become visible and durable together. If
   * `decide` throws, nothing is written.
   * @throws InvalidArgumentError when a change reads a row (increments, appends) that another one changes.
   */
  commit?(
    decide: (read: RowRead) => readonly (readonly TableChange[])[],
    options?: OperationOptions,
  ): Promise<readonly CommitOutcome[]>;
  /**
   * Runs `decide`, and makes everything it applies, to this table and others, one step: all of it is applied, or nothing when it throws.
   * It runs like that of `commit`; its step cannot be used afterwards. Returns what `decide` returns.
   */
  atomic?<T>(decide: (step: AtomicStep) => T, options?: OperationOptions): Promise<T>;
  getSync(get: Get): Result;
  /** Like `getSync`, into a reusable row; false when there is nothing. */
  getRaw?(get: Get, into: RawRow): boolean;
  /**
   * Where reads of files wait for the disk: reads what these gets need off the thread, so that they do not wait. Undefined where that saves
   * nothing.
   */
  readAhead?(gets: readonly Get[]): Promise<void> | undefined;
  /**
   * Reads the cell of the first row that begins with `prefix` and has the column, into a reusable row; false when there is none. The result
   * is that of a scan. Undefined where only a scan can decide, as for a table with several families.
   */
  firstRaw?(prefix: Uint8Array, qualifier: Uint8Array, into: RawRow): boolean | undefined;
  scanSync(scan: Scan): SyncResultScanner;
  /**
   * The rows within `span` as of now, for several reads that must see the same moment. Undefined where all reads do, as in a
   * transaction.
   */
  readView?(span: Scan): ReadView;
  /**
   * Scans ranges by several threads, as of now; the result is that of scans of the ranges, one after the other. Of `scan` the bounds are
   * ignored. Undefined where threads cannot read the table, or give the rows that one thread would.
   * @throws RowanError `ERR_IO` when no thread can be started.
   */
  scanInThreads?(
    scan: Scan,
    ranges: readonly ScannedRange[],
    options: ThreadedScanOptions,
  ): ThreadedScanner | undefined;
}

/** A table whose writes can be steps: that of the embedded engine, of a transaction on it, and of a store opened for reading only. */
export type StepTable = SyncTable & Required<Pick<SyncTable, 'commit' | 'atomic'>>;

/** The rows in [start, stop). An empty stop is the end of the table. */
export interface ScannedRange {
  readonly start: Uint8Array;
  readonly stop: Uint8Array;
}

export interface ThreadedScanOptions {
  /** The number of threads beside the calling one. */
  readonly threads: number;
  /** Ends the scan with `ERR_ABORTED`. */
  readonly signal?: AbortSignal | undefined;
}

/** The part of each row that a scan returns. */
export interface GroupedColumns {
  /** Rows of a packet with the same bytes in these columns are one group. */
  readonly by: readonly CellColumn[];
  readonly values: readonly CellColumn[];
  /** Rows whose only cell is in this column are skipped. */
  readonly alone?: CellColumn;
}

/** Values of many rows. Lengths are -1 for what is absent. */
export interface PackedGroups {
  readonly rows: number;
  readonly groups: number;
  /** For each group the length of each column that is grouped by, and their bytes one after the other. */
  readonly keyLengths: Int32Array;
  readonly keys: Uint8Array;
  /** The group of each row. */
  readonly groupOf: Int32Array;
  /** For each row the length of each value, and their bytes one after the other. */
  readonly lengths: Int32Array;
  readonly bytes: Uint8Array;
}

/** A scan by several threads. */
export interface ThreadedScanner {
  /**
   * Reads the next row; false at the end. `into` must not be used for anything else. A promise only where the row must be awaited.
   * @throws RowanError `ERR_IO` when a thread has ended, `ERR_ABORTED`, `ERR_CLOSED`.
   */
  next(into: RawRow): boolean | Promise<boolean>;
  /** Counts the rows, and the bytes of their values, without returning them; ends the scan. @throws as `next`. */
  count(): Promise<{ readonly rows: number; readonly bytes: number }>;
  /**
   * Gives the values of columns instead of rows, in packets, in the order of the rows; ends the scan. `take` is called within this call.
   * Returns as `count`. @throws as `next`, and what `take` throws.
   */
  groups(
    columns: GroupedColumns,
    take: (packed: PackedGroups) => void,
  ): Promise<{ readonly rows: number; readonly bytes: number }>;
  /**
   * Gives puts that are made of the rows, in packets, in the order of the rows; undefined at the end. Each call is the same. @throws as
   * `next`.
   */
  nextPuts(made: DerivedPuts): Promise<PackedDerivedPuts | undefined>;
  /** May be called at any time and repeatedly. */
  close(): void;
}

/**
 * Rows of a table as of one moment, whatever is written meanwhile. It retains memory and files until it is closed, or was not used for as
 * long as a scan may be idle.
 * @throws RowanError from reads: `ERR_SCANNER_EXPIRED` when it was ended for that.
 */
export interface ReadView {
  /** As {@link SyncTable.getRaw}. */
  getRaw(get: Get, into: RawRow): boolean;
  /** As {@link SyncTable.scanSync}. */
  scanSync(scan: Scan): SyncResultScanner;
  /** May be called more than once. Open scans continue. */
  close(): void;
}

export interface SyncResultScanner extends Iterable<Result> {
  next(): Result | undefined;
  /** As {@link ResultScanner.nextBatch}. */
  nextBatch(count: number, bytes?: number): Result[];
  /** As {@link ResultScanner.moments}. */
  readonly moments?: number;
  /** Like `next`, into a reusable row; false at the end. Not with `Scan.setBatch` or `setRaw`. */
  nextRaw?(into: RawRow): boolean;
  close(): void;
}

/** Options of a transaction. */
export interface TransactionOptions extends OperationOptions {
  /** The number of attempts before it fails with `ERR_SERIALIZATION`; default 10. */
  readonly attempts?: number | undefined;
}

const TRANSACTION_OPTIONS: Readonly<Record<keyof TransactionOptions, true>> = {
  attempts: true,
  signal: true,
  timeout: true,
  attributes: true,
};
const TRANSACTION_ATTEMPTS = 10;
/** Milliseconds after which an open transaction is ended: the cells that it may read are kept for it. */
const TRANSACTION_TIMEOUT = 60_000;

/**
 * The limits of a transaction. @throws InvalidArgumentError when `run` is no function, and on unknown and invalid options.
 */
export function transactionLimits(
  run: unknown,
  options: TransactionOptions,
): { readonly attempts: number; readonly timeout: number } {
  checkOptions('transaction', options, TRANSACTION_OPTIONS);
  if (typeof run !== 'function') {
    throw new InvalidArgumentError(`transaction takes a function, async (tx) => …, not ${describe(run)}.`);
  }
  return {
    attempts: checkPositiveInteger(options.attempts ?? TRANSACTION_ATTEMPTS, 'The number of attempts'),
    timeout: checkPositiveInteger(options.timeout ?? TRANSACTION_TIMEOUT, 'The timeout'),
  };
}

/** The tables of a store as one transaction sees and changes them. */
export interface TableTransaction {
  /** @throws RowanError `ERR_TRANSACTION_ENDED` after the transaction's end, as every call of the table does then. */
  table(name: string): Table;
}

/** The same on an engine with the capability `sync`. */
export interface SyncTableTransaction extends TableTransaction {
  table(name: string): SyncTable;
}

// — Cells that are changed by compare-and-set only.

interface CellPlace {
  readonly row: Uint8Array;
  readonly family: string;
  readonly qualifier: Uint8Array;
}

/**
 * Sets a cell if its value is `before`, or, if that is undefined, if the cell is absent. False: another write was faster. If the
 * response of the call is lost, the present value decides whether it was made, so writers must never write equal values.
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
