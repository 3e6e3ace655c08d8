import { setTimeout as sleep } from 'node:timers/promises';
import { toHex } from '../bytes/index.js';
import { RowanError } from '../errors.js';
import {
  ABANDONED_AFTER,
  FailingWork,
  type FollowUps,
  type Intent,
  type IntentMark,
  OUTBOX_TABLE,
  readIntent,
  removeIntents,
} from '../repository/index.js';
import { type Engine, Scan, type Table } from '../table/index.js';

/**
 * The outbox: effects of changes that are still to be applied.
 *
 * On HBase every change with effects writes an intent to it first. The embedded engine uses it only for effects that
 * are too many for one step.
 */

/** Options of `Database.drain`. */
export interface DrainOptions {
  /**
   * HBase only: age in milliseconds from which an intent is treated as abandoned: its writer can no longer write the
   * row. Default 30,000. Use less only while there are no writers.
   */
  readonly settledAfter?: number;
}

export interface Outbox {
  /** Starts working off the outbox in the background. */
  kick(): void;
  /** Returns the result of a write, and then starts to process the effects that it queued. */
  kickAfter<T>(written: Promise<T>): Promise<T>;
  /** Resolves when every effect that was pending at the call has been applied. */
  drain(options?: DrainOptions): Promise<void>;
  /** The number of pending intents and notes. */
  pending(): Promise<number>;
  /** Stops after the current step. The rest is resumed when the database is opened next. */
  end(): Promise<void>;
}

/** Intents read in one request. */
const PAGE = 64;
/** Milliseconds between two polls for intents of other writers. */
const POLL_INTERVAL = 100;

/** The parts of a database that the outbox uses. */
interface RemoteOutboxSource {
  readonly engine: Engine;
  /** The follow-ups of the entity with this name. Undefined: the entity is not open in this program. */
  followUpsOf(entity: string): FollowUps | undefined;
  /** Resolves when the intents of this program's finished changes are removed. */
  rest(): Promise<unknown>;
  /** Resolves when the effects are settled that programs left without an intent. */
  recover(settledAfter: number): Promise<unknown>;
  onFailure(error: RowanError): void;
}

/**
 * The outbox on HBase: it works off intents that this program left, and abandoned ones of others.
 *
 * A change writes its intent before its row, and its row write expires after a fixed time. So an intent older than
 * that has no live writer.
 */
export class RemoteOutbox implements Outbox {
  /** The number of intents of other writers that this program has settled in their place. */
  takenOver = 0;
  /** Tokens (hex) of this program's changes whose rows are written and whose effects are pending. */
  private readonly left = new Set<string>();
  private readonly ending = new AbortController();
  private running: Promise<unknown> | undefined;
  private again = false;
  private timer: NodeJS.Timeout | undefined;
  private readonly passing = new FailingWork();

  constructor(private readonly source: RemoteOutboxSource) {}

  /** Queues the effects of a change whose row has been written. */
  enqueue(token: Uint8Array): void {
    this.left.add(toHex(token));
    setImmediate(() => this.kick());
  }

  /** Works off abandoned intents in the background, and schedules another run for younger ones. */
  kick(): void {
    this.again = true;
    if (this.hasEnded || this.running !== undefined) return;
    this.running = this.passes()
      .catch((error: unknown) => {
        if (error instanceof RowanError) this.kickIn(this.failed(error));
      })
      .finally(() => {
        this.running = undefined;
      });
  }

  private async passes(): Promise<void> {
    while (this.again && !this.hasEnded) {
      this.again = false;
      const { youngest, failure } = await this.pass(undefined, ABANDONED_AFTER);
      if (failure === undefined) this.passing.succeeded();
      const pause = failure === undefined ? undefined : this.failed(failure);
      if (youngest !== undefined || pause !== undefined)
        this.kickIn(Math.min(youngest ?? Number.POSITIVE_INFINITY, pause ?? Number.POSITIVE_INFINITY));
    }
  }

  /** Reports a failure. @returns milliseconds until the next attempt. */
  private failed(error: RowanError): number {
    if (!this.hasEnded) this.source.onFailure(error);
    return this.passing.failed();
  }

  private kickIn(milliseconds: number): void {
    clearTimeout(this.timer);
    if (this.hasEnded) return;
    this.timer = setTimeout(() => this.kick(), milliseconds);
    this.timer.unref();
  }

  kickAfter<T>(written: Promise<T>): Promise<T> {
    return written;
  }

  /** Resolves when every intent pending at the call is finished, by this program or by its writer. */
  async drain({ settledAfter = ABANDONED_AFTER }: DrainOptions = {}): Promise<void> {
    await this.source.rest();
    await this.source.recover(settledAfter);
    const waiting = new Set<string>();
    for await (const { marks } of this.intents()) for (const { token } of marks) waiting.add(toHex(token));
    while (waiting.size > 0 && !this.hasEnded) {
      const { youngest, failure } = await this.pass(waiting, settledAfter);
      if (failure !== undefined) throw failure;
      if (youngest === undefined) return;
      await sleep(Math.min(POLL_INTERVAL, youngest), undefined, { signal: this.ending.signal }).catch(
        () => undefined,
      );
    }
  }

  async pending(): Promise<number> {
    await this.source.rest();
    let count = 0;
    for await (const { marks } of this.intents()) count += marks.length;
    return count;
  }

  async end(): Promise<void> {
    // Without a reason an error with a stack trace is made.
    this.ending.abort(null);
    clearTimeout(this.timer);
    await Promise.all([this.running, this.source.rest()]);
  }

  private get hasEnded(): boolean {
    return this.ending.signal.aborted;
  }

  private get table(): Table {
    return this.source.engine.table(OUTBOX_TABLE);
  }

  /** Those of the entities of this program, over the tables that it has them in. */
  private async *intents(): AsyncGenerator<Intent, void, undefined> {
    const scanner = this.table.scan(new Scan().setCaching(PAGE));
    for await (const result of scanner) {
      const intent = readIntent(result);
      const followUps = intent && this.source.followUpsOf(intent.entity);
      if (followUps === undefined) continue;
      const marks = intent!.marks.filter(({ table }) => table === '' || table === followUps.tableName);
      if (marks.length > 0) yield { ...intent!, marks };
    }
  }

  /**
   * Works off abandoned intents once. @param of only these tokens. @returns milliseconds until the next intent counts
   * as abandoned; undefined: none is left. And the first failure of one, which keeps no other from being worked off: their rows may be in
   * other tables.
   */
  private async pass(
    of: Set<string> | undefined,
    settledAfter: number,
  ): Promise<{ readonly youngest: number | undefined; readonly failure: RowanError | undefined }> {
    let youngest: number | undefined;
    let failure: RowanError | undefined;
    for await (const intent of this.intents()) {
      if (this.hasEnded) break;
      const now = this.source.engine.now();
      const done: IntentMark[] = [];
      for (const mark of intent.marks) {
        const name = toHex(mark.token);
        if (of !== undefined && !of.has(name)) continue;
        const rest = mark.since + settledAfter - now;
        if (rest <= 0 || this.left.has(name)) done.push(mark);
        else youngest = Math.min(youngest ?? rest, rest);
      }
      if (done.length === 0) continue;
      try {
        if (!(await this.work(intent, done, settledAfter)))
          youngest = Math.min(youngest ?? POLL_INTERVAL, POLL_INTERVAL);
      } catch (error) {
        if (!(error instanceof RowanError)) throw error;
        failure ??= error;
      }
    }
    return { youngest, failure };
  }

  /** Applies the effects of one intent. @returns whether they have all been applied. */
  private async work(
    { entity, target, row }: Intent,
    marks: readonly IntentMark[],
    settledAfter: number,
  ): Promise<boolean> {
    const followUps = this.source.followUpsOf(entity)!;
    const isOwn = marks.every(({ token }) => this.left.has(toHex(token)));
    const isDone = isOwn
      ? await followUps.settle(target, 'all', settledAfter)
      : await followUps.takeOver(target, settledAfter);
    if (!isDone) return false;
    if (!isOwn) this.takenOver += marks.length;
    const [answer] = await this.table.batch([removeIntents(row, marks)]);
    if (!answer!.ok) throw answer!.error;
    for (const { token } of marks) this.left.delete(toHex(token));
    return true;
  }
}

/** Several outboxes behind one interface. */
export class JoinedOutbox implements Outbox {
  constructor(private readonly all: () => readonly Outbox[]) {}

  kick(): void {
    for (const outbox of this.all()) outbox.kick();
  }

  kickAfter<T>(written: Promise<T>): Promise<T> {
    return this.all().reduce((result, outbox) => outbox.kickAfter(result), written);
  }

  async drain(options?: DrainOptions): Promise<void> {
    await Promise.all(this.all().map((outbox) => outbox.drain(options)));
  }

  async pending(): Promise<number> {
    const counts = await Promise.all(this.all().map((outbox) => outbox.pending()));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  async end(): Promise<void> {
    await Promise.all(this.all().map((outbox) => outbox.end()));
  }
}
