import { compareBytes, toLatin1 } from '../../bytes/index.js';
import { InvalidArgumentError, RowanError, throwIfAborted, UnsupportedError } from '../../errors.js';
import { canonicalTableName } from '../../table/descriptor.js';
import type { Filter } from '../../table/filter/filters.js';
import { type Get, isGet, refuseRawColumns, type Scan } from '../../table/get-and-scan.js';
import type { Append, Delete, Increment, Put, RowMutation } from '../../table/mutation.js';
import type { PackedPuts } from '../../table/packed-puts.js';
import { Result } from '../../table/result.js';
import type { CheckAndMutate, CheckAndMutateResult, RowMutations } from '../../table/row-mutations.js';
import type {
  BatchAction,
  BatchOptions,
  BatchOutcome,
  OperationOptions,
  PackedPutsTable,
  PutErrors,
  ResultScanner,
  Table,
} from '../../table/table.js';
import { asRowanError } from '../rpc/call.js';
import { RequestAttributes } from '../rpc/request-attributes.js';
import {
  type Action,
  type ActionOwner,
  CheckAction,
  GetAction,
  MutationAction,
  PackedPutAction,
  RowMutationsAction,
  readExists,
  readGetResult,
} from './actions.js';
import type { Dispatcher } from './dispatcher.js';
import { offAbort, onAbort, sleep } from './retry.js';
import { HBaseScanner, type ScannerContext } from './scanner.js';

/**
 * Actions on one row that may share a request; those that do not are sent one after the other. The row's next segment begins when all of
 * them have ended.
 */
interface Segment {
  readonly verb: string;
  readonly actions: Action<unknown>[];
  /** Whether it is the row's first segment. */
  readonly isFirst: boolean;
  open: number;
  next: Segment | undefined;
}

/**
 * A batch under way. Actions of one row take effect in the batch's order. Only runs of gets, of puts or of deletes share a request:
 * within one request a server reads before it writes, and stamps a put and a delete alike, so that the delete hides the put.
 */
class Batch implements ActionOwner {
  private readonly segments = new Map<Action<unknown>, Segment>();
  private finish: () => void = () => undefined;
  private open = 0;

  constructor(
    private readonly submit: (action: Action<unknown>) => void,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** Submits `actions` and resolves when each has succeeded or failed. */
  run(actions: readonly Action<unknown>[]): Promise<void> {
    if (actions.length === 0) return Promise.resolve();
    this.open = actions.length;
    for (const action of actions) action.owner = this;
    const done = new Promise<void>((resolve) => {
      this.finish = resolve;
    });
    const { signal } = this;
    const abort = (): void => {
      for (const action of actions) {
        const message = `The batch was aborted by its AbortSignal before its ${action.verb} had ended.`;
        action.fail(new RowanError('ERR_ABORTED', message, { cause: signal?.reason }));
      }
    };
    if (signal !== undefined) onAbort(signal, abort);
    for (const action of this.firstOfEachRow(actions)) this.submit(action);
    if (signal === undefined) return done;
    return done.finally(() => offAbort(signal, abort));
  }

  actionDone(action: Action<unknown>): void {
    const segment = this.segments.get(action);
    if (segment !== undefined && --segment.open === 0 && segment.next !== undefined) {
      for (const following of segment.next.actions) this.submit(following);
    }
    for (let { after } = action; after?.held === true; after = after.after) {
      after.held = false;
      this.submit(after);
    }
    if (--this.open === 0) this.finish();
  }

  /** Chains the actions of each row. @returns the actions that need not wait. */
  private firstOfEachRow(actions: readonly Action<unknown>[]): readonly Action<unknown>[] {
    const verb = actions[0]!.verb;
    if (isTogether(verb) && actions.every((action) => action.verb === verb)) {
      if (verb !== 'get') linkRows(actions);
      return actions;
    }
    const last = new Map<string, Segment>();
    const first: Action<unknown>[] = [];
    for (const action of actions) {
      const row = toLatin1(action.row);
      const before = last.get(row);
      let segment = before;
      if (segment === undefined || segment.verb !== action.verb || !isTogether(action.verb)) {
        segment = { verb: action.verb, actions: [], isFirst: before === undefined, open: 0, next: undefined };
        last.set(row, segment);
        if (before !== undefined) before.next = segment;
      }
      if (segment.isFirst) first.push(action);
      const previous = segment.actions.at(-1);
      if (previous !== undefined && action.verb !== 'get') link(previous, action);
      segment.actions.push(action);
      segment.open++;
      this.segments.set(action, segment);
    }
    return first;
  }
}

/** Links the changes of each row: they may be too many for one request. */
function linkRows(actions: readonly Action<unknown>[]): void {
  // In ascending order no row comes twice.
  if (actions.every(({ row }, i) => i === 0 || compareBytes(actions[i - 1]!.row, row) < 0)) return;
  const last = new Map<string, Action<unknown>>();
  for (const action of actions) {
    const row = toLatin1(action.row);
    const before = last.get(row);
    if (before !== undefined) link(before, action);
    last.set(row, action);
  }
}

function link(before: Action<unknown>, after: Action<unknown>): void {
  before.after = after;
  after.before = before;
}

function isTogether(verb: string): boolean {
  return verb === 'get' || verb === 'put' || verb === 'delete';
}

// — Checks of arguments: those of HBase's own client, and others for which a server's error would be less clear.

/** @throws InvalidArgumentError when there is nothing to write. A delete of nothing deletes the row. */
function checkMutation(mutation: RowMutation): RowMutation {
  if (mutation.kind === 'delete') return mutation;
  const count = mutation.kind === 'put' ? mutation.cells.length : mutation.columns.length;
  if (count === 0) {
    throw new InvalidArgumentError(`A ${mutation.kind} needs at least one column. Add one with addColumn.`);
  }
  return mutation;
}

function checkRowMutations(mutations: RowMutations): RowMutations {
  if (mutations.mutations.length === 0) {
    throw new InvalidArgumentError('Row mutations need at least one mutation. Add one with add.');
  }
  for (const mutation of mutations.mutations) checkMutation(mutation);
  return mutations;
}

/** @throws InvalidArgumentError also for `NO_OP`, on which servers fail. */
function checkCheck(check: CheckAndMutate): CheckAndMutate {
  const { condition } = check;
  if (condition.kind === 'column' && condition.operator === 'NO_OP') {
    throw new InvalidArgumentError('NO_OP compares nothing. Check with one of the other operators.');
  }
  if (check.action.kind === 'rowMutations') checkRowMutations(check.action);
  else checkMutation(check.action);
  return check;
}

/**
 * @throws InvalidArgumentError for a raw scan of single columns (R48), and for a batch size with a filter over whole rows
 * (`IncompatibleFilterException`): HBase supports neither.
 */
function checkScan(scan: Scan): Scan {
  if (scan.writtenAfter !== undefined) {
    throw new UnsupportedError('HBase does not tell which commit wrote a cell. Leave out setWrittenAfter.');
  }
  refuseRawColumns(scan);
  if (scan.batch !== undefined && scan.filter !== undefined && decidesOverRows(scan.filter)) {
    throw new InvalidArgumentError(
      'A scan with a batch cannot have a filter that decides over whole rows. Leave out the batch or the filter.',
    );
  }
  return scan;
}

/** HBase's `Filter.hasFilterRow`. */
function decidesOverRows(filter: Filter): boolean {
  switch (filter.kind) {
    case 'singleColumnValue':
    case 'singleColumnValueExclude':
    case 'dependentColumn':
    case 'page':
    case 'random':
    case 'skip':
    case 'while':
      return true;
    case 'list':
      return filter.filters.some(decidesOverRows);
    default:
      return false;
  }
}

/**
 * A get that a replica may answer. The primary is asked first; when it fails or has not answered within `primaryCallTimeout`, the
 * replicas are asked too. The first answer counts (HBase `AsyncTimelineConsistentReadUtil`).
 * @throws RowanError the primary's error when no replica answers.
 */
async function timelineGet<T>(
  cluster: TableContext,
  make: () => GetAction<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  throwIfAborted(signal);
  const primary = make();
  const answer = primary.promise();
  if (signal !== undefined) primary.abortWith(signal);
  cluster.dispatcher.submit(primary);
  const { primaryCallTimeout, operationTimeout } = cluster.settings;
  const inTime = answer.then(
    (value) => ({ value }),
    () => undefined,
  );
  // Until the region is looked up no request was sent, and the replicas are unknown.
  const located = cluster.locator
    .locate(primary.table, primary.row, false, operationTimeout)
    .then(nothing, nothing);
  const wait = located.then(() => sleep(primaryCallTimeout, signal)).then(nothing);
  const early = await Promise.race([inTime, wait]);
  if (early !== undefined) return early.value;
  throwIfAborted(signal);
  const others = askReplicas(cluster, primary, make, signal);
  try {
    return await Promise.any([answer, ...others]);
  } catch (failure) {
    throw asRowanError((failure as AggregateError).errors[0]) satisfies RowanError;
  }
}

function nothing(): undefined {
  return undefined;
}

function askReplicas<T>(
  cluster: TableContext,
  primary: GetAction<T>,
  make: () => GetAction<T>,
  signal: AbortSignal | undefined,
): Promise<T>[] {
  const region = primary.region ?? cluster.locator.cache.find(primary.table, primary.row);
  const answers: Promise<T>[] = [];
  for (const replica of region?.replicas ?? []) {
    if (replica === undefined || replica.replicaId === 0) continue;
    const action = make();
    action.pinned = true;
    answers.push(action.promise());
    if (signal !== undefined) action.abortWith(signal);
    cluster.dispatcher.enqueue(action, replica);
  }
  return answers;
}

const NO_OPTIONS: OperationOptions = {};

/** The parts of the client that a table uses. */
export interface TableContext extends ScannerContext {
  readonly dispatcher: Dispatcher;
}

/** A table of an HBase cluster. */
export class HBaseTable implements Table, PackedPutsTable {
  readonly name: string;

  constructor(
    private readonly cluster: TableContext,
    name: string,
  ) {
    this.name = canonicalTableName(name);
  }

  get operationTimeout(): number {
    return this.cluster.settings.operationTimeout;
  }

  get(get: Get, options: OperationOptions = NO_OPTIONS): Promise<Result> {
    if (get.consistency === 'TIMELINE') {
      return this.timeline(() => this.getAction(get, options), options);
    }
    return this.run(() => this.getAction(get, options), options);
  }

  exists(get: Get, options: OperationOptions = NO_OPTIONS): Promise<boolean> {
    const action = (): GetAction<boolean> => {
      refuseRawColumns(get);
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

  async putPacked(puts: PackedPuts, options: OperationOptions = NO_OPTIONS): Promise<PutErrors> {
    throwIfAborted(options.signal);
    const timeout = this.timeoutOf(options);
    const deadline = performance.now() + timeout;
    const actions = puts.rows.map((_, i) => new PackedPutAction(this.name, puts, i, deadline, timeout));
    await this.runBatch(actions, options);
    return actions.map(({ error, value }) => (value === undefined ? error : undefined));
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

  /** A read that replicas may answer. All of its requests carry the same attributes. */
  private async timeline<T>(make: () => GetAction<T>, options: OperationOptions): Promise<T> {
    const attributes = this.attributesOf(options);
    const withAttributes = (): GetAction<T> => {
      const action = make();
      action.attributes = attributes;
      return action;
    };
    return timelineGet(this.cluster, withAttributes, options.signal);
  }

  /** The attributes of a call's requests: those of the engine's option and of the call itself. */
  private attributesOf({ attributes }: OperationOptions): RequestAttributes | undefined {
    const { requestAttributes } = this.cluster.settings;
    if (requestAttributes === undefined) {
      return attributes === undefined ? undefined : RequestAttributes.of(attributes);
    }
    const common = requestAttributes();
    if (common === undefined && attributes === undefined) return undefined;
    return RequestAttributes.of({ ...common, ...attributes });
  }

  /** Runs all actions. @throws the first error in the order of the actions. */
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
    refuseRawColumns(get);
    const timeout = this.timeoutOf(options);
    const deadline = performance.now() + timeout;
    return new GetAction(this.name, get, get.checkExistenceOnly, readGetResult, deadline, timeout);
  }

  private mutationAction(mutation: RowMutation, options: BatchOptions): MutationAction {
    const timeout = this.timeoutOf(options);
    const deadline = performance.now() + timeout;
    const changesValue = mutation.kind === 'increment' || mutation.kind === 'append';
    const nonce = changesValue ? this.cluster.dispatcher.nextNonce() : 0n;
    const once = options.once === true;
    return new MutationAction(this.name, checkMutation(mutation), nonce, deadline, timeout, once);
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

  private actionOf(action: BatchAction, options: BatchOptions): Action<unknown> {
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
