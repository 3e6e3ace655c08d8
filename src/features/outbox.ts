import { setTimeout as sleep } from 'node:timers/promises';
import { toHex } from '../bytes/index.js';
import { RowanError } from '../errors.js';
import {
  type FollowUps,
  type Intent,
  type IntentMark,
  OUTBOX_TABLE,
  readIntent,
  removeIntents,
} from '../repository/index.js';
import { type Engine, Scan, type Table } from '../table/index.js';
import { SETTLED } from './indexes/remote.js';

/** Effects of changes that are still to be made. On HBase every change with effects notes its intent; the embedded engine notes only what is too much for one step. */

/** How an outbox is emptied. */
export interface DrainOptions {
  /**
   * HBase only: milliseconds after which a change that was noted is nobody's who may still write its row. Default 30,000;
   * less only while nobody writes.
   */
  readonly settledAfter?: number;
}

export interface Outbox {
  /** Has it emptied, without waiting for it. */
  kick(): void;
  /** The result of a write of several rows; what it has noted is worked behind it. */
  behind<T>(written: Promise<T>): Promise<T>;
  /** Resolves when what waited at the call is done. */
  drain(options?: DrainOptions): Promise<void>;
  /** The number of intents and notes that wait. */
  pending(): Promise<number>;
  /** Stops between two steps; what is left is done when the database is opened next. */
  end(): Promise<void>;
}

/**
 * The outbox on HBase: intents that this program has left, and those of programs that have ended. A change notes its intent before
 * it writes its row, and writes it within a time; so an old intent is nobody's.
 */

/** Intents read at once. */
const PAGE = 64;
/** Milliseconds between two looks at what others have noted. */
const LOOK = 100;

/** What the outbox takes from its database. */
export interface RemoteOutboxSource {
  readonly engine: Engine;
  /** The effects of the rows of the entity of this name; undefined: this program does not know it. */
  followUpsOf(entity: string): FollowUps | undefined;
  /** Resolves when the intents of settled changes of this program are removed. */
  rest(): Promise<unknown>;
  onFailure(error: RowanError): void;
}

export class RemoteOutbox implements Outbox {
  /** Changes of this program whose rows are written, in hex. */
  private readonly left = new Set<string>();
  private readonly ending = new AbortController();
  private running: Promise<unknown> | undefined;
  private again = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly source: RemoteOutboxSource) {}

  /** Takes over the effects of a change whose row was written. */
  take(token: Uint8Array): void {
    this.left.add(toHex(token));
    setImmediate(() => this.kick());
  }

  /** Works what is nobody's any more, without being waited for; what is younger when its time has come. */
  kick(): void {
    this.again = true;
    if (this.hasEnded || this.running !== undefined) return;
    this.running = this.passes()
      .catch((error: unknown) => {
        if (!this.hasEnded && error instanceof RowanError) this.source.onFailure(error);
      })
      .finally(() => {
        this.running = undefined;
      });
  }

  private async passes(): Promise<void> {
    while (this.again && !this.hasEnded) {
      this.again = false;
      const youngest = await this.pass(undefined, SETTLED);
      if (youngest === undefined || this.hasEnded) continue;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.kick(), youngest);
      this.timer.unref();
    }
  }

  behind<T>(written: Promise<T>): Promise<T> {
    return written;
  }

  /** Resolves when what waited at the call is done, by this program or by those that began it. */
  async drain({ settledAfter = SETTLED }: DrainOptions = {}): Promise<void> {
    await this.source.rest();
    const waiting = new Set<string>();
    for await (const { marks } of this.intents()) for (const { token } of marks) waiting.add(toHex(token));
    while (waiting.size > 0 && !this.hasEnded) {
      const youngest = await this.pass(waiting, settledAfter);
      if (youngest === undefined) return;
      await sleep(Math.min(LOOK, youngest), undefined, { signal: this.ending.signal }).catch(() => undefined);
    }
  }

  async pending(): Promise<number> {
    await this.source.rest();
    let count = 0;
    for await (const { marks } of this.intents()) count += marks.length;
    return count;
  }

  async end(): Promise<void> {
    this.ending.abort();
    clearTimeout(this.timer);
    await Promise.all([this.running, this.source.rest()]);
  }

  private get hasEnded(): boolean {
    return this.ending.signal.aborted;
  }

  private get table(): Table {
    return this.source.engine.table(OUTBOX_TABLE);
  }

  private async *intents(): AsyncGenerator<Intent, void, undefined> {
    const scanner = this.table.scan(new Scan().setCaching(PAGE));
    for await (const result of scanner) {
      const intent = readIntent(result);
      if (intent !== undefined && this.source.followUpsOf(intent.entity) !== undefined) yield intent;
    }
  }

  /** `of`: only these tokens. Milliseconds until the next is nobody's; undefined: there is none. */
  private async pass(of: Set<string> | undefined, settledAfter: number): Promise<number | undefined> {
    let youngest: number | undefined;
    for await (const intent of this.intents()) {
      if (this.hasEnded) return undefined;
      const now = this.source.engine.now();
      const done: IntentMark[] = [];
      for (const mark of intent.marks) {
        const name = toHex(mark.token);
        if (of !== undefined && !of.has(name)) continue;
        const rest = mark.since + settledAfter - now;
        if (rest <= 0 || this.left.has(name)) done.push(mark);
        else youngest = Math.min(youngest ?? rest, rest);
      }
      if (done.length > 0 && !(await this.work(intent, done, settledAfter)))
        youngest = Math.min(youngest ?? LOOK, LOOK);
    }
    return youngest;
  }

  /** Whether the effects are settled. */
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
    const [answer] = await this.table.batch([removeIntents(row, marks)]);
    if (!answer!.ok) throw answer!.error;
    for (const { token } of marks) this.left.delete(toHex(token));
    return true;
  }
}

/** Several outboxes as one. */
export class JoinedOutbox implements Outbox {
  constructor(private readonly all: () => readonly Outbox[]) {}

  kick(): void {
    for (const outbox of this.all()) outbox.kick();
  }

  behind<T>(written: Promise<T>): Promise<T> {
    return this.all().reduce((result, outbox) => outbox.behind(result), written);
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
