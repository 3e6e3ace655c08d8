import { murmur3 } from '../key/digest.js';
import {
  type ChangeStep,
  RowImage,
  readingInSteps,
  type StepReading,
  withoutMarks,
} from '../repository/index.js';
import type { EntitySchema } from '../schema/types.js';
import { type AtomicStep, type Engine, familyNames, Get, type Result, Scan } from '../table/index.js';
import { runJob } from './runner.js';
import { toolJobName } from './table-pass.js';
import type { Counters, JobRunOptions, SplitContext, SplitWork } from './types.js';

/** The functions that read and repair rows on such engines. */
export interface RemoteRows {
  readonly reading: StepReading;
  /** Repairs a row; returns how much was repaired. */
  repair(row: Uint8Array): Promise<number>;
}

/** A checked row. */
interface LookedAt {
  readonly schema: EntitySchema;
  readonly repairs: boolean;
  work(row: RowImage, step: ChangeStep, count: (what: string, by?: number) => void): void;
}

type Counts = ReadonlyMap<string, number>;

/** How often one row is checked while others change it. */
const MAX_READS = 8;
/** How many rows are checked together. */
const TOGETHER = 32;

/**
 * Checks every row of an entity on engines whose atomic step is one row. The data that a row is compared with is read
 * after the row, so an apparent fault is checked again, and counts only if it is found twice.
 */
class RemoteEntityRowsWork implements SplitWork {
  constructor(
    private readonly job: LookedAt,
    private readonly remote: RemoteRows,
    private readonly context: SplitContext,
  ) {}

  async rows(rows: readonly Result[]): Promise<void> {
    const own = rows.filter(({ row }) => this.job.schema.key.matches(row));
    await this.job.schema.key.dictionaries?.loadTexts(own.map(({ row }) => row));
    for (let at = 0; at < own.length; at += TOGETHER)
      await Promise.all(own.slice(at, at + TOGETHER).map(({ row }) => this.one(row)));
  }

  private async one(row: Uint8Array): Promise<void> {
    let counts = await this.read(row);
    for (let read = 1; read < MAX_READS && isOff(counts); read++) {
      const again = await this.read(row);
      if (sameCounts(counts, again)) break;
      counts = again;
    }
    for (const [what, by] of counts) this.context.count(what, by);
    if (this.job.repairs && isOff(counts)) this.context.count('repaired', await this.remote.repair(row));
  }

  private read(row: Uint8Array): Promise<Counts> {
    const { schema, work } = this.job;
    return this.remote.reading((step) => {
      const counts = new Map<string, number>();
      const count = (what: string, by = 1): void => void counts.set(what, (counts.get(what) ?? 0) + by);
      const stored = step.read(new Get(row), schema.table.descriptor.name);
      const image = RowImage.of(row, withoutMarks(schema, stored));
      if (image.isEmpty) return counts;
      count('rows');
      work(image, step, count);
      return counts;
    });
  }
}

function isOff(counts: Counts): boolean {
  return [...counts.keys()].some((what) => what !== 'rows' && what !== 'valid');
}

function sameCounts(a: Counts, b: Counts): boolean {
  return a.size === b.size && [...a].every(([what, by]) => b.get(what) === by);
}

/** Rows in one step, for which writers must wait. */
const STEP_ROWS = 256;

/** A job over the rows of an entity. */
interface EntityRowsJob {
  readonly engine: Engine;
  readonly schema: EntitySchema;
  readonly name: string;
  /** Identifies the work: an interrupted job is resumed only if its signature is the same. */
  readonly signature: string;
  /** Whether it changes rows: work that is done is then not repeated. */
  readonly repairs: boolean;
  /** Used on engines without multi-row steps. */
  readonly remote?: RemoteRows;
  work(row: RowImage, step: ChangeStep, count: (what: string, by?: number) => void): void;
}

/** Runs the job and returns its counters; `rows` is the number of rows checked. */
export async function runEntityRows(job: EntityRowsJob, run: JobRunOptions = {}): Promise<Counters> {
  const table = job.schema.table.descriptor.name;
  const { counters } = await runJob(
    job.engine,
    {
      name: toolJobName(job.name, table, job.schema.name),
      signature: String(murmur3(Buffer.from(job.signature))),
      readsOnly: !job.repairs,
      isDeclared: true,
      phases: [
        {
          table,
          ranges: [],
          scan: () =>
            new Scan().setCacheBlocks(false).expectFamilies(familyNames(job.schema.table.descriptor)),
          open: (context) =>
            job.remote === undefined
              ? new EntityRowsWork(job, context)
              : new RemoteEntityRowsWork(job, job.remote, context),
        },
      ],
    },
    { restart: job.repairs ? 'done' : true, batchRows: STEP_ROWS, ...run },
  );
  return counters;
}

/** Checks every row of an entity in atomic steps, on engines that have them: what is counted of a row is consistent. */
class EntityRowsWork implements SplitWork {
  private readonly step: <T>(run: (step: AtomicStep) => T) => Promise<T>;

  constructor(
    private readonly job: EntityRowsJob,
    private readonly context: SplitContext,
  ) {
    const { engine, schema } = job;
    this.step = readingInSteps(engine, schema.table.descriptor.name);
  }

  async rows(rows: readonly Result[]): Promise<void> {
    const own = rows.filter(({ row }) => this.job.schema.key.matches(row));
    const counts = await this.step((step) => this.work(own, step));
    for (const [what, by] of counts) this.context.count(what, by);
  }

  private work(rows: readonly Result[], step: AtomicStep): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    const count = (what: string, by = 1): void => void counts.set(what, (counts.get(what) ?? 0) + by);
    const { schema } = this.job;
    for (const { row } of rows) {
      const stored = step.read(new Get(row), schema.table.descriptor.name);
      const image = RowImage.of(row, withoutMarks(schema, stored));
      if (image.isEmpty) continue;
      count('rows');
      this.job.work(image, step, count);
    }
    return counts;
  }
}

/** Default for the number of batches in flight. */
const AT_ONCE = 2;

/**
 * Work on a split that reads the next batches while earlier ones are being written. A checkpoint waits for all batches
 * in flight, so everything before it is durable.
 */
export abstract class OverlappedWork implements SplitWork {
  /** In row order, the oldest first. */
  private readonly inFlight: Promise<void>[] = [];

  /** `atOnce`: the largest number of batches in flight, each of which may hold its input in memory. */
  constructor(private readonly atOnce = AT_ONCE) {}

  /** Resolves when the next batch may start. */
  async rows(rows: readonly Result[]): Promise<void> {
    const batch = this.batch(rows);
    // The next await of the batch reports the error.
    batch.catch(() => undefined);
    this.inFlight.push(batch);
    if (this.inFlight.length >= this.atOnce) await this.inFlight.shift();
  }

  async commit(): Promise<undefined> {
    while (this.inFlight.length > 0) await this.inFlight.shift();
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.inFlight);
  }

  /** Resolves when the rows are processed and durable. */
  protected abstract batch(rows: readonly Result[]): Promise<void>;
}
