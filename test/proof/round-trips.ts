/**
 * Counts round trips. Requests of a program are held back until it sends no more and the server has answered the
 * previous round, and are then sent together. A round is one round trip, however many requests it has. So the number
 * of requests that share a call is the same on every machine.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine, Table } from '../../src/table/index.js';

const REQUESTS = [
  'get',
  'getAll',
  'exists',
  'put',
  'putAll',
  'delete',
  'batch',
  'checkAndMutate',
  'mutateRow',
  'increment',
  'append',
];
/**
 * The number of turns of the event loop (with a timer of a millisecond) without a new request, after which the
 * waiting requests are sent. It does not depend on the speed of the machine: short pauses of the program are timers of the
 * same loop, and end before this many turns. Longer ones (of work that gathers) are measured by {@link RoundTrips.run}'s clock.
 */
const QUIET = 12;

export class RoundTrips {
  readonly engine: Engine;
  private waiting: (() => void)[] = [];
  private isCounting = false;
  /** Requests that went out and are not answered. */
  private unanswered = 0;
  private turns = 0;
  /** All turns so far in which the program had every answer. */
  private allTurns = 0;

  constructor(engine: Engine) {
    this.engine = new Proxy(engine, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (name === 'table') return (table: string) => this.through(target.table(table));
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  private through(table: Table): Table {
    return new Proxy(table, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        if (name === 'scan')
          return (...given: unknown[]) => this.scanner(value.apply(target, given) as object);
        if (!REQUESTS.includes(String(name))) return value.bind(target);
        return (...given: unknown[]) => this.send(() => value.apply(target, given) as unknown);
      },
    });
  }

  /** A scan of few rows is one request: its first batch. */
  private scanner<T extends object>(scanner: T): T {
    let isFirst = true;
    return new Proxy(scanner, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        if (name !== 'next' && name !== 'nextBatch') return value.bind(target);
        return (...given: unknown[]) => {
          const next = (): unknown => value.apply(target, given) as unknown;
          if (!isFirst) return next();
          isFirst = false;
          return this.send(next);
        };
      },
    });
  }

  private async send(request: () => unknown): Promise<unknown> {
    if (this.isCounting) {
      this.turns = 0;
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
    this.unanswered++;
    try {
      return await request();
    } finally {
      this.unanswered--;
      this.turns = 0;
    }
  }

  /** Counts the round trips until a write is acknowledged. Work after that is not counted. */
  async count(write: () => Promise<unknown>): Promise<number> {
    const ended = this.begin(write);
    let rounds = 0;
    for (;;) {
      await this.rest(() => ended.isEnded);
      if (ended.isEnded) break;
      if (this.release()) rounds++;
    }
    this.isCounting = false;
    this.release();
    await ended.work;
    return rounds;
  }

  /**
   * Runs `work`, and its follow-up work, in rounds. Meanwhile `performance.now()` goes on by a millisecond with each turn in which the
   * program has every answer: what waits for further rows gathers the same ones, however long turns and answers take.
   */
  async run(work: () => Promise<unknown>): Promise<void> {
    const { now } = performance;
    const begun = now.call(performance) - this.allTurns;
    performance.now = () => begun + this.allTurns;
    try {
      const ended = this.begin(work);
      do await this.rest();
      while (this.release() || !ended.isEnded);
      this.isCounting = false;
      await ended.work;
    } finally {
      performance.now = now;
    }
  }

  private begin(run: () => Promise<unknown>): { isEnded: boolean; readonly work: Promise<unknown> } {
    const state = { isEnded: false, work: Promise.resolve<unknown>(undefined) };
    this.isCounting = true;
    state.work = run().finally(() => {
      state.isEnded = true;
    });
    state.work.catch(() => undefined);
    return state;
  }

  /** Resolves when the program sends no more requests and has all answers, or at once when `isOver`. */
  private async rest(isOver = (): boolean => false): Promise<void> {
    for (this.turns = 0; this.turns < QUIET && !isOver(); ) {
      await sleep(1);
      if (this.unanswered > 0) continue;
      this.turns++;
      this.allTurns++;
    }
  }

  /** Sends the waiting requests. @returns whether there were any. */
  private release(): boolean {
    const round = this.waiting.splice(0);
    for (const go of round) go();
    return round.length > 0;
  }
}
