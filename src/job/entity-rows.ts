/** Looks at every row of an entity in steps of writes, where there are such: what is counted is so at one moment for each row. */

import { murmur3 } from '../key/digest/murmur3.js';
import { type ChangeStep, RowImage } from '../repository/index.js';
import type { EntitySchema } from '../schema/types.js';
import { type AtomicStep, type Engine, Get, type Result, Scan, type SyncTable } from '../table/index.js';
import { RemoteEntityRowsWork, type RemoteRows } from './remote-entity-rows.js';
import { runJob } from './runner.js';
import { toolJobName } from './tools/selection.js';
import type { Counters, JobRunOptions, SplitContext, SplitWork } from './types.js';

/** Rows of one step: writers wait for it. */
const STEP_ROWS = 256;

/** A job over the rows of an entity. */
export interface EntityRowsJob {
  readonly engine: Engine;
  readonly schema: EntitySchema;
  readonly name: string;
  /** What decides on its outcome: a job that was cut off is gone on with only if it is the same. */
  readonly signature: string;
  /** Whether it changes rows: then what was done is not done again. */
  readonly mends: boolean;
  /** Where there are no steps over rows. */
  readonly remote?: RemoteRows;
  work(row: RowImage, step: ChangeStep, count: (what: string, by?: number) => void): void;
}

/** The counters of the job; `rows` those that were looked at. */
export async function runEntityRows(job: EntityRowsJob, run: JobRunOptions = {}): Promise<Counters> {
  const table = job.schema.table.descriptor.name;
  const { counters } = await runJob(
    job.engine,
    {
      name: toolJobName(job.name, table, job.schema.name),
      signature: String(murmur3(Buffer.from(job.signature))),
      phases: [
        {
          table,
          ranges: [],
          scan: () => new Scan().setCacheBlocks(false),
          open: (context) =>
            job.remote === undefined
              ? new EntityRowsWork(job, context)
              : new RemoteEntityRowsWork(job, job.remote, context),
        },
      ],
    },
    { restart: job.mends ? 'done' : true, batchRows: STEP_ROWS, ...run },
  );
  return counters;
}

class EntityRowsWork implements SplitWork {
  private readonly table: SyncTable & Required<Pick<SyncTable, 'atomic'>>;

  constructor(
    private readonly job: EntityRowsJob,
    private readonly context: SplitContext,
  ) {
    this.table = job.engine.table(job.schema.table.descriptor.name) as EntityRowsWork['table'];
  }

  async rows(rows: readonly Result[]): Promise<void> {
    const own = rows.filter(({ row }) => this.job.schema.key.matches(row));
    const counts = await this.table.atomic((step) => this.work(own, step));
    for (const [what, by] of counts) this.context.count(what, by);
  }

  private work(rows: readonly Result[], step: AtomicStep): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    const count = (what: string, by = 1): void => void counts.set(what, (counts.get(what) ?? 0) + by);
    for (const { row } of rows) {
      const image = RowImage.of(row, step.read(new Get(row)));
      if (image.isEmpty) continue;
      count('rows');
      this.job.work(image, step, count);
    }
    return counts;
  }
}
