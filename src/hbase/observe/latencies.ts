/** Upper bounds of the buckets, in milliseconds; what takes longer is in the last. */
const BOUNDS: readonly number[] = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 60_000,
];

/** How long calls took. */
export interface LatencySnapshot {
  readonly count: number;
  /** Milliseconds. */
  readonly sum: number;
  readonly max: number;
  /** How many took up to `atMost` milliseconds and longer than the bucket before; the last has no bound. */
  readonly buckets: readonly { readonly atMost: number; readonly count: number }[];
}

/** A histogram of durations, which only grows. */
export class Latencies {
  private count = 0;
  private sum = 0;
  private max = 0;
  private readonly counts = new Array<number>(BOUNDS.length + 1).fill(0);

  record(milliseconds: number): void {
    this.count++;
    this.sum += milliseconds;
    if (milliseconds > this.max) this.max = milliseconds;
    let at = 0;
    while (at < BOUNDS.length && milliseconds > BOUNDS[at]!) at++;
    this.counts[at]!++;
  }

  snapshot(): LatencySnapshot {
    const { count, sum, max, counts } = this;
    const buckets = counts.map((number, at) => ({
      atMost: BOUNDS[at] ?? Number.POSITIVE_INFINITY,
      count: number,
    }));
    return { count, sum, max, buckets };
  }
}
