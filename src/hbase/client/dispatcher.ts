import { randomBytes } from 'node:crypto';
import { ClosedError, type RowanError, TimeoutError } from '../../errors.js';
import type { HBaseDebugState, Observer } from '../observe/observer.js';
import type { HBaseSettings } from '../options.js';
import { type RegionFinder, tableDisabled } from '../region/locator.js';
import { META_TABLE, type Region } from '../region/region.js';
import { asRowanError } from '../rpc/call.js';
import type { ConnectionPool } from '../rpc/connection-pool.js';
import { ConnectionError, RemoteError } from '../rpc/errors.js';
import type { Action } from './actions.js';
import {
  exhaustedError,
  isAmbiguous,
  isFullAnswer,
  pauseBefore,
  sleep,
  suggestsStaleLocation,
} from './retry.js';
import { ServerQueue } from './server-queue.js';

/** Milliseconds between checks of the deadlines of waiting actions. */
const SWEEP_INTERVAL = 50;

type AnyAction = Action<unknown>;

/**
 * Sends actions to their servers and retries those that failed and may be retried.
 *
 * - Actions submitted in one turn of the event loop are sent together, grouped by server (see {@link ServerQueue}).
 * - Each action ends by itself: a failure does not affect the actions in the same request.
 * - A change that must not be applied twice keeps its nonce over all attempts. It is repeated where the nonce is known: at the server
 *   process that may have applied it, and at the one that recovered the region from the log of that process. A conditional change with
 *   an unknown outcome is not retried.
 */
export class Dispatcher {
  private readonly queues = new Map<string, ServerQueue>();
  /** Queues that got actions since the last flush. */
  private dirty: ServerQueue[] = [];
  private flushScheduled = false;
  private sweeper: NodeJS.Timeout | undefined;
  /** Actions that wait for a region lookup or for their next attempt. */
  private readonly idle = new Set<AnyAction>();
  /** Those of them that wait for a lookup. */
  private readonly looking = new Set<AnyAction>();
  private closed: RowanError | undefined;
  /** Aborts on close, so that pauses do not keep the process alive. */
  private readonly over = new AbortController();
  /** Identifies this client to the servers' nonce managers. */
  private readonly nonceGroup = randomNonce();
  private nonces = randomNonce();

  constructor(
    private readonly settings: HBaseSettings,
    private readonly pool: Pick<ConnectionPool, 'get'>,
    private readonly locator: RegionFinder,
    private readonly observer: Observer,
  ) {}

  submit(action: AnyAction): void {
    if (action.settled) return;
    action.statistics ??= this.observer.tables.table(action.table);
    if (this.closed !== undefined) {
      action.fail(this.closed);
      return;
    }
    const region = this.locator.cache.find(action.table, action.row);
    if (region === undefined) this.locate(action);
    else this.place(action, region);
  }

  /** A nonce that this client has not used; never 0. */
  nextNonce(): bigint {
    this.nonces = BigInt.asUintN(64, this.nonces + 2n);
    return this.nonces;
  }

  /** Sends to the given region, as timeline reads do. */
  enqueue(action: AnyAction, region: Region): void {
    action.region = region;
    let queue = this.queues.get(region.server);
    if (queue === undefined) {
      queue = new ServerQueue(
        region.address,
        this.pool,
        this.settings,
        this.nonceGroup,
        (actions, error) => this.failed(actions, error),
        (action) => this.submit(action),
      );
      this.queues.set(region.server, queue);
    }
    queue.push(action);
    if (!queue.isDirty) {
      queue.isDirty = true;
      this.dirty.push(queue);
    }
    this.sweeper ??= setTimeout(() => this.sweep(), SWEEP_INTERVAL);
    if (!this.flushScheduled) {
      this.flushScheduled = true;
      process.nextTick(() => this.flush());
    }
  }

  /**
   * Updates the region cache after an error.
   *
   * A server remembers for two minutes where it sent a region, also when the region came back and left again
   * (`HRegionServer.movedRegionInfoCache`). Two servers may so name each other for a region that neither has. A new location is
   * therefore used only when its sequence number is above that of the cached one; otherwise `hbase:meta` is read.
   */
  regionFailed(region: Region, error: RowanError): void {
    const { cache } = this.locator;
    const movedTo = error instanceof RemoteError && region.replicaId === 0 ? error.movedTo : undefined;
    if (movedTo !== undefined && movedTo.seqNum > region.seqNum) {
      const { host, port, startCode, seqNum } = movedTo;
      cache.replace(region, region.movedTo({ host, port }, startCode, seqNum));
    } else if (suggestsStaleLocation(error)) {
      cache.remove(region);
    }
  }

  /** Counts of operations that wait for a server and of requests under way to it. */
  queueOf(server: string): { readonly queued: number; readonly inFlight: number; readonly limit: number } {
    return this.queues.get(server)?.load ?? { queued: 0, inFlight: 0, limit: this.settings.maxInFlight };
  }

  /** The load of every server that has had requests. */
  loads(): HBaseDebugState['queues'] {
    return Object.fromEntries([...this.queues].map(([server, queue]) => [server, queue.load]));
  }

  close(): void {
    const error = new ClosedError('The connection to HBase was closed.');
    this.closed = error;
    this.over.abort();
    clearTimeout(this.sweeper);
    for (const queue of this.queues.values()) queue.failAll(error);
    for (const action of this.idle) action.fail(error);
    this.idle.clear();
    this.looking.clear();
  }

  private flush(): void {
    this.flushScheduled = false;
    const queues = this.dirty;
    this.dirty = [];
    for (const queue of queues) {
      queue.isDirty = false;
      queue.flush();
    }
  }

  private locate(action: AnyAction): void {
    this.wait(action);
    this.looking.add(action);
    const timeout = Math.max(1, action.deadline - performance.now());
    this.locator.locate(action.table, action.row, false, timeout).then(
      (region) => {
        this.located(action);
        if (!action.settled) this.place(action, region);
      },
      (error: unknown) => {
        this.located(action);
        this.failed([action], asRowanError(error));
      },
    );
  }

  private located(action: AnyAction): void {
    this.idle.delete(action);
    this.looking.delete(action);
  }

  /** Sends to `region`, unless a server there may repeat what another has applied: then the action fails. */
  private place(action: AnyAction, region: Region): void {
    const { unanswered } = action;
    if (unanswered === undefined || action.repeatable || unanswered.isAtSameServer(region)) {
      this.enqueue(action, region);
      return;
    }
    this.wait(action);
    this.locator.isRecovered(unanswered, region).then(
      (isKnown) => {
        this.idle.delete(action);
        if (isKnown && !action.settled) this.enqueue(action, region);
        else action.fail(noncesLost(unanswered, region, action.error));
      },
      (error: unknown) => {
        this.idle.delete(action);
        this.failed([action], asRowanError(error));
      },
    );
  }

  private wait(action: AnyAction): void {
    this.idle.add(action);
    this.sweeper ??= setTimeout(() => this.sweep(), SWEEP_INTERVAL);
  }

  /** Fails or retries actions whose attempt failed with one error. */
  private failed(actions: readonly AnyAction[], error: RowanError): void {
    let again: AnyAction[] | undefined;
    let longest = 0;
    let last: Region | undefined;
    for (const action of actions) {
      const { call, region } = action;
      action.call = undefined;
      if (region !== undefined && region !== last) this.regionFailed(region, error);
      last = region;
      if (action.settled) continue;
      // A lookup in the rest of the time says nothing of what the action has waited for.
      if (call === undefined && error instanceof TimeoutError && performance.now() >= action.deadline) {
        action.error ??= error;
        action.expire(performance.now(), false);
        continue;
      }
      const request = call as { readonly sent?: boolean; readonly hasProgressed?: boolean } | undefined;
      // A Multi whose answer is full is continued as long as each answer has a result.
      if (!isFullAnswer(error) || request?.hasProgressed !== true) action.attempts++;
      if (request?.sent === true && isAmbiguous(error)) action.unanswered ??= region;
      if (this.isFinal(action, error)) {
        const what = `The ${action.verb} on table ${action.table}`;
        action.fail(exhaustedError(error, what, action.attempts, 'no retries left'));
        continue;
      }
      action.error = error;
      longest = Math.max(longest, action.attempts);
      again ??= [];
      again.push(action);
    }
    if (again !== undefined) this.repeat(again, error, longest);
  }

  private isFinal(action: AnyAction, error: RowanError): boolean {
    if (this.closed !== undefined || action.pinned || !error.retryable) return true;
    if (action.attempts > this.settings.retries) return true;
    // A server forgets the nonce of a change that fails (`ServerNonceManager.endOperation`).
    const isGuarded = action.guarded && !(error instanceof RemoteError && error.mayBeApplied);
    return action.unanswered !== undefined && !action.repeatable && !isGuarded;
  }

  private repeat(actions: readonly AnyAction[], error: RowanError, attempts: number): void {
    // A server may ask to wait for longer than anybody will.
    const latest = actions.reduce((max, { deadline }) => Math.max(max, deadline), 0) - performance.now();
    const longest = Math.max(0, latest) + 2 * SWEEP_INTERVAL;
    const pause = Math.min(pauseBefore(attempts, this.settings.pause, error), longest);
    this.observer.retried(actions[0]!.table, actions.length, attempts, pause, error);
    for (const { statistics, region } of actions) statistics?.retried(region);
    if (pause === 0) {
      for (const action of actions) this.submit(action);
      return;
    }
    for (const action of actions) this.wait(action);
    const isAway = error instanceof RemoteError && error.simpleClass === 'NotServingRegionException';
    const table = actions[0]!.table;
    const disabled = isAway && table !== META_TABLE ? this.locator.isDisabled(table) : Promise.resolve(false);
    const pauseOver = sleep(pause, this.over.signal);
    // A disabled table answers like one whose regions are on the move; only meta tells them apart.
    const resubmit = (isDisabled: boolean): void => {
      for (const action of actions) {
        this.idle.delete(action);
        if (isDisabled) action.fail(tableDisabled(table));
        else this.submit(action);
      }
    };
    disabled.then(
      (isDisabled) => (isDisabled ? resubmit(true) : pauseOver.then(() => resubmit(false))),
      () => pauseOver.then(() => resubmit(false)),
    );
  }

  private sweep(): void {
    this.sweeper = undefined;
    const now = performance.now();
    let busy = false;
    for (const queue of this.queues.values()) {
      queue.expire(now);
      busy ||= !queue.isIdle;
    }
    for (const action of this.looking) {
      if (now < action.deadline) continue;
      action.error ??= new TimeoutError(`${this.locator.lookupOf(action.table, action.row)} had no answer.`);
      this.looking.delete(action);
    }
    for (const action of this.idle) if (action.expire(now, false)) this.idle.delete(action);
    if ((busy || this.idle.size > 0) && this.closed === undefined) {
      this.sweeper = setTimeout(() => this.sweep(), SWEEP_INTERVAL);
    }
  }
}

/** The error of a change whose region has come to a server that cannot tell whether it was applied. */
function noncesLost(before: Region, now: Region, cause: RowanError | undefined): ConnectionError {
  const message = `Its answer from ${before.server} was lost, and ${now.server}, which has the region now, does not know what was applied there.`;
  return new ConnectionError(message, { cause, details: { server: now.server } });
}

/** A random 64-bit number that is not 0. */
function randomNonce(): bigint {
  return randomBytes(8).readBigUInt64BE() | 1n;
}
