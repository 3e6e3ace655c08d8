import { asRowanError, InvalidArgumentError } from '../errors.js';
import { describe, requestOf } from './checks.js';
import { type Get, isGet, type Scan } from './get-and-scan.js';
import type { Append, Delete, Increment, Mutation, Put, RowMutation } from './mutation.js';
import {
  type Additions,
  isTold,
  type ObservedWrite,
  type WriteObserver,
  type WriteObservers,
} from './observer.js';
import type { Result } from './result.js';
import type { CheckAndMutate, CheckAndMutateResult, RowMutations } from './row-mutations.js';
import type {
  BatchAction,
  BatchOptions,
  BatchOutcome,
  OperationOptions,
  ResultScanner,
  Table,
} from './table.js';

/** Checks of arguments, for callers whose compiler did not check them. */

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

/** A table of an engine whose calls go to a server, with observers around its writes. */

type Written = RowMutation | RowMutations;

/** Without observers every call is passed to the inner table in the same turn. */
export class ObservedTable implements Table {
  constructor(
    private readonly inner: Table,
    private readonly observers: WriteObservers,
    /** Tables of the same engine, also observed. */
    private readonly tableOf: (name: string) => Table,
  ) {}

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
        if (isTold(observer, change)) await this.add(await observer[moment]?.(write), options);
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
