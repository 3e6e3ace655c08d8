import { InvalidArgumentError } from '../errors.js';
import { describe, timerDelay } from '../table/checks.js';
import type { Counters, JobRunOptions } from './types.js';

/** The options of a run, with defaults applied. */
export interface RunSettings {
  readonly parallel: number;
  readonly threads: number;
  readonly batchRows: number;
  readonly batchBytes: number;
  readonly checkpointRows: number;
  readonly checkpointMs: number;
  readonly leaseMs: number;
  readonly splitBytes: number;
  readonly rowsPerSecond: number | undefined;
  readonly bytesPerSecond: number | undefined;
  readonly shard: { readonly index: number; readonly count: number };
}

const DEFAULTS = {
  parallel: 4,
  threads: 1,
  batchRows: 1000,
  batchBytes: 4 << 20,
  checkpointRows: 20_000,
  checkpointMs: 2000,
  leaseMs: 30_000,
  splitBytes: 256 << 20,
} as const;

/** The longest delay that Node's timers support, in ms. */
const LONGEST_TIMER = 2 ** 31 - 1;

const KNOWN: ReadonlySet<string> = new Set([
  ...Object.keys(DEFAULTS),
  'rowsPerSecond',
  'bytesPerSecond',
  'shard',
  'restart',
  'signal',
  'onProgress',
]);

/**
 * Validates options and applies defaults.
 * @throws InvalidArgumentError for an unknown option or an invalid value.
 */
export function runSettings(options: JobRunOptions): RunSettings {
  if (typeof options !== 'object' || options === null) {
    throw new InvalidArgumentError(`Options of a job must be an object, not ${describe(options)}.`);
  }
  for (const name of Object.keys(options)) {
    if (!KNOWN.has(name)) {
      throw new InvalidArgumentError(
        `Unknown option "${name}" of a job. Known: ${[...KNOWN].sort().join(', ')}.`,
      );
    }
  }
  const whole = (name: keyof typeof DEFAULTS): number => {
    const value = options[name] ?? DEFAULTS[name];
    if (!Number.isSafeInteger(value) || value < 1) throw wrong(name, 'a whole number of at least 1', value);
    return value;
  };
  const rate = (name: 'rowsPerSecond' | 'bytesPerSecond'): number | undefined => {
    const value = options[name];
    if (value !== undefined && !(typeof value === 'number' && value > 0))
      throw wrong(name, 'a number above 0', value);
    return value;
  };
  return {
    parallel: whole('parallel'),
    threads: whole('threads'),
    batchRows: whole('batchRows'),
    batchBytes: whole('batchBytes'),
    checkpointRows: whole('checkpointRows'),
    checkpointMs: whole('checkpointMs'),
    leaseMs: leaseOf(whole('leaseMs')),
    splitBytes: whole('splitBytes'),
    rowsPerSecond: rate('rowsPerSecond'),
    bytesPerSecond: rate('bytesPerSecond'),
    shard: shardOf(options.shard),
  };
}

function leaseOf(lease: number): number {
  if (lease > LONGEST_TIMER) throw wrong('leaseMs', `no more than ${LONGEST_TIMER}`, lease);
  return lease;
}

function shardOf(shard: JobRunOptions['shard']): { index: number; count: number } {
  if (shard === undefined) return { index: 0, count: 1 };
  const { index, count } = typeof shard === 'object' && shard !== null ? shard : { index: -1, count: 0 };
  const fits = Number.isSafeInteger(index) && Number.isSafeInteger(count) && index >= 0 && index < count;
  if (!fits) throw wrong('shard', '{ index, count } with an index from 0 to count - 1', shard);
  return { index, count };
}

function wrong(name: string, wanted: string, value: unknown): InvalidArgumentError {
  return new InvalidArgumentError(`The option ${name} of a job must be ${wanted}, not ${describe(value)}.`);
}

/** Accumulates named sums. */
export class CounterSet {
  private readonly sums: Map<string, number>;

  constructor(start: Counters = {}) {
    this.sums = new Map(Object.entries(start));
  }

  add(name: string, by: number): void {
    this.sums.set(name, (this.sums.get(name) ?? 0) + by);
  }

  addAll(counters: Counters): void {
    for (const [name, by] of Object.entries(counters)) this.add(name, by);
  }

  clear(): void {
    this.sums.clear();
  }

  /** In the order of their names. */
  toCounters(): Counters {
    return Object.fromEntries([...this.sums].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

/** Unused rate is saved for at most this long, so that a burst cannot follow a pause. */
const SAVED_MS = 250;

/** Limits the rate of work of all splits of a process: a token bucket that may go into debt. */
export class Throttle {
  private readonly perMs: number;
  private available = 0;
  private filledAt: number;

  /** `perSecond` undefined: no limit. `now` returns monotonic milliseconds. */
  constructor(
    perSecond: number | undefined,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.perMs = perSecond === undefined ? Number.POSITIVE_INFINITY : perSecond / 1000;
    this.filledAt = this.now();
  }

  /** Records that `amount` was done; returns the milliseconds to wait before more is done. */
  take(amount: number): number {
    if (this.perMs === Number.POSITIVE_INFINITY) return 0;
    const now = this.now();
    const filled = this.available + (now - this.filledAt) * this.perMs;
    this.available = Math.min(filled, SAVED_MS * this.perMs) - amount;
    this.filledAt = now;
    return this.available >= 0 ? 0 : -this.available / this.perMs;
  }
}

/** Waits, or returns early when the signal is aborted; callers check the signal then. */
export async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((done) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      done();
    };
    const timer = setTimeout(end, timerDelay(milliseconds));
    signal.addEventListener('abort', end);
  });
}
