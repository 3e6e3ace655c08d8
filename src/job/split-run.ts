import { fromHex, toHex } from '../bytes/index.js';
import type { JsonValue } from '../codec/index.js';
import { RowanError, throwIfAborted } from '../errors.js';
import { Scan } from '../table/index.js';
import { type Batch, openBatches } from './batches.js';
import type { JobStore, SplitState, Stored } from './job-store.js';
import { CounterSet, type RunSettings, sleep, type Throttle } from './options.js';
import type { ProgressMeter } from './progress.js';
import type { JobPhase, JobReadable, RowRange, SplitContext, SplitWork } from './types.js';

/** Processes one split: reads its rows in batches, passes them on, writes checkpoints, and sends heartbeats. */

/** Rows of the first batch, while the size of rows is unknown. */
const FIRST_BATCH = 64;

/** The context that all splits of a run share. */
export interface SplitEnvironment {
  readonly store: JobStore;
  readonly table: JobReadable;
  /** Whether the engine answers in this thread. */
  readonly sync: boolean;
  readonly phase: JobPhase;
  readonly phaseNumber: number;
  readonly settings: RunSettings;
  readonly rowThrottle: Throttle;
  readonly byteThrottle: Throttle;
  readonly meter: ProgressMeter;
  /** Aborted by the caller, or because another split failed. */
  readonly signal: AbortSignal;
  /** @throws ClosedError when the engine is closed. */
  checkOpen(): void;
}

/** One attempt at one split that this worker has claimed. */
export class SplitRun {
  private readonly counters: CounterSet;
  private rows: number;
  private bytes: number;
  private position: Uint8Array | undefined;
  private readonly pending = new CounterSet();
  private pendingRows = 0;
  private checkpointAt: number;
  private readonly alive: AbortController = new AbortController();
  /** Serializes changes of the state: heartbeats and checkpoints. */
  private changing: Promise<void> = Promise.resolve();

  constructor(
    private readonly environment: SplitEnvironment,
    private readonly split: number,
    private readonly range: RowRange,
    private stored: Stored<SplitState>,
  ) {
    const { value } = stored;
    this.counters = new CounterSet(value.counters);
    this.rows = value.rows;
    this.bytes = value.bytes;
    this.position = value.position === undefined ? undefined : fromHex(value.position);
    this.checkpointAt = performance.now() + environment.settings.checkpointMs;
  }

  /** The state as this worker last wrote it. */
  get state(): Stored<SplitState> {
    return this.stored;
  }

  /** Whether another worker now owns the split. */
  get isLost(): boolean {
    return this.alive.signal.aborted;
  }

  /**
   * Processes the split to its end. @throws errors of the work; the state then records the error, and the split can be
   * claimed again.
   */
  async run(): Promise<void> {
    const { settings } = this.environment;
    const heart = setInterval(() => void this.beat(), settings.leaseMs / 4);
    heart.unref();
    try {
      await this.work();
    } catch (error) {
      await this.leave(error);
      // An error of the work is then only a consequence of its being stopped.
      if (this.isLost) throw this.lost();
      throw error;
    } finally {
      clearInterval(heart);
    }
  }

  private async work(): Promise<void> {
    const { environment } = this;
    const signal = AbortSignal.any([environment.signal, this.alive.signal]);
    const work = await environment.phase.open({
      job: environment.store.job,
      phase: environment.phaseNumber,
      split: this.split,
      range: this.range,
      run: environment.store.run,
      attempt: this.stored.value.attempt,
      resumed: this.stored.value.work,
      signal,
      count: (name, by = 1) => this.pending.add(name, by),
      workOf: (phase) => environment.store.workOf(phase),
    });
    try {
      await this.readAll(work, signal);
      await work.finish?.();
      await this.checkpoint(work, 'done');
    } catch (error) {
      // An error of closing is then only a consequence.
      await closed(work).catch(() => undefined);
      throw error;
    }
    await closed(work);
  }

  private async readAll(work: SplitWork, signal: AbortSignal): Promise<void> {
    const { environment } = this;
    const { settings, rowThrottle, byteThrottle } = environment;
    const scan = environment.phase.scan().setCaching(settings.batchRows);
    if (this.position === undefined) scan.withStartRow(this.range.start);
    else scan.withStartRow(this.position, false);
    scan.withStopRow(this.range.stop);
    const { table, sync, phase } = environment;
    const batches = openBatches(table, scan, work, {
      ...(phase.weigh && { weigh: phase.weigh }),
      sync,
      threads: settings.threads,
      signal,
      derivedRows: isPaced(settings) ? undefined : settings.checkpointRows,
    });
    let wanted = Math.min(FIRST_BATCH, settings.batchRows);
    try {
      for (;;) {
        throwIfAborted(signal);
        const batch = await batches.next(wanted, settings.batchBytes);
        if (batch === undefined) return;
        this.note(batch);
        const { given, rows, bytes } = batch;
        const wait = Math.max(rowThrottle.take(rows), byteThrottle.take(bytes));
        if (this.isDue()) await this.checkpoint(work, 'running');
        await pause(wait, signal, environment);
        const fitting = Math.floor((settings.batchBytes * given) / Math.max(bytes, 1));
        wanted = Math.max(1, Math.min(settings.batchRows, fitting, 2 * wanted));
      }
    } finally {
      await batches.close();
    }
  }

  private note({ last, rows, bytes }: Batch): void {
    this.position = last;
    this.rows += rows;
    this.bytes += bytes;
    this.pendingRows += rows;
    this.environment.meter.worked(this.split, rows, bytes, this.position);
  }

  private isDue(): boolean {
    return (
      this.pendingRows >= this.environment.settings.checkpointRows || performance.now() >= this.checkpointAt
    );
  }

  private async checkpoint(work: SplitWork, state: 'running' | 'done'): Promise<void> {
    const kept = await work.commit?.();
    this.counters.addAll(this.pending.toCounters());
    this.pending.clear();
    this.pendingRows = 0;
    const position = work.doneUpTo === undefined || state === 'done' ? this.position : work.doneUpTo();
    await this.change((before) => ({
      state,
      owner: before.owner,
      beat: before.beat + 1,
      attempt: before.attempt,
      ...(position === undefined ? {} : { position: toHex(position) }),
      rows: this.rows,
      bytes: this.bytes,
      counters: this.counters.toCounters(),
      ...(kept === undefined ? {} : { work: kept }),
    }));
    this.checkpointAt = performance.now() + this.environment.settings.checkpointMs;
    this.environment.meter.committed(this.split, this.stored.value);
  }

  /** Sends a heartbeat. A failed one is compensated by the next one, or noticed when the next checkpoint fails. */
  private async beat(): Promise<void> {
    await this.change((before) => ({ ...before, beat: before.beat + 1 })).catch(() => undefined);
  }

  /** Releases the split, if this worker still owns it. */
  private async leave(error: unknown): Promise<void> {
    const message = error instanceof Error ? error.message : String(error);
    await this.change((before) => ({ ...before, state: 'waiting', error: message.slice(0, 500) })).catch(
      () => undefined,
    );
  }

  private change(make: (before: SplitState) => SplitState): Promise<void> {
    const { store, phaseNumber } = this.environment;
    const changed = this.changing.then(async () => {
      if (this.alive.signal.aborted) throw this.lost();
      const stored = await store.setSplit(phaseNumber, this.split, this.stored, make(this.stored.value));
      if (stored === undefined) {
        this.alive.abort();
        throw this.lost();
      }
      this.stored = stored;
    });
    this.changing = changed.catch(() => undefined);
    return changed;
  }

  private lost(): RowanError {
    return new RowanError(
      'ERR_JOB',
      `Split ${this.split} of job "${this.environment.store.job}" was taken over by another worker: this one sent no heartbeat ` +
        `for ${this.environment.settings.leaseMs} ms, or the job was restarted. Nothing is lost; raise leaseMs if it happens again.`,
      { details: { job: this.environment.store.job, split: this.split } },
    );
  }
}

/** Whether rows come one by one, for a rate. */
function isPaced({ rowsPerSecond, bytesPerSecond }: RunSettings): boolean {
  return rowsPerSecond !== undefined || bytesPerSecond !== undefined;
}

async function closed(work: SplitWork): Promise<void> {
  await work.close?.();
}

/** Milliseconds between looks whether the engine was closed, during a pause. */
const LOOK_MS = 100;

/** Yields to other work of this thread, and waits the given time. @throws RowanError `ERR_ABORTED`, `ERR_CLOSED`. */
async function pause(
  milliseconds: number,
  signal: AbortSignal,
  environment: Pick<SplitEnvironment, 'checkOpen'>,
): Promise<void> {
  if (milliseconds < 1) await new Promise<void>((done) => setImmediate(done));
  for (let left = milliseconds; left >= 1; left -= LOOK_MS) {
    await sleep(Math.min(left, LOOK_MS), signal);
    throwIfAborted(signal);
    environment.checkOpen();
  }
  throwIfAborted(signal);
}

const NOTHING: JobReadable = {
  name: 'nothing',
  scan: () => ({
    next: async () => undefined,
    nextBatch: async () => [],
    close: async () => {},
    async *[Symbol.asyncIterator]() {},
  }),
};

/**
 * Job phases that read nothing: they run once, and their result is stored with the job's state. A phase with one split
 * that runs `work` and stores its result. Only one worker runs it at a time; it runs again if it was interrupted.
 */
export function onePhase(work: (context: SplitContext) => Promise<JsonValue> | JsonValue): JobPhase {
  return {
    table: NOTHING,
    ranges: [{ start: new Uint8Array(), stop: new Uint8Array() }],
    oneSplitEach: true,
    scan: () => new Scan(),
    open(context) {
      let kept = context.resumed;
      return {
        rows: () => {},
        async finish() {
          kept = await work(context);
        },
        commit: () => kept,
      };
    },
  };
}
