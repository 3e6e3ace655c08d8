import { InvalidArgumentError, type RowanError, throwIfAborted, UnsupportedError } from '../../errors.js';
import type { Get } from '../../table/get.js';
import { isGet } from '../../table/get.js';
import type { Append, Delete, Increment, Put, RowMutation } from '../../table/mutation.js';
import { Result } from '../../table/result.js';
import type { CheckAndMutate, CheckAndMutateResult, RowMutations } from '../../table/row-mutations.js';
import type { Scan } from '../../table/scan.js';
import type {
  BatchAction,
  BatchOptions,
  BatchOutcome,
  OperationOptions,
  ResultScanner,
  Table,
} from '../../table/table.js';
import { canonicalTableName } from '../../table/table-name.js';
import { RequestAttributes } from '../rpc/request-attributes.js';
import type { Action } from './action.js';
import { Batch } from './batch.js';
import { CheckAction } from './check-action.js';
import { checkCheck, checkMutation, checkRowMutations, checkScan } from './checks.js';
import type { Cluster } from './cluster.js';
import { GetAction, readExists, readGetResult } from './get-action.js';
import { MutationAction } from './mutation-action.js';
import { RowMutationsAction } from './row-mutations-action.js';
import { HBaseScanner } from './scanner.js';
import { timelineGet } from './timeline-get.js';

const NO_OPTIONS: OperationOptions = {};

/** A table of an HBase cluster. */
export class HBaseTable implements Table {
  readonly name: string;

  constructor(
    private readonly cluster: Cluster,
    name: string,
  ) {
    this.name = canonicalTableName(name);
  }

  get(get: Get, options: OperationOptions = NO_OPTIONS): Promise<Result> {
    if (get.consistency === 'TIMELINE') {
      return this.timeline(() => this.getAction(get, options), options);
    }
    return this.run(() => this.getAction(get, options), options);
  }

  exists(get: Get, options: OperationOptions = NO_OPTIONS): Promise<boolean> {
    const action = (): GetAction<boolean> => {
      const timeout = this.timeoutOf(options);
      return new GetAction(this.name, get, true, readExists, performance.now() + timeout, timeout);
    };
    if (get.consistency === 'TIMELINE') return this.timeline(action, options);
    return this.run(action, options);
  }

  async getAll(gets: readonly Get[], options: OperationOptions = NO_OPTIONS): Promise<Result[]> {
    if (gets.some(({ consistency }) => consistency === 'TIMELINE')) {
      return Promise.all(gets.map((get) => this.get(get, options)));
    }
    const actions = gets.map((get) => this.getAction(get, options));
    await this.runAll(actions, options);
    return actions.map((action) => action.value!);
  }

  async put(put: Put, options: OperationOptions = NO_OPTIONS): Promise<void> {
    await this.run(() => this.mutationAction(put, options), options);
  }

  async putAll(puts: readonly Put[], options: OperationOptions = NO_OPTIONS): Promise<void> {
    await this.runAll(
      puts.map((put) => this.mutationAction(put, options)),
      options,
    );
  }

  async delete(del: Delete, options: OperationOptions = NO_OPTIONS): Promise<void> {
    await this.run(() => this.mutationAction(del, options), options);
  }

  increment(increment: Increment, options: OperationOptions = NO_OPTIONS): Promise<Result> {
    return this.run(() => this.mutationAction(increment, options), options);
  }

  append(append: Append, options: OperationOptions = NO_OPTIONS): Promise<Result> {
    return this.run(() => this.mutationAction(append, options), options);
  }

  async mutateRow(mutations: RowMutations, options: OperationOptions = NO_OPTIONS): Promise<Result> {
    return this.run(() => this.rowMutationsAction(mutations, options), options);
  }

  checkAndMutate(
    check: CheckAndMutate,
    options: OperationOptions = NO_OPTIONS,
  ): Promise<CheckAndMutateResult> {
    return this.run(() => this.checkAction(check, options), options);
  }

  async batch(actions: readonly BatchAction[], options: BatchOptions = NO_OPTIONS): Promise<BatchOutcome[]> {
    if (options.atomic === true) {
      throw new UnsupportedError(
        'The HBase engine has no atomic batches over rows (capability atomicBatch). Put what belongs together into ' +
          'one row, or use the embedded engine.',
      );
    }
    throwIfAborted(options.signal);
    const submitted = actions.map((action) => this.actionOf(action, options));
    await this.runBatch(submitted, options);
    return submitted.map(outcomeOf);
  }

  scan(scan: Scan, options: OperationOptions = NO_OPTIONS): ResultScanner {
    const scanner = new HBaseScanner(this.cluster, this.name, checkScan(scan), options);
    scanner.attributes = this.attributesOf(options);
    const { telemetry } = this.cluster.observer;
    if (telemetry !== undefined) scanner.onEnd = telemetry.begin('scan', this.name);
    return scanner;
  }

  private run<T>(make: () => Action<T>, options: OperationOptions): Promise<T> {
    let action: Action<T>;
    try {
      throwIfAborted(options.signal);
      action = make();
      action.attributes = this.attributesOf(options);
    } catch (error) {
      return Promise.reject(error);
    }
    const promise = action.promise();
    this.cluster.observer.telemetry?.follow(action.verb, this.name, 1, promise);
    if (options.signal !== undefined) action.abortWith(options.signal);
    this.cluster.dispatcher.submit(action);
    return promise;
  }

  /** A read that replicas may answer; its requests to all of them have the same attributes. */
  private async timeline<T>(make: () => GetAction<T>, options: OperationOptions): Promise<T> {
    const attributes = this.attributesOf(options);
    const withAttributes = (): GetAction<T> => {
      const action = make();
      action.attributes = attributes;
      return action;
    };
    return timelineGet(this.cluster, withAttributes, options.signal);
  }

  /** What goes with the requests of a call: what the engine's option says for all, and what the call itself says. */
  private attributesOf({ attributes }: OperationOptions): RequestAttributes | undefined {
    const { requestAttributes } = this.cluster.settings;
    if (requestAttributes === undefined) {
      return attributes === undefined ? undefined : RequestAttributes.of(attributes);
    }
    const common = requestAttributes();
    if (common === undefined && attributes === undefined) return undefined;
    return RequestAttributes.of({ ...common, ...attributes });
  }

  /** Runs them all and throws the first failure, in their order. */
  private async runAll(actions: readonly Action<Result>[], options: OperationOptions): Promise<void> {
    throwIfAborted(options.signal);
    await this.runBatch(actions, options);
    for (const action of actions)
      if (action.error !== undefined && action.value === undefined) throw action.error;
  }

  private async runBatch(actions: readonly Action<unknown>[], options: OperationOptions): Promise<void> {
    const attributes = this.attributesOf(options);
    if (attributes !== undefined) for (const action of actions) action.attributes = attributes;
    const batch = new Batch((action) => this.cluster.dispatcher.submit(action), options.signal);
    const running = batch.run(actions);
    this.cluster.observer.telemetry?.follow('batch', this.name, actions.length, running);
    await running;
  }

  private timeoutOf(options: OperationOptions): number {
    const { timeout } = options;
    if (timeout === undefined) return this.cluster.settings.operationTimeout;
    if (!(timeout > 0))
      throw new InvalidArgumentError(`A timeout is a positive number of milliseconds, not ${timeout}.`);
    return timeout;
  }

  private getAction(get: Get, options: OperationOptions): GetAction<Result> {
    const timeout = this.timeoutOf(options);
    const deadline = performance.now() + timeout;
    return new GetAction(this.name, get, get.checkExistenceOnly, readGetResult, deadline, timeout);
  }

  private mutationAction(mutation: RowMutation, options: OperationOptions): MutationAction {
    const timeout = this.timeoutOf(options);
    const deadline = performance.now() + timeout;
    const changesValue = mutation.kind === 'increment' || mutation.kind === 'append';
    const nonce = changesValue ? this.cluster.dispatcher.nextNonce() : 0n;
    return new MutationAction(this.name, checkMutation(mutation), nonce, deadline, timeout);
  }

  private rowMutationsAction(mutations: RowMutations, options: OperationOptions): RowMutationsAction {
    const timeout = this.timeoutOf(options);
    const deadline = performance.now() + timeout;
    const nonce = this.cluster.dispatcher.nextNonce();
    return new RowMutationsAction(this.name, checkRowMutations(mutations), nonce, deadline, timeout);
  }

  private checkAction(check: CheckAndMutate, options: OperationOptions): CheckAction {
    const timeout = this.timeoutOf(options);
    const deadline = performance.now() + timeout;
    const nonce = this.cluster.dispatcher.nextNonce();
    return new CheckAction(this.name, checkCheck(check), nonce, deadline, timeout);
  }

  private actionOf(action: BatchAction, options: OperationOptions): Action<unknown> {
    if (isGet(action)) return this.getAction(action, options);
    if (action.kind === 'rowMutations') return this.rowMutationsAction(action, options);
    if (action.kind === 'checkAndMutate') return this.checkAction(action, options);
    return this.mutationAction(action, options);
  }
}

function outcomeOf(action: Action<unknown>): BatchOutcome {
  if (action.value === undefined) return { ok: false, error: action.error as RowanError };
  if (action instanceof CheckAction) {
    const { success, result } = action.value as CheckAndMutateResult;
    return { ok: true, result: result ?? Result.EMPTY, success };
  }
  return { ok: true, result: action.value as Result };
}
