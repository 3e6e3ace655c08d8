import { asRowanError, InvalidArgumentError } from '../errors.js';
import { type Cell, describe, requestOf } from './checks.js';
import { canonicalTableName } from './descriptor.js';
import { type Get, isGet, type Scan } from './get-and-scan.js';
import type { Append, Delete, Durability, Increment, Mutation, Put, RowMutation } from './mutation.js';
import type { PackedPuts } from './packed-puts.js';
import type { Result } from './result.js';
import type { CheckAndMutate, CheckAndMutateResult, RowMutations } from './row-mutations.js';
import {
  type BatchAction,
  type BatchOptions,
  type BatchOutcome,
  type OperationOptions,
  type PackedPutsTable,
  type PutErrors,
  type ResultScanner,
  type Table,
  type TableChange,
  takesPackedPuts,
} from './table.js';

// — Observers are called with every write of a table, also by tools, and may add to it or refuse it.

/** A change of one row, as an observer receives it. It must not be altered. */
export interface ObservedWrite {
  readonly table: string;
  readonly change: RowMutation | RowMutations;
  /**
   * Reads a row of this table, or of another. On the embedded engine it returns the row as of this point of the step, synchronously; on
   * HBase it makes a call.
   */
  read(get: Get, table?: string): Result | Promise<Result>;
  /**
   * In `after` on the embedded engine: the cells as they were stored, with their timestamps, the sums of increments, and the delete
   * markers of a delete of a whole row; cells with a time to live are {@link CellWithTtl}s. Undefined elsewhere.
   */
  readonly stored?: (() => readonly Cell[]) | undefined;
}

/** Changes to be made with the observed one; undefined: none. */
export type Additions = readonly TableChange[] | undefined;

/**
 * Observes changes of rows: puts, deletes, increments, appends and row mutations, also those of batches and of checks that matched.
 * Bulk loads are not observed.
 *
 * On the embedded engine both functions run in the step of the write and must return synchronously. What they return is written in the
 * same step; if they throw, nothing of the step is written. On HBase `before` runs before the call is sent (its additions are sent
 * first; if it throws, the call is not made), and `after` when the call has succeeded (its additions follow; what it throws is
 * thrown to the writer although the write stands). Other writes, or a crash, may come in between.
 */
export interface WriteObserver {
  /**
   * Called first: if it returns true, the other functions are not called for the change. It costs less than the arguments of the others,
   * so it pays for observers that skip many changes.
   */
  ignores?(change: RowMutation | RowMutations): boolean;
  before?(write: ObservedWrite): Additions | Promise<Additions>;
  after?(write: ObservedWrite): Additions | Promise<Additions>;
  /**
   * Whether the other functions are also called when a transaction of the embedded engine makes a change, and not only when it commits.
   * What they return then is visible to the transaction itself, and is not written. Default false.
   */
  readonly inTransactions?: boolean | undefined;
}

/** The observers of an engine's tables, in the order in which they were added. */
export class WriteObservers {
  private readonly byTable = new Map<string, readonly WriteObserver[]>();

  /** The observers of a table; undefined when there are none. `name` as {@link canonicalTableName} returns it. */
  of(name: string): readonly WriteObserver[] | undefined {
    return this.byTable.size === 0 ? undefined : this.byTable.get(name);
  }

  /** The observers of a table that do not ignore a change; undefined when there are none. */
  interested(name: string, change: RowMutation | RowMutations): readonly WriteObserver[] | undefined {
    const all = this.of(name);
    if (all === undefined) return undefined;
    let count = 0;
    for (const observer of all) if (isInterested(observer, change)) count++;
    if (count === all.length) return all;
    return count === 0 ? undefined : all.filter((observer) => isInterested(observer, change));
  }

  /** Adds an observer, and returns a function that removes it. @throws InvalidArgumentError for an invalid observer. */
  add(table: string, observer: WriteObserver): () => void {
    const given: unknown = observer;
    if (
      typeof given !== 'object' ||
      given === null ||
      !isFunctionOrNothing(observer.ignores) ||
      !isFunctionOrNothing(observer.before) ||
      !isFunctionOrNothing(observer.after) ||
      (observer.before === undefined && observer.after === undefined)
    ) {
      throw new InvalidArgumentError(
        `observe takes an object with a function "before", "after" or both, not ${describe(given)}.`,
      );
    }
    const name = canonicalTableName(table);
    // One entry for each call, so that an observer added twice is removed once for each.
    const entry: WriteObserver = {
      ...(observer.ignores && { ignores: (change) => observer.ignores!(change) }),
      ...(observer.before && { before: (write) => observer.before!(write) }),
      ...(observer.after && { after: (write) => observer.after!(write) }),
      inTransactions: observer.inTransactions,
    };
    this.byTable.set(name, [...(this.byTable.get(name) ?? []), entry]);
    return () => {
      const left = (this.byTable.get(name) ?? []).filter((each) => each !== entry);
      if (left.length === 0) this.byTable.delete(name);
      else this.byTable.set(name, left);
    };
  }
}

/** Whether an observer does not ignore a change. */
export function isInterested({ ignores }: WriteObserver, change: RowMutation | RowMutations): boolean {
  return ignores === undefined || !ignores(change);
}

function isFunctionOrNothing(value: unknown): boolean {
  return value === undefined || typeof value === 'function';
}

// — The commits of an engine that numbers them: recorders are called for each as a whole, inside its step.

/** A row that a commit has changed, before and after the commit. */
export interface CommittedRow {
  readonly table: string;
  readonly row: Uint8Array;
  /** The newest cell of each column; empty when there was no row. */
  readonly before: Result;
  readonly after: Result;
}

/** All that one step has changed in the recorded tables. */
export interface Commit {
  /** Greater than that of every earlier commit, also across openings. */
  readonly number: number;
  /** The strictest durability of its writes. */
  readonly durability: Durability;
  /** In the order in which they were first changed; rows that end up unchanged are omitted. */
  readonly rows: readonly CommittedRow[];
}

/**
 * Records the commits that change rows it wants. `record` runs at the end of the step; it synchronously returns changes to be written in
 * the same step, and if it throws, nothing of the step is written.
 */
export interface CommitRecorder {
  wants(table: string, row: Uint8Array): boolean;
  record(commit: Commit): readonly TableChange[];
  /** Called when what was recorded can be read. */
  committed(): void;
}

/** The commits of an engine, beginning with the next one. */
export interface Commits {
  /** The number of the last commit that readers see; later commits have greater numbers. */
  readonly last: number;
  /** Calls the recorder for every commit that changes rows of these tables. Returns a function that removes it. */
  record(tables: readonly string[], recorder: CommitRecorder): () => void;
}

/** The recorders of an engine's tables. */
export class CommitRecorders {
  private readonly byTable = new Map<string, readonly CommitRecorder[]>();

  /** The recorders of a table; undefined when there are none. */
  of(table: string): readonly CommitRecorder[] | undefined {
    return this.byTable.size === 0 ? undefined : this.byTable.get(table);
  }

  add(tables: readonly string[], recorder: CommitRecorder): () => void {
    for (const table of tables) this.byTable.set(table, [...(this.byTable.get(table) ?? []), recorder]);
    return () => {
      for (const table of tables) {
        const left = (this.byTable.get(table) ?? []).filter((each) => each !== recorder);
        if (left.length === 0) this.byTable.delete(table);
        else this.byTable.set(table, left);
      }
    };
  }
}

// — Checks of arguments, for callers whose compiler did not check them.

function wrong(doing: string, wanted: string, given: unknown): InvalidArgumentError {
  return new InvalidArgumentError(`${doing} takes ${wanted}, not ${describe(given)}.`);
}

/** @throws InvalidArgumentError unless it is a Get. */
export function checkGet(given: Get): void {
  if (requestOf(given) !== 'get') throw wrong('A read of a row', 'a Get', given);
}

/** @throws InvalidArgumentError unless it is a Scan. */
export function checkScan(given: Scan): void {
  if (requestOf(given) !== 'scan') throw wrong('scan', 'a Scan', given);
}

/** @throws InvalidArgumentError unless it changes a row. */
export function checkChange(given: Mutation | RowMutations): void {
  const request = requestOf(given);
  if (request === 'mutation' || request === 'rowMutations') return;
  throw wrong('A write', 'a Put, Delete, Increment, Append or RowMutations', given);
}

/** @throws InvalidArgumentError unless it is a CheckAndMutate. */
export function checkCheck(given: CheckAndMutate): void {
  if (requestOf(given) !== 'checkAndMutate') throw wrong('checkAndMutate', 'a CheckAndMutate', given);
}

/** @throws InvalidArgumentError unless it is an array whose items `check` accepts. */
export function checkEach<T>(doing: string, given: readonly T[], check: (item: T) => void): void {
  if (!Array.isArray(given)) throw wrong(doing, 'a list', given);
  // Not `forEach`: it skips holes.
  for (let i = 0; i < given.length; i++) check((given as readonly T[])[i]!);
}

/** @throws InvalidArgumentError unless it can be part of a batch. */
export function checkAction(given: Get | Mutation | RowMutations | CheckAndMutate): void {
  const request = requestOf(given);
  if (request !== 'get' && request !== 'checkAndMutate') checkChange(given as Mutation | RowMutations);
}

type Written = RowMutation | RowMutations;

/**
 * A table of an engine whose calls go to a server, with observers around its writes. Without observers every call is
 * passed to the inner table in the same turn.
 */
export class ObservedTable implements Table {
  /** Undefined where the inner table does not take packed puts. */
  readonly putPacked: PackedPutsTable['putPacked'] | undefined;

  constructor(
    private readonly inner: Table,
    private readonly observers: WriteObservers,
    /** Tables of the same engine, also observed. */
    private readonly tableOf: (name: string) => Table,
  ) {
    if (takesPackedPuts(inner)) this.putPacked = (puts, options) => this.putPackedInto(inner, puts, options);
  }

  get name(): string {
    return this.inner.name;
  }

  get operationTimeout(): number | undefined {
    return this.inner.operationTimeout;
  }

  async get(get: Get, options?: OperationOptions): Promise<Result> {
    checkGet(get);
    return this.inner.get(get, options);
  }

  async getAll(gets: readonly Get[], options?: OperationOptions): Promise<Result[]> {
    checkEach('getAll', gets, checkGet);
    return this.inner.getAll(gets, options);
  }

  async exists(get: Get, options?: OperationOptions): Promise<boolean> {
    checkGet(get);
    return this.inner.exists(get, options);
  }

  scan(scan: Scan, options?: OperationOptions): ResultScanner {
    checkScan(scan);
    return this.inner.scan(scan, options);
  }

  async put(put: Put, options?: OperationOptions): Promise<void> {
    checkChange(put);
    return this.around([put], options, () => this.inner.put(put, options));
  }

  async putAll(puts: readonly Put[], options?: OperationOptions): Promise<void> {
    checkEach('putAll', puts, checkChange);
    return this.around(puts, options, () => this.inner.putAll(puts, options));
  }

  async delete(del: Delete, options?: OperationOptions): Promise<void> {
    checkChange(del);
    return this.around([del], options, () => this.inner.delete(del, options));
  }

  async increment(increment: Increment, options?: OperationOptions): Promise<Result> {
    checkChange(increment);
    return this.around([increment], options, () => this.inner.increment(increment, options));
  }

  async append(append: Append, options?: OperationOptions): Promise<Result> {
    checkChange(append);
    return this.around([append], options, () => this.inner.append(append, options));
  }

  async mutateRow(mutations: RowMutations, options?: OperationOptions): Promise<Result> {
    checkChange(mutations);
    return this.around([mutations], options, () => this.inner.mutateRow(mutations, options));
  }

  async checkAndMutate(check: CheckAndMutate, options?: OperationOptions): Promise<CheckAndMutateResult> {
    checkCheck(check);
    const observers = this.observers.of(this.name);
    if (observers === undefined) return this.inner.checkAndMutate(check, options);
    await this.tell('before', observers, [check.action], options);
    const outcome = await this.inner.checkAndMutate(check, options);
    if (outcome.success) await this.tell('after', observers, [check.action], options);
    return outcome;
  }

  async batch(actions: readonly BatchAction[], options?: BatchOptions): Promise<BatchOutcome[]> {
    checkEach('batch', actions, checkAction);
    const observers = this.observers.of(this.name);
    if (observers === undefined) return this.inner.batch(actions, options);
    const refused = new Map<number, BatchOutcome>();
    for (const [index, action] of actions.entries()) {
      try {
        await this.tell('before', observers, writesOf(action), options);
      } catch (error) {
        if (options?.atomic) throw error;
        refused.set(index, { ok: false, error: asRowanError(error) });
      }
    }
    const sent = actions.filter((_, index) => !refused.has(index));
    const answers = sent.length === 0 ? [] : await this.inner.batch(sent, options);
    let next = 0;
    const outcomes = actions.map((_, index) => refused.get(index) ?? answers[next++]!);
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.ok && outcome.success !== false) {
        await this.tell('after', observers, writesOf(actions[index]!), options);
      }
    }
    return outcomes;
  }

  /** Observers are called for the same puts, one object each. */
  private async putPackedInto(
    inner: PackedPutsTable,
    puts: PackedPuts,
    options: OperationOptions | undefined,
  ): Promise<PutErrors> {
    if (this.observers.of(this.name) === undefined) return inner.putPacked(puts, options);
    const outcomes = await this.batch(puts.toPuts(), options);
    return outcomes.map((outcome) => (outcome.ok ? undefined : outcome.error));
  }

  private async around<T>(
    changes: readonly Written[],
    options: OperationOptions | undefined,
    call: () => Promise<T>,
  ): Promise<T> {
    const observers = this.observers.of(this.name);
    if (observers === undefined) return call();
    await this.tell('before', observers, changes, options);
    const answer = await call();
    await this.tell('after', observers, changes, options);
    return answer;
  }

  private async tell(
    moment: 'before' | 'after',
    observers: readonly WriteObserver[],
    changes: readonly Written[],
    options: OperationOptions | undefined,
  ): Promise<void> {
    for (const change of changes) {
      const write: ObservedWrite = {
        table: this.name,
        change,
        read: (get, table = this.name) => this.tableOf(table).get(get, options),
      };
      for (const observer of observers)
        if (isInterested(observer, change)) await this.add(await observer[moment]?.(write), options);
    }
  }

  private async add(additions: Additions, options: OperationOptions | undefined): Promise<void> {
    if (additions === undefined) return;
    for (const { table, change } of additions)
      await this.tableOf(table).batch([change], options).then(thrown);
  }
}

function writesOf(action: BatchAction): readonly Written[] {
  if (isGet(action)) return [];
  return action.kind === 'checkAndMutate' ? [action.action] : [action];
}

function thrown(outcomes: readonly BatchOutcome[]): void {
  for (const outcome of outcomes) if (!outcome.ok) throw outcome.error;
}
