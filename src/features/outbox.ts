import { setTimeout as sleep } from 'node:timers/promises';
import { toHex } from '../bytes/index.js';
import { RowanError } from '../errors.js';
import {
  type Intent,
  type IntentMark,
  OUTBOX_TABLE,
  type RowFollowing,
  readIntent,
  removeIntents,
  SETTLED,
} from '../repository/index.js';
import { type Engine, Scan, type Table } from '../table/index.js';

/** What is still to follow changes of rows: one interface, for the embedded engine notes less of it. */

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
  /** Resolves when what waited at the call is done. */
  drain(options?: DrainOptions): Promise<void>;
  /** What waits. */
  pending(): Promise<number>;
  /** Stops between two steps; what is left is done when the database is opened next. */
  end(): Promise<void>;
}

/**
 * What is still to follow rows on HBase: changes that this program has left, and those of programs that have ended. A change
 * notes itself before it writes its row, and writes it within a time; so what was noted long ago is nobody's.
 */

/** Intents read at once. */
const PAGE = 64;
/** Milliseconds between two looks at what others have noted. */
const LOOK = 100;

/** What it takes from its database. */
export interface RemoteOutboxSource {
  readonly engine: Engine;
  /** What follows the rows of the entity of this name; undefined: this program does not know it. */
  followingOf(entity: string): RowFollowing | undefined;
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

  /** Takes over what is left to be done of a change whose row was written. */
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

  /** Resolves when what waited at the call is done, by this program or by those that began it. */
  async drain({ settledAfter = SETTLED }: DrainOptions = {}): Promise<void> {
    const waiting = new Set<string>();
    for await (const { marks } of this.intents()) for (const { token } of marks) waiting.add(toHex(token));
    while (waiting.size > 0 && !this.hasEnded) {
      const youngest = await this.pass(waiting, settledAfter);
      if (youngest === undefined) return;
      await sleep(Math.min(LOOK, youngest), undefined, { signal: this.ending.signal }).catch(() => undefined);
    }
  }

  async pending(): Promise<number> {
    let count = 0;
    for await (const { marks } of this.intents()) count += marks.length;
    return count;
  }

  async end(): Promise<void> {
    this.ending.abort();
    clearTimeout(this.timer);
    await this.running;
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
      if (intent !== undefined && this.source.followingOf(intent.entity) !== undefined) yield intent;
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

  /** Whether what follows was done. */
  private async work(
    { entity, target, row }: Intent,
    marks: readonly IntentMark[],
    settledAfter: number,
  ): Promise<boolean> {
    const following = this.source.followingOf(entity)!;
    const isOwn = marks.every(({ token }) => this.left.has(toHex(token)));
    const isDone = isOwn
      ? await following.settle(target, 'all', settledAfter)
      : await following.takeOver(target, settledAfter);
    if (!isDone) return false;
    const [answer] = await this.table.batch([removeIntents(row, marks)]);
    if (!answer!.ok) throw answer!.error;
    for (const { token } of marks) this.left.delete(toHex(token));
    return true;
  }
}
