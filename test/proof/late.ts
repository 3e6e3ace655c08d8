/**
 * Simulates requests that arrive late, or twice, as after a network partition: an engine that holds back one write,
 * or sends it again, after its caller has given it up.
 */

import { TimeoutError } from '../../src/errors.js';
import type { BatchAction, BatchOptions, BatchOutcome, Engine, Table } from '../../src/table/index.js';

/**
 * `late`: the request is executed when it is delivered, and its sender gets a timeout. `last`: likewise, and the
 * sender ends. `twice`: the request is executed at once, and again at delivery. `lost`: it is executed at once, and its sender gets a
 * timeout. `held`: it is executed when it is delivered, and its sender waits for the answer; with all others of its batch.
 */
export type Delivery = 'late' | 'last' | 'twice' | 'lost' | 'held';

const READS: ReadonlySet<PropertyKey> = new Set(['get', 'getAll', 'exists', 'scan']);

export class LateRequests {
  /** The number of changes of single rows since {@link keep}. */
  sent = 0;
  private at = Number.POSITIVE_INFINITY;
  private mode: Delivery = 'late';
  private kept: (() => Promise<unknown>) | undefined;
  private reach: () => void = () => undefined;
  /** Resolves when the change is kept that {@link keep} has named. */
  reached: Promise<void> = Promise.resolve();

  constructor(private readonly of: Engine) {}

  /** Holds back the n-th change from now on, counting from 0. */
  keep(n: number, mode: Delivery): void {
    this.sent = 0;
    this.at = n;
    this.mode = mode;
    this.kept = undefined;
    this.reached = new Promise((resolve) => {
      this.reach = resolve;
    });
  }

  private get hasEnded(): boolean {
    return this.mode === 'last' && this.sent > this.at;
  }

  /** Whether a change was kept. */
  get hasKept(): boolean {
    return this.kept !== undefined;
  }

  /** Delivers the change that was held back. Its answer is ignored. */
  async deliver(): Promise<void> {
    await this.kept?.();
  }

  /** The engine as the program sees it. */
  get engine(): Engine {
    return new Proxy(this.of, {
      get: (target, name) => {
        if (name === 'table') return (table: string) => this.wrap(target.table(table));
        // It would also observe the other programs that share its engine.
        if (name === 'observe') return () => () => undefined;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  private wrap(table: Table): Table {
    return new Proxy(table, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        if (name === 'batch')
          return (actions: readonly BatchAction[], options?: BatchOptions) =>
            this.batch(target, actions, options);
        if (READS.has(name)) return value.bind(target);
        return async (...args: unknown[]) => {
          if (this.hasEnded) throw late();
          const send = (): Promise<unknown> => value.apply(target, args);
          if (this.sent++ !== this.at) return send();
          if (this.mode === 'held') return this.hold(send);
          this.kept = this.mode === 'lost' ? nothing : send;
          if (this.mode === 'lost') await send();
          if (this.mode === 'twice') return send();
          throw late();
        };
      },
    });
  }

  /** Executes a request when it is delivered. @returns its answer. */
  private hold<T>(send: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.kept = () => send().then(resolve, reject);
      this.reach();
    });
  }

  private async batch(
    table: Table,
    actions: readonly BatchAction[],
    options: BatchOptions | undefined,
  ): Promise<BatchOutcome[]> {
    if (this.hasEnded) throw late();
    const chosen = this.at - this.sent;
    this.sent += actions.length;
    const action = actions[chosen];
    if (action === undefined) return table.batch(actions, options);
    if (this.mode === 'held') return this.hold(() => table.batch(actions, options));
    this.kept = this.mode === 'lost' ? nothing : () => table.batch([action]);
    if (this.mode === 'lost') await table.batch([action]);
    if (this.mode === 'twice') return table.batch(actions, options);
    const others = actions.filter((_, i) => i !== chosen);
    const answers = others.length === 0 ? [] : await table.batch(others, options);
    return [...answers.slice(0, chosen), { ok: false, error: late() }, ...answers.slice(chosen)];
  }
}

const nothing = async (): Promise<void> => undefined;

function late(): TimeoutError {
  return new TimeoutError('The request had no answer in time.', { details: { outcome: 'unknown' } });
}
