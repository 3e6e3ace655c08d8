/**
 * Counts the requests that a write sends one after the other. Requests are kept back until the program sends no more, then all are
 * answered: each such round is one round trip, however many requests go side by side in it.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine, Table } from '../../src/table/index.js';

const REQUESTS = ['get', 'getAll', 'put', 'delete', 'batch', 'checkAndMutate', 'mutateRow', 'increment'];
/** Milliseconds without a request after which those that wait are answered: the pauses of a write are shorter. */
const QUIET = 12;

export class RoundTrips {
  readonly engine: Engine;
  private waiting: (() => void)[] = [];
  private isCounting = false;
  private latest = 0;

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
        return async (...given: unknown[]) => {
          await this.turn();
          return value.apply(target, given) as unknown;
        };
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
        return async (...given: unknown[]) => {
          if (isFirst) await this.turn();
          isFirst = false;
          return value.apply(target, given) as unknown;
        };
      },
    });
  }

  private async turn(): Promise<void> {
    if (!this.isCounting) return;
    this.latest = performance.now();
    await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  /** The round trips of a write; of those that it is made of when a busy machine has torn one of them in two, more. */
  async count(write: () => Promise<unknown>): Promise<number> {
    this.isCounting = true;
    let rounds = 0;
    let isDone = false;
    const written = write().finally(() => {
      isDone = true;
    });
    while (!isDone) {
      await sleep(1);
      if (this.waiting.length === 0 || performance.now() - this.latest < QUIET) continue;
      rounds++;
      for (const answer of this.waiting.splice(0)) answer();
    }
    this.isCounting = false;
    for (const answer of this.waiting.splice(0)) answer();
    await written;
    return rounds;
  }
}
