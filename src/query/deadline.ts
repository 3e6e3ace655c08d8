import {
  abortError,
  InvalidArgumentError,
  type RowanError,
  TimeoutError,
  throwIfAborted,
} from '../errors.js';
import { timerDelay } from '../table/checks.js';
import type { PositionOrder, Row, RowCursor } from './row.js';

/** What ends a wait before its work has ended. */
interface Ends {
  /** Milliseconds. Default: none. */
  readonly left?: number | undefined;
  /** The error when they are over. */
  over(): RowanError;
  readonly signal?: AbortSignal | undefined;
}

/** Awaits work that goes on if the wait ends before it. @throws `over()`; RowanError `ERR_ABORTED`. */
export async function awaited<T>(work: Promise<T>, { left, over, signal }: Ends): Promise<T> {
  throwIfAborted(signal);
  if (left === undefined && signal === undefined) return work;
  let timer: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  const ended = new Promise<never>((_, reject) => {
    if (left !== undefined) timer = setTimeout(() => reject(over()), timerDelay(left));
    onAbort = () => reject(abortError(signal!));
    signal?.addEventListener('abort', onAbort);
  });
  try {
    return await Promise.race([work, ended]);
  } finally {
    clearTimeout(timer);
    if (onAbort !== undefined) signal?.removeEventListener('abort', onAbort);
  }
}

/**
 * The `timeout` of a query: one limit for everything it reads (dictionary texts, entries, rows, moved rows). For a
 * stream it limits each wait, since its consumer may pause in between. Its `signal`, where what it awaits does not end by itself.
 */
export class Deadline {
  private end = Number.POSITIVE_INFINITY;

  /** `timeout`: undefined: none. @throws InvalidArgumentError on a value that is no time. */
  constructor(
    private readonly timeout: number | undefined,
    private readonly isOfEachWait: boolean,
    private readonly signal?: AbortSignal,
  ) {
    if (timeout === undefined) return;
    if (!(timeout > 0)) {
      throw new InvalidArgumentError(`A timeout is a positive number of milliseconds, not ${timeout}.`);
    }
    this.end = performance.now() + timeout;
  }

  /** @throws TimeoutError after the deadline; RowanError `ERR_ABORTED`. */
  check(): void {
    throwIfAborted(this.signal);
    if (!this.isOfEachWait && performance.now() >= this.end) throw this.over();
  }

  /** Awaits the work until the deadline; the work itself is not stopped. @throws as {@link check}. */
  within<T>(work: Promise<T>): Promise<T> {
    const { timeout, signal } = this;
    if (this.isOfEachWait && timeout !== undefined) this.end = performance.now() + timeout;
    const left = timeout === undefined ? undefined : Math.max(0, this.end - performance.now());
    return awaited(work, { left, over: () => this.over(), signal });
  }

  private over(): TimeoutError {
    const what = this.isOfEachWait ? 'wait for its next row' : 'query with all that it reads';
    return new TimeoutError(
      `The ${what} exceeded its timeout of ${this.timeout} ms. Read less at once (limit, page), or set a longer timeout.`,
    );
  }
}

/** Synchronous rows between two checks of the clock. */
const ROWS_A_LOOK = 256;

/** A cursor with a deadline. */
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

  get positions(): PositionOrder | undefined {
    return this.inner.positions;
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

  countRows(): Promise<number> | undefined {
    const counted = this.inner.countRows?.();
    return counted && this.deadline.within(counted);
  }

  /** Does not wait for requests in flight after the deadline: their answers are not needed. */
  close(): void | Promise<void> {
    const closing = this.inner.close();
    if (!this.isOver) return closing;
    closing?.catch(() => undefined);
  }
}
