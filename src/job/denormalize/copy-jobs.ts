/** Holds the copies of every row against their sources, and mends them, while the application goes on writing. */

import { murmur3 } from '../../key/digest/murmur3.js';
import type { ChangeFlow } from '../../repository/index.js';
import { type CopyPlan, RowImage } from '../../repository/index.js';
import type { EntitySchema } from '../../schema/types.js';
import { type AtomicStep, type Engine, Get, type Result, Scan, type SyncTable } from '../../table/index.js';
import { runJob } from '../runner.js';
import { toolJobName } from '../tools/selection.js';
import type { JobRunOptions, SplitContext, SplitWork } from '../types.js';

/** The copies in the rows of an entity. */
export interface CopyTarget {
  readonly engine: Engine;
  readonly schema: EntitySchema;
  readonly plans: readonly CopyPlan[];
  readonly flow: ChangeFlow;
}

/** What a check found, and a repair mended. Each row counts once for each declaration of copies. */
export interface CopyReport {
  /** Rows that were looked at. */
  readonly rows: number;
  /** Copies that are what their sources are. */
  readonly valid: number;
  /** Copies that have other values. */
  readonly stale: number;
  /** Rows without copies, whose sources have values. */
  readonly missing: number;
  /** Copies without a source. */
  readonly extra: number;
  /** What was put right. */
  readonly repaired: number;
}

/** Rows of one step: writers wait for it. */
const STEP_ROWS = 256;

export async function checkCopies(
  target: CopyTarget,
  repair: boolean,
  run: JobRunOptions = {},
): Promise<CopyReport> {
  const { engine, schema, plans } = target;
  const table = schema.table.descriptor.name;
  const signature = plans.map(({ name, columns }) => `${name}: ${columns.map((c) => c.property)}`).join('; ');
  const { counters } = await runJob(
    engine,
    {
      name: toolJobName(repair ? 'copies-repair' : 'copies-check', table, schema.name),
      signature: `${murmur3(Buffer.from(signature))}`,
      phases: [
        {
          table,
          ranges: [],
          scan: () => new Scan().setCacheBlocks(false),
          open: (context) => new CopyWork(target, context, repair),
        },
      ],
    },
    { restart: repair ? 'done' : true, batchRows: STEP_ROWS, ...run },
  );
  const count = (what: keyof CopyReport): number => counters[what] ?? 0;
  return {
    rows: count('rows'),
    valid: count('valid'),
    stale: count('stale'),
    missing: count('missing'),
    extra: count('extra'),
    repaired: count('repaired'),
  };
}

class CopyWork implements SplitWork {
  private readonly table: SyncTable & Required<Pick<SyncTable, 'atomic'>>;

  constructor(
    private readonly target: CopyTarget,
    private readonly context: SplitContext,
    private readonly repair: boolean,
  ) {
    this.table = target.engine.table(target.schema.table.descriptor.name) as CopyWork['table'];
  }

  async rows(rows: readonly Result[]): Promise<void> {
    const { schema } = this.target;
    const own = rows.filter(({ row }) => schema.key.matches(row));
    const counts = await this.table.atomic((step) => this.work(own, step));
    for (const [what, by] of counts) this.context.count(what, by);
  }

  private work(rows: readonly Result[], step: AtomicStep): ReadonlyMap<string, number> {
    const { plans, flow } = this.target;
    const counts = new Map<string, number>();
    const count = (what: keyof CopyReport, by = 1): void =>
      void counts.set(what, (counts.get(what) ?? 0) + by);
    for (const { row } of rows) {
      const image = RowImage.of(row, step.read(new Get(row)));
      if (image.isEmpty) continue;
      count('rows');
      for (const plan of plans) {
        const { fault, change } = plan.mend(image, step);
        count(fault ?? 'valid');
        if (fault !== undefined && this.repair) count('repaired', flow.follow([change], step));
      }
    }
    return counts;
  }
}
