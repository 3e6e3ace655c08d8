/** Simulates programs that end in the middle of a write: an engine whose calls fail from the n-th change on. */

import { RowanError } from '../../src/errors.js';
import type { BatchAction, Engine, Table } from '../../src/table/index.js';

/**
 * The moment at which the program ends: before its n-th change is sent, or after the change was made and before its
 * answer.
 */
export interface Death {
  /** Changes that are made before. */
  readonly after: number;
}

export class Mortal {
  /** The calls and changes of rows that were executed. */
  steps = 0;
  private dies = Number.POSITIVE_INFINITY;

  private readonly underWay = new Set<Promise<unknown>>();

  constructor(private readonly engine: Engine) {}

  /** Resolves when every request that the program has sent was answered: some may arrive after it has ended. */
  async arrived(): Promise<void> {
    while (this.underWay.size > 0) await Promise.allSettled(this.underWay);
  }

  private async sent<T>(request: Promise<T>): Promise<T> {
    this.underWay.add(request);
    try {
      return await request;
    } finally {
      this.underWay.delete(request);
    }
  }

  /** Lets this many more reads and changes of single rows through, then fails. */
  dieAfter(steps: number): void {
    this.steps = 0;
    this.dies = steps;
  }

  live(): void {
    this.dieAfter(Number.POSITIVE_INFINITY);
  }

  get isDead(): boolean {
    return this.steps > this.dies;
  }

  /** The engine as the program sees it. */
  get mortal(): Engine {
    return new Proxy(this.engine, {
      get: (target, name) => {
        if (name === 'table') return (table: string) => this.wrap(target.table(table));
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  private wrap(table: Table): Table {
    return new Proxy(table, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function' || name === 'scan') return value;
        if (name === 'batch') return (actions: readonly BatchAction[]) => this.batch(target, actions);
        return async (...args: unknown[]) => {
          if (this.isDead || ++this.steps > this.dies) throw lost();
          const answer = await this.sent(Promise.resolve(value.apply(target, args) as unknown));
          if (this.steps >= this.dies) throw this.end();
          return answer;
        };
      },
    });
  }

  /** Rows of a batch are changed one after another, so the program may end between any two. */
  private async batch(table: Table, actions: readonly BatchAction[]) {
    if (this.isDead) throw lost();
    const left = Math.max(0, this.dies - this.steps);
    const begun = actions.slice(0, left);
    this.steps += begun.length;
    const answers = begun.length === 0 ? [] : await this.sent(table.batch(begun));
    if (begun.length < actions.length || this.steps >= this.dies) throw this.end();
    return answers;
  }

  private end(): RowanError {
    this.steps = this.dies + 1;
    return lost();
  }
}

function lost(): RowanError {
  return new RowanError('ERR_CONNECTION', 'The program has ended.', { details: { outcome: 'unknown' } });
}
