import { fromHex } from '../bytes/index.js';
import type { SplitState } from './job-store.js';
import { CounterSet } from './options.js';
import { fractionOf } from './split-plan.js';
import type { JobProgress, RowRange } from './types.js';

const REPORT_EVERY_MS = 250;
/** The window over which rates are averaged: a shorter one fluctuates, a longer one lags behind. */
const WINDOW_MS = 10_000;

interface Sample {
  readonly at: number;
  readonly rows: number;
  readonly fraction: number;
}

/** The known progress of one split. */
interface SplitProgress {
  rows: number;
  bytes: number;
  fraction: number;
  done: boolean;
  state: SplitState | undefined;
}

/** Measures the progress and rate of a phase, and estimates its end. */
export class ProgressMeter {
  private readonly splits: SplitProgress[];
  private readonly samples: Sample[] = [];
  private ownRows = 0;
  private reportedAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly job: { readonly name: string; readonly phase: number; readonly phases: number },
    private readonly ranges: readonly RowRange[],
    private readonly onProgress: ((progress: JobProgress) => void) | undefined,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.splits = ranges.map(() => ({ rows: 0, bytes: 0, fraction: 0, done: false, state: undefined }));
    this.samples.push({ at: this.now(), rows: 0, fraction: 0 });
  }

  /** Records that this process has processed rows of a split, up to `position`. */
  worked(split: number, rows: number, bytes: number, position: Uint8Array): void {
    const progress = this.splits[split]!;
    progress.rows += rows;
    progress.bytes += bytes;
    progress.fraction = fractionOf(position, this.ranges[split]!);
    this.ownRows += rows;
    this.report(false);
  }

  /** Records a state of a split that is in the table, written by this process or another. */
  committed(split: number, state: SplitState): void {
    const { position } = state;
    const done = state.state === 'done';
    const reached = position === undefined ? 0 : fractionOf(fromHex(position), this.ranges[split]!);
    this.splits[split] = {
      rows: state.rows,
      bytes: state.bytes,
      fraction: done ? 1 : reached,
      done,
      state,
    };
    this.report(false);
  }

  /** Calls the listener, unless it was called very recently. */
  report(last: boolean): void {
    const { onProgress } = this;
    const at = this.now();
    if (onProgress === undefined || (!last && at - this.reportedAt < REPORT_EVERY_MS)) return;
    this.reportedAt = at;
    onProgress(this.progress());
  }

  progress(): JobProgress {
    const counters = new CounterSet();
    let rows = 0;
    let bytes = 0;
    let done = 0;
    let fraction = 0;
    for (const split of this.splits) {
      rows += split.rows;
      bytes += split.bytes;
      fraction += split.fraction;
      if (split.done) done++;
      if (split.state !== undefined) counters.addAll(split.state.counters);
    }
    fraction = this.splits.length === 0 ? 1 : fraction / this.splits.length;
    return {
      job: this.job.name,
      phase: this.job.phase,
      phases: this.job.phases,
      splits: this.splits.length,
      splitsDone: done,
      rows,
      bytes,
      ...this.rates(fraction),
      fraction,
      counters: counters.toCounters(),
    };
  }

  private rates(fraction: number): Pick<JobProgress, 'rowsPerSecond' | 'remainingMs'> {
    const at = this.now();
    this.samples.push({ at, rows: this.ownRows, fraction });
    while (this.samples.length > 2 && this.samples[1]!.at <= at - WINDOW_MS) this.samples.shift();
    const from = this.samples[0]!;
    const elapsed = at - from.at;
    if (elapsed <= 0) return { rowsPerSecond: 0, remainingMs: undefined };
    const speed = (fraction - from.fraction) / elapsed;
    return {
      rowsPerSecond: ((this.ownRows - from.rows) * 1000) / elapsed,
      remainingMs: fraction >= 1 ? 0 : speed > 0 ? (1 - fraction) / speed : undefined,
    };
  }
}
