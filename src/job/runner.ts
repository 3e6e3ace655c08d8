import { randomUUID } from 'node:crypto';
import { ensureTable } from '../ddl/index.js';
import { ClosedError, isDiskFull, isWriteRefused, RowanError, throwIfAborted } from '../errors.js';
import type { Engine } from '../table/index.js';
import { otherFiles } from './files/file-position.js';
import { type JobHeader, JobStore, jobTableDescriptor, type SplitState, type Stored } from './job-store.js';
import { CounterSet, type RunSettings, runSettings, sleep, Throttle } from './options.js';
import { ProgressMeter } from './progress.js';
import { planSplits } from './split-plan.js';
import { type SplitEnvironment, SplitRun } from './split-run.js';
import type { JobDefinition, JobOutcome, JobPhase, JobRunOptions, RowRange } from './types.js';

// — Wakes lanes of this process that wait for a split of a job when another lane has finished one.

const waiting = new Map<string, Set<AbortController>>();

/** Waits until the job's notifier fires, the time has passed, or the signal is aborted. */
async function waitForSplitEnd(job: string, milliseconds: number, signal: AbortSignal): Promise<void> {
  const rung = new AbortController();
  const lanes = waiting.get(job) ?? new Set();
  waiting.set(job, lanes.add(rung));
  try {
    await sleep(milliseconds, AbortSignal.any([signal, rung.signal]));
  } finally {
    lanes.delete(rung);
    if (lanes.size === 0) waiting.delete(job);
  }
}

function notifySplitEnd(job: string): void {
  for (const lane of waiting.get(job) ?? []) lane.abort();
}

/** How often one worker retries a split after a transient error. */
const ATTEMPTS = 5;
const FIRST_RETRY_MS = 200;

/** Runs of this process that are in progress. */
const living = new Set<string>();

/**
 * Runs a job to its end, resuming it if it was interrupted.
 * @throws RowanError `ERR_JOB` when an unfinished job of this name does other work; `ERR_ABORTED`; errors of the work.
 */
export async function runJob(
  engine: Engine,
  definition: JobDefinition,
  options: JobRunOptions = {},
): Promise<JobOutcome> {
  const run = new JobRun(engine, definition, options, runSettings(options));
  living.add(run.owner);
  try {
    return await run.run();
  } finally {
    living.delete(run.owner);
  }
}

/**
 * Runs jobs. Any number of workers, in one or many processes, may run the same job at once; they coordinate only
 * through `rowan_jobs`.
 *
 * 1. A phase begins when every split of the phase before is done.
 * 2. A split is processed by the worker that claimed it last; a claim is a change of its state that only one worker can
 *    make.
 * 3. A split of a live owner is left alone; a worker that has stopped working at a split may claim it again. An owner counts as dead when the state has not changed for `leaseMs` by
 *    this worker's clock, or at once if only one process can open the store and this one does not know the owner.
 */
class JobRun {
  readonly owner = randomUUID();
  private store: JobStore;
  private readonly rowThrottle: Throttle;
  private readonly byteThrottle: Throttle;
  private resumed = false;
  private restarted = false;
  private rows = 0;
  private bytes = 0;
  private splits = 0;
  private readonly counters = new CounterSet();

  constructor(
    private readonly engine: Engine,
    private readonly definition: JobDefinition,
    private readonly options: JobRunOptions,
    private readonly settings: RunSettings,
  ) {
    this.store = JobStore.on(engine, definition.name);
    this.rowThrottle = new Throttle(settings.rowsPerSecond);
    this.byteThrottle = new Throttle(settings.bytesPerSecond);
  }

  async run(): Promise<JobOutcome> {
    const { phases } = this.definition;
    let header = await this.recorded();
    for (let phase = 0; phase < phases.length; phase++) {
      await this.runPhase(phases[phase]!, phase, phase < header.value.phase);
      if (phase >= header.value.phase) header = await this.advance(header, phase + 1);
    }
    if (header.value.state !== 'done') {
      await this.definition.finish?.(this.store.run, (phase) => this.store.workOf(phase));
      const done: JobHeader = { ...header.value, state: 'done', finished: Date.now() };
      await this.store.setHeader(header, done);
    }
    return {
      job: this.definition.name,
      rows: this.rows,
      bytes: this.bytes,
      splits: this.splits,
      counters: this.counters.toCounters(),
      resumed: this.resumed,
    };
  }

  /** Begins the job; without a record where it needs none and its record may not be written. */
  private async recorded(): Promise<Stored<JobHeader>> {
    const { admin, capabilities } = this.engine;
    try {
      if (capabilities.readOnly !== true) await ensureTable(admin, jobTableDescriptor());
      return await this.begin();
    } catch (error) {
      const { name, readsOnly, isRepeatable } = this.definition;
      if ((readsOnly !== true && isRepeatable !== true) || !isWriteRefused(error)) throw error;
      this.store = JobStore.on(this.engine, name, false);
      return this.begin();
    }
  }

  private async begin(): Promise<Stored<JobHeader>> {
    const { signature, name } = this.definition;
    const header = await this.store.header();
    if (header === undefined || this.isToRestart(header.value)) {
      const run = header === undefined ? 0 : header.value.run + 1;
      const fresh: JobHeader = { signature, run, state: 'running', phase: 0, created: Date.now() };
      const written = await this.store.setHeader(header, fresh);
      if (written === undefined) return this.begin();
      this.restarted = true;
      this.store.run = run;
      await this.store.forgetEarlierRuns();
      return written;
    }
    if (header.value.signature !== signature) throw otherWork(name, header.value.signature, signature);
    this.resumed = true;
    this.store.run = header.value.run;
    return header;
  }

  private isToRestart({ state, signature }: JobHeader): boolean {
    const { restart } = this.options;
    const { isDeclared, signature: own } = this.definition;
    if (this.restarted) return false;
    if (isDeclared === true && restart !== false && signature !== own) return true;
    return restart === true || (restart === 'done' && state === 'done');
  }

  private async advance(header: Stored<JobHeader>, phase: number): Promise<Stored<JobHeader>> {
    const changed = await this.store.setHeader(header, { ...header.value, phase });
    if (changed !== undefined) return changed;
    const now = await this.store.header();
    if (now !== undefined && now.value.run === header.value.run && now.value.phase >= phase) return now;
    throw new RowanError(
      'ERR_JOB',
      `Job "${this.definition.name}" was restarted by another worker while this one ran it. Run it again.`,
      { details: { job: this.definition.name, restarted: true } },
    );
  }

  private async runPhase(phase: JobPhase, number: number, over: boolean): Promise<void> {
    const read = typeof phase.table === 'function' ? phase.table(this.store.run) : phase.table;
    const ranges = await this.store.plan(number, async () => {
      await phase.prepare?.(this.store.run);
      if (phase.oneSplitEach === true || typeof read !== 'string') return phase.ranges;
      return planSplits(this.engine.admin, this.engine.table(read), phase.ranges, this.settings.splitBytes);
    });
    const stop = new AbortController();
    const { signal: given, onProgress } = this.options;
    const signal = given === undefined ? stop.signal : AbortSignal.any([given, stop.signal]);
    const { phases } = this.definition;
    const meter = new ProgressMeter(
      { name: this.definition.name, phase: number, phases: phases.length },
      ranges,
      over ? undefined : onProgress,
    );
    const work = new PhaseRun(
      {
        store: this.store,
        table: phase.reader ?? (typeof read === 'string' ? this.engine.table(read) : read),
        sync: this.engine.capabilities.sync,
        phase,
        phaseNumber: number,
        settings: this.settings,
        rowThrottle: this.rowThrottle,
        byteThrottle: this.byteThrottle,
        meter,
        signal,
        checkOpen: () => checkOpen(this.engine),
      },
      ranges,
      this.owner,
    );
    if (over) await work.refresh();
    else await work.run(stop);
    if (!over) meter.report(true);
    const progress = meter.progress();
    // The row count of a job is that of its source, not of intermediate data.
    if (number === 0) this.rows = progress.rows;
    if (number === 0) this.bytes = progress.bytes;
    this.splits += ranges.length;
    this.counters.addAll(progress.counters);
  }
}

/** One worker's part in one phase. */
class PhaseRun {
  private states = new Map<number, Stored<SplitState>>();
  /** When each split's present state was first seen. */
  private readonly seen = new Map<number, { readonly bytes: Uint8Array; readonly at: number }>();
  private readonly mine = new Set<number>();
  private readonly tries = new Map<number, number>();
  private readonly startedAt = performance.now();
  constructor(
    private readonly environment: SplitEnvironment,
    private readonly ranges: readonly RowRange[],
    private readonly owner: string,
  ) {}

  async run(stop: AbortController): Promise<void> {
    await this.refresh();
    const lanes = Array.from(
      { length: Math.min(this.environment.settings.parallel, this.ranges.length) },
      () =>
        this.lane().catch((error: unknown) => {
          stop.abort(error);
          throw error;
        }),
    );
    const ended = await Promise.allSettled(lanes);
    const failures = ended.flatMap((lane) => (lane.status === 'rejected' ? [lane.reason as unknown] : []));
    // The first failure aborts the other lanes, whose own errors then only say that they were aborted.
    if (failures.length > 0) throw failures.find((error) => !isAbort(error)) ?? failures[0];
    // Splits taken over by other workers count with the state in which those finished them.
    await this.refresh();
  }

  /** Reads the states from the table. */
  async refresh(): Promise<void> {
    const { store, phaseNumber, meter } = this.environment;
    const states = await store.splits(phaseNumber);
    const now = performance.now();
    for (const [split, stored] of states) {
      if (this.mine.has(split)) continue;
      // This worker may have finished the split after the scan had read it.
      const known = this.states.get(split);
      if (known !== undefined && known.value.beat > stored.value.beat) {
        states.set(split, known);
        continue;
      }
      const before = this.seen.get(split);
      if (before === undefined || Buffer.compare(before.bytes, stored.bytes) !== 0) {
        this.seen.set(split, { bytes: stored.bytes, at: now });
      }
      if (split < this.ranges.length) meter.committed(split, stored.value);
    }
    this.states = states;
  }

  private async lane(): Promise<void> {
    const { settings, signal, store } = this.environment;
    for (;;) {
      throwIfAborted(signal);
      let split = this.choose();
      if (split === undefined && !this.isDone()) {
        await this.refresh();
        split = this.choose();
      }
      if (split !== undefined) await this.workSplit(split);
      else if (this.isDone()) return;
      else await waitForSplitEnd(store.job, Math.min(1000, settings.leaseMs / 8), signal);
    }
  }

  private isDone(): boolean {
    return this.ranges.every((_, split) => this.states.get(split)?.value.state === 'done');
  }

  /** Chooses a split: first one of this shard, then one without an owner. */
  private choose(): number | undefined {
    const { index, count } = this.environment.settings.shard;
    let other: number | undefined;
    for (let split = 0; split < this.ranges.length; split++) {
      if (this.mine.has(split)) continue;
      const ours = split % count === index;
      if (!this.isFree(split, ours)) continue;
      if (ours) return split;
      other ??= split;
    }
    return other;
  }

  private isFree(split: number, ours: boolean): boolean {
    const stored = this.states.get(split);
    if (stored === undefined || stored.value.state === 'waiting') {
      return ours || this.unchangedFor(split) >= this.environment.settings.leaseMs;
    }
    if (stored.value.state === 'done') return false;
    // What this worker has stopped to work at, and could not store that it has, or had no answer when it did.
    if (stored.value.owner === this.owner) return true;
    // Only one process can open such a store.
    if (this.environment.sync) return !living.has(stored.value.owner);
    return this.unchangedFor(split) >= this.environment.settings.leaseMs;
  }

  private unchangedFor(split: number): number {
    return performance.now() - (this.seen.get(split)?.at ?? this.startedAt);
  }

  private async workSplit(split: number): Promise<void> {
    this.mine.add(split);
    let run: SplitRun | undefined;
    let lost = false;
    try {
      const claimed = await this.claim(split);
      lost = claimed === undefined;
      if (claimed !== undefined) {
        run = new SplitRun(this.environment, split, this.ranges[split]!, claimed);
        await run.run();
      }
    } catch (error) {
      lost = run?.isLost === true;
      // If another worker has the split, this one continues with other splits.
      if (!lost) await this.retryOrThrow(split, error);
    } finally {
      // The cached state of a split that another worker owns is out of date: claims based on it would fail forever.
      if (lost) this.states.delete(split);
      else if (run !== undefined) this.states.set(split, run.state);
      this.seen.delete(split);
      this.mine.delete(split);
      notifySplitEnd(this.environment.store.job);
    }
    if (lost) await this.refresh();
  }

  private claim(split: number): Promise<Stored<SplitState> | undefined> {
    const { store, phaseNumber } = this.environment;
    const before = this.states.get(split);
    const { error: _, ...kept } = before?.value ?? { rows: 0, bytes: 0, counters: {}, beat: 0, attempt: 0 };
    return store.setSplit(phaseNumber, split, before, {
      ...kept,
      state: 'running',
      owner: this.owner,
      beat: kept.beat + 1,
      attempt: kept.attempt + 1,
    });
  }

  private async retryOrThrow(split: number, error: unknown): Promise<void> {
    const { signal } = this.environment;
    if (signal.aborted || !(error instanceof RowanError)) throw error;
    const tries = (this.tries.get(split) ?? 0) + 1;
    this.tries.set(split, tries);
    if (!error.retryable || isDiskFull(error) || tries >= ATTEMPTS) throw error;
    await sleep(FIRST_RETRY_MS * 2 ** (tries - 1), signal);
  }
}

function otherWork(name: string, before: string, now: string): RowanError {
  const files = otherFiles(before, now);
  const what =
    files === undefined
      ? `Job "${name}" was started with other work (${before}; now ${now}). Choose another name, or run it`
      : `The files that job "${name}" reads have changed since it was started: ${files.before} then, ${files.now} now. ` +
        'Wait until the files are complete. Choose another name, or run the job';
  return new RowanError(
    'ERR_JOB',
    `${what} with restart: true (the commands: --restart), which discards its progress.`,
    {
      details: { job: name },
    },
  );
}

/** @throws ClosedError when the engine is closed, as far as it says. */
function checkOpen(engine: Engine): void {
  try {
    engine.checkWritable?.();
  } catch (error) {
    if (error instanceof ClosedError) throw error;
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof RowanError && error.code === 'ERR_ABORTED';
}
