/** Holds work back to a rate, shared by all splits of a process: a bucket that fills with time and may go into debt. */

/** Unused rate is saved up for at most this long, so that a pause is not followed by a rush. */
const SAVED_MS = 250;

export class Throttle {
  private readonly perMs: number;
  private available = 0;
  private filledAt: number;

  /** `perSecond` undefined: no limit. `now` in milliseconds, monotonic. */
  constructor(
    perSecond: number | undefined,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.perMs = perSecond === undefined ? Number.POSITIVE_INFINITY : perSecond / 1000;
    this.filledAt = this.now();
  }

  /** Notes that `amount` was done; answers the milliseconds to wait before more is. */
  take(amount: number): number {
    if (this.perMs === Number.POSITIVE_INFINITY) return 0;
    const now = this.now();
    const filled = this.available + (now - this.filledAt) * this.perMs;
    this.available = Math.min(filled, SAVED_MS * this.perMs) - amount;
    this.filledAt = now;
    return this.available >= 0 ? 0 : -this.available / this.perMs;
  }
}
