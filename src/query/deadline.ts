import { InvalidArgumentError, TimeoutError } from '../errors.js';
import { timerDelay } from '../table/checks.js';
import type { Placing, Row, RowCursor } from './row.js';

/**
 * The `timeout` of a query: one time for all that it does, whatever it reads (texts of keys, entries, rows, what moved meanwhile). A
 * query that is read row by row has it for each wait, for its reader may take its time in between.
 */
export class Deadline {
  private end: number;

  /** @throws InvalidArgumentError when it is no time. */
  constructor(
    private readonly timeout: number,
    private readonly isOfEachWait: boolean,
  ) {
    if (!(timeout > 0)) {
      throw new InvalidArgumentError(`A timeout is a positive number of milliseconds, not ${timeout}.`);
    }
    this.end = performance.now() + timeout;
  }

  /** @throws TimeoutError when it is over. */
  check(): void {
    if (!this.isOfEachWait && performance.now() >= this.end) throw this.over();
  }

  /** The answer, if it comes in time; what does the work is not ended. @throws TimeoutError when it is over. */
  async within<T>(work: Promise<T>): Promise<T> {
    if (this.isOfEachWait) this.end = performance.now() + this.timeout;
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<never>((_, reject) => {
      const left = Math.max(0, this.end - performance.now());
      timer = setTimeout(() => reject(this.over()), timerDelay(left));
    });
    try {
      return await Promise.race([work, over]);
    } finally {
      clearTimeout(timer);
    }
  }

  private over(): TimeoutError {
    const what = this.isOfEachWait ? 'wait for its next row' : 'query with all that it reads';
    return new TimeoutError(
      `The ${what} had ${this.timeout} ms, and they are over. Ask for less at once (limit, page), or allow more time.`,
    );
  }
}

/** Rows that are there at once, after which the clock is looked at. */
const ROWS_A_LOOK = 256;

/** A reading that ends with its time. */
export class TimedCursor implements RowCursor {
  private count = 0;
  private isOver = false;

  constructor(
    private readonly inner: RowCursor,
    private readonly deadline: Deadline,
  ) {}

  get row(): Row | undefined {
    return this.inner.row;
  }

  get entity(): number {
    return this.inner.entity;
  }

  get place(): Uint8Array | undefined {
    return this.inner.place;
  }

  get placing(): Placing | undefined {
    return this.inner.placing;
  }

  advance(): boolean | Promise<boolean> {
    if (++this.count % ROWS_A_LOOK === 0) this.deadline.check();
    const more = this.inner.advance();
    return typeof more === 'boolean' ? more : this.later(more);
  }

  private async later(more: Promise<boolean>): Promise<boolean> {
    try {
      return await this.deadline.within(more);
    } catch (error) {
      this.isOver = error instanceof TimeoutError;
      throw error;
    }
  }

  /** What is under way when the time is over is not waited for: nobody wants its answer. */
  close(): void | Promise<void> {
    const closing = this.inner.close();
    if (!this.isOver) return closing;
    closing?.catch(() => undefined);
  }
}
